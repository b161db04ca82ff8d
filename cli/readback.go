package cli

import (
	"fmt"
	"slices"

	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
)

// tookEffect refuses a state that does not have an acknowledged verdict. "OK"
// for a rejection that changed nothing would let rejected work go on.
func tookEffect(t *projections.Task, ack ledger.Ack, word string) error {
	if !slices.ContainsFunc(t.Approvals, func(a projections.Approval) bool { return a.EventID == ack.EventID && a.Data.Verdict == word }) {
		return fmt.Errorf("%w: event %s is acknowledged at position %d, and task %s does not show it at position %d", errAudit, ack.EventID, ack.Position, t.ID, t.Position)
	}
	return nil
}
