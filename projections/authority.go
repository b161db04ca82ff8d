package projections

import (
	"fmt"
	"slices"

	"github.com/deedledger/deed/events"
)

// EndedKey is a key of an actor that signs nothing more.
type EndedKey struct {
	ID string `json:"keyid"`
	// Position is the first one at which the key no longer was valid.
	Position events.Position `json:"position"`
	Cause    string          `json:"cause"` // rotated or compromised
}

// Compromise says that a key may have been used by somebody else.
type Compromise struct {
	Key      string          `json:"keyid"`
	Actor    string          `json:"actor"`
	Since    events.Position `json:"since"`
	Position events.Position `json:"position"` // of the key.compromised
	Reason   string          `json:"reason"`
}

// Signs reports whether the actor has a key that signs now.
func (a *Actor) Signs() bool { return a.Revoked == 0 && len(a.Keys) > len(a.Ended) }

// ended reports whether the actor's key of this id signs nothing more.
func (a *Actor) ended(id string) bool {
	return slices.ContainsFunc(a.Ended, func(k EndedKey) bool { return k.ID == id })
}

// Compromised returns the newest compromise of a key, nil when there is none.
func (g *Registry) Compromised(key string) *Compromise {
	for i := len(g.Compromises) - 1; i >= 0; i-- {
		if g.Compromises[i].Key == key {
			return &g.Compromises[i]
		}
	}
	return nil
}

// Suspect reports whether an event that the key signed at a position is
// suspect: the key is compromised since then or longer.
func (g *Registry) Suspect(key string, at events.Position) bool {
	c := g.Compromised(key)
	return c != nil && at >= c.Since && at < c.Position
}

// checkKeys holds a record about actors and keys against what it builds on.
func (g *Registry) checkKeys(p events.Payload) error {
	actor, ok := "", true
	switch d := p.(type) {
	case *events.Invitation:
		a := g.Actor(d.Actor)
		switch {
		case d.TokenHash == "" && (a == nil || !a.Signs()):
			return fmt.Errorf("%w: actor %s with a key", ErrReference, d.Actor)
		case d.TokenHash != "" && a != nil && a.TokenHash == "" && (a.Signs() || a.Revoked != 0):
			return fmt.Errorf("%w: actor %s exists", ErrReference, d.Actor)
		}
		return nil
	case *events.KeyClaim:
		if a := g.Actor(d.Actor); a == nil || a.TokenHash == "" {
			return fmt.Errorf("%w: open invitation of actor %s", ErrReference, d.Actor)
		}
		return nil
	case *events.Revocation:
		actor, ok = d.Actor, g.Actor(d.Actor) != nil
	case *events.KeyRotation:
		a := g.Actor(d.Actor)
		actor, ok = d.Actor, a != nil && a.Signs()
	case *events.KeyCompromise:
		a := g.Actor(d.Actor)
		actor, ok = d.Actor, a != nil && len(a.Keys) > 0
	}
	if !ok {
		return fmt.Errorf("%w: actor %s", ErrReference, actor)
	}
	return nil
}

// applyKeys folds a record about actors and keys.
func (g *Registry) applyKeys(r events.Record, p events.Payload) {
	switch d := p.(type) {
	case *events.Invitation:
		g.invite(r, d)
	case *events.KeyClaim:
		a := g.Actor(d.Actor)
		a.Keys, a.TokenHash = append(a.Keys, d.Key), ""
	case *events.Revocation:
		g.Actor(d.Actor).Revoked = r.Position
	case *events.KeyRotation:
		a := g.Actor(d.Actor)
		a.Keys = append(a.Keys, d.Key)
		a.Ended = append(a.Ended, EndedKey{ID: d.Old, Position: r.Position, Cause: "rotated"})
	case *events.KeyCompromise:
		if a := g.Actor(d.Actor); !a.ended(d.Key) {
			a.Ended = append(a.Ended, EndedKey{ID: d.Key, Position: r.Position, Cause: "compromised"})
		}
		g.Compromises = append(g.Compromises, Compromise{Key: d.Key, Actor: d.Actor, Since: d.Since, Position: r.Position, Reason: d.Reason})
	}
}

// invite folds actor.invited: a new actor, an invitation again, or one for an
// actor that has or had a key. To such a one it only adds: what an actor once
// committed under stays its own.
func (g *Registry) invite(r events.Record, d *events.Invitation) {
	a := g.Actor(d.Actor)
	if a == nil || len(a.Keys) == 0 {
		g.put(&Actor{
			Name: d.Actor, Kind: d.Kind, Principal: d.Principal, Roles: d.Roles, GitIdentities: d.GitIdentities,
			TokenHash: d.TokenHash, Expires: d.Expires, ValidUntil: d.ValidUntil, Since: r.Position,
		})
		return
	}
	a.GitIdentities = slices.Compact(slices.Sorted(slices.Values(slices.Concat(a.GitIdentities, d.GitIdentities))))
	a.TokenHash, a.Expires = d.TokenHash, d.Expires
	if d.ValidUntil != "" {
		a.ValidUntil = d.ValidUntil
	}
}
