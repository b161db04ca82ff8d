package ledger_test

import (
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections/projectionstest"
)

// TestHeartbeatsAreNoHistory: a run that lives for long does not lengthen what
// everybody has to read after it.
func TestHeartbeatsAreNoHistory(t *testing.T) {
	h := working(t, memory(t, "acme"))
	before, last := h.Digests(), h.Last()
	for n := range int64(200) {
		if err := beat(t, h, ledgertest.ImplA, 1, n+1); err != nil {
			t.Fatalf("heartbeat %d: %v", n+1, err)
		}
	}
	if h.Last() != last || !equalDigests(before, h.Digests()) {
		t.Errorf("200 heartbeats wrote %d events", h.Last()-last)
	}
	h.Audit()
}

// TestNothingIsNotVerified: an audit that had nothing to look at says so; it
// never answers that all is well.
func TestNothingIsNotVerified(t *testing.T) {
	_, audit, err := ledger.Verify(t.Context(), memory(t, "acme"), "acme", nil, 0)
	if err == nil && audit.Fault == nil {
		t.Errorf("an empty journal is verified: %+v", audit)
	}
}

// TestAttemptIDsAreUsedOnce: neither an open nor an ended attempt gives its id
// to another one.
func TestAttemptIDsAreUsedOnce(t *testing.T) {
	h := working(t, memory(t, "acme"))
	taken := stateOf(h).Tasks["TASK-1"].Attempts[0].ID
	h.Do("TASK-1", ledgertest.ImplA, &events.Release{Reason: "shift"})
	e := h.Draft(stateOf(h), "TASK-1", ledgertest.Controller, projectionstest.Snapshot(stateOf(h).Tasks["TASK-1"], stateOf(h).Tasks["TASK-1"].Attempts[0].Snapshot.Inputs.Policy))
	e.Subject = taken
	_, err := h.Submit(ledgertest.Seal(e, ledgertest.Controller))
	if r := ledger.AsRefusal(err); r == nil || r.Class != ledger.Refused {
		t.Errorf("attempt %s was opened again: %v", taken, err)
	}
}
