package ledger

import (
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// checkChoice applies the rules of decisions and banned approaches; mine says
// whether the event is about one.
func checkChoice(s *scene) (refusal *Refusal, mine bool) {
	switch d := s.Payload.(type) {
	case *events.Decision:
		return checkDecision(s, d), true
	case *events.Freeze:
		return checkFreeze(s, d), true
	case *events.Thaw:
		return checkThaw(s, d), true
	case *events.Retraction:
		_, refusal := s.standing(d.Decision)
		return refusal, true
	case *events.Ban:
		return checkBan(s, d), true
	case *events.Unban:
		return checkUnban(s, d), true
	}
	return nil, false
}

// standing returns a decision that was neither withdrawn nor superseded.
func (s *scene) standing(id string) (*projections.Decision, *Refusal) {
	d := s.task.Choice(id)
	switch {
	case d == nil:
		return nil, refuse(CodeNotFound, s.row.Name(), "the task has no decision %s", id)
	case d.Withdrawn != "":
		return nil, refuse(CodeState, s.row.Name(), "decision %s is withdrawn", id)
	case d.Superseded != "":
		return nil, refuse(CodeState, s.row.Name(), "decision %s is superseded by %s", id, d.Superseded)
	}
	return d, nil
}

// checkFuture refuses what would expire before it begins.
func checkFuture(s *scene, expires string) *Refusal {
	if expired(expires, s.Admitted) {
		return refuse(CodeStale, s.row.Name()+"/expires", "%s has passed", expires)
	}
	return nil
}

func checkDecision(s *scene, d *events.Decision) *Refusal {
	if s.task.Choice(d.Decision) != nil {
		return refuse(CodeRule, s.row.Name(), "decision %s exists already; ids are unique in a task for ever", d.Decision)
	}
	known := slices.ContainsFunc(s.ledger.Registry.Actors, func(a *projections.Actor) bool { return a.Name == d.Owner || a.Principal == d.Owner })
	if !known {
		return refuse(CodeNotFound, s.row.Name()+"/owner", "%q is no actor and no principal of the registry", d.Owner)
	}
	if d.Supersedes != "" {
		old, refusal := s.standing(d.Supersedes)
		switch {
		case refusal != nil:
			return refusal
		case old.Guards(s.Admitted):
			// Else whoever may decide could end what only the owner may unfreeze.
			return refuse(CodeRule, s.row.Name()+"/frozen", "decision %s is frozen: the owner unfreezes it first", d.Supersedes)
		}
	}
	return firstOf(checkEvidence(s, d.Evidence), checkFuture(s, d.Expires))
}

func checkFreeze(s *scene, d *events.Freeze) *Refusal {
	old, refusal := s.standing(d.Decision)
	switch {
	case refusal != nil:
		return refusal
	case !old.Active(s.Admitted):
		return refuse(CodeStale, s.row.Name(), "decision %s expired at %s", d.Decision, old.Data.Expires)
	case old.Guards(s.Admitted):
		return refuse(CodeState, s.row.Name(), "decision %s is frozen already", d.Decision)
	}
	return firstOf(checkPatterns(s, d.Guard.Paths), checkFuture(s, d.Expires))
}

func checkThaw(s *scene, d *events.Thaw) *Refusal {
	old, refusal := s.standing(d.Decision)
	switch {
	case refusal != nil:
		return refusal
	case !old.Guards(s.Admitted):
		return refuse(CodeState, s.row.Name(), "decision %s is not frozen, or its freeze has expired", d.Decision)
	}
	return nil
}

func checkBan(s *scene, d *events.Ban) *Refusal {
	if s.task.Ban(d.Approach) != nil {
		return refuse(CodeRule, s.row.Name(), "approach %s was banned before; ids are unique in a task for ever", d.Approach)
	}
	return firstOf(checkPatterns(s, d.Guard.Paths), checkEvidence(s, d.Evidence), checkFuture(s, d.Expires))
}

func checkUnban(s *scene, d *events.Unban) *Refusal {
	b := s.task.Ban(d.Approach)
	switch {
	case b == nil:
		return refuse(CodeNotFound, s.row.Name(), "the task has no banned approach %s", d.Approach)
	case !b.Holds(s.Admitted):
		return refuse(CodeState, s.row.Name(), "the ban on %s was lifted or has expired", d.Approach)
	}
	return nil
}
