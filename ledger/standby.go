package ledger

import (
	"context"
	"errors"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
)

// RuleStandby names the answer of a shared writer that does not lead: nothing
// was written, and whoever leads may be asked.
const RuleStandby = "standby"

func standby() *Refusal {
	return &Refusal{Class: Unavailable, Code: CodeBusy, Rule: RuleStandby, Text: "this service does not write now; nothing was written"}
}

// call is work for the writer goroutine.
type call struct {
	do   func() error
	done chan error // buffered, one answer
}

// call has the writer goroutine do something between two groups.
func (w *Writer) call(ctx context.Context, do func() error) error {
	c := call{do: do, done: make(chan error, 1)}
	select {
	case w.calls <- c:
	case <-w.done:
		return closed()
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-c.done:
		return err
	case <-w.done:
		return closed()
	}
}

// Lead makes a shared writer order events: it folds the journal to its end
// first and gives every live lease a full term, for nobody here knows what
// heartbeats came elsewhere. An error leaves it a standby; a corrupt
// [*Refusal] means that it can never lead.
func (w *Writer) Lead(ctx context.Context) error {
	return w.call(ctx, func() error {
		w.stand()
		if err := w.advance(ctx); err != nil {
			return err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.leases.renewAll(w.cfg.Now())
		w.leading = true
		return nil
	})
}

// Stand makes a shared writer a standby after the group that it works on. What
// is queued is answered that nothing was written.
func (w *Writer) Stand(ctx context.Context) error {
	return w.call(ctx, func() error { w.stand(); return nil })
}

func (w *Writer) stand() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leading = false
}

// Leading reports whether this writer orders events.
func (w *Writer) Leading() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.leading
}

// Follow folds what another writer orders, until ctx ends, whose error it
// returns. A corrupt [*Refusal] means that the history is damaged; the writer
// is broken then. Other errors are the journal's.
func (w *Writer) Follow(ctx context.Context) error {
	var next events.Position
	w.View(func(b *Book) { next = b.Next() })
	return w.cfg.Journal.Follow(ctx, next, func(stored journal.Record) error {
		return w.call(ctx, func() error { return w.take(stored) })
	})
}

// take folds one record, unless the book has it.
func (w *Writer) take(stored journal.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if stored.Position < w.book.Next() {
		return nil
	}
	r, err := w.book.Take(stored)
	if err != nil {
		w.broken = damage("history", "%v", err)
		return w.broken
	}
	w.applied(r, w.cfg.Now())
	return nil
}

// advance folds the journal to its end. It mends nothing that is corrupt.
func (w *Writer) advance(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil && AsRefusal(w.broken).Class == Corrupt {
		return w.broken
	}
	err := w.catchUp(ctx)
	w.overtaken()
	if r, ok := errors.AsType[*Refusal](err); ok && r.Class == Corrupt {
		w.broken = r
	} else if err == nil {
		w.broken = nil
	}
	return err
}

// overtaken makes a leader that met the event of another writer a standby: its
// lease is over, whatever it was told. The caller holds mu.
func (w *Writer) overtaken() {
	if w.foreign && w.cfg.Shared {
		w.leading = false
	}
	w.foreign = false
}

// deposed reports whether the writer must not append, and makes it a standby
// when its lease is over.
func (w *Writer) deposed() bool {
	if !w.cfg.Shared {
		return false
	}
	if w.leading && w.cfg.May != nil && !w.cfg.May() {
		w.stand()
	}
	return !w.leading
}
