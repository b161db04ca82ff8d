package ledger

import (
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/signer"
)

// checkRegistry decides whether a registry event may happen now. Registry
// events are an admin's; a key claims itself with an invitation's token, and
// its holder rotates it.
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
	switch d := s.Payload.(type) {
	case *events.KeyClaim:
		return checkKeyClaim(g, keys, s, d)
	case *events.KeyRotation:
		return checkRotation(g, keys, s, d)
	case *events.Revocation:
		if s.Event.AuthID == g.Genesis.Service.Actor {
			return checkExpiry(g, s, d)
		}
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
	if err := checkAdministered(g, keys, s); err != nil {
		return err
	}
	if refusal := checkThreshold(g, keys, s); refusal != nil {
		return refusal
	}
	return nil
}

// checkAdministered decides on an event of an admin, all but the number of
// those who sign it.
func checkAdministered(g *projections.Registry, keys *signer.Keyring, s Submission) error {
	switch d := s.Payload.(type) {
	case *events.Invitation:
		return checkInvitation(g, s, d)
	case *events.Revocation:
		return checkRevocation(g, s, d)
	case *events.KeyCompromise:
		return checkCompromise(g, keys, s, d)
	}
	return checkSteering(g, s)
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
	case expired(a.ValidUntil, s.Admitted):
		return refuse(CodeStale, rule+"/invitation", "%s was valid until %s", d.Actor, a.ValidUntil)
	case string(key.ID()) != s.Event.SignKeyID || s.Event.AuthID != d.Actor || len(s.Signers) != 1:
		return refuse(CodeSignature, rule+"/author", "a claim is by the actor and signed by the new key alone")
	}
	if err := keys.Clone().Grant(key, d.Actor, uint64(s.Position)); err != nil {
		return refuse(CodeRule, rule+"/key", "%v", err)
	}
	return nil
}
