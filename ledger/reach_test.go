package ledger_test

import (
	"context"
	"errors"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections/projectionstest"
)

func wantUnreached(t *testing.T, what string, err error) {
	t.Helper()
	r, ok := errors.AsType[*ledger.Refusal](err)
	if !ok || r.Class != ledger.Unavailable || r.Rule != ledger.RuleReach {
		t.Errorf("%s: %v, want an unavailable refusal by %s", what, err, ledger.RuleReach)
	}
}

// TestReach: what is there is reached at once, even by a caller whose time is
// over; a dry run and a refused event reach nothing.
func TestReach(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	last := h.Last()
	for _, at := range []events.Position{0, 1, last} {
		if err := h.Writer.Reach(over, at); err != nil {
			t.Errorf("reach %d of %d: %v", at, last, err)
		}
	}
	wantUnreached(t, "the next position", h.Writer.Reach(over, last+1))
	wantUnreached(t, "the last position of all", h.Writer.Reach(over, 1<<53-1))
	e := h.Next("TASK-1", ledgertest.Founder, projectionstest.Contract(1))
	if _, err := h.Writer.Submit(t.Context(), ledger.Request{Export: e.Export(), DryRun: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Try("TASK-1", ledgertest.Reviewer, projectionstest.Contract(1)); err == nil {
		t.Fatal("a reviewer proposed a contract")
	}
	wantUnreached(t, "after a dry run and a refusal", h.Writer.Reach(over, last+1))
	h.Do("TASK-1", ledgertest.Founder, projectionstest.Contract(1))
	if err := h.Writer.Reach(over, last+1); err != nil {
		t.Errorf("after the append: %v", err)
	}
}

// TestReachWaits: each of several readers goes on when its own position comes,
// and those whose position never comes are told so when the writer stops.
func TestReachWaits(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	last := h.Last()
	waiting := func(at events.Position) <-chan error {
		done := make(chan error, 1)
		go func() { done <- h.Writer.Reach(t.Context(), at) }()
		return done
	}
	first, same, second, never := waiting(last+1), waiting(last+1), waiting(last+2), waiting(last+3)
	h.Do("TASK-1", ledgertest.Founder, projectionstest.Contract(1))
	for _, done := range []<-chan error{first, same} {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	select {
	case err := <-second:
		t.Fatalf("position %d is reached at %d: %v", last+2, h.Last(), err)
	default:
	}
	h.Play([]ledgertest.Step{{Task: "TASK-1", Actor: ledgertest.Founder, Say: ledgertest.Accept}})
	if err := <-second; err != nil {
		t.Error(err)
	}
	h.Writer.Close()
	wantUnreached(t, "a stopped writer", <-never)
	wantUnreached(t, "asked after it stopped", h.Writer.Reach(t.Context(), last+3))
	if err := h.Writer.Reach(t.Context(), last+2); err != nil {
		t.Errorf("what a stopped writer has: %v", err)
	}
}
