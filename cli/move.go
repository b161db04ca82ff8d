package cli

import (
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
)

// move is a command that leads a task on, and who may give it.
type move struct {
	Event   string   `json:"event"` // the row's name
	Command string   `json:"command"`
	As      []string `json:"as"` // roles, or the only actors that may
	// Note says what stands in the way for now.
	Note string `json:"note,omitzero"`

	effect *projections.Effect // that it is about
}

func newMove(event, command string, as []string) move {
	return move{Event: event, Command: command, As: as}
}

// String returns the command line, with its signer.
func (m move) String() string {
	who := strings.Join(m.As, "|")
	if !events.ValidActor(who) || len(m.As) != 1 || slices.Contains(events.Roles(), events.Role(who)) {
		who = "<" + who + ">"
	}
	return m.Command + " --as " + who
}

// moveTable is the command line of each row of the authority table that can lead a
// task on, in the order in which they are named. Read-only.
var moveTable = [...]struct{ row, command string }{
	{"contract.proposed", "deed contract propose TASK -f contract.yaml"},
	{"contract.accepted", "deed contract accept TASK"},
	{"attempt.opened", "deed attempt open TASK"},
	{"lease.claimed work", "deed lease claim TASK --purpose work"},
	{"result.recorded", "deed result record TASK"},
	{"receipt.recorded", "deed receipt run TASK"},
	{"repair.accepted", "deed repair accept TASK"},
	{"approval.recorded", "deed approve TASK"},
	{"delivery.recorded", "deed deliver TASK"},
	{"lease.claimed release", "deed lease claim TASK --purpose release"},
	{"lease.claimed recover", "deed recover TASK"},
	{"recovery.decided", "deed recover TASK"},
	{"attempt.interrupted", "deed attempt interrupt TASK"},
	{"task.unpaused", "deed unpause TASK --reason TEXT"},
	{"escalation.resolved", "deed escalation resolve TASK --action resume|reverify|repair|new-attempt|cancel --reason TEXT"},
}

// movesOf returns what leads a task on now: the moves of its state that are
// legal, and what settles or allows that which they wait for.
func movesOf(state protocol.TaskState) []move {
	t, list := state.Task, []move{}
	if t.State.Final() || t.Blocked != nil {
		return list
	}
	for _, m := range moveTable {
		legal := slices.ContainsFunc(state.Next, func(n ledger.NextEvent) bool { return n.Event == m.row })
		if legal && leadsOn(m.row, state) {
			found := newMove(m.row, strings.ReplaceAll(m.command, "TASK", t.ID), signers(m.row, state))
			if a := t.Attempt(); m.row == "escalation.resolved" && a != nil && a.Snapshot.Inputs.Policy != state.Policy {
				found.Note = "another policy is in force now: --repin pins it"
			}
			list = append(list, found)
		}
	}
	for _, f := range t.Findings {
		if f.Open && f.Data.Severity == "fatal" {
			list = append(list, newMove("finding.acknowledged", "deed finding acknowledge "+t.ID+" --finding "+f.EventID+" --reason TEXT", signers("finding.acknowledged", state)))
		}
	}
	if t.State == projections.Escalated {
		return append(effectMoves(state), list...) // what is unknown is settled before anybody decides how to go on
	}
	return append(list, effectMoves(state)...)
}

// leadsOn reports whether a legal row leads on from here: a receipt, a
// recovery and another contract are legal in many states that wait for
// something else.
func leadsOn(row string, state protocol.TaskState) bool {
	t := state.Task
	switch row {
	case "contract.proposed":
		return len(t.Contracts) == 0
	case "contract.accepted":
		// An older version that was replaced is legal to accept too, and leads back.
		return !t.Contracts[len(t.Contracts)-1].Accepted
	case "receipt.recorded":
		return state.Waiting.For == row
	case "attempt.interrupted":
		return state.Waiting.For == row
	case "lease.claimed recover":
		return t.State == projections.Interrupted || t.Stale()
	}
	return !t.Cancelling
}

// effectMoves are the commands that settle open effects, and those that allow
// the effects that wait for it.
func effectMoves(state protocol.TaskState) []move {
	t, list := state.Task, []move{}
	for i := range t.Effects {
		e := &t.Effects[i]
		name := t.ID + " " + keyWord(e)
		switch {
		case e.Ambiguous():
			if probes(e) {
				list = append(list, newMove("effect.confirmed", "deed effect probe "+name+" --record", []string{"controller", "operator"}))
			}
			list = append(list, newMove("effect.confirmed", "deed effect settle "+name+" --outcome confirmed|failed --evidence TEXT [--external-id ID]", []string{"owner"}))
		case e.Open():
			if l := t.Lease; l != nil && e.Intent.Compensates == "" {
				list = append(list, newMove("effect.compensated", "deed effect compensate "+name+" -- COMMAND", []string{l.Actor}))
			}
			list = append(list, newMove("effect.compensated", "deed effect settle "+name+" --part PART --outcome compensated --external-id ID --evidence TEXT", []string{"owner"}))
		case needsApproval(t, e) && e.Status() == projections.StatusIntended:
			m := newMove("effect.approved", "deed effect approve "+name, signers("effect.approved", state))
			m.effect = e
			list = append(list, m)
		}
	}
	return list
}

// signers returns who may write a row's event: the only actors that may, else
// the roles.
func signers(row string, state protocol.TaskState) []string {
	t := state.Task
	variant, _, _ := strings.Cut(row, " ")
	if l := t.Lease; l != nil && heldBy(row) {
		return []string{l.Actor}
	}
	if state.Waiting.For == variant && len(state.Waiting.Actors) > 0 && row != "lease.claimed recover" {
		return state.Waiting.Actors
	}
	var names []string
	for _, a := range authorsOf(row) {
		if a.Role != "" && a.Role != events.RoleService && !slices.Contains(names, string(a.Role)) {
			names = append(names, string(a.Role))
		}
	}
	return names
}

// heldBy reports whether a row is the lease holder's alone.
func heldBy(row string) bool {
	by := authorsOf(row)
	return len(by) > 0 && !slices.ContainsFunc(by, func(a ledger.Author) bool { return len(a.Holder) == 0 })
}

// authorsOf returns who a row of the authority table allows.
func authorsOf(row string) []ledger.Author {
	for _, r := range ledger.Table() {
		if r.Name() == row {
			return r.By
		}
	}
	return nil
}

// mayWrite refuses an author whom a row of the authority table does not allow
// by any role, as the ledger would. It is for rows without a lease.
func mayWrite(row string, a author) error {
	var names []string
	for _, by := range authorsOf(row) {
		if slices.Contains(a.actor.Roles, by.Role) && (by.Kind == "" || by.Kind == a.actor.Kind) {
			return nil
		}
		names = append(names, by.String())
	}
	return refuse(ledger.CodeRule, row+"/role", "%s has roles %s of kind %s; the row allows %s", a.actor.Name, joined(a.actor.Roles), string(a.actor.Kind), strings.Join(names, ", "))
}

// applies reports whether a row's note says something about this task.
func applies(row string, t *projections.Task) bool {
	switch row {
	case "contract.proposed":
		return false
	case "contract.accepted":
		return t.Attempt() != nil
	case "contract.withdrawn", "task.cancelled":
		return t.Lease != nil || len(t.OpenEffects()) > 0
	case "attempt.opened", "lease.claimed work", "lease.claimed release":
		return t.State == projections.RepairQueued
	case "lease.released":
		return t.Lease.Purpose != events.PurposeWork || len(t.OpenEffects()) > 0 || t.FatalFinding() != nil
	case "receipt.recorded":
		return t.State != projections.AwaitingVerification
	case "approval.recorded":
		return t.Contract() != nil && t.Contract().Contract.Quorum > 1
	case "effect.confirmed", "effect.failed", "effect.compensated":
		return t.Cancelling
	case "finding.acknowledged":
		return t.FatalFinding() != nil
	}
	return true
}
