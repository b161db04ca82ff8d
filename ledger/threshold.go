package ledger

import (
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/signer"
)

// NeedsThreshold reports whether a registry event takes as many admins'
// signatures as genesis demands, not one: whatever changes who the admins are,
// the policy, the rules, the ledger itself, or removes what was said.
func NeedsThreshold(g *projections.Registry, p events.Payload) bool {
	switch d := p.(type) {
	case *events.Invitation:
		return slices.Contains(d.Roles, events.RoleAdmin)
	case *events.Revocation:
		return isAdmin(g, d.Actor)
	case *events.KeyCompromise:
		return isAdmin(g, d.Actor)
	}
	switch short := p.Type().Short(); short {
	case "policy.published", "rules.upgraded", "event.redacted":
		return true
	default:
		return strings.HasPrefix(short, "ledger.")
	}
}

func isAdmin(g *projections.Registry, name string) bool {
	a := g.Actor(name)
	return a != nil && a.Has(events.RoleAdmin)
}

// RuleThreshold ends the name of the rule by which an event that fewer admins
// signed than it needs is refused; it is the last rule that is asked.
const RuleThreshold = "/threshold"

// checkThreshold refuses an event that fewer admins signed than it needs.
func checkThreshold(g *projections.Registry, keys *signer.Keyring, s Submission) *Refusal {
	signed := signingAdmins(keys, s)
	if !NeedsThreshold(g, s.Payload) || int64(signed) >= g.Genesis.Threshold {
		return nil
	}
	return refuse(CodeRule, s.Event.Type.Short()+RuleThreshold, "%d of %d admins signed", signed, g.Genesis.Threshold)
}

// signingAdmins counts the actors who signed; two keys of one are one.
func signingAdmins(keys *signer.Keyring, s Submission) int {
	seen := map[string]bool{}
	for _, id := range s.Signers {
		if h, err := keys.At(signer.KeyID(id), uint64(s.Position)); err == nil {
			seen[h.Actor] = true
		}
	}
	return len(seen)
}
