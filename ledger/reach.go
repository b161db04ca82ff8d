package ledger

import (
	"context"

	"github.com/deedledger/deed/events"
)

// RuleReach names refusals of a read that was to wait for a position which has
// not come.
const RuleReach = "at-least"

// Reach returns once the writer's state reflects a position. When ctx ends or
// the writer stops first it returns an unavailable [*Refusal] that names the
// position that was reached.
func (w *Writer) Reach(ctx context.Context, at events.Position) error {
	for {
		now, moved := w.position(at)
		if moved == nil {
			return nil
		}
		select {
		case <-moved:
			continue
		case <-w.done:
		case <-ctx.Done():
		}
		r := refuse(CodeBusy, RuleReach, "position %d is not reached: this is position %d", at, now)
		r.Class = Unavailable
		return r
	}
}

// position returns where the book is and, where that is before at, what is
// closed when it moves on.
func (w *Writer) position(at events.Position) (now events.Position, moved <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now = w.book.State.Position
	if now >= at {
		return now, nil
	}
	if w.moved == nil {
		w.moved = make(chan struct{})
	}
	return now, w.moved
}

// Clock returns the admission stamp that an event ordered now would get, unix
// ns: the clock of every rule that needs time.
func (w *Writer) Clock() int64 {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.stamp()
}
