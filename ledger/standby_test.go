package ledger_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// shared opens another writer of a house's ledger, on the same journal. may is
// what its lease says.
func shared(t *testing.T, h *ledgertest.House, may *atomic.Bool) *ledger.Writer {
	t.Helper()
	c := h.Config(h.Journal)
	c.Shared, c.Retain, c.May = true, nil, may.Load
	w, err := ledger.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// state returns the state of a writer that does nothing meanwhile.
func state(w *ledger.Writer) (l *projections.Ledger) {
	w.View(func(b *ledger.Book) { l = b.State })
	return l
}

// leased returns the lease's term in a task of a writer that may work, 0 for no lease.
func leased(w *ledger.Writer, task string) (term time.Duration) {
	w.View(func(b *ledger.Book) {
		if l := b.State.Task(task).Lease; l != nil {
			term = time.Duration(l.TermSeconds) * time.Second
		}
	})
	return term
}

func lead(t *testing.T, w *ledger.Writer) {
	t.Helper()
	if err := w.Lead(t.Context()); err != nil || !w.Leading() {
		t.Fatalf("lead: %v, leading %t", err, w.Leading())
	}
}

func wantStandby(t *testing.T, what string, err error) {
	t.Helper()
	if r, ok := errors.AsType[*ledger.Refusal](err); !ok || r.Class != ledger.Unavailable || r.Rule != ledger.RuleStandby {
		t.Errorf("%s: %v, want the answer of a standby", what, err)
	}
}

// TestStandby: a shared writer writes nothing before it leads, folds what
// another one writes, and takes over where that one ended.
func TestStandby(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	var first, second atomic.Bool
	first.Store(true)
	a, b := shared(t, h, &first), shared(t, h, &second)
	submit := func(w *ledger.Writer) error {
		e := h.Next("TASK-1", ledgertest.Founder, projectionstest.Contract(1))
		_, err := w.Submit(t.Context(), ledger.Request{Export: e.Export()})
		return err
	}
	before := h.Last()
	wantStandby(t, "submit before leading", submit(a))
	wantStandby(t, "heartbeat before leading", a.Renew(t.Context(), heartbeatOf(t, ledgertest.ImplA)))
	lead(t, a)
	if err := submit(a); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	followed := make(chan error, 1)
	go func() { followed <- b.Follow(ctx) }()
	if err := b.Reach(t.Context(), before+1); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-followed; !errors.Is(err, context.Canceled) {
		t.Errorf("follow: %v", err)
	}
	first.Store(false)
	second.Store(true)
	lead(t, b)
	e := h.Sign(state(b), "TASK-2", ledgertest.Founder, projectionstest.Contract(1))
	if _, err := b.Submit(t.Context(), ledger.Request{Export: e.Export()}); err != nil {
		t.Fatal(err)
	}
	wantStandby(t, "submit after the lease", submit(a))
	if a.Leading() {
		t.Error("a writer whose lease is over still leads")
	}
	wantStandby(t, "submit by the writer before it", submit(a))
	if err := b.Stand(t.Context()); err != nil || b.Leading() {
		t.Errorf("stand: %v, leading %t", err, b.Leading())
	}
	h.Audit()
}

func heartbeatOf(t *testing.T, actor string) []byte {
	t.Helper()
	text, err := ledger.SealHeartbeat(ledger.Heartbeat{Ledger: "acme", Task: "TASK-1", Fence: 1, Number: 1}, ledgertest.Key(actor))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestStaleWriterAppendsNothing: one that believes in its lease meets what
// another one wrote, and becomes a standby; what it was asked to write is not
// there.
func TestStaleWriterAppendsNothing(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	var always atomic.Bool
	always.Store(true)
	a, b := shared(t, h, &always), shared(t, h, &always)
	lead(t, a)
	lead(t, b)
	e := h.Sign(state(b), "TASK-1", ledgertest.Founder, projectionstest.Contract(1))
	if _, err := b.Submit(t.Context(), ledger.Request{Export: e.Export()}); err != nil {
		t.Fatal(err)
	}
	stale := h.Sign(state(a), "TASK-2", ledgertest.Founder, projectionstest.Contract(1))
	_, err := a.Submit(t.Context(), ledger.Request{Export: stale.Export()})
	wantRefusal(t, err, ledger.Conflict, ledger.CodeHead)
	if a.Leading() {
		t.Error("it still leads")
	}
	_, err = a.Submit(t.Context(), ledger.Request{Export: stale.Export()})
	wantStandby(t, "submit again", err)
	if last, err := h.Journal.Last(t.Context()); err != nil || last != state(b).Position {
		t.Errorf("last position %d, error %v", last, err)
	}
	// Whoever saw the longer history is not told that it was taken back.
	lead(t, b)
	more := h.Sign(state(b), "TASK-3", ledgertest.Founder, projectionstest.Contract(1))
	if _, err := b.Submit(t.Context(), ledger.Request{Export: more.Export()}); err != nil {
		t.Fatal(err)
	}
	lead(t, a)
	last := h.Sign(state(a), "TASK-4", ledgertest.Founder, projectionstest.Contract(1))
	if _, err := a.Submit(t.Context(), ledger.Request{Export: last.Export(), Known: uint64(state(b).Position)}); err != nil {
		t.Error(err)
	}
	_, err = b.Submit(t.Context(), ledger.Request{Export: last.Export(), Known: uint64(state(a).Position) + 1})
	wantRefusal(t, err, ledger.Corrupt, ledger.CodeDamage)
}

// TestOwnLateAppendIsNotForeign: an append whose outcome nobody told, and that
// is found later, is no other writer's.
func TestOwnLateAppendIsNotForeign(t *testing.T) {
	inner := memory(t, "acme")
	h := ledgertest.Found(t, "acme", inner)
	var always atomic.Bool
	always.Store(true)
	c := h.Config(&lossy{Journal: inner})
	c.Shared, c.Retain, c.May = true, nil, always.Load
	w, err := ledger.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	lead(t, w)
	e := h.Sign(state(w), "TASK-1", ledgertest.Founder, projectionstest.Contract(1))
	if _, err := w.Submit(t.Context(), ledger.Request{Export: e.Export()}); err != nil || !w.Leading() {
		t.Errorf("submit: %v, leading %t", err, w.Leading())
	}
}

// lossy loses every answer and every read of a position.
type lossy struct{ journal.Journal }

func (l *lossy) Append(ctx context.Context, m journal.Message, e journal.Expect) (at events.Position, err error) {
	if _, err := l.Journal.Append(ctx, m, e); err != nil {
		return 0, err
	}
	return 0, journal.ErrUnknown
}

func (l *lossy) Read(context.Context, events.Position) (journal.Record, error) {
	return journal.Record{}, journal.ErrUnavailable
}

// TestTakeoverGivesFullTerms: the writer that takes over does not count the
// time that passed while heartbeats went elsewhere.
func TestTakeoverGivesFullTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := ledgertest.Found(t, "acme", memory(t, "acme"))
		h.Play(ledgertest.Start("TASK-1"))
		var always atomic.Bool
		always.Store(true)
		c := h.Config(h.Journal)
		c.Shared, c.Retain, c.May, c.Sweep, c.Now = true, nil, always.Load, time.Second, time.Now
		w, err := ledger.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		defer h.Writer.Close()
		term := leased(w, "TASK-1")
		<-time.After(10 * term) // a standby interrupts nothing
		if leased(w, "TASK-1") == 0 {
			t.Fatal("a standby interrupted a lease")
		}
		lead(t, w)
		<-time.After(term - 2*time.Second)
		if leased(w, "TASK-1") == 0 {
			t.Error("the lease got no full term")
		}
		<-time.After(4 * time.Second)
		if leased(w, "TASK-1") != 0 {
			t.Error("the lease never ends")
		}
	})
}
