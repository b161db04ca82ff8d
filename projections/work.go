package projections

import (
	"fmt"
	"slices"

	"github.com/deedledger/deed/events"
)

// Work is the part of a task's state that says how the work goes: what is
// planned, decided, kept, spent and stopped. All of it is empty for a history
// without events of that kind.
type Work struct {
	// Pause is set while the task is paused.
	Pause *Pause `json:"pause,omitempty"`
	// Plan is the newest plan; see [Task.CurrentPlan].
	Plan  *Plan  `json:"plan,omitempty"`
	Steps []Step `json:"steps,omitempty"`
	// Progress is the newest note of a run.
	Progress *Progress `json:"progress,omitempty"`

	Choices    []Decision           `json:"decisions,omitempty"`
	Bans       []Ban                `json:"bans,omitempty"`
	Artifacts  []Artifact           `json:"artifacts,omitempty"`
	Quarantine []ArtifactQuarantine `json:"quarantine,omitempty"`
	// Costs are totals, sorted by kind, then currency.
	Costs      []CostTotal `json:"costs,omitempty"`
	Violations []Violation `json:"violations,omitempty"`
	Defects    []Defect    `json:"defects,omitempty"`
}

// foldWork applies an event about how the work goes, and reports whether p is
// one.
func (t *Task) foldWork(r events.Record, p events.Payload) bool {
	switch d := p.(type) {
	case *events.Pause:
		t.Pause = &Pause{Signed: signed(r), Reason: d.Reason}
	case *events.Unpause:
		t.unpause(r)
	case *events.Plan:
		t.Plan = &Plan{Signed: signed(r), Attempt: t.attemptID(), Data: *d}
	case *events.StepIssue, *events.StepCompletion, *events.StepFailure, *events.Progress:
		t.foldStep(r, p)
	case *events.Decision, *events.Freeze, *events.Thaw, *events.Retraction:
		t.decide(r, p)
	case *events.Ban:
		t.Bans = append(t.Bans, Ban{Signed: signed(r), Data: *d})
	case *events.Unban:
		t.Ban(d.Approach).Lifted = r.Event.ID
	case *events.Artifact:
		t.Artifacts = append(t.Artifacts, Artifact{Signed: signed(r), Data: *d})
	case *events.Quarantine:
		t.Quarantine = append(t.Quarantine, ArtifactQuarantine{Signed: signed(r), Data: *d})
	case *events.Cost:
		t.spend(d)
	case *events.Violation:
		t.violate(r, d)
	case *events.DefectReport:
		t.Defects = append(t.Defects, Defect{Signed: signed(r), Data: *d})
	default:
		return false
	}
	return true
}

// checkWorkReferences makes sure that what an event about the work builds on
// exists.
func (t *Task) checkWorkReferences(p events.Payload) error {
	missing := func(ok bool, what, name string) error {
		if ok {
			return nil
		}
		return fmt.Errorf("%w: %s %q", ErrReference, what, name)
	}
	switch d := p.(type) {
	case *events.StepCompletion:
		return missing(t.Step(d.Step) != nil, "step", d.Step)
	case *events.StepFailure:
		return missing(t.Step(d.Step) != nil, "step", d.Step)
	case *events.Decision:
		return missing(d.Supersedes == "" || t.Choice(d.Supersedes) != nil, "decision", d.Supersedes)
	case *events.Freeze:
		return missing(t.Choice(d.Decision) != nil, "decision", d.Decision)
	case *events.Thaw:
		return missing(t.Choice(d.Decision) != nil, "decision", d.Decision)
	case *events.Retraction:
		return missing(t.Choice(d.Decision) != nil, "decision", d.Decision)
	case *events.Unban:
		return missing(t.Ban(d.Approach) != nil, "approach", d.Approach)
	}
	return nil
}

// attemptID returns the id of the open attempt, "" when there is none.
func (t *Task) attemptID() string {
	if a := t.Attempt(); a != nil {
		return a.ID
	}
	return ""
}

// past reports whether an optional time lies before an admission stamp, in ns.
func past(at string, stamp int64) bool {
	if at == "" {
		return false
	}
	when, err := events.ParseTime(at)
	return err != nil || stamp >= when.UnixNano()
}

// Defect is a reported fault of what was or will be delivered.
type Defect struct {
	Signed
	Data events.DefectReport `json:"data"`
}

// Violation is what a change broke of the boundary. It is fatal for its tree
// as long as the boundary is the one that it broke.
type Violation struct {
	Signed
	// Contract and Boundary are the digests of the accepted contract and of the
	// open attempt's boundary, when it was recorded.
	Contract string           `json:"contract"`
	Boundary string           `json:"boundary"`
	Data     events.Violation `json:"data"`
}

func (t *Task) violate(r events.Record, d *events.Violation) {
	contract, boundary := t.bounds()
	t.Violations = append(t.Violations, Violation{Signed: signed(r), Contract: contract, Boundary: boundary, Data: *d})
}

// bounds returns the digests of what bounds the work now.
func (t *Task) bounds() (contract, boundary string) {
	if c := t.Contract(); c != nil {
		contract = c.Digest
	}
	if a := t.Attempt(); a != nil {
		boundary = a.Snapshot.Inputs.Boundary
	}
	return contract, boundary
}

// Violation returns the violation that is fatal for a tree now, nil when there
// is none.
func (t *Task) Violation(tree string) *Violation {
	contract, boundary := t.bounds()
	i := slices.IndexFunc(t.Violations, func(v Violation) bool {
		return v.Data.Tree == tree && v.Contract == contract && v.Boundary == boundary
	})
	if i < 0 {
		return nil
	}
	return &t.Violations[i]
}

// Violated returns the violation of the current result's tree, nil when there
// is none. While there is one nothing about the result advances.
func (t *Task) Violated() *Violation {
	if t.Result == nil {
		return nil
	}
	return t.Violation(t.Result.Data.Tree)
}
