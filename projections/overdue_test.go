package projections_test

import (
	"strings"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

const hours = 3_600_000_000_000 // ns

// TestOverdue walks one task through states with and without a deadline: not
// overdue a nanosecond before it, and once more for each whole term.
func TestOverdue(t *testing.T) {
	story := projectionstest.New("acme")
	story.Genesis()
	k := story.Task("TASK-1")
	if n := k.State().Overdue(1 << 62); n != 0 {
		t.Errorf("a task without events is overdue: %d", n)
	}
	for _, step := range []struct {
		do    func()
		state projections.State
		term  int64 // hours, 0 = never
		turn  string
	}{
		{func() { k.Propose() }, projections.Proposed, 72, "contract.accepted for 72 h or more; it is the turn of owner"},
		{func() { k.Accept() }, projections.Contracted, 24, "attempt.opened for 24 h or more; it is the turn of controller"},
		{func() { k.Open() }, projections.Snapshotted, 24, "it is the turn of implementer"},
		{func() { k.Claim("impl-a", events.PurposeWork) }, projections.Executing, 0, ""},
		{func() { k.DoFenced("impl-a", 1, &events.Release{Reason: "shift", To: "impl-b"}) }, projections.Snapshotted, 24, "it is the turn of implementer"},
		{func() { k.Claim("impl-b", events.PurposeWork) }, projections.Executing, 0, ""},
		{func() { k.Do("ann", &events.Pause{Reason: "wait"}) }, projections.Executing, 72, "task.unpaused"},
		{func() { k.Do("ann", &events.Unpause{Reason: "go on"}) }, projections.Executing, 0, ""},
		{func() { k.Interrupt() }, projections.Interrupted, 1, "it is the turn of controller"},
		{func() { k.Do("carl", &events.Escalation{Reason: "r", NextStep: "n"}) }, projections.Escalated, 24, "escalation.resolved"},
		{func() { k.Do("ann", &events.Cancellation{Reason: "r"}) }, projections.Cancelled, 0, ""},
	} {
		step.do()
		s := k.State()
		if s.State != step.state {
			t.Fatalf("the task is %s, want %s", s.State, step.state)
		}
		if step.term == 0 {
			if f := s.Reminder("service", 1<<62); s.Overdue(1<<62) != 0 || f != nil {
				t.Errorf("%s is overdue: %+v", s.State, f)
			}
			continue
		}
		from := s.Since
		if s.Pause != nil {
			from = s.Pause.Admitted
		}
		deadline := from + step.term*hours
		for now, want := range map[int64]int64{from: 0, deadline - 1: 0, deadline: 1, deadline + step.term*hours - 1: 1, deadline + step.term*hours: 2} {
			if got := s.Overdue(now); got != want {
				t.Errorf("%s after %d ns: overdue %d, want %d", s.State, now-from, got, want)
			}
			if f := s.Reminder("service", now); (f != nil) != (want > 0) {
				t.Errorf("%s after %d ns: %+v", s.State, now-from, f)
			}
		}
		if f := s.Reminder("service", deadline); f.Validate() != nil || !strings.Contains(f.Text, step.turn) {
			t.Errorf("%s: %q, want %q in it", s.State, f.Text, step.turn)
		}
	}
}
