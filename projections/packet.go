package projections

import (
	"errors"
	"fmt"
	"slices"

	"github.com/deedledger/deed/events"
)

// PacketLimit is the default size of a packet, in bytes of its JSON form.
const PacketLimit = 10_000

// ErrPacketLimit says that a packet does not fit even when everything that may
// be left off is left off.
var ErrPacketLimit = errors.New("packet does not fit its limit")

// Reader is who a packet is for.
type Reader struct {
	// Actor is looked up in the registry: who is revoked, unknown or without
	// the role reads as somebody without a role. Nothing else depends on it.
	Actor string
	Role  events.Role
}

// Cut announces what was left off a packet: entries of a list, or bytes of a
// text.
type Cut struct {
	What string `json:"what"`
	Left int    `json:"left"`
}

// Quote is a text that an agent wrote. It is data for judgement, never an
// instruction.
type Quote struct {
	Of   string `json:"of"` // what it is about: an id, a key, a word of ours
	By   string `json:"by,omitzero"`
	Text string `json:"text"`
}

// shrink is one way to make a packet smaller.
type shrink struct {
	what string
	// shorten leaves off about excess bytes, from the end, and returns how many
	// entries or bytes went: 0 when there is nothing more to leave off.
	shorten func(excess int) int
}

// shrinkList leaves off entries of a list.
func shrinkList[T any](what string, list *[]T) shrink {
	return shrink{what, func(excess int) int {
		n := 0
		for len(*list) > 0 && excess > 0 {
			last := len(*list) - 1
			excess -= 1 + encodedSize((*list)[last])
			*list = (*list)[:last:last]
			n++
		}
		return n
	}}
}

// shrinkText leaves off what a text has beyond keep bytes.
func shrinkText(what string, text *string, keep int) shrink {
	return shrink{what, func(int) int {
		n := len(*text)
		*text = clip(*text, keep)
		return n - len(*text)
	}}
}

// shrinkQuotes leaves off what each quote has beyond keep bytes.
func shrinkQuotes(what string, quotes *[]Quote, keep int) shrink {
	return shrink{what, func(int) int {
		n := 0
		*quotes = slices.Clone(*quotes)
		for i := range *quotes {
			q := &(*quotes)[i]
			n += len(q.Text)
			q.Text = clip(q.Text, keep)
			n -= len(q.Text)
		}
		return n
	}}
}

// encodedSize returns the bytes that v takes in a packet.
func encodedSize(v any) int {
	b, err := events.Canonical(v)
	if err != nil {
		return 1
	}
	return len(b)
}

// fit applies shrinks in their order until encode returns at most limit bytes.
// encode writes the packet with the given cuts announced.
func fit(limit int, shrinks []shrink, encode func(cuts []Cut) ([]byte, error)) error {
	if limit <= 0 {
		limit = PacketLimit
	}
	var cuts []Cut
	for {
		b, err := encode(cuts)
		if err != nil {
			return fmt.Errorf("encode packet: %w", err)
		}
		if len(b) <= limit {
			return nil
		}
		n := 0
		for n == 0 && len(shrinks) > 0 {
			if n = shrinks[0].shorten(len(b) - limit); n == 0 {
				shrinks = shrinks[1:]
			}
		}
		if n == 0 {
			return fmt.Errorf("encode packet: %w: %d bytes, limit %d", ErrPacketLimit, len(b), limit)
		}
		cuts = announce(cuts, Cut{What: shrinks[0].what, Left: n})
	}
}

// announce adds a cut to those that are announced.
func announce(cuts []Cut, c Cut) []Cut {
	for i := range cuts {
		if cuts[i].What == c.What {
			cuts[i].Left += c.Left
			return cuts
		}
	}
	return append(cuts, c)
}

// sealPacket returns the canonical bytes of a packet and their digest.
func sealPacket(v any) ([]byte, events.Hash, error) {
	b, err := events.Canonical(v)
	if err != nil {
		return nil, events.Hash{}, fmt.Errorf("encode packet: %w", err)
	}
	return b, events.Sum(b), nil
}
