package ledger

import (
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/signer"
)

// checkRotation decides on key.rotated: the actor's own, signed by the key
// that ends and by the one that follows it, and by no other.
func checkRotation(g *projections.Registry, keys *signer.Keyring, s Submission, d *events.KeyRotation) error {
	rule := s.Event.Type.Short()
	key, err := signer.ParsePublicKey(d.Key)
	if err != nil {
		return refuse(CodeForm, rule+"/key", "%v", err)
	}
	both := []string{d.Old, string(key.ID())}
	slices.Sort(both)
	a := g.Actor(d.Actor)
	switch {
	case a == nil || s.Event.AuthID != d.Actor || s.Event.SignKeyID != d.Old:
		return refuse(CodeSignature, rule+"/author", "a key is rotated by its own actor, with the old key as signkeyid")
	case a.Kind == events.KindService:
		return refuse(CodeRule, rule, "the service key is not rotated: heads name it for ever")
	case !slices.Equal(s.Signers, both):
		return refuse(CodeSignature, rule+"/author", "a rotation is signed by the old and the new key, and by no other")
	}
	if err := keys.Clone().Rotate(signer.KeyID(d.Old), key, uint64(s.Position)); err != nil {
		return refuse(CodeRule, rule+"/key", "%v", err)
	}
	return nil
}

// checkCompromise decides on key.compromised.
func checkCompromise(g *projections.Registry, keys *signer.Keyring, s Submission, d *events.KeyCompromise) error {
	rule := s.Event.Type.Short()
	a := g.Actor(d.Actor)
	before := g.Compromised(d.Key)
	switch {
	case a == nil || !slices.Contains(keys.Keys(d.Actor), signer.KeyID(d.Key)):
		return refuse(CodeNotFound, rule+"/key", "%q never had key %s", d.Actor, d.Key)
	case a.Kind == events.KindService:
		return refuse(CodeRule, rule, "the service key is not given up this way: found another ledger")
	case d.Since > s.Position:
		return refuse(CodeStale, rule+"/since", "position %d is not there yet", d.Since)
	case before != nil && before.Since <= d.Since:
		return refuse(CodeState, rule+"/since", "the key is compromised since %d already", before.Since)
	}
	if _, err := keys.At(signer.KeyID(d.Key), uint64(s.Position)); err == nil {
		if refusal := checkLockout(g, a, rule); refusal != nil {
			refusal.Text += "; the admin rotates the key first"
			return refusal
		}
	}
	return nil
}

// orphaned says why nobody holds a live lease any more, "" while somebody
// does: its holder was revoked or has no key, or it was claimed with a
// compromised key by who knows whom, or such a key acted in the run since. A
// lease goes on under a rotated key.
func orphaned(g *projections.Registry, t *projections.Task) string {
	l := t.Lease
	a, c := g.Actor(l.Actor), g.Compromised(l.Key)
	switch {
	case a == nil || a.Revoked != 0:
		return l.Actor + " is revoked"
	case !a.Signs():
		return l.Actor + " has no key that signs"
	case g.Suspect(l.Key, l.Position):
		return "the lease was claimed with a compromised key"
	case c != nil && l.Position < c.Position && t.Doubtful():
		return "a compromised key acted under the lease"
	}
	return ""
}
