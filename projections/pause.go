package projections

import "github.com/deedledger/deed/events"

// pauseTerm is how long a pause may last before somebody asks, in ns.
const pauseTerm = 72 * hour

// Pause says that a task is paused, and what came meanwhile that will move it
// when it goes on.
type Pause struct {
	Signed
	Reason string `json:"reason"`
	// Decisive says that a receipt on the current input, or the closing of a
	// finding, came while the task was paused; Failing is the id of the newest
	// such receipt that refuted the result.
	Decisive bool   `json:"decisive,omitempty"`
	Failing  string `json:"failing,omitempty"`
	// Lost says that evidence on the current input lost its force while a repair
	// was queued: perhaps it was all that asked for the repair.
	Lost bool `json:"lost,omitempty"`
}

// holdReceipt keeps what a receipt on the current input means until the task
// goes on. Approvals of what it refuted lose their force at once.
func (t *Task) holdReceipt(r events.Record) {
	t.Pause.Decisive = true
	if t.Verdict() == ItemFail {
		t.Pause.Failing = r.Event.ID
		t.voidApprovals("failing receipt")
	}
}

// unpause ends the pause and takes what came meanwhile: the sum of all
// receipts, not each in turn.
func (t *Task) unpause(r events.Record) {
	p := t.Pause
	t.Pause = nil
	if p != nil && p.Lost {
		t.dequeue(r)
	}
	if p == nil || !p.Decisive || t.Stale() || t.Result == nil {
		return
	}
	verdict := t.Verdict()
	if verdict == ItemPass {
		t.Failed = nil
	}
	switch {
	case t.State == Releasing && p.Failing != "":
		t.endRun(r)
		t.interrupt(r)
	case t.State != AwaitingVerification && t.State != AwaitingReview && t.State != Approved:
	case verdict == ItemFail:
		t.fail(r, p.Failing)
	case verdict == ItemPass:
		t.enter(r, t.gate(t.State))
	}
}
