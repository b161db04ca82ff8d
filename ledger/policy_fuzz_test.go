package ledger

import (
	"reflect"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
	"pgregory.net/rapid"
)

// FuzzPolicy offers any text: it never panics, and what compiles answers the
// same question twice with the same answer.
func FuzzPolicy(f *testing.F) {
	for _, text := range []string{
		"", "forbid(principal, action, resource);", "permit(principal, action, resource);",
		`@id("a") forbid(principal in Role::"owner", action in [Action::"effect"], resource) when { context.effect.kind like "*a*" };`,
		`forbid(principal, action, resource) when { if context.approvers < 2 then resource.paths.contains("x") else {a: 1}.a == [1, 2] };`,
		`forbid(principal, action, resource) unless { context.time.stamp < datetime("2027-01-01") && ip("::1").isLoopback() && decimal("1.5").lessThan(decimal("2.0")) };`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := CompilePolicy(&events.Policy{Cedar: text})
		if err != nil {
			return
		}
		q := question()
		if a, b := p.Bans(q), p.Bans(q); !reflect.DeepEqual(a, b) {
			t.Errorf("two answers: %v and %v", a, b)
		}
	})
}

// drawPolicy draws statements from parts, so that many mean something.
func drawPolicy(t *rapid.T) *events.Policy {
	text := ""
	for range rapid.IntRange(0, 3).Draw(t, "statements") {
		text += "forbid(" +
			rapid.SampledFrom([]string{"principal", `principal in Kind::"agent"`, `principal in Role::"owner"`, `principal == Actor::"ann"`}).Draw(t, "principal") + ", " +
			rapid.SampledFrom([]string{"action", `action in Action::"lease"`, `action in Action::"effect"`, `action == Action::"receipt.recorded"`}).Draw(t, "action") +
			", resource) " + rapid.SampledFrom([]string{"when", "unless"}).Draw(t, "how") + " { " +
			rapid.SampledFrom([]string{"true", "false", "context.approvers < 1", `resource.pathList like "* src/*"`, "context.nothing", `resource.state == "Executing"`}).Draw(t, "condition") + " };\n"
	}
	level := rapid.SampledFrom(append(events.Automations(), "")).Draw(t, "level")
	return &events.Policy{Cedar: text, Automation: events.Tiers{Code: level}, Reason: "r"}
}

// TestPolicyOnlyForbids draws policies and holds every move of every actor in
// every state against the rules with and without them: a policy takes away,
// and nothing but facts and the service's events is beyond it.
func TestPolicyOnlyForbids(t *testing.T) {
	rules := NewRules()
	g := &graph{rules: rules, variety: variety{contracts: 2, findings: true, worlds: true, gate: true, parts: []string{}}}
	type try struct {
		ledger *projections.Ledger
		s      Submission
		floor  error
	}
	var tries []try
	for _, k := range representatives() {
		task := k.State()
		for i, m := range g.moves(k.Story.Ledger, task) {
			if i%3 != 0 { // enough of each state, in a short time
				continue
			}
			for _, a := range k.Story.Ledger.Registry.Actors {
				r := k.Draft(a.Name, m.payload)
				r.Event.Subject = subjectFor(task, m.payload, r.Event.Subject)
				if !byHolder(m.payload) && m.payload.Type() != events.LeaseClaimed {
					r.Event.Fence = 0
				}
				s := Submission{Event: r.Event, Payload: m.payload, Position: r.Position, Admitted: r.Admitted}
				tries = append(tries, try{k.Story.Ledger, s, rules.Check(k.Story.Ledger, s)})
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		published := &projections.Published{Digest: projectionstest.Digest(p.Cedar + string(p.Automation.Code)), Data: *p}
		for range 40 {
			c := tries[rapid.IntRange(0, len(tries)-1).Draw(t, "try")]
			l := *c.ledger
			l.Registry.Published = published
			if err := rules.Check(&l, c.s); err == nil && c.floor != nil {
				t.Fatalf("%s by %s is allowed by a policy alone: %v", c.s.Event.Type, c.s.Event.AuthID, c.floor)
			}
		}
	})
}
