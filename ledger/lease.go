package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/deedledger/deed/projections"
)

// jumpTolerance is how far wall clock and monotonic clock may differ between
// two looks before the clock counts as jumped.
const jumpTolerance = 5 * time.Second

// leases keeps the deadlines of live leases in memory. Heartbeats are not
// events; after a start, a failover or a clock jump every live lease gets a
// full term, since nobody can know how long its holder was cut off.
type leases struct {
	deadlines map[string]deadline // by task
	looked    time.Time
}

type deadline struct {
	fence  uint64
	number int64 // of the newest heartbeat
	term   time.Duration
	at     time.Time
}

// look notes the time of a look at the leases and renews all of them after a
// clock jump.
func (l *leases) look(now time.Time) {
	// Without a monotonic reading both differences are the same.
	if !l.looked.IsZero() && jumped(now.Round(0).Sub(l.looked.Round(0)), now.Sub(l.looked)) {
		l.renewAll(now)
	}
	l.looked = now
}

// jumped reports whether the wall clock went another way than the time that
// passed: it was set, or the machine slept.
func jumped(wall, passed time.Duration) bool {
	drift := wall - passed
	return drift > jumpTolerance || drift < -jumpTolerance
}

// renewAll gives every lease a full term.
func (l *leases) renewAll(now time.Time) {
	for task, d := range l.deadlines {
		d.at = now.Add(d.term)
		l.deadlines[task] = d
	}
}

// follow brings a task's deadline in line with its state: a new lease and any
// event of its holder give a full term, no lease means no deadline.
func (l *leases) follow(t *projections.Task, holder bool, now time.Time) {
	if t.Lease == nil {
		delete(l.deadlines, t.ID)
		return
	}
	d, ok := l.deadlines[t.ID]
	if ok && d.fence == t.Lease.Fence && !holder {
		return
	}
	term := time.Duration(t.Lease.TermSeconds) * time.Second
	number := int64(0)
	if ok && d.fence == t.Lease.Fence {
		number = d.number
	}
	l.deadlines[t.ID] = deadline{fence: t.Lease.Fence, number: number, term: term, at: now.Add(term)}
}

// renew gives the lease that a heartbeat names a full term. It is refused when
// that lease is not live. A number that does not rise is a conflict which
// names the newest one: the lease is live, but this heartbeat renews nothing.
func (l *leases) renew(h *Heartbeat, now time.Time) error {
	d, ok := l.deadlines[h.Task]
	if !ok || d.fence != uint64(h.Fence) || !now.Before(d.at) {
		return refuse(CodeFence, "heartbeat", "the lease with fence %d of task %s is over", h.Fence, h.Task)
	}
	if h.Number <= d.number {
		return &Refusal{
			Class: Conflict, Code: CodeHead, Rule: "heartbeat", Sequence: uint64(d.number),
			Text: fmt.Sprintf("number %d is not after %d, the newest one", h.Number, d.number),
		}
	}
	d.at, d.number = now.Add(d.term), h.Number
	l.deadlines[h.Task] = d
	return nil
}

// expired reports whether the task has a lease whose term has passed.
func (l *leases) expired(task string, now time.Time) bool {
	d, ok := l.deadlines[task]
	return ok && !now.Before(d.at)
}

// all returns the tasks whose leases have expired, sorted.
func (l *leases) all(now time.Time) []string {
	var tasks []string
	for task := range l.deadlines {
		if l.expired(task, now) {
			tasks = append(tasks, task)
		}
	}
	slices.Sort(tasks)
	return tasks
}
