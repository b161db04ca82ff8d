package projections

import (
	"errors"
	"fmt"
	"slices"

	"github.com/deedledger/deed/events"
)

// Errors of a fold. A source that met one of them is blocked from then on.
var (
	// ErrForked says that two events claim the same place in a source.
	ErrForked = errors.New("forked history")
	// ErrGap says that an event of a source is missing.
	ErrGap = errors.New("gap in history")
	// ErrChain says that prevhash is not the hash of the previous event.
	ErrChain = errors.New("broken chain")
	// ErrBlocked says that the source met an error earlier.
	ErrBlocked = errors.New("source is blocked")
	// ErrDuplicate says that the record was delivered again. It changes nothing
	// and blocks nothing.
	ErrDuplicate = errors.New("record was applied before")
)

// NewTask returns the state of a task before its first event. genesis is the
// hash of the ledger's first event, which a task's first event carries.
func NewTask(ledger, id string, genesis events.Hash) *Task {
	return &Task{Ledger: ledger, ID: id, Head: genesis.String(), Contracts: []ContractVersion{}, Active: -1}
}

// Apply folds one record. On an error nothing but Blocked has changed; on
// ErrDuplicate not even that.
func (t *Task) Apply(r events.Record) error {
	if duplicate(r, t.Position, t.Head) {
		return fmt.Errorf("apply position %d to task %s: %w", r.Position, t.ID, ErrDuplicate)
	}
	if t.Blocked != nil {
		return fmt.Errorf("apply to task %s: %w at position %d", t.ID, ErrBlocked, t.Blocked.Position)
	}
	p, err := t.check(r)
	if err != nil {
		t.Blocked = &Block{Position: r.Position, Reason: err.Error()}
		return fmt.Errorf("apply position %d to task %s: %w", r.Position, t.ID, err)
	}
	t.fold(r, p)
	t.hear(r)
	t.Sequence, t.Head = r.Event.Sequence, r.Event.Hash().String()
	t.Position, t.Admitted = r.Position, r.Admitted
	return nil
}

// check decodes the record's data and holds it against the chain.
func (t *Task) check(r events.Record) (events.Payload, error) {
	if err := chain(r.Event, t.Sequence, t.Head); err != nil {
		return nil, err
	}
	p, err := r.Event.Payload()
	if err != nil {
		return nil, err
	}
	return p, t.checkReferences(p)
}

// chain holds an event's place against a source's last sequence and hash.
func chain(e events.Event, sequence uint64, head string) error {
	switch {
	case e.Sequence <= sequence:
		return fmt.Errorf("%w: sequence %d again", ErrForked, e.Sequence)
	case e.Sequence > sequence+1:
		return fmt.Errorf("%w: sequence %d after %d", ErrGap, e.Sequence, sequence)
	case e.PrevHash.String() != head:
		return fmt.Errorf("%w: prevhash %s, want %s", ErrChain, e.PrevHash, head)
	}
	return nil
}

// duplicate reports whether r was delivered before: its position has passed,
// and where that can still be told, it is the same event. Another event at the
// last position is a fork.
func duplicate(r events.Record, last events.Position, head string) bool {
	return r.Position < last || r.Position == last && r.Event.Hash().String() == head
}

// ErrReference says that an event names something that the history lacks.
var ErrReference = errors.New("reference to nothing")

// checkReferences makes sure that what an event builds on exists, so that
// folding it cannot fail.
func (t *Task) checkReferences(p events.Payload) error {
	need := func(ok bool, what string) error {
		if ok {
			return nil
		}
		return fmt.Errorf("%w: %s", ErrReference, what)
	}
	switch d := p.(type) {
	case *events.Acceptance:
		v := t.Version(d.Version)
		return need(v != nil && v.Digest == d.Digest, "contract version")
	case *events.Receipt, *events.Approval, *events.Delivery, *events.RepairRequest:
		return need(t.Result != nil && t.Contract() != nil, "result")
	case *events.RepairAcceptance:
		return need(t.Repair != nil, "repair")
	case *events.Claim, *events.Result:
		return need(t.Attempt() != nil && t.Contract() != nil, "attempt")
	case *events.Recovery:
		known := slices.Contains(RecoveryDecisions(), d.Decision)
		return need(known && t.Attempt() != nil && t.Contract() != nil, "attempt or decision")
	case *events.Acknowledgement:
		return need(slices.ContainsFunc(t.Findings, func(f Finding) bool { return f.EventID == d.Finding }), "finding")
	}
	if err := t.checkWorkReferences(p); err != nil {
		return err
	}
	return t.checkEffectReferences(p)
}

func (t *Task) checkEffectReferences(p events.Payload) error {
	about, ok := p.(events.AboutEffect)
	if !ok {
		return nil
	}
	ref := about.Effect()
	e := t.Effect(ref.Key)
	if e == nil {
		return fmt.Errorf("%w: effect %q", ErrReference, ref.Key)
	}
	if ref.Outcome() && e.Part(ref.Part) == nil {
		return fmt.Errorf("%w: part %q of effect %q", ErrReference, ref.Part, ref.Key)
	}
	return nil
}

// signed returns the name and author of a record's event.
func signed(r events.Record) Signed {
	return Signed{EventID: r.Event.ID, Hash: r.Event.Hash().String(), Position: r.Position, Actor: r.Event.AuthID, Admitted: r.Admitted}
}

// enter leads to a state, which may be the same.
func (t *Task) enter(r events.Record, s State) {
	if t.State != s {
		t.State, t.Since = s, r.Admitted
	}
}

// fold applies a record that check accepted.
func (t *Task) fold(r events.Record, p events.Payload) {
	switch d := p.(type) {
	case *events.Contract:
		t.propose(r, d)
	case *events.Acceptance:
		t.accept(r, d)
	case *events.Withdrawal, *events.Cancellation:
		t.cancel(r)
	case *events.Attempt:
		t.open(r, d)
	case *events.Claim:
		t.claim(r, d)
	case *events.Release:
		t.release(r, d)
	case *events.Interruption:
		t.endRun(r)
		t.interrupt(r)
	case *events.Result:
		t.hand(r, d)
	case *events.Receipt:
		t.receive(r, d)
	default:
		t.foldGate(r, p)
	}
}

// foldGate is the second half of fold: repair, review, recovery, findings.
func (t *Task) foldGate(r events.Record, p events.Payload) {
	switch d := p.(type) {
	case *events.RepairRequest:
		t.voidApprovals("repair requested")
		t.queueRepair(r, Repair{Kind: "code", Items: d.Items, Reason: d.Reason})
	case *events.RepairAcceptance:
		t.Repair.Accepted = true
	case *events.Approval:
		t.approve(r, d)
	case *events.Delivery:
		t.endRun(r)
		t.Delivery = &Delivery{Signed: signed(r), Data: *d}
		t.enter(r, Delivered)
	case *events.Recovery:
		t.recover(r, d)
	case *events.Escalation:
		t.escalate(r, d.Reason, d.NextStep)
	case *events.Resolution:
		t.resolve(r, d)
	case *events.Finding:
		t.Findings = append(t.Findings, Finding{Signed: signed(r), Data: *d, Open: true})
	case *events.Acknowledgement:
		for i := range t.Findings {
			if t.Findings[i].EventID == d.Finding {
				t.Findings[i].Open = false
			}
		}
		t.advanceAfterFinding(r)
	default:
		if !t.foldWork(r, p) {
			t.applyEffect(r, p)
		}
	}
}

// advanceAfterFinding moves a proven result on that only an open fatal
// finding held back.
func (t *Task) advanceAfterFinding(r events.Record) {
	if t.Pause != nil {
		t.Pause.Decisive = true
		return
	}
	if t.Violated() == nil && t.State == AwaitingVerification && t.FatalFinding() == nil && !t.Stale() && t.Verdict() == ItemPass {
		t.enter(r, AwaitingReview)
	}
}
