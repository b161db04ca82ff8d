package projections

import (
	"fmt"
	"slices"

	"github.com/deedledger/deed/events"
)

func (t *Task) propose(r events.Record, d *events.Contract) {
	checks, err := d.ChecksDigest()
	if err != nil {
		panic(fmt.Sprintf("projections: a contract that was decoded cannot be encoded: %v", err))
	}
	t.Contracts = append(t.Contracts, ContractVersion{Signed: signed(r), Digest: events.Sum(r.Event.Data).String(), Checks: checks.String(), Contract: *d})
	if t.State == None {
		t.enter(r, Proposed)
	}
}

// accept makes a version the one that counts. Before any attempt the task is
// Contracted; later the open attempt becomes stale and approvals lose force.
func (t *Task) accept(r events.Record, d *events.Acceptance) {
	v := t.Version(d.Version)
	for i := range t.Contracts {
		t.Contracts[i].Accepted = false
	}
	v.Accepted = true
	t.voidApprovals("new contract version")
	switch t.State {
	case Proposed:
		t.enter(r, Contracted)
	case AwaitingReview, Approved:
		t.enter(r, t.gate(t.State))
	}
}

// gate returns how far the proof of the current input reaches, for a task that
// was at or beyond the gate s: AwaitingVerification, AwaitingReview or
// Approved. Nothing advances while a fatal finding is open.
func (t *Task) gate(s State) State {
	switch {
	case t.Stale() || t.Verdict() != ItemPass || t.Violated() != nil:
		return AwaitingVerification
	case s == AwaitingVerification && t.FatalFinding() == nil:
		return AwaitingReview
	case s == Approved && !t.Quorum():
		return AwaitingReview
	}
	return s
}

// cancel ends the task, or waits in Escalated until open effects are settled.
func (t *Task) cancel(r events.Record) {
	t.endRun(r)
	t.Pause = nil
	if len(t.OpenEffects()) == 0 {
		t.Escalation = nil
		t.enter(r, Cancelled)
		return
	}
	t.Cancelling = true
	t.escalate(r, "cancelled with open effects", "settle each open effect: deed effect list, deed effect settle")
}

func (t *Task) open(r events.Record, d *events.Attempt) {
	t.Attempts = append(t.Attempts, Attempt{Signed: signed(r), ID: r.Event.Subject, Contract: d.Contract, Snapshot: d.Snapshot})
	t.Active = len(t.Attempts) - 1
	t.Result, t.Repair, t.Before, t.Reserved, t.Escalation = nil, nil, None, nil, nil
	t.voidApprovals("new attempt")
	t.enter(r, Snapshotted)
}

// close ends the open attempt without opening another.
func (t *Task) close() {
	t.Active = -1
	t.Result, t.Repair, t.Before, t.Reserved = nil, nil, None, nil
}

func (t *Task) claim(r events.Record, d *events.Claim) {
	from := t.State
	t.Fence, t.Reserved = r.Event.Fence, nil
	t.Lease = &Lease{
		Fence: r.Event.Fence, Purpose: d.Purpose, Actor: r.Event.AuthID, Key: r.Event.SignKeyID,
		TermSeconds: d.TermSeconds, Position: r.Position, Admitted: r.Admitted,
	}
	t.Runs = append(t.Runs, Run{Fence: r.Event.Fence, Purpose: d.Purpose, Actor: r.Event.AuthID, Attempt: t.Attempt().ID})
	switch d.Purpose {
	case events.PurposeWork:
		t.contribute(r.Event.AuthID)
		t.Before = None
		t.enter(r, Executing)
	case events.PurposeRelease:
		t.Before = None
		t.enter(r, Releasing)
	case events.PurposeRecover:
		if t.Before == None {
			t.Before = from
		}
		t.enter(r, RecoveryEvaluating)
	}
}

// endRun ends the live lease, where there is one.
func (t *Task) endRun(r events.Record) {
	if t.Lease == nil {
		return
	}
	for i := range t.Runs {
		if t.Runs[i].Fence == t.Lease.Fence {
			t.Runs[i].Ended = r.Event.Type.Short()
		}
	}
	t.Lease = nil
}

// interrupt leads to Interrupted and keeps the state to come back to.
func (t *Task) interrupt(r events.Record) {
	if t.Before == None {
		t.Before = t.State
	}
	t.enter(r, Interrupted)
}

// release folds lease.released: back to where another may claim, unless
// something is open that a controller has to look at first.
func (t *Task) release(r events.Record, d *events.Release) {
	lease := t.Lease
	if lease == nil {
		return
	}
	t.endRun(r)
	for i := range t.Runs {
		if run := &t.Runs[i]; run.Fence == lease.Fence {
			run.Reason, run.Note = d.Reason, d.Note
		}
	}
	clean := len(t.OpenEffects()) == 0 && t.FatalFinding() == nil
	switch {
	case clean && lease.Purpose == events.PurposeWork:
		t.enter(r, Snapshotted)
	case clean && lease.Purpose == events.PurposeRelease:
		t.Repair = nil // a compensation, which is done
		t.enter(r, t.gate(Approved))
	default:
		t.interrupt(r)
	}
	if d.To != "" {
		until := r.Admitted + lease.TermSeconds*second
		t.Reserved = &Reservation{To: d.To, Until: until}
	}
}

// hand folds result.recorded: it ends the run, and receipts on any other
// input are stale from here on.
func (t *Task) hand(r events.Record, d *events.Result) {
	t.contribute(r.Event.AuthID)
	t.endRun(r)
	t.Result = &Result{Signed: signed(r), Fence: r.Event.Fence, Data: *d}
	t.Repair = nil
	t.voidApprovals("new result")
	t.enter(r, AwaitingVerification)
}

// approve folds approval.recorded.
func (t *Task) approve(r events.Record, d *events.Approval) {
	t.Approvals = append(t.Approvals, Approval{Signed: signed(r), Data: *d})
	if d.Verdict == "reject" {
		t.voidApprovals("rejected")
		var items []string
		for _, defect := range d.Defects {
			if defect.Acceptance != "" {
				items = append(items, defect.Acceptance)
			}
		}
		slices.Sort(items)
		t.queueRepair(r, Repair{Kind: "code", Items: slices.Compact(items), Reason: "rejected by " + r.Event.AuthID + ": " + d.Defects[0].Text})
		return
	}
	if t.State == AwaitingReview && t.Quorum() {
		t.enter(r, Approved)
	}
}

// Quorum reports whether enough different actors approve exactly the current
// contract, result, head and tree.
func (t *Task) Quorum() bool {
	c := t.Contract()
	if c == nil {
		return false
	}
	return int64(len(t.Approvers())) >= t.Needed()
}

// Approvers returns the actors whose approval of the current contract and
// result counts, in order of history.
func (t *Task) Approvers() []string {
	c := t.Contract()
	if c == nil || t.Result == nil {
		return nil
	}
	var actors []string
	seen := map[string]bool{}
	for _, a := range t.Approvals {
		d := a.Data
		if a.Void != "" || d.Verdict != "approve" || seen[a.Actor] ||
			d.Contract != c.Digest || d.Result != t.Result.Hash || d.Head != t.Result.Data.Head || d.Tree != t.Result.Data.Tree {
			continue
		}
		seen[a.Actor] = true
		actors = append(actors, a.Actor)
	}
	return actors
}

// escalate ends the run and waits for a person.
func (t *Task) escalate(r events.Record, reason, next string) {
	t.endRun(r)
	if t.Before == None && t.State != Escalated {
		t.Before = t.State
	}
	t.Escalation = &Escalation{Reason: reason, NextStep: next}
	t.enter(r, Escalated)
}

// resume leads to the state before the first interruption, without a lease.
// At a gate, what was proven or refuted meanwhile counts.
func (t *Task) resume(r events.Record) {
	to := t.Before
	switch t.Before {
	case Executing:
		to = Snapshotted
		if t.Repair != nil && t.Repair.Accepted {
			to = RepairQueued
		}
	case Releasing, AwaitingVerification, AwaitingReview, Approved:
		if to == Releasing {
			to = Approved
		}
		t.Repair = nil
		to = t.gate(to)
	case None:
		to = t.State
	}
	t.Before = None
	t.enter(r, to)
}

// resolve folds escalation.resolved.
func (t *Task) resolve(r events.Record, d *events.Resolution) {
	t.settleSuspects()
	if a := t.Attempt(); a != nil {
		if d.Policy != "" && d.Policy != a.Snapshot.Inputs.Policy {
			a.Snapshot.Inputs.Policy = d.Policy
			t.voidApprovals("new policy")
		}
		if d.Boundary != "" {
			a.Snapshot.Inputs.Boundary = d.Boundary
			if d.Rights != nil {
				a.Snapshot.Rights.Effects, a.Snapshot.Rights.Approvals = d.Rights.Effects, d.Rights.Approvals
			}
		}
	}
	t.Escalation = nil
	switch d.Action {
	case "resume":
		t.resume(r)
	case "reverify":
		t.Before, t.Repair = None, nil
		t.voidApprovals("verified again")
		t.enter(r, AwaitingVerification)
	case "repair":
		t.Before, t.Stalls = None, 0
		t.Allowance += d.Allowance
		t.Repair = &Repair{Kind: "code", Reason: d.Reason, Accepted: true}
		t.enter(r, RepairQueued)
	case "new-attempt":
		t.close()
		t.voidApprovals("new attempt")
		t.enter(r, Contracted)
	case "cancel":
		t.cancel(r)
	}
}
