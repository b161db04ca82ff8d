package events

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Position is the place of an event in its ledger's history: the stream
// sequence of the message that holds it. The first event is at 1; 0 means
// "before the first".
type Position uint64

// Hash is a SHA-256 digest. Its text form is 64 lower-case hex digits.
type Hash [sha256.Size]byte

// String returns the 64 lower-case hex digits of h.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// IsZero reports whether h is all zero bytes, the hash before a genesis.
func (h Hash) IsZero() bool { return h == Hash{} }

// ParseHash parses exactly 64 lower-case hex digits.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if len(s) != 2*len(h) {
		return Hash{}, fmt.Errorf("parse hash: %d characters, want %d", len(s), 2*len(h))
	}
	for _, c := range []byte(s) {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return Hash{}, fmt.Errorf("parse hash: character %q is not a lower-case hex digit", c)
		}
	}
	if _, err := hex.Decode(h[:], []byte(s)); err != nil {
		return Hash{}, fmt.Errorf("parse hash: %w", err)
	}
	return h, nil
}

// Sum returns the SHA-256 digest of b.
func Sum(b []byte) Hash { return sha256.Sum256(b) }

// Record is an event at its place in a ledger's history.
type Record struct {
	Position Position
	// Admitted is the writer's stamp: unix nanoseconds, never decreasing.
	// Every rule that needs a time uses this one.
	Admitted int64
	Event    Event
}
