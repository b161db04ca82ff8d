package ledger

import (
	"errors"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// approve checks rita's approval of a result that waits for review, after
// change.
func approve(t *testing.T, change func(*projections.Registry, *projections.Task)) error {
	t.Helper()
	k := representatives()[projections.AwaitingReview]
	task := k.State()
	change(&k.Story.Ledger.Registry, task)
	a := &events.Approval{Verdict: "approve", Contract: task.Contract().Digest, Result: task.Result.Hash,
		Head: task.Result.Data.Head, Tree: task.Result.Data.Tree, Packet: packetDigest(task)}
	r := k.Draft("rita", a)
	return NewRules().Check(k.Story.Ledger, Submission{Event: r.Event, Payload: a, Position: r.Position, Admitted: r.Admitted})
}

// separates demands a refusal by separation, or none.
func separates(t *testing.T, err error, want bool) {
	t.Helper()
	refusal, ok := errors.AsType[*Refusal](err)
	if ok != want || ok && refusal.Rule != "separation" {
		t.Errorf("got %v, refused by separation: want %v", err, want)
	}
}

// TestSeparationByGitIdentity: an address in a commit is a claim of whoever
// wrote it, and mail does not tell cases apart.
func TestSeparationByGitIdentity(t *testing.T) {
	for _, c := range []struct {
		mapped, author string
		refused        bool
	}{
		{"rita@example.org", "rita@example.org", true},
		{"rita@example.org", "Rita@Example.ORG", true},
		{"RITA@example.org", "rita@EXAMPLE.org", true},
		{"rita@example.org", "rita@example.com", false},
		{"rita@example.org", "rita@example.or", false},
		{"kim@example.org", "\u212Aim@example.org", false}, // the Kelvin sign is another letter
	} {
		err := approve(t, func(g *projections.Registry, task *projections.Task) {
			g.Actor("rita").GitIdentities = []string{c.mapped}
			task.Result.Data.Authors = []string{"ann@example.org", c.author}
		})
		t.Run(c.mapped+" "+c.author, func(t *testing.T) { separates(t, err, c.refused) })
	}
}

// TestQuorumIsOfPeople: one person does not become two reviewers by a second
// actor.
func TestQuorumIsOfPeople(t *testing.T) {
	for name, c := range map[string]struct {
		principal string
		void      string
		refused   bool
	}{
		"two people":                {"robert", "", false},
		"one person":                {"rita", "", true},
		"one person, approval void": {"rita", "a new result", false},
	} {
		t.Run(name, func(t *testing.T) {
			separates(t, approve(t, func(g *projections.Registry, task *projections.Task) {
				task.Contract().Contract.Quorum = 2
				g.Actor("rita").Principal = "rita"
				g.Actor("rob").Principal = c.principal
				task.Approvals = append(task.Approvals, projections.Approval{Signed: projections.Signed{Actor: "rob"}, Void: c.void, Data: events.Approval{
					Verdict: "approve", Contract: task.Contract().Digest, Result: task.Result.Hash,
					Head: task.Result.Data.Head, Tree: task.Result.Data.Tree, Packet: projectionstest.Digest("read"),
				}})
			}), c.refused)
		})
	}
}
