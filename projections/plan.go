package projections

import (
	"slices"

	"github.com/deedledger/deed/events"
)

// Plan is how an attempt is meant to be worked on. It authorises nothing.
type Plan struct {
	Signed
	Attempt string      `json:"attempt"`
	Data    events.Plan `json:"data"`
}

// StepStatus is where a step stands.
type StepStatus string

// The statuses of a step.
const (
	StepOpen   StepStatus = "open"
	StepDone   StepStatus = "done"
	StepFailed StepStatus = "failed"
)

// Step is a bounded piece of work of one attempt.
type Step struct {
	Signed
	Attempt string           `json:"attempt"`
	Fence   uint64           `json:"fence"` // the run that began it
	Data    events.StepIssue `json:"data"`
	Status  StepStatus       `json:"status"`
	// Ended is the event that ended the step, with what it said.
	Ended    *Signed           `json:"ended,omitempty"`
	Text     string            `json:"text,omitempty"`
	Evidence []events.Evidence `json:"evidence,omitempty"`
	Commit   string            `json:"commit,omitempty"`
}

// Progress is a note of a run.
type Progress struct {
	Signed
	Attempt string          `json:"attempt"`
	Data    events.Progress `json:"data"`
}

// CurrentPlan returns the newest plan of the open attempt, nil when there is
// none.
func (t *Task) CurrentPlan() *Plan {
	if t.Plan == nil || t.Plan.Attempt != t.attemptID() || t.Attempt() == nil {
		return nil
	}
	return t.Plan
}

// Unit returns a unit of the current plan, nil when there is none.
func (t *Task) Unit(name string) *events.Unit {
	p := t.CurrentPlan()
	if p == nil {
		return nil
	}
	i := slices.IndexFunc(p.Data.Units, func(u events.Unit) bool { return u.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Data.Units[i]
}

// Step returns a step of the open attempt, nil when there is none.
func (t *Task) Step(id string) *Step {
	attempt := t.attemptID()
	i := slices.IndexFunc(t.Steps, func(s Step) bool { return s.Attempt == attempt && s.Data.Step == id })
	if i < 0 {
		return nil
	}
	return &t.Steps[i]
}

// CurrentSteps returns the steps of the open attempt, in order of history.
func (t *Task) CurrentSteps() []Step {
	attempt := t.attemptID()
	return slices.DeleteFunc(slices.Clone(t.Steps), func(s Step) bool { return t.Attempt() == nil || s.Attempt != attempt })
}

// NextUnit returns the first unit of the current plan that no done step is
// about, nil when there is none.
func (t *Task) NextUnit() *events.Unit {
	p := t.CurrentPlan()
	if p == nil {
		return nil
	}
	steps := t.CurrentSteps()
	for i := range p.Data.Units {
		u := &p.Data.Units[i]
		if !slices.ContainsFunc(steps, func(s Step) bool { return s.Data.Unit == u.Name && s.Status == StepDone }) {
			return u
		}
	}
	return nil
}

// foldStep folds the events of a run about its steps. Who signs one takes part
// in the work.
func (t *Task) foldStep(r events.Record, p events.Payload) {
	t.contribute(r.Event.AuthID)
	switch d := p.(type) {
	case *events.StepIssue:
		t.Steps = append(t.Steps, Step{Signed: signed(r), Attempt: t.attemptID(), Fence: r.Event.Fence, Data: *d, Status: StepOpen})
	case *events.StepCompletion:
		s := t.Step(d.Step)
		s.Status, s.Text, s.Evidence, s.Commit = StepDone, d.Summary, d.Evidence, d.Commit
		s.end(r)
	case *events.StepFailure:
		s := t.Step(d.Step)
		s.Status, s.Text, s.Evidence = StepFailed, d.Reason, d.Evidence
		s.end(r)
	case *events.Progress:
		t.Progress = &Progress{Signed: signed(r), Attempt: t.attemptID(), Data: *d}
	}
}

func (s *Step) end(r events.Record) {
	by := signed(r)
	s.Ended = &by
}

// Proven reports whether a done step still has evidence that counts.
func (t *Task) Proven(s *Step) bool {
	return s.Status == StepDone && t.counts(s.Evidence)
}

// counts reports whether at least one piece of evidence is not quarantined.
func (t *Task) counts(list []events.Evidence) bool {
	return slices.ContainsFunc(list, func(e events.Evidence) bool { return e.Artifact == "" || !t.Quarantined(e.Artifact) })
}
