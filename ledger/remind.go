package ledger

import (
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// This file is what the service says of its own accord about deadlines. What
// is due is read from the folded state and the admission stamp alone, so that
// a restart, another instance and a replay come to the same answer.

const (
	// remindEvery is how often tasks are looked at; deadlines are hours away.
	remindEvery int64 = 60_000_000_000 // ns
	// maxReminded bounds what one sweep writes, so that submissions do not wait
	// for a ledger full of forgotten tasks.
	maxReminded = 64
)

// remind records which deadlines have passed, and reports whether any has. In
// a frozen ledger nobody may give what is waited for, so nothing is said before
// it goes on; nor about what is in quarantine, which takes nothing.
func (w *Writer) remind() bool {
	now, g := w.stamp(), &w.book.State.Registry
	if d := now - w.reminded; g.Frozen != nil || d >= 0 && d < remindEvery {
		return false
	}
	written := 0
	var failed error
	for _, id := range w.book.State.TaskIDs() {
		t := w.book.State.Tasks[id]
		due := t.Reminder(g.Genesis.Service.Actor, now)
		if due == nil || g.Quarantined(id) != nil {
			continue
		}
		if written == maxReminded {
			return true // the next sweep goes on
		}
		if err := w.speak(t, due); err == nil {
			written++
		} else if failed = fmt.Errorf("remind of %s: %w", id, err); w.broken != nil || w.deposed() {
			break // what one task refuses does not silence the others
		}
	}
	if failed != nil {
		w.cfg.Log.Error("record passed deadlines", "err", failed)
	}
	w.reminded = now
	return written > 0
}

// checkReminder lets the service find nothing but a deadline that has passed,
// once in each term. The wording is free: a later version may say it better.
func checkReminder(s *scene, d *events.Finding) *Refusal {
	service := s.ledger.Registry.Genesis.Service.Actor
	switch {
	case s.Event.AuthID != service:
		return nil
	case d.Rule != projections.RuleDeadline || d.Severity != "check" || d.Path != "":
		return refuse(CodeRule, s.row.Name()+"/service", "the service finds nothing but passed deadlines, to be checked")
	case s.task.Reminder(service, s.Admitted) == nil:
		return refuse(CodeState, s.row.Name()+"/deadline", "no deadline has passed that the service has not named yet")
	}
	return nil
}
