package projections

import (
	"fmt"
	"strings"

	"github.com/deedledger/deed/events"
)

// RuleDeadline is the rule of the finding by which the service says that a
// deadline has passed.
const RuleDeadline = "deadline-passed"

// MaxReminders is how often the service says so at most while a task stays in
// one state: at the deadline, and then once for each further term.
const MaxReminders = 5

// term returns since when the task waits, and how long it may, ns; 0, 0 where
// nothing but the end of a lease is waited for, which interrupts. That a
// reservation ends is no deadline either: it opens the task to others.
func (t *Task) term() (since, term int64) {
	switch {
	case t.State == None, t.State.Final():
		return 0, 0
	case t.Pause != nil:
		return t.Pause.Admitted, pauseTerm
	case t.Lease != nil:
		return 0, 0
	}
	for _, row := range waits() {
		if row.state == t.State {
			return t.Since, row.term
		}
	}
	return 0, 0
}

// Overdue returns how many whole terms a task has waited in its state, or in
// its pause, at an instant of the admission clock, ns; 0 before the deadline.
func (t *Task) Overdue(now int64) int64 {
	since, term := t.term()
	if term == 0 || now < since+term {
		return 0
	}
	return (now - since) / term
}

// Reminder returns the finding that the service has to record at an instant of
// the admission clock, ns: a deadline has passed, and nobody has said so yet in
// the term that runs. It is nil when there is nothing to say. What it says
// changes no state.
func (t *Task) Reminder(service string, now int64) *events.Finding {
	periods := t.Overdue(now)
	if periods == 0 || t.Blocked != nil {
		return nil
	}
	since, term := t.term()
	said := 0
	for i := range t.Findings {
		f := &t.Findings[i]
		if f.Actor != service || f.Data.Rule != RuleDeadline || f.Admitted <= since {
			continue
		}
		said++
		if said == MaxReminders || (f.Admitted-since)/term >= periods {
			return nil
		}
	}
	return &events.Finding{Severity: "check", Rule: RuleDeadline, Text: t.overdueText(now, periods*term/hour)}
}

// overdueText names what is waited for, and whose turn it is.
func (t *Task) overdueText(now, hours int64) string {
	w := t.Waiting()
	turn := roleNames(w.Roles)
	if n := len(w.Actors); n > 0 && n <= 8 && (t.Reserved == nil || now < t.Reserved.Until) {
		turn = strings.Join(w.Actors, ", ")
	}
	state := t.State.String()
	if t.Pause != nil {
		state += ", paused,"
	}
	return fmt.Sprintf("the deadline has passed: %s has waited for %s for %d h or more; it is the turn of %s; answerable is %s",
		state, w.For, hours, turn, or(w.Owner, "nobody yet"))
}
