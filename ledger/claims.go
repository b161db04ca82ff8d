package ledger

import (
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// Claims returns the purposes for which a lease of a task waits to be claimed.
// A recovery is legal in many states; it is waited for where nothing else
// leads on: after an interruption, and when the attempt's contract is stale.
func (r *Rules) Claims(t *projections.Task) []events.Purpose {
	var purposes []events.Purpose
	for _, p := range []events.Purpose{events.PurposeWork, events.PurposeRecover, events.PurposeRelease} {
		row := r.rows[rowKey{events.LeaseClaimed, string(p)}]
		needed := p != events.PurposeRecover || t.State == projections.Interrupted || t.Stale()
		if needed && t.Blocked == nil && slices.Contains(row.In, t.State) && possible(row, t) {
			purposes = append(purposes, p)
		}
	}
	return purposes
}
