package cli

import (
	"slices"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// TestDegradedBy names those of the current result alone.
func TestDegradedBy(t *testing.T) {
	receipt := func(actor, head, assurance string) projections.Receipt {
		r := projections.Receipt{}
		r.Actor, r.Data.Head, r.Data.Verifier.Assurance = actor, head, assurance
		return r
	}
	approval := func(actor, result, assurance string) projections.Approval {
		a := projections.Approval{}
		a.Actor, a.Data.Result, a.Data.Assurance = actor, result, assurance
		return a
	}
	task := &projections.Task{
		Receipts: []projections.Receipt{
			receipt("old", "h0", events.AssuranceDegraded), receipt("ver", "h1", events.AssuranceDegraded), receipt("far", "h1", "isolated"),
		},
		Approvals: []projections.Approval{
			approval("before", "r0", events.AssuranceDegraded), approval("ann", "r1", events.AssuranceDegraded), approval("rita", "r1", ""), approval("ann", "r1", events.AssuranceDegraded),
		},
	}
	if got := degradedBy(task); got != nil {
		t.Errorf("without a result: %v", got)
	}
	task.Result = &projections.Result{}
	task.Result.Hash, task.Result.Data.Head = "r1", "h1"
	if got := degradedBy(task); !slices.Equal(got, []string{"ann", "ver"}) {
		t.Errorf("got %v, want ann and ver", got)
	}
}
