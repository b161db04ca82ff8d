package evidence

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/deedledger/deed/events"
	"golang.org/x/mod/sumdb/tlog"
)

// LeafBytes is the length of every leaf.
const LeafBytes = 160

// leafPrefix begins every leaf, padded with zeros to leafPrefixBytes.
const (
	leafPrefix      = "deed-leaf/v1\n"
	leafPrefixBytes = 16
)

// Leaf is what the tree commits to for one event.
//
// There is no parser: a leaf holds only the digest of its subject. Whoever
// checks one builds it from the event and compares.
type Leaf struct {
	Position events.Position // of the event, ≥ 1
	Admitted int64           // Unix time at which the writer admitted it, in ns, ≥ 0
	Subject  string          // the literal subject of the stored message
	Core     events.Hash     // the event's core digest
	Ext      events.Hash     // the event's ext digest
	Envelope events.Hash     // SHA-256 of the canonical envelope
}

// Encode returns the leaf's bytes: "deed-leaf/v1\n" padded with zeros to 16,
// position and admission as big-endian 64-bit numbers, SHA-256 of the subject,
// core, ext, SHA-256 of the envelope.
func (l Leaf) Encode() [LeafBytes]byte {
	var out [LeafBytes]byte
	copy(out[:leafPrefixBytes], leafPrefix)
	binary.BigEndian.PutUint64(out[16:], uint64(l.Position))
	binary.BigEndian.PutUint64(out[24:], uint64(l.Admitted))
	subject := sha256.Sum256([]byte(l.Subject))
	copy(out[32:], subject[:])
	copy(out[64:], l.Core[:])
	copy(out[96:], l.Ext[:])
	copy(out[128:], l.Envelope[:])
	return out
}

// Hash returns the RFC 6962 hash of the leaf: SHA-256 of a zero byte and the
// leaf's bytes.
func (l Leaf) Hash() events.Hash {
	encoded := l.Encode()
	return events.Hash(tlog.RecordHash(encoded[:]))
}
