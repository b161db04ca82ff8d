package ledger

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// TestEveryTypeHasARow fails for a task event type that the table forgot.
func TestEveryTypeHasARow(t *testing.T) {
	for _, kind := range events.Types() {
		has := slices.ContainsFunc(Table(), func(r Row) bool { return r.Type == kind })
		if has == kind.Registry() {
			t.Errorf("type %s: row in the table is %t", kind, has)
		}
	}
}

// representatives returns one task for each state, told as stories.
func representatives() map[projections.State]*projectionstest.Task {
	upTo := func(steps ...func(*projectionstest.Task)) *projectionstest.Task {
		story := projectionstest.New("acme")
		story.Genesis()
		k := story.Task("TASK-1")
		for _, step := range steps {
			step(k)
		}
		return k
	}
	propose := func(k *projectionstest.Task) { k.Propose() }
	accept := func(k *projectionstest.Task) { k.Accept() }
	open := func(k *projectionstest.Task) { k.Open() }
	work := func(k *projectionstest.Task) { k.Claim("impl-a", events.PurposeWork) }
	hand := func(k *projectionstest.Task) { k.Hand() }
	pass := func(k *projectionstest.Task) { k.Verify(nil) }
	fail := func(k *projectionstest.Task) { k.Verify(projectionstest.Outcomes{"C1": events.ClassCodeFailure}) }
	approve := func(k *projectionstest.Task) { k.Approve("rita") }
	release := func(k *projectionstest.Task) {
		k.Do("olga", &events.Claim{Purpose: events.PurposeRelease, TermSeconds: 60, World: projectionstest.World(k.Policy())})
	}
	deliver := func(k *projectionstest.Task) { k.Deliver() }
	interrupt := func(k *projectionstest.Task) { k.Interrupt() }
	evaluate := func(k *projectionstest.Task) { k.Claim("carl", events.PurposeRecover) }
	escalate := func(k *projectionstest.Task) { k.Do("impl-a", &events.Escalation{Reason: "r", NextStep: "n"}) }
	cancel := func(k *projectionstest.Task) { k.Do("ann", &events.Cancellation{Reason: "r"}) }
	started := []func(*projectionstest.Task){propose, accept, open, work}
	then := func(more ...func(*projectionstest.Task)) *projectionstest.Task {
		return upTo(slices.Concat(started, more)...)
	}
	return map[projections.State]*projectionstest.Task{
		projections.None: upTo(), projections.Proposed: upTo(propose), projections.Contracted: upTo(propose, accept),
		projections.Snapshotted: upTo(propose, accept, open), projections.Executing: then(), projections.AwaitingVerification: then(hand),
		projections.RepairQueued: then(hand, fail), projections.AwaitingReview: then(hand, pass), projections.Approved: then(hand, pass, approve),
		projections.Releasing: then(hand, pass, approve, release), projections.Delivered: then(hand, pass, approve, deliver),
		projections.Interrupted: then(interrupt), projections.RecoveryEvaluating: then(interrupt, evaluate),
		projections.Escalated: then(escalate), projections.Cancelled: then(cancel),
	}
}

// allows reports whether a row names the actor in this state, for some data.
func allows(row *Row, a *projections.Actor, t *projections.Task) bool {
	if !slices.Contains(row.In, t.State) {
		return false
	}
	return slices.ContainsFunc(row.By, func(by Author) bool {
		switch {
		case len(by.Holder) > 0:
			return t.Lease != nil && t.Lease.Actor == a.Name && slices.Contains(by.Holder, t.Lease.Purpose)
		case by.Former:
			return slices.ContainsFunc(t.Runs, func(r projections.Run) bool { return r.Actor == a.Name })
		}
		return a.Has(by.Role) && (by.Kind == "" || by.Kind == a.Kind)
	})
}

// TestAuthority walks type × actor × state: nobody whom the table does not
// name gets an event in, and every refusal names its row or rule.
func TestAuthority(t *testing.T) {
	rules := NewRules()
	g := &graph{rules: rules, variety: variety{contracts: 2, findings: true, worlds: true, gate: true, parts: []string{}, pause: true, steps: true, choices: true}}
	tried, accepted := 0, map[string]bool{}
	for state, k := range representatives() {
		task := k.State()
		if task.State != state {
			t.Fatalf("the story of %s ends in %s", state, task.State)
		}
		for _, m := range g.moves(k.Story.Ledger, task) {
			row := rules.Row(m.payload)
			for _, a := range k.Story.Ledger.Registry.Actors {
				r := k.Draft(a.Name, m.payload)
				r.Event.Subject = subjectFor(task, m.payload, r.Event.Subject)
				if !byHolder(m.payload) && m.payload.Type() != events.LeaseClaimed {
					r.Event.Fence = 0
				}
				err := rules.Check(k.Story.Ledger, Submission{Event: r.Event, Payload: m.payload, Position: r.Position, Admitted: r.Admitted})
				tried++
				if err == nil {
					accepted[row.Name()] = true
					if !allows(row, a, task) {
						t.Errorf("%s by %s accepted in %s", row.Name(), a.Name, state)
					}
					continue
				}
				if refusal, ok := errors.AsType[*Refusal](err); !ok || refusal.Rule == "" || refusal.Text == "" {
					t.Errorf("%s by %s in %s: refusal without a rule: %v", row.Name(), a.Name, state, err)
				}
			}
		}
	}
	if tried < 1000 {
		t.Errorf("only %d combinations were tried", tried)
	}
	golden(t, "../docs/authority.md", authorityDocument())
}

// TestDefaultDeny refuses what has no row.
func TestDefaultDeny(t *testing.T) {
	k := representatives()[projections.Executing]
	r := k.Draft(projectionstest.Founder, &events.Revocation{Actor: "impl-a", Reason: "r"})
	err := NewRules().Check(k.Story.Ledger, Submission{Event: r.Event, Payload: &events.Revocation{}, Position: r.Position, Admitted: r.Admitted})
	if refusal, ok := errors.AsType[*Refusal](err); !ok || refusal.Rule != "default-deny" {
		t.Errorf("got %v, want a refusal by default-deny", err)
	}
}

// authorityDocument prints the table for people.
func authorityDocument() string {
	var b strings.Builder
	b.WriteString("# Authority\n\nMade by `go test ./ledger -run TestAuthority -update` from the table in `ledger/table.go`. Default is deny: an event\n" +
		"that no row allows is refused, and the refusal names the row or rule. \"Stale\" says that the event is legal while the\n" +
		"open attempt works on a contract version that was replaced; \"advance\" that an open fatal finding blocks it; \"paused\" that it\n" +
		"is legal while the task is paused.\n\n")
	b.WriteString("| event | by | legal in | leads to | | note |\n|---|---|---|---|---|---|\n")
	for _, row := range Table() {
		to := "same"
		if len(row.To) > 0 {
			to = list(row.To)
		}
		var flags []string
		if row.Stale {
			flags = append(flags, "stale")
		}
		if row.Advance {
			flags = append(flags, "advance")
		}
		if whilePaused(row.Type) {
			flags = append(flags, "paused")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", row.Name(), describe(row.By), statesText(row.In), to, strings.Join(flags, ", "), row.Note)
	}
	b.WriteString("\n## Role × event × state\n\nEach cell names the states in which the role may append the event; a holder's events are under *holder*.\n\n| event |")
	columns := append([]string{"holder"}, roleNames()...)
	for _, c := range columns {
		b.WriteString(" " + c + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, row := range Table() {
		b.WriteString("| `" + row.Name() + "` |")
		cells := map[string]string{}
		for _, by := range row.By {
			name := string(by.Role)
			if len(by.Holder) > 0 || by.Former {
				name = "holder"
			}
			cells[name] = statesText(row.In)
		}
		for _, c := range columns {
			b.WriteString(" " + cells[c] + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func roleNames() []string {
	used := map[string]bool{}
	for _, row := range Table() {
		for _, by := range row.By {
			if by.Role != "" {
				used[string(by.Role)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(used))
}

// statesText shortens the two lists of nearly all states.
func statesText(states []projections.State) string {
	switch {
	case slices.Equal(states, live()):
		return "any non-final"
	case slices.Equal(states, started()):
		return "any"
	case slices.Equal(states, append([]projections.State{projections.None}, live()...)):
		return "none yet, any non-final"
	}
	return list(states)
}
