package projections_test

import (
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections/projectionstest"
)

// TestPlainStatus follows the two plain fields of the delivery contract
// through a story.
func TestPlainStatus(t *testing.T) {
	story := projectionstest.New("acme")
	story.Genesis()
	k := story.Task("TASK-1")
	check := func(when, verification, delivery string) {
		t.Helper()
		if v, d := k.State().Verification(), k.State().DeliveryStatus(); v != verification || d != delivery {
			t.Errorf("%s: %s and %s, want %s and %s", when, v, d, verification, delivery)
		}
	}
	check("before the first event", "not_started", "not_requested")
	k.Propose()
	k.Accept()
	k.Open()
	k.Claim("impl-a", events.PurposeWork)
	k.Hand()
	check("with a result", "not_started", "not_requested")
	k.Verify(projectionstest.Outcomes{"C1": events.ClassInconclusive})
	check("with an inconclusive receipt", "inconclusive", "not_requested")
	k.Verify(nil)
	check("with a pass", "passed", "awaiting_review")
	k.Reject("rita", "A1", "wrong")
	check("rejected", "passed", "rejected")
	k.AcceptRepair()
	k.Claim("impl-a", events.PurposeWork)
	k.Hand()
	check("with a new result", "not_started", "not_requested")
	k.Verify(projectionstest.Outcomes{"C1": events.ClassCodeFailure})
	check("with a failure", "failed", "not_requested")
	k.AcceptRepair()
	k.Claim("impl-a", events.PurposeWork)
	k.Hand()
	k.Verify(nil)
	k.Approve("rita")
	check("approved", "passed", "approved")
	k.Deliver()
	check("delivered", "passed", "approved")
}
