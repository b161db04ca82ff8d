package ledger_test

import (
	"errors"
	"testing"

	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections/projectionstest"
)

// TestBehind: whoever has seen a longer history hears that it was taken back
// before anything is written to the shorter one, and nobody else is stopped.
func TestBehind(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	size := func() (n uint64) {
		h.Writer.View(func(b *ledger.Book) { n = b.Tree.Size() })
		return n
	}
	e := h.Next("TASK-1", ledgertest.Founder, projectionstest.Contract(1))
	before := size()
	for _, known := range []uint64{before + 1, before + 1000, ^uint64(0)} {
		for _, dryRun := range []bool{true, false} {
			_, err := h.Writer.Submit(t.Context(), ledger.Request{Export: e.Export(), Known: known, DryRun: dryRun})
			r, ok := errors.AsType[*ledger.Refusal](err)
			if !ok || r.Class != ledger.Corrupt || r.Rule != "rollback" {
				t.Errorf("known %d, dry run %v: got %v", known, dryRun, err)
			}
		}
	}
	if got := size(); got != before {
		t.Fatalf("size %d after refusals, want %d", got, before)
	}
	ack, err := h.Writer.Submit(t.Context(), ledger.Request{Export: e.Export(), Known: before})
	if err != nil || uint64(ack.Position) != before+1 {
		t.Errorf("position %d, error %v: one client stopped another", ack.Position, err)
	}
}
