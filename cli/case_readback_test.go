package cli

import (
	"errors"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
)

// TestVerdictIsReadBack: an acknowledged rejection that the task does not show,
// or shows as something else, is a fault and no success.
func TestVerdictIsReadBack(t *testing.T) {
	verdict := func(id, word string) projections.Approval {
		return projections.Approval{Signed: projections.Signed{EventID: id}, Data: events.Approval{Verdict: word}}
	}
	ack := ledger.Ack{EventID: "two", Position: 42}
	for name, c := range map[string]struct {
		has   []projections.Approval
		taken bool
	}{
		"nothing":         {nil, false},
		"another verdict": {[]projections.Approval{verdict("one", "reject")}, false},
		"turned around":   {[]projections.Approval{verdict("one", "reject"), verdict("two", "approve")}, false},
		"taken":           {[]projections.Approval{verdict("one", "approve"), verdict("two", "reject")}, true},
	} {
		err := tookEffect(&projections.Task{ID: "T-1", Approvals: c.has}, ack, "reject")
		if c.taken != (err == nil) || err != nil && !errors.Is(err, errAudit) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
