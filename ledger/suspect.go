package ledger

import (
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// SuspectEvents says what a compromised key signed while somebody else may
// have had it: from Since to just before At, where the ledger learned of it.
type SuspectEvents struct {
	Key    string          `json:"keyid"`
	Actor  string          `json:"actor"`
	Since  events.Position `json:"since"`
	At     events.Position `json:"at"`
	Reason string          `json:"reason"`
	Events uint64          `json:"events"`
	// First and Last are the positions of the first and the last of them, 0
	// when there is none.
	First events.Position `json:"first,omitzero"`
	Last  events.Position `json:"last,omitzero"`
}

// suspects sums up each key's newest compromise, in order of history.
func suspects(g *projections.Registry, signed map[string][]events.Position) []SuspectEvents {
	var list []SuspectEvents
	for _, c := range g.Compromises {
		if newest := g.Compromised(c.Key); newest.Position != c.Position {
			continue
		}
		s := SuspectEvents{Key: c.Key, Actor: c.Actor, Since: c.Since, At: c.Position, Reason: c.Reason}
		for _, at := range signed[c.Key] {
			if !g.Suspect(c.Key, at) {
				continue
			}
			if s.Events++; s.First == 0 {
				s.First = at
			}
			s.Last = at
		}
		list = append(list, s)
	}
	return list
}
