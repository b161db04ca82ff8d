package ledger

import (
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/signer"
)

// checkRegistry decides whether a registry event may happen now. Registry
// events are an admin's; a key claims itself with an invitation's token.
func checkRegistry(g *projections.Registry, keys *signer.Keyring, s Submission) error {
	rule := s.Event.Type.Short()
	if d, ok := s.Payload.(*events.Genesis); ok {
		return checkGenesis(g, s, d)
	}
	if g.Sequence == 0 {
		return refuse(CodeState, rule, "the ledger has no genesis event")
	}
	if g.Blocked != nil {
		return &Refusal{Class: Corrupt, Code: CodeDamage, Rule: "blocked", Text: "the registry's history is blocked: " + g.Blocked.Reason}
	}
	if s.Event.Fence != 0 || s.Event.Subject != "" {
		return refuse(CodeForm, rule, "a registry event has neither subject nor fencetoken")
	}
	if refusal := checkStopped(g, s); refusal != nil {
		return refusal
	}
	if d, ok := s.Payload.(*events.Integrity); ok {
		return checkIntegrity(g, s, d)
	}
	if d, ok := s.Payload.(*events.KeyClaim); ok {
		return checkKeyClaim(g, keys, s, d)
	}
	author := g.Actor(s.Event.AuthID)
	if author == nil || !author.Has(events.RoleAdmin) {
		return refuse(CodeRule, rule+"/role", "%s is no admin", s.Event.AuthID)
	}
	for _, id := range s.Signers {
		h, err := keys.At(signer.KeyID(id), uint64(s.Position))
		if err != nil {
			return refuse(CodeSignature, rule+"/key", "key %s: %v", id, err)
		}
		if a := g.Actor(h.Actor); a == nil || !a.Has(events.RoleAdmin) {
			return refuse(CodeRule, rule+"/role", "signer %s is no admin", h.Actor)
		}
	}
	switch d := s.Payload.(type) {
	case *events.Invitation:
		return checkInvitation(g, s, d)
	case *events.Revocation:
		return checkRevocation(g, s, d)
	}
	return checkSteering(g, keys, s)
}

// checkGenesis checks the first event of a ledger: by an admin that it names,
// signed by as many of its admins as it demands and by nobody else.
func checkGenesis(g *projections.Registry, s Submission, d *events.Genesis) error {
	rule := s.Event.Type.Short()
	if g.Sequence != 0 {
		return refuse(CodeState, rule, "the ledger exists")
	}
	if d.Name != s.Event.Source.Ledger {
		return refuse(CodeForm, rule, "name %q in source %s", d.Name, s.Event.Source)
	}
	ids := map[string]string{}
	for _, a := range d.Admins {
		key, err := signer.ParsePublicKey(a.Key)
		if err != nil {
			return refuse(CodeForm, rule+"/key", "key of %s: %v", a.Actor, err)
		}
		ids[string(key.ID())] = a.Actor
	}
	if key, err := signer.ParsePublicKey(d.Service.Key); err != nil {
		return refuse(CodeForm, rule+"/key", "service key: %v", err)
	} else if key.Algorithm() != signer.Ed25519 {
		return refuse(CodeForm, rule+"/key", "service key: %s, but heads are signed with Ed25519", key.Algorithm())
	}
	for _, id := range s.Signers {
		if ids[id] == "" {
			return refuse(CodeSignature, rule+"/key", "signer %s is no founder", id)
		}
	}
	switch {
	case ids[s.Event.SignKeyID] != s.Event.AuthID:
		return refuse(CodeSignature, rule+"/author", "signkeyid is not %s's", s.Event.AuthID)
	case int64(len(s.Signers)) < d.Threshold:
		return refuse(CodeRule, rule+"/threshold", "%d of %d signatures", len(s.Signers), d.Threshold)
	}
	return nil
}

func checkKeyClaim(g *projections.Registry, keys *signer.Keyring, s Submission, d *events.KeyClaim) error {
	rule := s.Event.Type.Short()
	key, err := signer.ParsePublicKey(d.Key)
	if err != nil {
		return refuse(CodeForm, rule+"/key", "%v", err)
	}
	a := g.Actor(d.Actor)
	switch {
	case a == nil || a.TokenHash == "":
		return refuse(CodeNotFound, rule+"/invitation", "%q has no open invitation", d.Actor)
	case a.Revoked != 0:
		return refuse(CodeRule, rule+"/invitation", "%s is revoked", d.Actor)
	case a.TokenHash != events.Sum([]byte(d.Token)).String():
		return refuse(CodeRule, rule+"/token", "the token is not that of the invitation")
	case expired(a.Expires, s.Admitted):
		return refuse(CodeStale, rule+"/invitation", "the invitation expired at %s", a.Expires)
	case string(key.ID()) != s.Event.SignKeyID || s.Event.AuthID != d.Actor || len(s.Signers) != 1:
		return refuse(CodeSignature, rule+"/author", "a claim is by the actor and signed by the new key alone")
	}
	if err := keys.Clone().Grant(key, d.Actor, uint64(s.Position)); err != nil {
		return refuse(CodeRule, rule+"/key", "%v", err)
	}
	return nil
}

func checkInvitation(g *projections.Registry, s Submission, d *events.Invitation) error {
	rule := s.Event.Type.Short()
	if a := g.Actor(d.Actor); a != nil && (a.TokenHash == "" || a.Revoked != 0) {
		return refuse(CodeState, rule, "actor %s exists", d.Actor)
	}
	if slices.Contains(d.Roles, events.RoleAdmin) {
		if d.Kind != events.KindHuman {
			return refuse(CodeRule, rule, "an admin is a person")
		}
		if int64(len(s.Signers)) < g.Genesis.Threshold {
			return refuse(CodeRule, rule+"/threshold", "inviting an admin needs %d signatures", g.Genesis.Threshold)
		}
	}
	if expired(d.Expires, s.Admitted) {
		return refuse(CodeStale, rule, "the invitation has expired already")
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
	if !a.Has(events.RoleAdmin) {
		return nil
	}
	left := 0
	for _, other := range g.Actors {
		if other.Has(events.RoleAdmin) && other.Revoked == 0 && len(other.Keys) > 0 && other.Name != d.Actor {
			left++
		}
	}
	switch {
	case int64(left) < g.Genesis.Threshold:
		return refuse(CodeRule, rule+"/lockout", "%d admins would be left, the threshold is %d", left, g.Genesis.Threshold)
	case int64(len(s.Signers)) < g.Genesis.Threshold:
		return refuse(CodeRule, rule+"/threshold", "revoking an admin needs %d signatures", g.Genesis.Threshold)
	}
	return nil
}
