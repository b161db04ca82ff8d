package ledger

import (
	"slices"
	"testing"
	"time"

	"github.com/deedledger/deed/projections"
)

// leased returns deadlines with one lease of a minute for each task.
func leased(now time.Time, tasks ...string) *leases {
	l := &leases{deadlines: map[string]deadline{}}
	l.look(now)
	for _, id := range tasks {
		l.follow(&projections.Task{ID: id, Lease: &projections.Lease{Fence: 1, TermSeconds: 60}}, true, now)
	}
	return l
}

func TestJump(t *testing.T) {
	for _, c := range []struct {
		wall, passed time.Duration
		want         bool
	}{
		{time.Second, time.Second, false},
		{time.Hour, time.Hour, false}, // an idle hour is no jump
		{6 * time.Second, time.Second, false},
		{7 * time.Second, time.Second, true},
		{-4 * time.Second, time.Second, false},
		{-5 * time.Second, time.Second, true},
		{300 * time.Second, time.Second, true},  // the machine slept
		{-300 * time.Second, time.Second, true}, // the clock was set back
	} {
		if got := jumped(c.wall, c.passed); got != c.want {
			t.Errorf("wall %s, passed %s: jumped %t", c.wall, c.passed, got)
		}
	}
}

// TestJumpGivesFullTerm renews every lease after a jump, however old it was.
func TestJumpGivesFullTerm(t *testing.T) {
	start := time.Now()
	l := leased(start, "T-1", "T-2")
	late := start.Add(59 * time.Second)
	l.renewAll(late)
	if expired := l.all(late.Add(59 * time.Second)); len(expired) != 0 {
		t.Errorf("expired before a full term: %v", expired)
	}
	if expired := l.all(late.Add(60 * time.Second)); !slices.Equal(expired, []string{"T-1", "T-2"}) {
		t.Errorf("expired after a full term: %v", expired)
	}
}

// TestLookKeepsDeadlines renews nothing while the clock runs evenly, with and
// without a monotonic reading.
func TestLookKeepsDeadlines(t *testing.T) {
	for name, start := range map[string]time.Time{"monotonic": time.Now(), "wall": time.Now().Round(0)} {
		l := leased(start, "T-1")
		for s := range 60 {
			l.look(start.Add(time.Duration(s) * time.Second))
		}
		if !l.expired("T-1", start.Add(time.Minute)) || l.expired("T-1", start.Add(time.Minute-1)) {
			t.Errorf("%s: the deadline moved to %v", name, l.deadlines["T-1"].at)
		}
	}
}

// TestRenew takes rising numbers under the live fence before the deadline, and
// nothing else.
func TestRenew(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name   string
		task   string
		fence  uint64
		number int64
		after  time.Duration
		want   Code
	}{
		{"good", "T-1", 1, 6, time.Second, ""},
		{"last instant", "T-1", 1, 6, time.Minute - 1, ""},
		{"too late", "T-1", 1, 6, time.Minute, CodeFence},
		{"same number", "T-1", 1, 5, time.Second, CodeHead},
		{"old number", "T-1", 1, 4, time.Second, CodeHead},
		{"same number too late", "T-1", 1, 5, time.Minute, CodeFence},
		{"old fence", "T-1", 0, 6, time.Second, CodeFence},
		{"next fence", "T-1", 2, 6, time.Second, CodeFence},
		{"other task", "T-2", 1, 6, time.Second, CodeFence},
	} {
		l := leased(now, "T-1")
		if code := renewed(l, "T-1", 1, 5, now); code != "" {
			t.Fatalf("the first heartbeat was refused: %s", code)
		}
		if got := renewed(l, c.task, c.fence, c.number, now.Add(c.after)); got != c.want {
			t.Errorf("%s: answered %q, want %q", c.name, got, c.want)
		}
	}
}

// renewed sends a heartbeat and returns the code of its refusal.
func renewed(l *leases, task string, fence uint64, number int64, now time.Time) Code {
	err := l.renew(&Heartbeat{Task: task, Fence: int64(fence), Number: number}, now)
	if err == nil {
		return ""
	}
	return AsRefusal(err).Code
}

// TestFollow gives a term to a new lease and to a holder's events only.
func TestFollow(t *testing.T) {
	now := time.Now()
	l := leased(now, "T-1")
	task := &projections.Task{ID: "T-1", Lease: &projections.Lease{Fence: 1, TermSeconds: 60}}
	if code := renewed(l, "T-1", 1, 7, now); code != "" {
		t.Fatalf("the first heartbeat was refused: %s", code)
	}
	l.follow(task, false, now.Add(30*time.Second))
	if !l.expired("T-1", now.Add(time.Minute)) {
		t.Error("somebody else's event renewed the lease")
	}
	l.follow(task, true, now.Add(30*time.Second))
	if l.expired("T-1", now.Add(time.Minute)) || !l.expired("T-1", now.Add(90*time.Second)) {
		t.Error("the holder's event did not give a full term")
	}
	if renewed(l, "T-1", 1, 7, now.Add(40*time.Second)) == "" {
		t.Error("the holder's event let an old heartbeat in again")
	}
	task.Lease = &projections.Lease{Fence: 2, TermSeconds: 10}
	l.follow(task, false, now)
	if !l.expired("T-1", now.Add(10*time.Second)) || renewed(l, "T-1", 2, 1, now) != "" {
		t.Error("the next lease does not start anew")
	}
	task.Lease = nil
	l.follow(task, true, now)
	if l.expired("T-1", now.Add(time.Hour)) || len(l.deadlines) != 0 {
		t.Error("a deadline outlived its lease")
	}
}
