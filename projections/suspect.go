package projections

import (
	"slices"

	"github.com/deedledger/deed/events"
)

// Suspect is an event of a task that a compromised key signed while somebody
// else may have had it.
type Suspect struct {
	Position events.Position `json:"position"`
	Event    string          `json:"event"` // short type
	Key      string          `json:"key"`   // key id
	// By is the position of the key.compromised that says so.
	By events.Position `json:"by"`
	// Settled says that a person has decided since then how the task goes on.
	Settled bool `json:"settled,omitempty"`
}

// voidSuspect says why a receipt or an approval by a compromised key counts as
// absent.
const voidSuspect = "signed by a compromised key"

// authored is an event as the index by key keeps it.
type authored struct {
	position events.Position
	kind     events.Type
	task     *Task
}

// weighty reports whether a task's state rests on who signed an event of this
// type. What an author only tells, such as a finding or a step, is listed by
// its key and moves nothing.
func weighty(kind events.Type) bool {
	switch kind {
	case events.ContractAccepted, events.AttemptOpened, events.LeaseClaimed, events.ResultRecorded,
		events.ReceiptRecorded, events.RepairAccepted, events.ApprovalRecorded, events.DeliveryRecorded,
		events.RecoveryDecided, events.EscalationResolved, events.FindingAcknowledged,
		events.EffectApproved, events.EffectDispatched, events.EffectConfirmed, events.EffectFailed, events.EffectCompensated:
		return true
	}
	return false
}

// suspect folds key.compromised into every task: what the key signed at since
// or later counts as absent from here on, and nothing is folded again.
func (l *Ledger) suspect(r events.Record, d *events.KeyCompromise) {
	var touched []*Task
	found := map[*Task][]Suspect{}
	for _, a := range l.signed[d.Key] {
		if a.position < d.Since || a.task.suspected(a.position) {
			continue
		}
		if found[a.task] == nil {
			touched = append(touched, a.task)
		}
		found[a.task] = append(found[a.task], Suspect{Position: a.position, Event: a.kind.Short(), Key: d.Key, By: r.Position})
	}
	for _, t := range touched { // in order of history
		t.doubt(r, d, found[t])
	}
}

// suspected reports whether the event at a position is marked already.
func (t *Task) suspected(at events.Position) bool {
	return slices.ContainsFunc(t.Suspects, func(s Suspect) bool { return s.Position == at })
}

// doubt marks what a compromised key signed and leads the task to where the
// proof that is left still reaches.
func (t *Task) doubt(r events.Record, d *events.KeyCompromise, marks []Suspect) {
	t.Suspects = append(t.Suspects, marks...)
	slices.SortFunc(t.Suspects, func(a, b Suspect) int { return int(int64(a.Position) - int64(b.Position)) })
	proof := false
	for _, m := range marks {
		proof = t.disregard(m, d.Actor) || proof
	}
	if proof {
		t.voidApprovals("its evidence was " + voidSuspect)
	}
	switch {
	case t.Blocked != nil || t.State.Final() || t.Cancelling:
	case t.Lease != nil && t.Lease.Key == d.Key: // the service interrupts it
	case t.Doubtful():
		t.escalate(r, "this task builds on what a compromised key signed",
			"see what it signed: deed key affected KEYID; then resolve with reverify, repair, new-attempt, resume or cancel")
	default:
		t.fallBack(r)
	}
}

// disregard takes a marked receipt's or approval's force away and reports
// whether it was a receipt on the current input.
func (t *Task) disregard(m Suspect, actor string) (proof bool) {
	for i := range t.Receipts {
		if v := &t.Receipts[i]; v.Position == m.Position {
			proof = t.Current(v)
			v.Void = voidSuspect
		}
	}
	for i := range t.Approvals {
		if v := &t.Approvals[i]; v.Position == m.Position && (v.Void == "" || v.Data.Verdict == "reject") {
			v.Void = voidSuspect
		}
	}
	if m.Event == events.EffectApproved.Short() {
		for i := range t.Effects {
			if e := &t.Effects[i]; e.Status() == StatusIntended {
				e.Approvers = slices.DeleteFunc(e.Approvers, func(a string) bool { return a == actor })
			}
		}
	}
	return proof
}

// Doubtful reports whether the open attempt, or what the task is about, rests
// on an event that a compromised key signed and no person has settled: such a
// task goes on by a person's decision only. Receipts and approvals are not
// among them; they count as absent.
func (t *Task) Doubtful() bool { return slices.ContainsFunc(t.Suspects, t.weighs) }

func (t *Task) weighs(s Suspect) bool {
	if s.Settled {
		return false
	}
	switch events.TypeOf(s.Event) {
	case events.ReceiptRecorded, events.ApprovalRecorded, events.EffectApproved, events.DeliveryRecorded:
		return false
	case events.ContractAccepted, events.EffectDispatched, events.EffectConfirmed, events.EffectFailed, events.EffectCompensated:
		return true
	}
	a := t.Attempt()
	return a != nil && s.Position >= a.Position
}

// fallBack leads a task whose proof lost something back to where the rest
// reaches, as a failing receipt does, and forward where a void failure alone
// held it.
func (t *Task) fallBack(r events.Record) {
	if t.Pause != nil && (t.State == AwaitingVerification || t.State == RepairQueued) {
		t.Pause.Decisive, t.Pause.Lost = true, t.State == RepairQueued // what leads on is taken when the pause ends
		return
	}
	switch t.State {
	case AwaitingVerification, AwaitingReview, Approved:
		t.enter(r, t.gate(t.State))
	case Releasing:
		if t.Verdict() != ItemPass || !t.Quorum() {
			t.endRun(r)
			t.interrupt(r)
		}
	case RepairQueued:
		t.dequeue(r)
	}
}

// dequeue drops a repair that nothing asks for any more.
func (t *Task) dequeue(r events.Record) {
	if p := t.Repair; t.State == RepairQueued && p != nil && !p.Accepted && p.Kind == "code" && p.Compensate == "" && !t.Disproven() {
		t.Repair = nil
		t.enter(r, t.gate(AwaitingVerification))
	}
}

// Disproven reports whether a check failed on the current input, or a reviewer
// rejected the current result with a key that was not compromised.
func (t *Task) Disproven() bool {
	failed := slices.ContainsFunc(t.Items(), func(i Item) bool { return i.Status == ItemFail })
	return failed || t.Violated() != nil || t.Result != nil && slices.ContainsFunc(t.Approvals, func(a Approval) bool {
		return a.Data.Verdict == "reject" && a.Data.Result == t.Result.Hash && a.Void != voidSuspect
	})
}

// settleSuspects notes that a person has decided how the task goes on.
func (t *Task) settleSuspects() {
	for i := range t.Suspects {
		t.Suspects[i].Settled = true
	}
}
