package ledger

import (
	"slices"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"pgregory.net/rapid"
)

// TestWalk takes random walks through the rules with everything that the graph
// explores one after the other at once: versions, effects in parts, worlds that
// drift, findings, pauses, from every state. In every state that is not final somebody can go on,
// what leads on is named, and whatever is accepted is among what was named.
func TestWalk(t *testing.T) {
	everything := variety{contracts: 3, findings: true, parts: []string{"p1", "p2"}, worlds: true, gate: true, pause: true, steps: true, choices: true}
	g := &graph{rules: NewRules(), variety: everything}
	reached := map[projections.State]int{}
	rapid.Check(t, func(t *rapid.T) {
		start := representatives()[rapid.SampledFrom(projections.States()).Draw(t, "start")]
		here, id := start.Story.Ledger, start.ID
		for range rapid.IntRange(10, 60).Draw(t, "steps") {
			task := here.Task(id)
			steps := g.waysOn(t, clone(here, task), task)
			if len(steps) == 0 || task.State.Final() {
				break
			}
			here = rapid.SampledFrom(steps).Draw(t, "step")
			reached[here.Task(id).State]++
		}
	})
	t.Logf("states on the way: %v", reached)
}

// unsettled counts the parts of effects of which nobody knows the outcome.
func unsettled(t *projections.Task) int {
	n := 0
	for _, e := range t.Effects {
		for _, p := range e.Parts {
			if p.Status == projections.StatusDispatched || p.Status == projections.StatusUnknown || p.Status == projections.StatusConflict {
				n++
			}
		}
	}
	return n
}

// TestCancelledParts cancels a task while two parts of an effect are under way: each outcome leads on, and the last one ends it.
func TestCancelledParts(t *testing.T) {
	rules := NewRules()
	g := &graph{rules: rules, variety: variety{parts: []string{"p1", "p2"}}}
	start := representatives()[projections.Executing]
	here, id := start.Story.Ledger, start.ID
	for _, want := range []func(events.Payload) bool{
		is[*events.Intent], is[*events.Dispatch], is[*events.Cancellation], is[*events.Failure], is[*events.Failure],
	} {
		task := here.Task(id)
		ways := 0
		var next *projections.Ledger
		for _, m := range g.moves(here, task) {
			after, err := g.after(here, task, m)
			if err != nil {
				t.Fatal(err)
			}
			if after == nil {
				continue
			}
			if now := after.Task(id); now.State != task.State || unsettled(now) < unsettled(task) {
				ways++
			}
			if want(m.payload) && next == nil {
				next = after
			}
		}
		if next == nil || ways == 0 {
			t.Fatalf("stuck with %d ways on in %s", ways, signature(task))
		}
		here = next
	}
	if got := here.Task(id).State; got != projections.Cancelled {
		t.Errorf("ended in %s", got)
	}
}

func is[P events.Payload](p events.Payload) bool { _, ok := p.(P); return ok }

// waysOn returns what a task can become by one move, and fails where nobody
// can go on or where Next is wrong about it. A step towards delivery stands
// several times, so that walks get somewhere.
func (g *graph) waysOn(t *rapid.T, here *projections.Ledger, task *projections.Task) []*projections.Ledger {
	next := g.rules.Next(task)
	var steps []*projections.Ledger
	moved := false
	for _, m := range g.moves(here, task) {
		after, err := g.after(here, task, m)
		if err != nil {
			t.Fatal(err)
		}
		if after == nil {
			continue
		}
		name, to := g.rules.Row(m.payload).Name(), after.Task(task.ID)
		if !slices.ContainsFunc(next, func(n NextEvent) bool { return n.Event == name }) {
			t.Fatalf("%s is accepted in %s, and Next does not name it", name, signature(task))
		}
		if unproven(task, to) {
			t.Fatalf("delivered without proof and approval from %s", signature(task))
		}
		weight := 1
		switch {
		case to.State == projections.Cancelled: // the graph has these ends
			weight = 0
		case to.State != task.State && to.State != projections.Escalated:
			weight = 20
		}
		// A cancelled task waits for the outcome of each part, one after the other.
		moved = moved || to.State != task.State || task.Cancelling && unsettled(to) < unsettled(task)
		steps = slices.Concat(steps, slices.Repeat([]*projections.Ledger{after}, weight))
	}
	if !task.State.Final() && !moved {
		t.Fatalf("nothing leads on from %s", signature(task))
	}
	return steps
}
