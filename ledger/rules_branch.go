package ledger

import (
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// checkGit checks an effect that moves a branch, at its intent and again at
// each dispatch: a commit goes anywhere but to the target, a merge brings
// exactly the approved commit and tree to it.
func checkGit(s *scene, d *events.Intent) *Refusal {
	g, c := d.Git, s.task.Contract()
	if g == nil || c == nil {
		return nil
	}
	rule, target := s.row.Name(), "refs/heads/"+c.Contract.Target
	if d.Kind == events.EffectCommit {
		if g.Ref == target {
			return refuse(CodeRule, rule+"/target", "a commit goes to a branch of its own; %s gets it by a merge", target)
		}
		return nil
	}
	r := s.task.Result
	switch {
	case r == nil:
		return refuse(CodeState, rule, "there is no result to merge")
	case g.Ref != target:
		return refuse(CodeRule, rule+"/target", "the contract's target is %q", c.Contract.Target)
	case g.Merged != r.Data.Head:
		return refuse(CodeStale, rule+"/head", "the approved commit is %s", r.Data.Head)
	case g.Tree != r.Data.Tree:
		return refuse(CodeRule, rule+"/tree", "the merge has tree %s, the approved tree is %s", g.Tree, r.Data.Tree)
	case !s.task.Quorum():
		return refuse(CodeRule, rule+"/quorum", "%d approvals count, %d are needed", len(s.task.Approvers()), c.Contract.Quorum)
	}
	return nil
}

// checkMerged makes sure that a delivery names the commit that the merge
// effect of the same result brought to the target, where there was one.
func checkMerged(s *scene, d *events.Delivery) *Refusal {
	e := s.task.MergedBy()
	if e == nil || e.Parts[0].ExternalID == d.Commit {
		return nil
	}
	return refuse(CodeRule, s.row.Name()+"/merge", "effect %s merged the result as commit %s", e.Intent.Key, e.Parts[0].ExternalID)
}

// checkUndoing checks the intent to undo an effect: of the same kind and
// target, so that it needs the same approval, and for no part twice.
func checkUndoing(s *scene, d *events.Intent) *Refusal {
	if d.Compensates == "" {
		return nil
	}
	rule := s.row.Name() + "/compensates"
	e := s.task.Effect(d.Compensates)
	switch {
	case e == nil:
		return refuse(CodeNotFound, rule, "the task has no effect with key %s", d.Compensates)
	case e.Intent.Compensates != "":
		return refuse(CodeRule, rule, "effect %s undoes another one itself", d.Compensates)
	case e.Intent.Kind != d.Kind || e.Intent.Target != d.Target:
		return refuse(CodeRule, rule, "the effect to undo is %s %s", e.Intent.Kind, e.Intent.Target)
	}
	for _, name := range undoneParts(d) {
		for i := range s.task.Effects {
			if other := &s.task.Effects[i]; undoes(other, d.Compensates, name) && !other.Withdrawn {
				return refuse(CodeRule, rule, "effect %s undoes part %q already: withdraw that one, or run it again", other.Intent.Key, name)
			}
		}
	}
	return checkUndoable(s, d)
}

// checkUndoable refuses to undo what is not proven to be there.
func checkUndoable(s *scene, d *events.Intent) *Refusal {
	e := s.task.Effect(d.Compensates)
	if e == nil {
		return nil
	}
	rule := s.row.Name() + "/compensates"
	if e.Ambiguous() {
		return refuse(CodeEffect, rule, "effect %s is %s: settle it before it is undone", d.Compensates, e.Status())
	}
	for _, name := range undoneParts(d) {
		switch part := e.Part(name); {
		case part == nil:
			return refuse(CodeNotFound, rule, "effect %s has no part %q", d.Compensates, name)
		case part.Status == projections.StatusCompensated && s.Event.Type == events.EffectDispatched:
		case part.Status != projections.StatusConfirmed:
			return refuse(CodeState, rule, "part %q is %s: only what is confirmed can be undone", name, part.Status)
		}
	}
	return nil
}

// undoneParts returns the parts that an intent undoes; "" is the only part of
// an effect without parts.
func undoneParts(d *events.Intent) []string {
	if len(d.Parts) == 0 {
		return []string{""}
	}
	return d.Parts
}

// undoes reports whether e is there to undo a part of the effect with a key.
func undoes(e *projections.Effect, key, part string) bool {
	return e.Intent.Compensates == key && e.Part(part) != nil
}

// checkUndone holds the record that a part was undone against the effect that
// undid it, where there is one: that one comes to its own outcome first.
func checkUndone(s *scene, d *events.Compensation) *Refusal {
	for i := range s.task.Effects {
		e := &s.task.Effects[i]
		if !undoes(e, d.Key, d.Part) || e.Withdrawn {
			continue
		}
		if p := e.Part(d.Part); p.Status != projections.StatusConfirmed || p.ExternalID != d.By {
			return refuse(CodeEffect, s.row.Name()+"/by", "effect %s, which undoes it, is %s by %q", e.Intent.Key, p.Status, p.ExternalID)
		}
	}
	return nil
}
