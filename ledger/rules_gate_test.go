package ledger

import (
	"errors"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// TestApprovalNamesExactThings changes one thing at a time in a verdict that
// the rules accept.
func TestApprovalNamesExactThings(t *testing.T) {
	reject := []events.Defect{{Acceptance: "A1", Text: "wrong", Severity: "high"}}
	for name, c := range map[string]struct {
		change func(*events.Approval)
		code   Code
		rule   string
	}{
		"as it is":         {func(*events.Approval) {}, "", ""},
		"a rejection":      {func(a *events.Approval) { a.Verdict, a.Defects = "reject", reject }, "", ""},
		"another contract": {func(a *events.Approval) { a.Contract = projectionstest.Digest("other") }, CodeStale, "approval.recorded/contract"},
		"another result":   {func(a *events.Approval) { a.Result = projectionstest.Digest("other") }, CodeStale, "approval.recorded/result"},
		"another head":     {func(a *events.Approval) { a.Head = projectionstest.Object("other") }, CodeStale, "approval.recorded/head"},
		"another tree":     {func(a *events.Approval) { a.Tree = projectionstest.Object("other") }, CodeStale, "approval.recorded/head"},
		"another packet":   {func(a *events.Approval) { a.Packet = projectionstest.Digest("other") }, CodeStale, "approval.recorded/packet"},
		"an unknown item": {func(a *events.Approval) {
			a.Verdict, a.Defects = "reject", []events.Defect{{Acceptance: "A9", Text: "wrong", Severity: "high"}}
		}, CodeNotFound, "approval.recorded/defect"},
	} {
		t.Run(name, func(t *testing.T) {
			k := representatives()[projections.AwaitingReview]
			task := k.State()
			a := &events.Approval{Verdict: "approve", Contract: task.Contract().Digest, Result: task.Result.Hash,
				Head: task.Result.Data.Head, Tree: task.Result.Data.Tree, Packet: packetDigest(task)}
			c.change(a)
			r := k.Draft("rita", a)
			err := NewRules().Check(k.Story.Ledger, Submission{Event: r.Event, Payload: a, Position: r.Position, Admitted: r.Admitted})
			refusal, _ := errors.AsType[*Refusal](err)
			switch {
			case c.code == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.code != "" && (refusal == nil || refusal.Code != c.code || refusal.Rule != c.rule):
				t.Errorf("got %v, want %s by %s", err, c.code, c.rule)
			}
		})
	}
}
