package projections

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
)

// next derives the next bounded step of t. It reads the contract, the state
// and the outcomes of checks, and no text that an agent wrote.
func (t *Task) next() Next {
	w := t.Waiting()
	n := Next{Roles: w.Roles, Event: w.For, Items: []string{}, Checks: []NextStep{}}
	if t.Blocked != nil {
		return Next{
			Roles: []events.Role{events.RoleAdmin, events.RoleAuditor}, Items: n.Items, Checks: n.Checks,
			Do:      fmt.Sprintf("Stop. The history is blocked at position %d: verify the ledger and ask a person.", t.Blocked.Position),
			Success: "a person has decided what the history is",
		}
	}
	if t.State.Final() {
		n.Do, n.Success = "Nothing: the task has ended.", "the task is "+t.State.String()
		return n
	}
	if c := t.Contract(); c != nil && t.working() && !t.Stale() {
		n.addItems(c, t.nextItems())
		n.addStep(t)
	}
	n.Do, n.Success = t.instruct(n.Items)
	return n
}

// working reports whether the next step is about acceptance items.
func (t *Task) working() bool {
	switch t.State {
	case Snapshotted, Executing, RepairQueued:
		return true
	}
	return t.verifying()
}

// verifying reports whether a receipt is what is missing: also where a later
// receipt took a proof back without refuting it.
func (t *Task) verifying() bool {
	switch t.State {
	case AwaitingVerification:
		return true
	case AwaitingReview, Approved:
		return t.Verdict() != ItemPass
	}
	return false
}

// nextItems returns the items of the next step: those that fail on the current
// input; else those that a repair is about; else the first one that is not
// proven, required ones first. For a verifier they are all unproven ones.
func (t *Task) nextItems() []string {
	var failing, open []string
	first, optional := "", ""
	for _, item := range t.Items() {
		switch {
		case item.Status == ItemPass:
			continue
		case item.Status == ItemFail:
			failing = append(failing, item.ID)
		case item.Required && first == "":
			first = item.ID
		case !item.Required && optional == "":
			optional = item.ID
		}
		open = append(open, item.ID)
	}
	switch {
	case t.verifying():
		return open
	case len(failing) > 0:
		return failing
	case t.Repair != nil && len(t.Repair.Items) > 0:
		return t.Repair.Items
	case first != "":
		return []string{first}
	case optional != "":
		return []string{optional}
	}
	return nil
}

// addStep names the step and the unit that work goes on with.
func (n *Next) addStep(t *Task) {
	if t.State != Snapshotted && t.State != Executing {
		return
	}
	for _, s := range t.CurrentSteps() {
		if s.Status == StepOpen && n.Step == "" {
			n.Step = s.Data.Step
		}
	}
	if u := t.NextUnit(); u != nil {
		n.Unit = u.Name
	}
}

// addItems adds the items that the contract has, in its order, and their
// pinned checks.
func (n *Next) addItems(c *ContractVersion, ids []string) {
	for _, item := range c.Contract.Acceptance {
		if !slices.Contains(ids, item.ID) {
			continue
		}
		n.Items = append(n.Items, item.ID)
		for _, check := range item.Checks {
			n.Checks = append(n.Checks, NextStep{
				Acceptance: item.ID, ID: check.ID, Command: check.Command, Dir: check.Dir, TimeoutSeconds: check.TimeoutSeconds,
			})
		}
	}
}

// instruct returns what to do and when it is done.
func (t *Task) instruct(items []string) (do, success string) {
	switch {
	case t.Pause != nil:
		return "Stop: the task is paused. Only an owner or a controller lets it go on.", "the task is no longer paused"
	case t.Cancelling:
		return "Settle every open effect with evidence: probe it, or let a person state what happened.", "no effect is open; the task is then Cancelled"
	case t.Stale() && t.State != Escalated && t.Lease == nil:
		return "Claim a recover lease and decide: the attempt works on an older contract than the accepted one.", "a recovery decision is recorded"
	case t.outdated():
		return "Stop work: the contract has changed, and nothing of this run counts any more. A controller interrupts it.", "the lease has ended"
	}
	switch {
	case t.State == AwaitingVerification && t.Violated() != nil:
		return "Request a repair: the result's tree is outside the boundary, and nothing about it advances.", "a repair is requested"
	case t.State == Snapshotted || t.State == Executing || t.State == RepairQueued:
		return t.instructWork(items)
	case t.verifying():
		return "Run the pinned checks of " + names(items) + " on the recorded tree in a clean checkout, and record a receipt.",
			"a receipt on the current input covers " + names(items)
	}
	return t.instructGate()
}

func names(items []string) string {
	if len(items) == 0 {
		return "every acceptance item"
	}
	return strings.Join(items, ", ")
}

// instructWork is about making the change.
func (t *Task) instructWork(items []string) (do, success string) {
	if t.State == RepairQueued && t.Repair != nil {
		switch {
		case !t.Repair.Accepted:
			return "Accept the queued " + t.Repair.Kind + " repair, or escalate.", "the repair is accepted"
		case t.Repair.Kind != "code":
			return "Open a new attempt from a fresh snapshot.", "an attempt with the current inputs is open"
		}
	}
	if t.Repair != nil && t.Repair.Compensate != "" {
		return "Undo what the effect with status partial has applied, and record its compensation with evidence.", "the effect is no longer open"
	}
	verb := "Claim a work lease, then change"
	if t.State == Executing {
		verb = "Change"
	}
	if len(items) == 0 {
		return "Record a result: every item is proven on the current input.", "a result is recorded"
	}
	return verb + " only paths inside the boundary so that the pinned checks of " + names(items) + " pass; then record a result.",
		"an independent verifier's receipt on the recorded result passes " + names(items)
}

// instructGate is about everything else.
func (t *Task) instructGate() (do, success string) {
	switch t.State {
	case None:
		return "Propose a contract.", "a contract version is proposed"
	case Proposed:
		return "Read the proposed contract; accept the version, propose another, or withdraw it.", "one version is accepted"
	case Contracted:
		return "Open an attempt: pin the snapshot of the inputs.", "an attempt is open"
	case AwaitingReview:
		return "Read the review packet; approve or reject exactly this contract, result, head and tree.", "the quorum approves, or a rejection names its defects"
	case Approved:
		return "Deliver the approved tree to the target, and record the delivery.", "the tree on the target is the approved tree, and no effect is open"
	case Releasing:
		return "Finish the release: settle every effect, then record the delivery or release the lease.", "the delivery is recorded, and no effect is open"
	case Interrupted:
		return "Claim a recover lease, measure the world, probe open effects, and decide.", "a recovery decision is recorded"
	case RecoveryEvaluating:
		return "Record the decision that the recovery table gives for this history and world.", "a recovery decision is recorded"
	case Escalated:
		return "A person decides: read the reason, then resolve the escalation.", "the escalation is resolved"
	}
	return "Ask a person.", "a person has decided"
}
