package ledger

import (
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

// renew gives the lease with the fence a full term; false when it is not live
// or the heartbeat's number does not rise.
func (l *leases) renew(task string, fence uint64, number int64, now time.Time) bool {
	d, ok := l.deadlines[task]
	if !ok || d.fence != fence || number <= d.number || !now.Before(d.at) {
		return false
	}
	d.at, d.number = now.Add(d.term), number
	l.deadlines[task] = d
	return true
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
