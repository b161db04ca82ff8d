package ledger_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// say is one event of a recovery's story: who says what.
type say struct {
	actor string
	data  func(*projections.Ledger, *projections.Task) events.Payload
}

func saying(actor string, p events.Payload) say {
	return say{actor, func(*projections.Ledger, *projections.Task) events.Payload { return p }}
}

// whole and parts are the keys of a task's effects: one in one piece, one in
// two parts.
func whole(task string) string { return task + "-whole" }
func parts(task string) string { return task + "-parts" }

// settles is the outcome of one of the effects of a task.
func settles(actor string, key func(string) string, part string, status projections.Status) say {
	return say{actor, func(_ *projections.Ledger, t *projections.Task) events.Payload {
		return projectionstest.Outcome(key(t.ID), part, 1, status)
	}}
}

// does is what the named actor does to one of the effects of a task.
func does(key func(string) string, step func(string) func(*projections.Ledger, *projections.Task) events.Payload) say {
	return say{ledgertest.ImplA, func(l *projections.Ledger, t *projections.Task) events.Payload { return step(key(t.ID))(l, t) }}
}

func intends(key func(string) string, named ...string) say {
	return say{ledgertest.ImplA, func(_ *projections.Ledger, t *projections.Task) events.Payload {
		return projectionstest.Intent(key(t.ID), named...)
	}}
}

// A cause makes one row of the recovery table apply: by what happened before
// the recovery, by the time that passed, or by the world that it finds.
type cause struct {
	row   string
	steps []say
	wait  time.Duration
	world func(*events.World)
}

// contradiction is a probe that finds another outside id than the one that
// is known: proof against proof.
func contradiction(_ *projections.Ledger, t *projections.Task) events.Payload {
	c := projectionstest.Outcome(whole(t.ID), "", 1, projections.StatusConfirmed).(*events.Confirmation)
	c.ExternalID += "-again"
	return c
}

// verdict is a receipt on the task's result, where it has one.
func verdict(class events.Class) say {
	return say{ledgertest.Verifier, func(l *projections.Ledger, t *projections.Task) events.Payload {
		if t.Result == nil {
			return nil
		}
		return ledgertest.Receipt(projectionstest.Outcomes{"C1": class})(l, t)
	}}
}

// year is how long the contracts of these stories hold.
const year = 365 * 24 * time.Hour

func contract(clock *ledgertest.Clock) say {
	return say{ledgertest.Founder, func(_ *projections.Ledger, t *projections.Task) events.Payload {
		return projectionstest.Contract(int64(len(t.Contracts))+1, func(c *events.Contract) {
			c.Expires = events.FormatTime(clock.Now().Add(year))
		})
	}}
}

// causes returns at least one for every row but the last, in order of the
// table.
func causes(clock *ledgertest.Clock) []cause {
	return []cause{
		{row: projections.EscalateContractChanged, steps: []say{contract(clock), {ledgertest.Founder, ledgertest.Accept}}},
		{row: projections.EscalateContractChanged, wait: year},
		{row: projections.EscalateEffectUnknown, steps: []say{{ledgertest.Controller, contradiction}}},
		{row: projections.CompensateEffect, steps: []say{settles(ledgertest.Controller, parts, "p1", projections.StatusCompensated)}},
		{row: projections.ReAuthorize, world: func(w *events.World) { w.Missing = []string{"TOKEN"} }},
		{row: projections.EscalateFinding, steps: []say{saying(ledgertest.Auditor, &events.Finding{Severity: "fatal", Rule: "R1", Text: "gone"})}},
		{row: projections.CreateRebaseRepair, world: func(w *events.World) { w.BaseKept = false }},
		{row: projections.NewAttemptInputsChanged, world: func(w *events.World) { w.Inputs.RuntimeImage = "other" }},
		{row: projections.RepairFromFailure, steps: []say{verdict(events.ClassCodeFailure)}},
		{row: projections.Reverify, steps: []say{verdict(events.ClassInconclusive)}},
	}
}

// recoverable returns a story for every state from which a recovery starts,
// each with two confirmed effects.
func recoverable(clock *ledgertest.Clock) map[string][]say {
	running := []say{
		contract(clock), {ledgertest.Founder, ledgertest.Accept}, {ledgertest.Controller, ledgertest.Open},
		{ledgertest.ImplA, ledgertest.Claim(events.PurposeWork)},
		intends(whole), does(whole, ledgertest.Dispatch), settles(ledgertest.ImplA, whole, "", projections.StatusConfirmed),
		intends(parts, "p1", "p2"), does(parts, ledgertest.Dispatch),
		settles(ledgertest.ImplA, parts, "p1", projections.StatusConfirmed), settles(ledgertest.ImplA, parts, "p2", projections.StatusConfirmed),
	}
	then := func(story []say, more ...say) []say { return append(slices.Clip(story), more...) }
	handed := then(running, saying(ledgertest.ImplA, projectionstest.Result("1")))
	proven := then(handed, say{ledgertest.Verifier, ledgertest.Receipt(nil)})
	approved := then(proven, say{ledgertest.Reviewer, ledgertest.Verdict("approve")})
	interrupt := say{ledgertest.Controller, ledgertest.Interrupt}
	return map[string][]say{
		"Interrupted work": then(running, interrupt),
		"Interrupted repair": then(handed, verdict(events.ClassCodeFailure), saying(ledgertest.Controller, &events.RepairAcceptance{Kind: "code"}),
			say{ledgertest.ImplB, ledgertest.Claim(events.PurposeWork)}, interrupt),
		"Interrupted release":  then(approved, say{ledgertest.Operator, ledgertest.Claim(events.PurposeRelease)}, interrupt),
		"Interrupted recovery": then(running, interrupt, say{ledgertest.Controller, ledgertest.Claim(events.PurposeRecover)}, interrupt),
		"Snapshotted":          then(running, saying(ledgertest.ImplA, &events.Release{Reason: "quota"})),
		"AwaitingVerification": handed,
		"AwaitingReview":       proven,
		"Approved":             approved,
	}
}

// recovered is what one recovery did.
type recovered struct {
	matches []string
	to      projections.State
	events  events.Position
}

// cell is one test of the recovery table: a task, a story, and causes.
type cell struct {
	h     *ledgertest.House
	task  string
	state string
	story []say
	why   []cause
}

// name says what a cell is about.
func (c *cell) name() string {
	rows := make([]string, len(c.why))
	for i, w := range c.why {
		rows[i] = w.row
	}
	return fmt.Sprintf("%s with %v", c.state, rows)
}

// errNothing says that a step has nothing to be about.
var errNothing = errors.New("nothing to say")

// says signs and submits one event.
func (c *cell) says(s say) error {
	var p events.Payload
	c.h.Writer.View(func(b *ledger.Book) { p = s.data(b.State, b.State.Task(c.task)) })
	if p == nil {
		return errNothing
	}
	_, err := c.h.Try(c.task, s.actor, p)
	return err
}

// play tells the story and then the causes; false where the rules let a cause
// not happen.
func (c *cell) play(t *testing.T) bool {
	t.Helper()
	for _, s := range c.story {
		if err := c.says(s); err != nil {
			t.Fatalf("%s: the story stops: %v", c.name(), err)
		}
	}
	for _, w := range c.why {
		for _, s := range w.steps {
			if c.says(s) != nil {
				return false
			}
		}
	}
	return true
}

// world is what the controller finds.
func (c *cell) world(l *projections.Ledger, k *projections.Task) events.World {
	w := ledgertest.World(l, k)
	for _, cause := range c.why {
		if cause.world != nil {
			cause.world(&w)
		}
	}
	return w
}

// recover claims a recover lease and decides, as a controller does; nil when
// the state lets nobody claim. Every other decision is refused, where asked.
func (c *cell) recover(t *testing.T, others bool) *recovered {
	t.Helper()
	before := c.h.Last()
	claim := say{ledgertest.Controller, func(l *projections.Ledger, k *projections.Task) events.Payload {
		if k.Attempt() == nil {
			return nil
		}
		return &events.Claim{Purpose: events.PurposeRecover, TermSeconds: 60, World: c.world(l, k)}
	}}
	if c.says(claim) != nil {
		if c.h.Last() != before {
			t.Fatalf("%s: a refused claim wrote an event", c.name())
		}
		return nil
	}
	var right events.Recovery
	c.h.Writer.View(func(b *ledger.Book) {
		k := b.State.Task(c.task)
		w := c.world(b.State, k)
		right.Matches, right.World = ledger.Matches(b.State, k, w, c.h.Clock.Now().UnixNano()), w
		right.Decision = right.Matches[0]
	})
	for _, other := range projections.RecoveryDecisions() {
		wrong := right
		wrong.Decision, wrong.Matches = other, slices.Compact([]string{other, projections.ResumeBoundedStep})
		if others && other != right.Decision && c.says(saying(ledgertest.Controller, &wrong)) == nil {
			t.Fatalf("%s: %s was taken where %s is due", c.name(), other, right.Decision)
		}
	}
	if err := c.says(saying(ledgertest.Controller, &right)); err != nil {
		t.Fatalf("%s: %s: %v", c.name(), right.Decision, err)
	}
	r := &recovered{matches: right.Matches}
	c.h.Writer.View(func(b *ledger.Book) {
		k := b.State.Task(c.task)
		r.to = k.State
		if next := ledger.NewRules().Next(k); !slices.ContainsFunc(next, func(n ledger.NextEvent) bool { return n.Moves }) {
			t.Errorf("%s: after %s nothing leads on from %s", c.name(), right.Decision, k.State)
		}
	})
	r.events = c.h.Last() - before
	return r
}

// twice tells the same history of two tasks, which gives the same result
// twice, and then runs the second recovery again: the same decision and the
// same number of events, or a refusal that writes nothing. It returns the
// rows that matched; none where the causes cannot come together here.
func (c *cell) twice(t *testing.T) []string {
	t.Helper()
	var results [2]*recovered
	for i := range results {
		c.task = fmt.Sprintf("TASK-%d", c.h.Last())
		if !c.play(t) {
			return nil
		}
		if c.why[0].wait > 0 {
			c.h.Clock.Advance(c.why[0].wait)
		}
		if results[i] = c.recover(t, i == 0); results[i] == nil {
			return nil
		}
	}
	a, b := results[0], results[1]
	if a.events != b.events || a.to != b.to || !slices.Equal(a.matches, b.matches) {
		t.Errorf("%s: told twice, %+v and %+v", c.name(), a, b)
	}
	for _, w := range c.why {
		if !slices.Contains(a.matches, w.row) {
			t.Errorf("%s: matches are %v", c.name(), a.matches)
		}
	}
	byRow := func(a, b string) int {
		return slices.Index(projections.RecoveryDecisions(), a) - slices.Index(projections.RecoveryDecisions(), b)
	}
	if !slices.IsSortedFunc(a.matches, byRow) || !slices.Contains(leadsTo(a.matches[0]), a.to) {
		t.Errorf("%s: %v lead to %s", c.name(), a.matches, a.to)
	}
	if again := c.recover(t, false); again != nil && (again.matches[0] != a.matches[0] || again.to != a.to || again.events != a.events) {
		t.Errorf("%s: %+v, run again %+v", c.name(), a, again)
	}
	return a.matches
}

// leadsTo returns the states of the column "leads to" of the recovery table.
func leadsTo(decision string) []projections.State {
	switch decision {
	case projections.EscalateContractChanged, projections.EscalateEffectUnknown, projections.ReAuthorize, projections.EscalateFinding:
		return []projections.State{projections.Escalated}
	case projections.CompensateEffect, projections.CreateRebaseRepair, projections.NewAttemptInputsChanged, projections.RepairFromFailure:
		return []projections.State{projections.RepairQueued}
	case projections.Reverify:
		return []projections.State{projections.AwaitingVerification}
	}
	return []projections.State{projections.Snapshotted, projections.RepairQueued, projections.AwaitingReview, projections.Approved}
}

// moot reports whether the causes undo each other.
func (c *cell) moot() bool {
	last := c.why[len(c.why)-1].row
	switch {
	case last != projections.Reverify:
		return c.why[0].wait > 0 && last != projections.RepairFromFailure && len(c.why) > 1 // the pair of a new version says as much
	case c.state == "Interrupted repair": // what was accepted to be repaired is repaired, whatever else is unproven
		return true
	}
	return c.why[0].row == projections.RepairFromFailure // the newest receipt counts; a failure alone matches both rows
}

// TestRecoveryPairs has each row of the recovery table alone and each pair of
// rows, in each state from which a recovery starts.
func TestRecoveryPairs(t *testing.T) {
	t.Parallel()
	reached := map[[2]string]bool{}
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	for state, story := range recoverable(h.Clock) {
		all := causes(h.Clock)
		for i := range all {
			for j := i; j < len(all); j++ {
				c := &cell{h: h, state: state, story: story, why: []cause{all[i], all[j]}[:min(2, j-i+1)]}
				if c.moot() {
					continue
				}
				for _, row := range c.twice(t) {
					reached[[2]string{all[i].row, row}] = true
				}
			}
		}
	}
	h.Audit()
	rows := projections.RecoveryDecisions()
	for i, first := range rows[:len(rows)-1] {
		for _, second := range rows[i : len(rows)-1] {
			if !reached[[2]string{first, second}] {
				t.Errorf("%s with %s was reached in no state", first, second)
			}
		}
	}
}
