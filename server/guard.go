package server

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
)

// errLeaseOver is why a writer whose lease is over appends nothing more.
var errLeaseOver = errors.New("the writer's lease is over")

// guard stands before a stream: it asks for the writer's lease before every
// try of an append, and lets none through while the stream is not what a
// ledger needs.
type guard struct {
	journal.Journal
	may func() bool

	mu    sync.Mutex // guards drift
	drift error
}

// Append appends, or returns journal.ErrRefused: nothing was written.
func (g *guard) Append(ctx context.Context, m journal.Message, e journal.Expect) (events.Position, error) {
	if drift := g.drifted(); drift != nil {
		return 0, fmt.Errorf("append %.80q: %w: %w", m.ID, journal.ErrRefused, drift)
	}
	if !g.may() {
		return 0, fmt.Errorf("append %.80q: %w: %w", m.ID, journal.ErrRefused, errLeaseOver)
	}
	return g.Journal.Append(ctx, m, e)
}

// drifted returns how the stream differs from what a ledger needs, nil for not.
func (g *guard) drifted() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.drift
}

// Drift returns why nothing is appended to the stream although it is there: its
// settings are not those that a ledger needs. It is nil for a stream in the
// folder itself, which nobody else can change.
func (l *Local) Drift() error {
	if l.guard == nil {
		return nil
	}
	return l.guard.drifted()
}

// check looks whether the stream still is what a ledger needs. A server that
// cannot be asked says nothing about it.
func (g *guard) check(ctx context.Context, j *jetstream.Journal) error {
	err := j.CheckSettings(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrDrift) && !errors.Is(err, journal.ErrCorrupt) {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drift = err
	return err
}
