package ledgertest

import (
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// NextKey names the key with which an actor follows its first one: see Key.
func NextKey(actor string) string { return actor + " next" }

// Rotation returns the data with which an actor goes over from its first key
// to the next. Sign signs it with both, and Do lets the actor sign with the
// next one from then on.
func Rotation(actor string) *events.KeyRotation {
	return &events.KeyRotation{Actor: actor, Old: string(Key(actor).ID()), Key: Key(NextKey(actor)).Public().String()}
}

// Compromise returns the data which says that an actor's first key may have
// been used by somebody else since a position.
func Compromise(actor string, since events.Position) *events.KeyCompromise {
	return &events.KeyCompromise{Actor: actor, Key: string(Key(actor).ID()), Since: since, Reason: "a laptop was lost"}
}

// Keys returns a story of the registry: a key is rotated, and what the old one
// signed last was not its holder's.
func Keys() []Step {
	return []Step{
		Saying("", ImplB, Rotation(ImplB)),
		{"", Founder, func(l *projections.Ledger, _ *projections.Task) events.Payload { return Compromise(ImplB, l.Position) }},
	}
}
