package ledger

import (
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// maxIdentities bounds the git identities of one actor.
const maxIdentities = 64

// checkInvitation decides on actor.invited: a new actor, an invitation that
// replaces an open one, a further key for an actor whose last one was
// compromised, or without a token an amendment of an actor that has one.
func checkInvitation(g *projections.Registry, s Submission, d *events.Invitation) error {
	rule := s.Event.Type.Short()
	if a := g.Actor(d.Actor); a != nil && (a.Revoked != 0 || len(a.Keys) > 0) {
		if refusal := checkAmendment(a, d, rule); refusal != nil {
			return refusal
		}
	} else if d.TokenHash == "" {
		return refuse(CodeNotFound, rule, "there is no actor %q with a key to amend: an invitation has a token", d.Actor)
	}
	admin := slices.Contains(d.Roles, events.RoleAdmin)
	switch {
	case admin && d.Kind != events.KindHuman:
		return refuse(CodeRule, rule, "an admin is a person")
	case admin && d.ValidUntil != "":
		return refuse(CodeRule, rule+"/lockout", "an admin does not expire: as many as the threshold revoke one")
	case expired(d.Expires, s.Admitted):
		return refuse(CodeStale, rule, "the invitation has expired already")
	case expired(d.ValidUntil, s.Admitted):
		return refuse(CodeStale, rule, "the actor would have expired already")
	}
	return nil
}

// checkAmendment decides on an invitation of an actor that has or had a key.
// It only adds: another kind, principal or role would change what was judged
// by them, and an identity that goes would hide whose commits they were.
func checkAmendment(a *projections.Actor, d *events.Invitation, rule string) *Refusal {
	adds := slices.ContainsFunc(d.GitIdentities, func(email string) bool { return !slices.Contains(a.GitIdentities, email) })
	switch {
	case a.Revoked != 0:
		return refuse(CodeState, rule, "actor %s exists and is revoked", d.Actor)
	case a.Kind == events.KindService:
		return refuse(CodeRule, rule, "the service is not amended")
	case d.TokenHash != "" && a.Signs():
		return refuse(CodeState, rule, "actor %s exists", d.Actor)
	case d.TokenHash == "" && !a.Signs():
		return refuse(CodeState, rule, "%s has no key that signs: an invitation with a token gives it one", d.Actor)
	case d.Kind != a.Kind || d.Principal != a.Principal || !slices.Equal(d.Roles, a.Roles):
		return refuse(CodeRule, rule+"/amendment", "%s is of kind %s, of %s, with roles %v: these stay", a.Name, a.Kind, a.Principal, a.Roles)
	case d.TokenHash == "" && !adds && (d.ValidUntil == "" || d.ValidUntil == a.ValidUntil):
		return refuse(CodeState, rule+"/amendment", "it changes nothing")
	case len(a.GitIdentities)+len(d.GitIdentities) > maxIdentities:
		return refuse(CodeLimit, rule+"/amendment", "more than %d git identities", maxIdentities)
	}
	return nil
}

func checkRevocation(g *projections.Registry, s Submission, d *events.Revocation) error {
	rule := s.Event.Type.Short()
	a := g.Actor(d.Actor)
	switch {
	case a == nil:
		return refuse(CodeNotFound, rule, "actor %q is not in the registry", d.Actor)
	case a.Revoked != 0:
		return refuse(CodeState, rule, "%s is revoked already", d.Actor)
	case a.Kind == events.KindService:
		return refuse(CodeRule, rule, "the service key is not revoked this way")
	}
	if refusal := checkLockout(g, a, rule); refusal != nil {
		return refusal
	}
	return nil
}

// checkLockout keeps as many admins as the threshold.
func checkLockout(g *projections.Registry, gone *projections.Actor, rule string) *Refusal {
	if !gone.Has(events.RoleAdmin) {
		return nil
	}
	left := 0
	for _, other := range g.Actors {
		if other.Has(events.RoleAdmin) && other.Signs() && other.Name != gone.Name {
			left++
		}
	}
	if int64(left) < g.Genesis.Threshold {
		return refuse(CodeRule, rule+"/lockout", "%d admins would be left, the threshold is %d", left, g.Genesis.Threshold)
	}
	return nil
}

// checkExpiry lets the service revoke an actor whose time is over.
func checkExpiry(g *projections.Registry, s Submission, d *events.Revocation) error {
	rule := s.Event.Type.Short()
	a := g.Actor(d.Actor)
	switch {
	case len(s.Signers) != 1:
		return refuse(CodeSignature, rule+"/author", "an expiry is signed by the service alone")
	case a == nil:
		return refuse(CodeNotFound, rule, "actor %q is not in the registry", d.Actor)
	case a.Revoked != 0:
		return refuse(CodeState, rule, "%s is revoked already", d.Actor)
	case d.Reason != events.ReasonExpiry || a.ValidUntil == "" || !expired(a.ValidUntil, s.Admitted):
		return refuse(CodeRule, rule+"/expiry", "the service revokes nobody but an actor whose time is over")
	}
	return nil
}
