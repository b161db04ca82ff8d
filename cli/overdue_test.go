package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/deedledger/deed/projections/projectionstest"
	"github.com/deedledger/deed/server/protocol"
)

// TestStuckSieve lets through who is silent or past a deadline.
func TestStuckSieve(t *testing.T) {
	const clock = int64(100 * time.Hour)
	for _, c := range []struct {
		name string
		task protocol.Summary
		want bool
	}{
		{"waiting in time", protocol.Summary{}, false},
		{"lease at work", protocol.Summary{Heard: clock - int64(time.Minute)}, false},
		{"silent lease", protocol.Summary{Heard: clock - int64(time.Hour)}, true},
		{"overdue", protocol.Summary{Overdue: 1}, true},
	} {
		if got := (taskSieve{silence: time.Hour}).lets(c.task, clock); got != c.want {
			t.Errorf("%s: listed %t, want %t", c.name, got, c.want)
		}
		if !(taskSieve{}).lets(c.task, clock) {
			t.Errorf("%s: not listed without --stuck", c.name)
		}
	}
}

// TestWhyOverdue says next to the deadline that it has passed.
func TestWhyOverdue(t *testing.T) {
	story := projectionstest.New("acme")
	story.Genesis()
	k := story.Task("TASK-1")
	k.Propose()
	state := protocol.TaskState{Task: k.State(), Waiting: k.State().Waiting()}
	deadline := state.Waiting.Deadline
	for now, want := range map[int64]string{
		deadline - 1:                     "Z\n",
		deadline:                         "Z, overdue\n",
		deadline + int64(2*72*time.Hour): "Z, overdue: 3 terms have passed\n",
	} {
		var out bytes.Buffer
		(&textWriter{out: &out}).why(state, whyOptions{now: now})
		_, line, _ := strings.Cut(out.String(), "; until ")
		if !strings.Contains(line, want) || strings.Contains(want, "overdue") != strings.Contains(line, "overdue") {
			t.Errorf("at %d: %q, want %q", now-deadline, line, want)
		}
	}
}
