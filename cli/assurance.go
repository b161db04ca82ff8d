package cli

import (
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// degradedBy returns who, of a principal that did the work, proved or approved
// a task's current result: in a solo ledger one person may. Sorted, each once.
func degradedBy(t *projections.Task) []string {
	var by []string
	if t.Result == nil {
		return nil
	}
	for _, r := range t.Receipts {
		if r.Data.Verifier.Assurance == events.AssuranceDegraded && r.Data.Head == t.Result.Data.Head {
			by = append(by, r.Actor)
		}
	}
	for _, a := range t.Approvals {
		if a.Data.Assurance == events.AssuranceDegraded && a.Data.Result == t.Result.Hash {
			by = append(by, a.Actor)
		}
	}
	slices.Sort(by)
	return slices.Compact(by)
}

// degraded says that somebody judged their principal's own work.
func (w *textWriter) degraded(by []string) {
	if len(by) > 0 {
		w.line("  assurance %s: %s", events.AssuranceDegraded, strings.Join(by, ", "))
	}
}
