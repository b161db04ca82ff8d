package ledger

import (
	"fmt"
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/projections"
)

// This file is what the service says of its own accord about actors: that the
// time of one is over, and that whoever may no longer act holds no lease. Both
// are read from the folded state, so that a start after a crash says what is
// missing, once.

// unseats reports whether an event may leave a lease without a holder.
func unseats(kind events.Type) bool {
	return kind == events.ActorRevoked || kind == events.KeyCompromised
}

// nextExpiry returns when the next actor's time is over, ns; 0 = never.
func nextExpiry(g *projections.Registry) int64 {
	var next int64
	for _, a := range g.Actors {
		if a.Revoked != 0 || a.ValidUntil == "" {
			continue
		}
		if at, err := events.ParseTime(a.ValidUntil); err == nil && (next == 0 || at.UnixNano() < next) {
			next = at.UnixNano()
		}
	}
	return next
}

// over reports whether some actor's time is over and nobody has said so.
func (w *Writer) over() bool { return w.expiry != 0 && w.stamp() >= w.expiry }

// tidy revokes the actors whose time is over and interrupts the leases that
// nobody holds by right. It returns how many events it wrote.
func (w *Writer) tidy() (written int, err error) {
	for w.over() {
		if err := w.expire(); err != nil {
			return written, err
		}
		written++
	}
	for _, task := range w.orphans() {
		t := w.book.State.Task(task)
		why := orphaned(&w.book.State.Registry, t)
		err := w.speak(t, &events.Interruption{Cause: "holder-revoked", Fence: int64(t.Lease.Fence), Text: why})
		if err != nil {
			return written, fmt.Errorf("interrupt %s: %w", task, err)
		}
		written++
	}
	return written, nil
}

// tidied is tidy where nobody waits for the answer: what could not be written
// is written at the next sweep. It reports whether anything was.
func (w *Writer) tidied() bool {
	written, err := w.tidy()
	if err != nil {
		w.cfg.Log.Error("end a right", "err", err)
	}
	return written > 0
}

// sweepOrphans does at start what a crash left undone.
func (w *Writer) sweepOrphans() {
	if w.broken != nil || w.deposed() || !w.tidied() {
		return
	}
	if _, err := w.seal(); err != nil {
		w.cfg.Log.Error("sign head", "err", err)
	}
}

// expire revokes the first actor whose time is over.
func (w *Writer) expire() error {
	now := w.stamp()
	for _, a := range w.book.State.Registry.Actors {
		if a.Revoked == 0 && expired(a.ValidUntil, now) {
			if err := w.speak(nil, &events.Revocation{Actor: a.Name, Reason: events.ReasonExpiry}); err != nil {
				return fmt.Errorf("end %s: %w", a.Name, err)
			}
			return nil
		}
	}
	return nil
}

// orphans returns the tasks whose lease nobody holds by right, sorted. What is
// blocked or in quarantine takes no event.
func (w *Writer) orphans() []string {
	g := &w.book.State.Registry
	var found []string
	for task := range w.leases.deadlines {
		t := w.book.State.Task(task)
		if t.Lease != nil && t.Blocked == nil && g.Quarantined(task) == nil && orphaned(g, t) != "" {
			found = append(found, task)
		}
	}
	slices.Sort(found)
	return found
}

// speak orders an event of the service: about a task, or with nil in the
// registry.
func (w *Writer) speak(t *projections.Task, p events.Payload) error {
	a, err := w.serviceEvent(t, p)
	if err == nil {
		_, err = w.order(a)
	}
	return err
}

// serviceEvent builds an event by the service itself.
func (w *Writer) serviceEvent(t *projections.Task, p events.Payload) (Admitted, error) {
	data, err := events.EncodeData(p)
	if err != nil {
		return Admitted{}, err
	}
	source, subject := events.Source{Ledger: w.cfg.Ledger}, ""
	if t != nil {
		source.Task = t.ID
		if a := t.Attempt(); a != nil {
			subject = a.ID
		}
	}
	sequence, head := w.book.SourceHead(source)
	e, err := evidence.Seal(events.Event{
		ID: w.cfg.NewID(), Source: source, Type: p.Type(), Subject: subject, Time: events.FormatTime(w.cfg.Now()),
		Sequence: sequence + 1, PrevHash: head, AuthType: events.KindService.AuthType(),
		AuthID: w.book.State.Registry.Genesis.Service.Actor, Data: data,
	}, w.cfg.Service)
	if err != nil {
		return Admitted{}, err
	}
	return admit(e, w.book.Keys, w.book.Next())
}

// unseated keeps the deadlines of leases, and the next expiry, in line with a
// registry that has changed: a compromise may have ended runs.
func (w *Writer) unseated() {
	w.expiry = nextExpiry(&w.book.State.Registry)
	for task := range w.leases.deadlines {
		if t := w.book.State.Task(task); t.Lease == nil {
			delete(w.leases.deadlines, task)
		}
	}
}

// notTidied is the answer to whoever submits while the end of somebody's right
// cannot be recorded.
func notTidied(err error) *Refusal {
	if r := AsRefusal(err); r.Class == Corrupt {
		return r
	}
	return &Refusal{Class: Unavailable, Code: CodeBusy, Rule: "expiry", Text: fmt.Sprintf("the end of somebody's right could not be recorded (%v); nothing was written", err)}
}
