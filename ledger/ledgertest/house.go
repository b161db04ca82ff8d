package ledgertest

import (
	"context"
	"sync"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
)

// TB is what a house needs of a test or benchmark; testing.TB and *rapid.T
// are one.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// House is a ledger with its writer. Every head that the writer signs is kept.
type House struct {
	*Cast
	Clock   *Clock
	Journal journal.Journal
	Writer  *ledger.Writer

	t     TB
	sweep time.Duration

	mu    sync.Mutex // guards heads
	heads []evidence.Head
}

// Option changes a house before it is built.
type Option func(*House)

// WithSweep sets how often leases are looked at without a submission. The
// default is an hour of the process's clock: a test that wants sweeps runs in a
// synctest bubble.
func WithSweep(d time.Duration) Option { return func(h *House) { h.sweep = d } }

// New creates a ledger in an empty journal and opens its writer. Nobody is
// invited.
func New(t TB, name string, j journal.Journal, options ...Option) *House {
	t.Helper()
	clock := NewClock()
	h := &House{Cast: NewCast(name, clock.Now), Clock: clock, Journal: j, t: t, sweep: time.Hour}
	for _, o := range options {
		o(h)
	}
	if err := ledger.Create(context.Background(), j, h.Genesis(), clock.Now()); err != nil {
		t.Fatalf("create ledger: %v", err)
	}
	h.Restart(j)
	t.Cleanup(func() { h.Writer.Close() })
	return h
}

// Found is New on a ledger in which all of [Invited] hold their keys.
func Found(t TB, name string, j journal.Journal, options ...Option) *House {
	t.Helper()
	h := New(t, name, j, options...)
	for _, actor := range Invited() {
		h.Do("", Founder, Invitation(actor))
		h.Do("", actor, KeyClaim(actor))
	}
	return h
}

// Config returns the configuration of a writer of this house on a journal.
func (h *House) Config(j journal.Journal) ledger.Config {
	return ledger.Config{
		Ledger: h.Ledger, Journal: j, Service: Key(Service), Now: h.Clock.Now, NewID: h.NewID,
		Retain: h.retain, Retained: h.Heads(), Sweep: h.sweep,
	}
}

func (h *House) retain(head evidence.Head, _ []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.heads); n == 0 || h.heads[n-1].Size < head.Size {
		h.heads = append(h.heads, head)
	}
	return nil
}

// Heads returns the heads that were kept, in rising size.
func (h *House) Heads() []evidence.Head {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]evidence.Head(nil), h.heads...)
}

// Restart closes the writer, if there is one, and opens another on a journal.
func (h *House) Restart(j journal.Journal) {
	h.t.Helper()
	if h.Writer != nil {
		h.Writer.Close()
	}
	w, err := ledger.Open(context.Background(), h.Config(j))
	if err != nil {
		h.t.Fatalf("open ledger: %v", err)
	}
	h.Journal, h.Writer = j, w
}

// Next returns the signed event that an actor would append next.
func (h *House) Next(task, actor string, p events.Payload) (e events.Event) {
	h.Writer.View(func(b *ledger.Book) { e = h.Sign(b.State, task, actor, p) })
	return e
}

// Submit hands an event to the writer.
func (h *House) Submit(e events.Event) (ledger.Ack, error) {
	return h.Writer.Submit(context.Background(), ledger.Request{Export: e.Export()})
}

// Try signs and submits what an actor says.
func (h *House) Try(task, actor string, p events.Payload) (ledger.Ack, error) {
	return h.Submit(h.Next(task, actor, p))
}

// Do is Try that must succeed.
func (h *House) Do(task, actor string, p events.Payload) ledger.Ack {
	h.t.Helper()
	ack, err := h.Try(task, actor, p)
	if err != nil {
		h.t.Fatalf("%s by %s on %q: %v", p.Type().Short(), actor, task, err)
	}
	if _, ok := p.(*events.KeyRotation); ok {
		h.keys.Store(actor, Key(NextKey(actor)))
	}
	return ack
}

// Play does every step.
func (h *House) Play(steps []Step) {
	h.t.Helper()
	for _, s := range steps {
		var p events.Payload
		h.Writer.View(func(b *ledger.Book) { p = s.Say(b.State, b.State.Task(s.Task)) })
		h.Do(s.Task, s.Actor, p)
	}
}

// State returns the plain state of a task.
func (h *House) State(task string) (s projections.State) {
	h.Writer.View(func(b *ledger.Book) { s = b.State.Task(task).State })
	return s
}

// Last returns the position of the newest event.
func (h *House) Last() (p events.Position) {
	h.Writer.View(func(b *ledger.Book) { p = b.State.Position })
	return p
}

// Digests returns the digests of every state.
func (h *House) Digests() (d projections.Digests) {
	h.t.Helper()
	var err error
	h.Writer.View(func(b *ledger.Book) { d, err = b.State.Digests() })
	if err != nil {
		h.t.Fatalf("digests: %v", err)
	}
	return d
}

// Audit verifies the whole history against every head that was kept. It must
// be clean.
func (h *House) Audit() ledger.Audit {
	h.t.Helper()
	_, audit, err := ledger.Verify(context.Background(), h.Journal, h.Ledger, h.Heads(), 0)
	if err != nil || audit.Fault != nil {
		h.t.Fatalf("audit: fault %+v, error %v", audit.Fault, err)
	}
	return audit
}

// Records returns every stored message.
func (h *House) Records() (all []journal.Record) {
	h.t.Helper()
	err := h.Journal.Replay(context.Background(), 1, func(r journal.Record) error {
		all = append(all, r)
		return nil
	})
	if err != nil {
		h.t.Fatalf("replay: %v", err)
	}
	return all
}
