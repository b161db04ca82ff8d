package ledger

import (
	"slices"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

func checkProposal(s *scene, d *events.Contract) *Refusal {
	if want := int64(len(s.task.Contracts)) + 1; d.Version != want {
		return refuse(CodeStale, s.row.Name(), "version %d, the next one is %d", d.Version, want)
	}
	for _, pattern := range slices.Concat(d.Scope.Include, d.Scope.Exclude) {
		if err := boundary.CheckPattern(pattern); err != nil {
			return refuse(CodeForm, s.row.Name()+"/scope", "%v", err)
		}
	}
	return nil
}

func checkAcceptance(s *scene, d *events.Acceptance) *Refusal {
	v := s.task.Version(d.Version)
	switch {
	case v == nil:
		return refuse(CodeNotFound, s.row.Name(), "version %d was never proposed", d.Version)
	case v.Digest != d.Digest:
		return refuse(CodeStale, s.row.Name(), "version %d has digest %s", d.Version, v.Digest)
	case v.Accepted:
		return refuse(CodeState, s.row.Name(), "version %d is accepted already", d.Version)
	case expired(v.Contract.Expires, s.Admitted):
		return refuse(CodeStale, s.row.Name(), "version %d expired at %s", d.Version, v.Contract.Expires)
	}
	return nil
}

// expired reports whether an optional time lies before an admission stamp.
func expired(at string, admitted int64) bool {
	if at == "" {
		return false
	}
	t, err := events.ParseTime(at)
	return err != nil || admitted >= t.UnixNano()
}

func checkAttempt(s *scene, d *events.Attempt) *Refusal {
	c := s.task.Contract()
	rule := s.row.Name()
	switch {
	case c == nil:
		return refuse(CodeState, rule, "no contract is accepted")
	case d.Contract.Digest != c.Digest || d.Contract.Version != c.Contract.Version:
		return refuse(CodeStale, rule, "the accepted contract is version %d, %s", c.Contract.Version, c.Digest)
	case expired(c.Contract.Expires, s.Admitted):
		return refuse(CodeStale, rule, "the contract expired at %s", c.Contract.Expires)
	case d.Snapshot.Inputs.Policy != s.ledger.Registry.Policy:
		return refuse(CodeStale, rule, "the policy in force is %s", s.ledger.Registry.Policy)
	case d.Snapshot.Target != c.Contract.Target:
		return refuse(CodeRule, rule, "the contract's target is %q", c.Contract.Target)
	case s.ledger.Registry.Actor(d.Snapshot.Rights.Identity) == nil:
		return refuse(CodeNotFound, rule, "identity %q is not in the registry", d.Snapshot.Rights.Identity)
	case len(s.task.OpenEffects()) > 0:
		return refuse(CodeEffect, rule, "effects are open: %v", s.task.OpenEffects())
	}
	if s.task.State == projections.RepairQueued {
		if r := s.task.Repair; r == nil || !r.Accepted || r.Kind == "code" {
			return refuse(CodeState, rule, "from RepairQueued a new attempt needs an accepted repair of kind rebase or inputs")
		}
	}
	return nil
}

func checkClaim(s *scene, d *events.Claim) *Refusal {
	rule := s.row.Name()
	switch {
	case s.task.Lease != nil:
		return refuse(CodeFence, rule, "%s holds the lease with fence %d", s.task.Lease.Actor, s.task.Lease.Fence)
	case s.Event.Fence != s.task.Fence+1:
		return refuse(CodeStale, rule, "fence %d, the next one is %d", s.Event.Fence, s.task.Fence+1)
	}
	if r := s.task.Reserved; r != nil && r.To != s.Event.AuthID && s.Admitted < r.Until && d.Purpose != events.PurposeRecover {
		return refuse(CodeRule, rule+"/reserved", "only %s may claim until %s", r.To, events.FormatStamp(r.Until))
	}
	if s.task.State == projections.RepairQueued {
		if refusal := checkRepairClaim(s, d); refusal != nil {
			return refusal
		}
	}
	if d.Purpose == events.PurposeRecover {
		return nil
	}
	if refusal := checkProven(s, d.Purpose, ""); refusal != nil {
		return refusal
	}
	for _, match := range Matches(s.ledger, s.task, d.World, s.Admitted) {
		switch match {
		case projections.EscalateContractChanged, projections.ReAuthorize, projections.CreateRebaseRepair, projections.NewAttemptInputsChanged:
			return refuse(CodeStale, rule+"/"+match, "the world is not what the attempt pinned: recover first")
		case projections.EscalateEffectUnknown:
			return refuse(CodeEffect, rule+"/"+match, "effects are open: %v", s.task.OpenEffects())
		case projections.EscalateFinding:
			return refuse(CodeRule, rule+"/"+match, "a fatal finding is open")
		}
	}
	return nil
}

// checkRepairClaim checks a claim from RepairQueued: an accepted repair of
// kind code, by the role that can do its unit.
func checkRepairClaim(s *scene, d *events.Claim) *Refusal {
	r := s.task.Repair
	if r == nil || !r.Accepted || r.Kind != "code" {
		return refuse(CodeState, s.row.Name(), "from RepairQueued a claim needs an accepted repair of kind code")
	}
	release := false
	if e := s.task.Effect(r.Compensate); e != nil {
		release = e.Purpose == events.PurposeRelease
	}
	if release != (d.Purpose == events.PurposeRelease) {
		return refuse(CodeState, s.row.Name(), "the queued repair is not for a %s lease", d.Purpose)
	}
	return nil
}

func checkResult(s *scene, d *events.Result) *Refusal {
	rule := s.row.Name()
	if open := s.task.OpenEffects(); len(open) > 0 {
		return refuse(CodeEffect, rule, "effects are open: %v", open)
	}
	if base := s.task.Attempt().Snapshot.BaseCommit; d.Base != base {
		return refuse(CodeStale, rule, "the attempt's base is %s", base)
	}
	if refusal := checkTrespass(s, d); refusal != nil {
		return refusal
	}
	c := s.task.Contract().Contract
	for _, change := range d.Changes {
		for _, id := range change.Acceptance {
			if c.Item(id) == nil {
				return refuse(CodeNotFound, rule, "the contract has no acceptance item %s", id)
			}
		}
	}
	for _, claim := range d.Claims {
		if c.Item(claim.Acceptance) == nil {
			return refuse(CodeNotFound, rule, "the contract has no acceptance item %s", claim.Acceptance)
		}
	}
	return nil
}

// checkRecovery recomputes the decision and refuses any other.
func checkRecovery(s *scene, d *events.Recovery) *Refusal {
	matches := Matches(s.ledger, s.task, d.World, s.Admitted)
	if matches[0] == d.Decision && slices.Equal(matches, d.Matches) {
		return nil
	}
	return refuse(CodeRule, s.row.Name()+"/decision", "history and world give %v, not %v", matches, d.Matches)
}

// checkResolution lets a person go on only where nothing is open that the way
// on would pass over.
func checkResolution(s *scene, d *events.Resolution) *Refusal {
	rule := s.row.Name()
	t := s.task
	if d.Action == "cancel" {
		return nil
	}
	if t.Contract() == nil && d.Action != "resume" {
		return refuse(CodeState, rule, "no contract is accepted: only resume or cancel")
	}
	for i := range t.Effects {
		if t.Effects[i].Ambiguous() || t.Effects[i].Open() && d.Action == "new-attempt" {
			return refuse(CodeEffect, rule, "effects are open: %v; settle them first", t.OpenEffects())
		}
	}
	if d.Action == "new-attempt" {
		return nil
	}
	switch {
	case t.Stale() || t.Contract() != nil && expired(t.Contract().Contract.Expires, s.Admitted):
		return refuse(CodeStale, rule, "the contract changed or expired: new-attempt or cancel")
	case t.FatalFinding() != nil:
		return refuse(CodeRule, "fatal-finding", "finding %s is open", t.FatalFinding().EventID)
	case d.Action != "resume" && t.Attempt() == nil:
		return refuse(CodeState, rule, "%s needs an open attempt", d.Action)
	case d.Action == "reverify" && t.Result == nil:
		return refuse(CodeState, rule, "reverify needs a result")
	}
	return nil
}
