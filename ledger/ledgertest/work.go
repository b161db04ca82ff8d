package ledgertest

import (
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// Work returns a story of a plan, steps, decisions, bans, artifacts, costs,
// defects, a violated boundary and a pause, which ends in a delivery.
func Work(task string) []Step {
	return append(Start(task),
		Saying(task, ImplA, projectionstest.Plan()),
		Saying(task, ImplA, projectionstest.IssueStep("s1", "u1")),
		Saying(task, ImplA, &events.Progress{Step: "s1", Note: "half of it", Done: 1, Total: 2}),
		Saying(task, ImplA, projectionstest.CompleteStep("s1")),
		Saying(task, ImplA, projectionstest.IssueStep("s2", "u2")),
		Saying(task, ImplA, &events.StepFailure{Step: "s2", Reason: "no format is agreed"}),
		Saying(task, ImplA, projectionstest.Decision("d1")),
		Saying(task, Founder, projectionstest.Freeze("d1")),
		Saying(task, Founder, &events.Thaw{Decision: "d1", Reason: "too early"}),
		Saying(task, Reviewer, projectionstest.Decision("d2", func(d *events.Decision) { d.Supersedes = "d1" })),
		Saying(task, Founder, &events.Retraction{Decision: "d2", Reason: "no"}),
		Saying(task, Founder, projectionstest.Ban("b1")),
		Saying(task, Founder, &events.Unban{Approach: "b1", Reason: "fine now"}),
		Saying(task, ImplA, projectionstest.Artifact("log of s1")),
		Saying(task, Operator, &events.Quarantine{Digest: projectionstest.Digest("log of s1"), Reason: "it shows an address"}),
		Saying(task, Verifier, projectionstest.Money("ci", 1_500_000, "EUR")),
		Saying(task, Reviewer, projectionstest.DefectReport("one export is empty")),
		Saying(task, Verifier, projectionstest.Violation(projectionstest.Object("tree of nobody"))),
		Saying(task, ImplA, projectionstest.Result("1")),
		Saying(task, Founder, &events.Pause{Reason: "wait for the audit"}),
		Step{task, Verifier, Receipt(nil)},
		Saying(task, Controller, &events.Unpause{Reason: "the audit is over"}),
		Step{task, Reviewer, Verdict("approve")},
		Step{task, Operator, Deliver},
	)
}

// Violate says that the current result's tree is outside the boundary.
func Violate(_ *projections.Ledger, t *projections.Task) events.Payload {
	return projectionstest.Violation(t.Result.Data.Tree)
}
