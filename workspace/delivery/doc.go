// Package delivery writes the ledger's state of a task as the files of the folder .agent-delivery of a repository, and reads
// what people and agents write there.
//
//	contracts/TASK.vN.json            a version of the contract; a person may write the next one
//	attempts/TASK/ATTEMPT.json        the delivery attempt: contract, input, boundary, results, where it stands
//	snapshots/TASK/ATTEMPT.json       what the attempt started from; never changes
//	plans/TASK/ATTEMPT.yaml           the newest plan; it authorises nothing
//	results/TASK/ATTEMPT/impl-NN.json what was handed over; an implementer may write the next one
//	receipts/TASK/ATTEMPT/test-NN.json what a verifier proved
//	recovery/TASK/ATTEMPT.json        what was decided after interruptions, the newest first
//	approvals/TASK/ATTEMPT.json       what reviewers and the release gate said
//	policy/                           the repository's own policies: never written here
//
// The ledger is the truth and these files are its print: [Render] is a pure function of the ledger's records, the same bytes each
// time. Each file has a member "deed" that names the event it comes from, and the position up to which the ledger was read: so a file
// that is only behind is told from one that somebody changed. What is not the next contract or result is never read back.
package delivery
