package projections

import "github.com/deedledger/deed/events"

// hear keeps when the holder of the lease last said something. It is no part
// of the state's bytes: whoever folds the history knows it, and a state that
// was read from its JSON form does not.
func (t *Task) hear(r events.Record) {
	switch l := t.Lease; {
	case l == nil:
		t.heard = 0
	case r.Event.AuthID == l.Actor && r.Event.Fence == l.Fence:
		t.heard = r.Admitted
	}
}

// Heard returns the admission stamp, ns, of the newest event that the holder
// of the live lease signed under it, the claim included; 0 without a lease.
// Heartbeats are no events.
func (t *Task) Heard() int64 {
	if t.Lease == nil {
		return 0
	}
	return max(t.heard, t.Lease.Admitted)
}

// Stuck reports whether the task has a live lease whose holder has recorded
// nothing for a duration, ns, at an instant of the admission clock. It is
// something to look at: nothing is ever taken away because of it.
func (t *Task) Stuck(now, silence int64) bool {
	return t.Lease != nil && now-t.Heard() >= silence
}
