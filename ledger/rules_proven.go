package ledger

import (
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// rulesProven is the version of the rules from which on a release goes on only
// while the result is proven, whatever took its proof away. Under older ones
// it is stopped where evidence is quarantined, which they did not know.
const rulesProven = 2

// checkProven refuses to release what was approved and is no longer proven: a
// check's output was quarantined since, or a newer receipt is inconclusive.
// What undoes an effect goes on.
func checkProven(s *scene, purpose events.Purpose, compensates string) *Refusal {
	t := s.task
	undoing := compensates != "" || t.Repair != nil && t.Repair.Compensate != ""
	known := s.ledger.Registry.RulesVersion() >= rulesProven || len(t.Quarantine) > 0
	if purpose != events.PurposeRelease || undoing || !known || t.Verdict() == projections.ItemPass {
		return nil
	}
	return refuse(CodeRule, s.row.Name()+"/evidence", "the required items are not proven any more: %s", t.Verdict())
}
