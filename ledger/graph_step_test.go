package ledger

import (
	"fmt"
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// after returns the ledger after a move, nil where the rules refuse it. The
// error says that the fold refuses what the rules accept.
func (g *graph) after(here *projections.Ledger, task *projections.Task, m move) (*projections.Ledger, error) {
	if !slices.Contains(g.rules.Row(m.payload).In, task.State) {
		return nil, nil // TestAuthority tries these
	}
	teller := (&projectionstest.Story{Ledger: here, Time: "2026-11-30T12:00:00Z"}).Task(task.ID)
	r := teller.Draft(m.actor, m.payload)
	r.Event.Subject = subjectFor(task, m.payload, r.Event.Subject)
	if m.payload.Type() != events.LeaseClaimed && !byHolder(m.payload) {
		r.Event.Fence = 0
	}
	s := Submission{Event: r.Event, Payload: m.payload, Position: r.Position, Admitted: r.Admitted}
	if g.rules.Check(here, s) != nil {
		return nil, nil
	}
	next := clone(here, task)
	if err := next.Apply(r); err != nil {
		return nil, fmt.Errorf("the rules accept what the fold refuses: %s in %s: %w", m.payload.Type().Short(), signature(task), err)
	}
	return next, nil
}

// unproven reports whether a task was delivered without proof and approval.
func unproven(before, after *projections.Task) bool {
	return after.State == projections.Delivered && before.State != projections.Delivered && (before.Verdict() != projections.ItemPass || !before.Quorum())
}

// byHolder reports whether the event's author acts under a lease.
func byHolder(p events.Payload) bool {
	switch p.(type) {
	case *events.Release, *events.Result, *events.Recovery, *events.Intent, *events.Dispatch:
		return true
	case *events.Escalation:
		return true
	case *events.StepIssue, *events.StepCompletion, *events.StepFailure, *events.Progress:
		return true
	}
	return false
}

func subjectFor(t *projections.Task, p events.Payload, subject string) string {
	switch p.Type() {
	case events.ContractProposed, events.ContractAccepted, events.ContractWithdrawn, events.TaskCancelled:
		return ""
	}
	if about, ok := p.(events.AboutEffect); ok {
		return t.Effect(about.Effect().Key).Attempt
	}
	return subject
}

// copyTask copies what a fold changes in place; the rest is shared.
func copyTask(t *projections.Task) *projections.Task {
	c := *t
	c.Contracts, c.Attempts, c.Runs = slices.Clone(t.Contracts), slices.Clone(t.Attempts), slices.Clone(t.Runs)
	c.Receipts, c.Approvals, c.Findings = slices.Clone(t.Receipts), slices.Clone(t.Approvals), slices.Clone(t.Findings)
	c.Decisions, c.Contributors, c.Effects = slices.Clone(t.Decisions), slices.Clone(t.Contributors), slices.Clone(t.Effects)
	for i := range c.Effects {
		e := &c.Effects[i]
		e.Approvers, e.Tries, e.Parts = slices.Clone(e.Approvers), slices.Clone(e.Tries), slices.Clone(e.Parts)
	}
	if t.Repair != nil {
		repair := *t.Repair
		c.Repair = &repair
	}
	copyWork(&c, t)
	return &c
}

// clone copies a ledger of one task; the registry does not change here.
func clone(l *projections.Ledger, t *projections.Task) *projections.Ledger {
	again := copyTask(t)
	c := &projections.Ledger{Name: l.Name, Registry: l.Registry, Tasks: map[string]*projections.Task{t.ID: again}, Position: t.Position, Admitted: t.Admitted,
		Keys: map[string]string{}, External: map[string]string{}}
	c.Position = max(c.Position, l.Registry.Position)
	for _, e := range again.Effects {
		c.Keys[e.Intent.Key] = t.ID
		for _, p := range e.Parts {
			if p.ExternalID != "" {
				c.External[projections.ExternalKey(e.Intent.Kind, e.Intent.Target, p.ExternalID)] = e.Intent.Key
			}
		}
	}
	return c
}
