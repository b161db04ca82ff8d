// Package journal is where a ledger's history is kept: an append-only sequence
// of messages, each at one position, from 1 on without a gap.
//
// It works on bytes. It knows nothing of signatures, of what an event means or
// of who may append: that is for the packages above it.
//
// # Promises
//
//   - A message is appended only under an [Expect]: the journal's last position
//     and the last position of the message's subject, both as the writer folded
//     them. Of two writers with the same expectation at most one succeeds.
//   - An append is done, refused, in conflict or unknown, never anything else.
//     Unknown is decided by reading the position back ([Settle]), not by hope:
//     the expectation makes a retry of the identical bytes harmless for ever.
//   - A record is what was stored, byte for byte, with every header, so that a
//     reader can find a header that no writer of Deed would have set.
//   - A reader gets every position in order, or an error. A gap, or a history
//     that is shorter than the reader knows it to be, is [ErrCorrupt].
//
// # What it does not do
//
// It does not look for a message that was stored twice at two positions, does
// not sign, and does not check headers: [Headers] says what they must be. A
// message id only makes a record recognisable. That a journal may refuse an id
// that it saw a short while ago ([ErrDuplicate]) is never what makes something
// unique.
//
// [Memory] keeps a journal in memory, for tests. Package jetstream keeps it in
// a NATS JetStream stream. Both store identical records, and package
// journaltest holds both to this contract.
package journal
