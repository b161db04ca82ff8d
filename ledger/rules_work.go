package ledger

import (
	"slices"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// whilePaused reports whether an event may happen to a task that is paused:
// what ends the pause, the task or a run, what became of effects, and facts
// that move nothing by themselves.
func whilePaused(t events.Type) bool {
	switch t {
	case events.TaskUnpaused, events.TaskCancelled, events.ContractWithdrawn, events.AttemptEscalated, events.LeaseReleased, events.AttemptInterrupted,
		events.EffectConfirmed, events.EffectFailed, events.EffectUnknown, events.EffectCompensated,
		events.ReceiptRecorded, events.FindingRecorded, events.FindingAcknowledged, events.BoundaryViolated,
		events.ArtifactRecorded, events.ArtifactQuarantined, events.CostRecorded, events.DefectReported:
		return true
	}
	return false
}

func checkPaused(s *scene) *Refusal {
	p := s.task.Pause
	if p == nil || whilePaused(s.Event.Type) || s.Event.Type == events.TaskPaused { // which names its own reason
		return nil
	}
	return refuse(CodeState, "paused", "%s paused the task: an owner or a controller must let it go on first", p.Actor)
}

// checkViolated lets nothing advance whose tree is outside the boundary.
func checkViolated(s *scene) *Refusal {
	var v *projections.Violation
	switch d := s.Payload.(type) {
	case *events.Result:
		v = s.task.Violation(d.Tree)
	case *events.Approval:
		if d.Verdict == "approve" {
			v = s.task.Violated()
		}
	case *events.Delivery:
		v = s.task.Violated()
	}
	if v == nil {
		return nil
	}
	return refuse(CodeBoundary, "boundary-violated", "tree %s is outside the boundary (%s): another tree is needed", v.Data.Tree, v.EventID)
}

// checkWork applies the rules of the types about how the work goes; mine says
// whether the event is of one.
func checkWork(s *scene) (refusal *Refusal, mine bool) {
	switch d := s.Payload.(type) {
	case *events.Pause:
		if p := s.task.Pause; p != nil {
			return refuse(CodeState, s.row.Name(), "%s paused the task already", p.Actor), true
		}
	case *events.Unpause:
		if s.task.Pause == nil {
			return refuse(CodeState, s.row.Name(), "the task is not paused"), true
		}
	case *events.Plan:
		return checkPlan(s, d), true
	case *events.StepIssue:
		return checkStepIssue(s, d), true
	case *events.StepCompletion:
		return firstOf(checkOpenStep(s, d.Step), checkEvidence(s, d.Evidence)), true
	case *events.StepFailure:
		return firstOf(checkOpenStep(s, d.Step), checkEvidence(s, d.Evidence)), true
	case *events.Progress:
		if d.Step != "" {
			return checkOpenStep(s, d.Step), true
		}
	case *events.Violation:
		return checkViolation(s, d), true
	case *events.Artifact:
		return checkArtifact(s, d), true
	case *events.Quarantine:
		return checkQuarantine(s, d), true
	case *events.Cost:
	case *events.DefectReport:
		if c := newestContract(s.task); d.Acceptance != "" && (c == nil || c.Item(d.Acceptance) == nil) {
			return refuse(CodeNotFound, s.row.Name(), "the contract has no acceptance item %s", d.Acceptance), true
		}
	default:
		return checkChoice(s)
	}
	return nil, true
}

// firstOf returns the first refusal, nil when there is none.
func firstOf(list ...*Refusal) *Refusal {
	for _, r := range list {
		if r != nil {
			return r
		}
	}
	return nil
}

// newestContract returns the accepted contract, else the one proposed last,
// else nil.
func newestContract(t *projections.Task) *events.Contract {
	if c := t.Contract(); c != nil {
		return &c.Contract
	}
	if n := len(t.Contracts); n > 0 {
		return &t.Contracts[n-1].Contract
	}
	return nil
}

// checkPatterns refuses what is no pattern of paths.
func checkPatterns(s *scene, patterns []string) *Refusal {
	for _, p := range patterns {
		if err := boundary.CheckPattern(p); err != nil {
			return refuse(CodeForm, s.row.Name()+"/pattern", "%v", err)
		}
	}
	return nil
}

func checkPlan(s *scene, d *events.Plan) *Refusal {
	for _, u := range d.Units {
		if refusal := checkPatterns(s, u.Files); refusal != nil {
			return refusal
		}
		for _, id := range u.Acceptance {
			if c := newestContract(s.task); c == nil || c.Item(id) == nil {
				return refuse(CodeNotFound, s.row.Name(), "the contract has no acceptance item %s", id)
			}
		}
	}
	return nil
}

func checkStepIssue(s *scene, d *events.StepIssue) *Refusal {
	switch {
	case s.task.Step(d.Step) != nil:
		return refuse(CodeRule, s.row.Name(), "step %s exists already; ids are unique in an attempt", d.Step)
	case d.Unit != "" && s.task.Unit(d.Unit) == nil:
		return refuse(CodeNotFound, s.row.Name(), "the newest plan has no unit %s", d.Unit)
	}
	return checkPatterns(s, d.Files)
}

// checkOpenStep makes sure that a step was issued in the open attempt and has
// not ended.
func checkOpenStep(s *scene, id string) *Refusal {
	step := s.task.Step(id)
	switch {
	case step == nil:
		return refuse(CodeNotFound, s.row.Name(), "the attempt has no step %s", id)
	case step.Status != projections.StepOpen:
		return refuse(CodeState, s.row.Name(), "step %s is %s", id, step.Status)
	}
	return nil
}

// checkEvidence makes sure that evidence that the ledger can know of exists
// and counts.
func checkEvidence(s *scene, list []events.Evidence) *Refusal {
	for _, e := range list {
		known := slices.ContainsFunc(s.task.Receipts, func(r projections.Receipt) bool { return r.EventID == e.Receipt })
		switch {
		case e.Receipt != "" && !known:
			return refuse(CodeNotFound, s.row.Name()+"/evidence", "the task has no receipt %s", e.Receipt)
		case e.Artifact != "" && s.task.Quarantined(e.Artifact):
			return refuse(CodeRule, s.row.Name()+"/evidence", "artifact %s is quarantined", e.Artifact)
		}
	}
	return nil
}

func checkViolation(s *scene, d *events.Violation) *Refusal {
	switch {
	case s.task.State == projections.AwaitingVerification && s.task.Result.Data.Tree != d.Tree:
		return refuse(CodeStale, s.row.Name(), "the result's tree is %s", s.task.Result.Data.Tree)
	case s.task.Violation(d.Tree) != nil:
		return refuse(CodeState, s.row.Name(), "that tree %s is outside the boundary is recorded already", d.Tree)
	}
	return nil
}

func checkArtifact(s *scene, d *events.Artifact) *Refusal {
	if s.task.Quarantined(d.Digest) {
		return refuse(CodeRule, s.row.Name(), "artifact %s is quarantined", d.Digest)
	}
	for _, a := range s.task.Artifacts {
		switch {
		case a.Data.Digest != d.Digest:
		case a.Data.Size != d.Size || a.Data.MediaType != d.MediaType || a.Data.Class != d.Class:
			return refuse(CodeRule, s.row.Name(), "artifact %s is recorded with %d bytes, type %s, class %s", d.Digest, a.Data.Size, a.Data.MediaType, a.Data.Class)
		case a.Data.About == d.About:
			return refuse(CodeState, s.row.Name(), "artifact %s is recorded already", d.Digest)
		}
	}
	return nil
}

func checkQuarantine(s *scene, d *events.Quarantine) *Refusal {
	switch {
	case s.task.Quarantined(d.Digest):
		return refuse(CodeState, s.row.Name(), "artifact %s is quarantined already", d.Digest)
	case !s.task.Mentions(d.Digest):
		return refuse(CodeNotFound, s.row.Name(), "the task's history names no artifact %s", d.Digest)
	}
	return nil
}

// possibleWork reports whether the task has what an event of the type is
// about. Other types pass.
func possibleWork(kind events.Type, t *projections.Task) bool {
	decision := func(test func(*projections.Decision) bool) bool {
		return slices.ContainsFunc(t.Choices, func(d projections.Decision) bool { return test(&d) })
	}
	switch kind {
	case events.TaskPaused:
		return t.Pause == nil
	case events.TaskUnpaused:
		return t.Pause != nil
	case events.StepCompleted, events.StepFailed:
		return slices.ContainsFunc(t.CurrentSteps(), func(s projections.Step) bool { return s.Status == projections.StepOpen })
	case events.BoundaryViolated:
		return t.State != projections.AwaitingVerification || t.Violated() == nil
	case events.DecisionFrozen:
		return decision(func(d *projections.Decision) bool { return d.Standing() })
	case events.DecisionUnfrozen:
		return decision(func(d *projections.Decision) bool { return d.Standing() && d.Frozen != nil })
	case events.DecisionWithdrawn:
		return decision((*projections.Decision).Standing)
	case events.ApproachUnbanned:
		return slices.ContainsFunc(t.Bans, func(b projections.Ban) bool { return b.Lifted == "" })
	}
	return true
}
