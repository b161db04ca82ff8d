package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/journal"
)

// maxGroup bounds how many submissions share one head.
const maxGroup = 128

// group orders and appends what is queued, then signs one head for all of it
// and answers. The head is retained before the first answer leaves.
func (w *Writer) group(first *pending) {
	group := []*pending{first}
	for len(group) < maxGroup {
		select {
		case p := <-w.queue:
			group = append(group, p)
			continue
		default:
		}
		break
	}
	answers := make([]answer, len(group))
	for i, p := range group {
		answers[i] = w.one(p)
	}
	head, err := w.seal()
	for i, p := range group {
		a := answers[i]
		if a.err == nil && err != nil {
			a = answer{err: unknown("no head covers it: " + err.Error())}
		}
		if a.err == nil {
			a.ack.Head = string(head)
			a.ack.Consistency = w.consistency(p.known)
		}
		p.reply <- a
	}
}

// one orders one submission.
func (w *Writer) one(p *pending) answer {
	if p.ctx.Err() != nil {
		return answer{err: &Refusal{Class: Unavailable, Code: CodeBusy, Rule: "service", Text: "given up before its turn; nothing was written"}}
	}
	if w.deposed() {
		return answer{err: standby()}
	}
	if p.renew != nil {
		err := w.heartbeat(p.renew)
		w.noteStale(p, err)
		return answer{err: err}
	}
	if task := p.admit.Event.Source.Task; w.expiredNow(task) {
		if err := w.interrupt(task); err != nil {
			return answer{err: notInterrupted(err)}
		}
	}
	if w.over() {
		if _, err := w.tidy(); err != nil {
			return answer{err: notTidied(err)}
		}
	}
	ack, err := w.order(p.admit)
	if err == nil && unseats(p.admit.Event.Type) {
		w.tidied()
	}
	w.noteStale(p, err)
	return answer{ack: ack, err: err}
}

// stamp returns the admission stamp of an event that is ordered now.
func (w *Writer) stamp() int64 { return max(w.cfg.Now().UnixNano(), w.book.State.Admitted) }

// order checks an event at the next position and appends it.
func (w *Writer) order(a Admitted) (Ack, error) {
	if w.broken != nil {
		return Ack{}, w.broken
	}
	admitted := w.stamp()
	ack := Ack{EventID: a.Event.ID, Hash: a.Event.Hash().String(), Rule: w.ruleName(a)}
	err := w.book.Check(a, admitted)
	if found, ok := errors.AsType[*Existing](err); ok {
		ack.Existing, ack.EventID, ack.Position = true, found.EventID, found.Position
		return ack, nil
	}
	if err != nil {
		return Ack{}, w.trespassed(a, err)
	}
	at, err := w.append(a.Event, admitted)
	if err != nil {
		return Ack{}, err
	}
	ack.Position, ack.Admitted = at, admitted
	return ack, nil
}

// append writes one event and folds it. When nobody can say whether it was
// written, nothing more is ordered until the journal was read again.
func (w *Writer) append(e events.Event, admitted int64) (events.Position, error) {
	if w.deposed() {
		return 0, standby()
	}
	expect := w.book.Expect(e.Source.Subject())
	at, err := journal.AppendSettled(context.Background(), w.cfg.Journal, evidence.NewMessage(e, admitted), expect)
	switch {
	case err == nil:
	case errors.Is(err, journal.ErrCorrupt):
		return 0, w.halt(damage("journal", "%v", err))
	case errors.Is(err, journal.ErrRefused) && w.deposed():
		return 0, standby()
	case errors.Is(err, journal.ErrRefused):
		return 0, refuse(CodeLimit, "journal", "%v", err)
	default:
		w.cfg.Log.Warn("append not settled", "event_id", e.ID, "err", err)
		w.unsettled = e.Hash()
		return w.settle(e, expect)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r := events.Record{Position: at, Admitted: admitted, Event: e}
	if err := w.book.Apply(r); err != nil {
		w.broken = damage("fold", "%v", err)
		return 0, w.broken
	}
	w.applied(r, w.cfg.Now())
	return at, nil
}

// settle answers for an event whose append was not settled: whose turn it was
// is read from the journal.
func (w *Writer) settle(e events.Event, expect journal.Expect) (events.Position, error) {
	if err := w.reread(); err != nil {
		if r := AsRefusal(err); r.Class == Corrupt {
			return 0, r
		}
		return 0, unknown("the journal cannot be read")
	}
	if at, hash, ok := w.book.Find(e.ID); ok && hash == e.Hash() {
		return at, nil
	}
	if w.book.State.Position == expect.Last {
		// Its place is still free: the request may be on its way, so that a
		// refusal could turn out wrong.
		return 0, unknown("the journal did not answer")
	}
	sequence, head := w.book.SourceHead(e.Source)
	return 0, &Refusal{Class: Conflict, Code: CodeHead, Rule: "journal", Text: "another message took the position: read again and decide again", Sequence: sequence, Head: head.String()}
}

// reread catches up with the journal. While that fails nothing is ordered.
func (w *Writer) reread() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = nil
	err := w.catchUp(context.Background())
	w.overtaken()
	if err != nil {
		if r, ok := errors.AsType[*Refusal](err); ok && r.Class == Corrupt {
			w.broken = r
		} else {
			w.broken = &Refusal{Class: Unavailable, Code: CodeBusy, Rule: "service", Text: "the journal cannot be read; nothing was written"}
		}
	}
	return w.broken
}

// halt makes the writer refuse everything from now on.
func (w *Writer) halt(why *Refusal) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = why
	w.cfg.Log.Error("ledger stopped", "err", why)
	return why
}

// seal signs the current head and retains it.
func (w *Writer) seal() ([]byte, error) {
	head, err := w.book.Head()
	if err != nil {
		return nil, fmt.Errorf("sign head: %w", err)
	}
	text, err := evidence.SignHead(head, w.cfg.Service)
	if err != nil {
		return nil, fmt.Errorf("sign head: %w", err)
	}
	if w.cfg.Retain != nil {
		if err := w.cfg.Retain(head, text); err != nil {
			// Whatever is ordered from here on would have no kept head.
			return nil, w.halt(damage("retained-head", "heads can no longer be kept, restart when the disk is well: %v", err))
		}
	}
	return text, nil
}

// expiredNow reports whether the task's lease has run out.
func (w *Writer) expiredNow(task string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.cfg.Now()
	w.leases.look(now)
	return task != "" && w.leases.expired(task, now) && w.book.State.Registry.Quarantined(task) == nil
}

// expired returns the tasks whose leases have run out.
func (w *Writer) expired() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.cfg.Now()
	w.leases.look(now)
	// In quarantine nothing can be recorded; it is once that is lifted.
	return slices.DeleteFunc(w.leases.all(now), func(task string) bool { return w.book.State.Registry.Quarantined(task) != nil })
}

// sweep interrupts every task whose lease has run out, says what is over and
// overdue, and tries to come back from an unknown append.
func (w *Writer) sweep() {
	if w.broken != nil && AsRefusal(w.broken).Class == Unavailable {
		_ = w.reread()
	}
	if w.broken != nil || w.deposed() {
		return
	}
	expired := w.expired()
	for _, task := range expired {
		if err := w.interrupt(task); err != nil {
			w.cfg.Log.Error("interrupt", "task", task, "err", err)
		}
	}
	tidied := w.tidied()
	if w.remind() || tidied || len(expired) > 0 {
		if _, err := w.seal(); err != nil {
			w.cfg.Log.Error("sign head", "err", err)
		}
	}
}

// interrupt records that a task's lease ran out.
func (w *Writer) interrupt(task string) error {
	t := w.book.State.Task(task)
	if t.Lease == nil {
		return nil
	}
	return w.speak(t, &events.Interruption{Cause: "lease-expired", Fence: int64(t.Lease.Fence)})
}

// notInterrupted is the answer to whoever submits to a task whose lease ran
// out while that cannot be recorded: nothing passes the end of a lease.
func notInterrupted(err error) *Refusal {
	if r := AsRefusal(err); r.Class == Corrupt {
		return r
	}
	return &Refusal{Class: Unavailable, Code: CodeBusy, Rule: "lease", Text: fmt.Sprintf("the task's lease ran out, and that could not be recorded (%v); nothing was written", err)}
}
