package ledger

import (
	"fmt"
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// Existing says that the very same intent is in the ledger already: nothing
// is written, the effect that exists is the answer.
type Existing struct {
	Task     string
	EventID  string
	Position events.Position
}

// Error names the effect that exists.
func (e *Existing) Error() string {
	return fmt.Sprintf("effect exists: event %s of task %s at position %d", e.EventID, e.Task, e.Position)
}

// checkEffect applies the rules of effects; other types pass.
func checkEffect(s *scene) *Refusal {
	if d, ok := s.Payload.(*events.Intent); ok {
		return checkIntent(s, d)
	}
	about, ok := s.Payload.(events.AboutEffect)
	if !ok {
		return nil
	}
	e := s.task.Effect(about.Effect().Key)
	if e == nil {
		return refuse(CodeNotFound, s.row.Name(), "the task has no effect with key %s", about.Effect().Key)
	}
	switch d := s.Payload.(type) {
	case *events.EffectApproval:
		return checkEffectApproval(s, d, e)
	case *events.EffectWithdrawal:
		if st := e.Status(); st != projections.StatusIntended && st != projections.StatusFailed {
			return refuse(CodeState, s.row.Name(), "the effect is %s", st)
		}
		return nil
	case *events.Dispatch:
		return checkDispatch(s, d, e)
	case *events.Confirmation:
		return checkConfirmation(s, d, e)
	case *events.Failure:
		return checkOutcome(s, e, d.Part, d.Try)
	case *events.Unknown:
		return checkOutcome(s, e, d.Part, d.Try)
	case *events.Compensation:
		return checkCompensation(s, d, e)
	}
	return nil
}

// checkIntent checks a new effect. The same key with the same payload again
// is found by [Rules.Existing] before.
func checkIntent(s *scene, d *events.Intent) *Refusal {
	rule := s.row.Name()
	if owner, taken := s.ledger.Keys[d.Key]; taken {
		e := s.ledger.Tasks[owner].Effect(d.Key)
		return refuse(CodeRule, rule+"/key", "key %s is in use with another payload: there %s (task %s), here %s", d.Key, e.Payload, owner, events.Sum(s.Event.Data))
	}
	if d.Kind.ReleaseOnly() && s.task.Lease.Purpose != events.PurposeRelease {
		return refuse(CodeRule, rule+"/release", "%s needs a release run", d.Kind)
	}
	if s.task.Lease.Purpose == events.PurposeRelease && s.task.Contract().Contract.RiskTier == "read-only" {
		return refuse(CodeRule, rule+"/risk", "a read-only contract has no effects")
	}
	return firstOf(checkProven(s, s.task.Lease.Purpose, d.Compensates), checkGit(s, d), checkUndoing(s, d))
}

// existing returns the effect that an intent repeats, nil when it is new.
func existing(l *projections.Ledger, s Submission) *Existing {
	d, ok := s.Payload.(*events.Intent)
	if !ok {
		return nil
	}
	owner, taken := l.Keys[d.Key]
	if !taken || owner != s.Event.Source.Task {
		return nil
	}
	e := l.Tasks[owner].Effect(d.Key)
	if e.Payload != events.Sum(s.Event.Data).String() {
		return nil
	}
	return &Existing{Task: owner, EventID: e.EventID, Position: e.Position}
}

func checkEffectApproval(s *scene, d *events.EffectApproval, e *projections.Effect) *Refusal {
	switch {
	case e.Status() != projections.StatusIntended:
		return refuse(CodeState, s.row.Name(), "the effect is %s", e.Status())
	case d.PayloadDigest != e.Intent.PayloadDigest:
		return refuse(CodeStale, s.row.Name(), "the effect's payload is %s", e.Intent.PayloadDigest)
	case e.Actor == s.author.Name:
		return refuse(CodeRule, "separation", "%s intended the effect", s.author.Name)
	case needsPerson(s, e) && s.author.Kind != events.KindHuman:
		return refuse(CodeRule, s.row.Name()+"/human", "an effect of kind %s needs the approval of a person, %s is %s", e.Intent.Kind, s.author.Name, s.author.Kind)
	}
	if other := s.ledger.Registry.Actor(e.Actor); other != nil && other.Principal == s.author.Principal && s.ledger.Registry.Genesis.Profile != "solo" {
		return refuse(CodeRule, "separation", "%s, who intended the effect, is also %s's", e.Actor, other.Principal)
	}
	return nil
}

// needsApproval reports whether an effect waits for effect.approved: releases
// always, kinds that the contract does not list, and those that the attempt did
// not pin as free: the repository's policy may list less than the contract.
func needsApproval(s *scene, e *projections.Effect) bool {
	kind := e.Intent.Kind
	if kind.ReleaseOnly() || !slices.Contains(s.task.Contract().Contract.Scope.Effects, kind) {
		return true
	}
	if a := s.task.Attempt(); a != nil && s.ledger.Registry.RulesVersion() >= rulesBoundary {
		return !slices.Contains(a.Snapshot.Rights.Effects, kind) || slices.Contains(a.Snapshot.Rights.Approvals, kind)
	}
	return false
}

// needsPerson reports whether a person alone may approve an effect: its kind is one
// that the attempt pinned as needing an approval, by the contract or by the
// repository's policy.
func needsPerson(s *scene, e *projections.Effect) bool {
	a := s.task.Attempt()
	return a != nil && s.ledger.Registry.RulesVersion() >= rulesBoundary && slices.Contains(a.Snapshot.Rights.Approvals, e.Intent.Kind)
}

// approved reports whether somebody approved an effect who may. A pin that was
// made later may ask for a person where an agent was enough.
func approved(s *scene, e *projections.Effect) bool {
	person := needsPerson(s, e)
	return slices.ContainsFunc(e.Approvers, func(name string) bool {
		actor := s.ledger.Registry.Actor(name)
		return !person || actor != nil && actor.Kind == events.KindHuman
	})
}

func checkDispatch(s *scene, d *events.Dispatch, e *projections.Effect) *Refusal {
	rule := s.row.Name()
	switch st := e.Status(); {
	case e.Withdrawn:
		return refuse(CodeState, rule, "the effect was withdrawn")
	case st != projections.StatusIntended && st != projections.StatusFailed && !retryable(e):
		code := CodeState
		if e.Open() {
			code = CodeEffect
		}
		return refuse(code, rule, "the effect is %s", st)
	case needsApproval(s, e) && !approved(s, e):
		whose := ""
		if needsPerson(s, e) {
			whose = " by a person"
		}
		return refuse(CodeRule, rule+"/approval", "an effect of kind %s needs effect.approved%s", e.Intent.Kind, whose)
	case d.Try != int64(len(e.Tries))+1:
		return refuse(CodeStale, rule, "try %d, the next one is %d", d.Try, len(e.Tries)+1)
	case e.Intent.Kind.ReleaseOnly() && s.task.Lease.Purpose != events.PurposeRelease:
		return refuse(CodeRule, rule+"/release", "%s needs a release run", e.Intent.Kind)
	}
	for _, open := range s.task.OpenEffects() {
		if open != e.Intent.Key && open != e.Intent.Compensates {
			return refuse(CodeEffect, rule, "effect %s is open", open)
		}
	}
	return firstOf(checkProven(s, s.task.Lease.Purpose, e.Intent.Compensates), checkUndoable(s, &e.Intent), checkGit(s, &e.Intent))
}

// retryable reports whether an effect is partly applied and its other parts
// are proven not to be: these may be tried again.
func retryable(e *projections.Effect) bool {
	if e.Status() != projections.StatusPartial {
		return false
	}
	for _, p := range e.Parts {
		if p.Status != projections.StatusConfirmed && p.Status != projections.StatusFailed {
			return false
		}
	}
	return true
}

// checkOutcome checks the first outcome of a part's try, or a better one in
// place of unknown.
func checkOutcome(s *scene, e *projections.Effect, name string, number int64) *Refusal {
	rule := s.row.Name()
	part := e.Part(name)
	switch {
	case part == nil:
		return refuse(CodeNotFound, rule, "the effect has no part %q", name)
	case len(e.Tries) == 0:
		return refuse(CodeState, rule, "the effect was never dispatched")
	case part.Try != number:
		return refuse(CodeStale, rule, "the part's newest try is %d", part.Try)
	case part.Status == projections.StatusDispatched:
		return nil
	case part.Status == projections.StatusUnknown || part.Status == projections.StatusConflict:
		if s.Event.Type == events.EffectUnknown && part.Status == projections.StatusConflict {
			return refuse(CodeState, rule, "a conflict is settled by a person")
		}
		return checkConflictSettled(s, part)
	}
	return refuse(CodeState, rule, "the part is %s already", part.Status)
}

// checkConflictSettled leaves a conflict to a person: what is there is not
// ours, so no probe of ours can settle it.
func checkConflictSettled(s *scene, part *projections.Part) *Refusal {
	if part.Status == projections.StatusConflict && basis(s.Payload) != events.BasisPerson {
		return refuse(CodeEffect, s.row.Name()+"/conflict", "a conflict is settled by a person")
	}
	return nil
}

func checkConfirmation(s *scene, d *events.Confirmation, e *projections.Effect) *Refusal {
	if refusal := checkOutcome(s, e, d.Part, d.Try); refusal != nil && !isNews(e, d) {
		return refusal
	}
	i := slices.IndexFunc(e.Tries, func(t projections.Try) bool { return t.Number == d.Try })
	if i < 0 || e.Tries[i].Token != d.Token {
		return refuse(CodeRule, s.row.Name()+"/token", "the evidence does not carry the token of try %d", d.Try)
	}
	external := projections.ExternalKey(e.Intent.Kind, e.Intent.Target, d.ExternalID)
	if other, taken := s.ledger.External[external]; taken && other != d.Key {
		return refuse(CodeRule, s.row.Name()+"/external-id", "%s belongs to effect %s", d.ExternalID, other)
	}
	return nil
}

// isNews reports whether a confirmation says what nobody expected any more: a
// try that was taken for failed, or one before the newest, did happen, or the
// newest happened twice. It is a fact and is recorded; the fold makes a
// conflict of it where it contradicts what is known.
func isNews(e *projections.Effect, d *events.Confirmation) bool {
	part := e.Part(d.Part)
	if part == nil || part.Status == projections.StatusConflict || d.Try > part.Try {
		return false
	}
	settled := part.Status == projections.StatusFailed || part.Status == projections.StatusConfirmed || d.Try < part.Try
	return settled && part.ExternalID != d.ExternalID
}

func checkCompensation(s *scene, d *events.Compensation, e *projections.Effect) *Refusal {
	part := e.Part(d.Part)
	switch {
	case part == nil:
		return refuse(CodeNotFound, s.row.Name(), "the effect has no part %q", d.Part)
	case part.Status != projections.StatusConfirmed:
		return refuse(CodeState, s.row.Name(), "the part is %s: only what is confirmed can be undone", part.Status)
	case d.Basis != events.BasisPerson:
		return checkUndone(s, d)
	}
	return nil
}
