package signer

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

var (
	// ErrUnknownKey means that no key, or no actor, of this name was ever
	// granted anything.
	ErrUnknownKey = errors.New("unknown key")
	// ErrNotYetValid means that a key became valid only after the position.
	ErrNotYetValid = errors.New("key not yet valid")
	// ErrRevoked means that a key was no longer valid at the position.
	ErrRevoked = errors.New("key revoked")
	// ErrKeyTaken means that a key was granted before: one key, one actor,
	// for ever.
	ErrKeyTaken = errors.New("key already granted")
	// ErrKeyringOrder means that a grant or revocation names position 0 or a
	// place before the latest one, where the past would change.
	ErrKeyringOrder = errors.New("keyring position goes back")
)

// Holder is who a key belongs to, and since and until when.
type Holder struct {
	Actor     string
	PublicKey PublicKey
	From      uint64 // first stream position at which the key is valid, ≥ 1
	Until     uint64 // first position at which it no longer is; 0 if it still is
}

// Keyring tells which key belongs to which actor at which stream position. It
// is driven by a fold over registry events and only grows: nothing in it is
// ever removed, so a key that was valid at a position is so for ever.
//
// The zero Keyring is empty and ready. One goroutine may change it or clone it;
// any number may read and clone a clone that nobody changes.
type Keyring struct {
	holders map[KeyID]Holder
	revoked map[string]uint64 // actor to the position of its revocation
	latest  uint64            // no change may come before this position
	shared  bool              // the maps belong to a clone too: copy before a write
}

// Clone returns an independent keyring with the same content, in constant time:
// whichever of the two changes next copies the content first.
func (k *Keyring) Clone() *Keyring {
	if !k.shared { // a clone is born shared, so cloning it again only reads
		k.shared = true
	}
	clone := *k
	return &clone
}

// Grant records that key belongs to actor from this position on. An actor may
// hold several keys. It returns ErrPublicKey for a zero key, ErrUnknownKey for
// an empty actor, ErrKeyTaken for a key that anyone holds or ever held,
// ErrRevoked for an actor that was revoked, ErrKeyringOrder for a position
// before the latest change; then nothing was changed.
func (k *Keyring) Grant(key PublicKey, actor string, from uint64) error {
	switch {
	case key.IsZero():
		return fmt.Errorf("grant key to %q: %w: no key", actor, ErrPublicKey)
	case actor == "":
		return fmt.Errorf("grant %s: %w: no actor", key.ID(), ErrUnknownKey)
	case from == 0 || from < k.latest:
		return fmt.Errorf("grant %s to %q from %d: %w: latest is %d", key.ID(), actor, from, ErrKeyringOrder, k.latest)
	}
	if holder, taken := k.holders[key.ID()]; taken {
		return fmt.Errorf("grant %s to %q: %w: to %q from %d", key.ID(), actor, ErrKeyTaken, holder.Actor, holder.From)
	}
	if at, gone := k.revoked[actor]; gone {
		return fmt.Errorf("grant %s to %q: %w: at %d", key.ID(), actor, ErrRevoked, at)
	}
	k.own()
	k.holders[key.ID()] = Holder{Actor: actor, PublicKey: key, From: from}
	k.latest = from
	return nil
}

// Revoke ends every key of actor: none is valid at from or later, and the actor
// gets no key again. It returns ErrUnknownKey for an actor without a key,
// ErrRevoked for one that was revoked, ErrKeyringOrder for a position before
// the latest change; then nothing was changed.
func (k *Keyring) Revoke(actor string, from uint64) error {
	if from == 0 || from < k.latest {
		return fmt.Errorf("revoke %q from %d: %w: latest is %d", actor, from, ErrKeyringOrder, k.latest)
	}
	if at, gone := k.revoked[actor]; gone {
		return fmt.Errorf("revoke %q: %w: at %d", actor, ErrRevoked, at)
	}
	ids := k.Keys(actor)
	if len(ids) == 0 {
		return fmt.Errorf("revoke %q: %w", actor, ErrUnknownKey)
	}
	k.own()
	for _, id := range ids {
		holder := k.holders[id]
		if holder.Until == 0 { // a key that was rotated keeps its end
			holder.Until = from
		}
		k.holders[id] = holder
	}
	k.revoked[actor] = from
	k.latest = from
	return nil
}

// Rotate ends the actor's key old at from and grants key from then on. It
// returns ErrUnknownKey for a key that is not the actor's, ErrRevoked for one
// that has ended, and the errors of Grant; then nothing was changed.
func (k *Keyring) Rotate(old KeyID, key PublicKey, from uint64) error {
	holder, known := k.holders[old]
	switch {
	case !known:
		return fmt.Errorf("rotate %q: %w", old, ErrUnknownKey)
	case holder.Until != 0:
		return fmt.Errorf("rotate %s: %w: at %d", old, ErrRevoked, holder.Until)
	}
	if err := k.Grant(key, holder.Actor, from); err != nil {
		return fmt.Errorf("rotate %s: %w", old, err)
	}
	holder.Until = from
	k.holders[old] = holder
	return nil
}

// End ends one key at from, and leaves an actor that has no other without one.
// A key that has ended keeps its earlier end. It returns ErrUnknownKey for a
// key that nobody holds, ErrKeyringOrder for a position before the latest
// change; then nothing was changed.
func (k *Keyring) End(id KeyID, from uint64) error {
	holder, known := k.holders[id]
	switch {
	case from == 0 || from < k.latest:
		return fmt.Errorf("end %s at %d: %w: latest is %d", id, from, ErrKeyringOrder, k.latest)
	case !known:
		return fmt.Errorf("end %q: %w", id, ErrUnknownKey)
	}
	k.latest = from
	if holder.Until != 0 {
		return nil
	}
	k.own()
	holder.Until = from
	k.holders[id] = holder
	return nil
}

// At returns the holder of the key at a stream position. It returns
// ErrUnknownKey, ErrNotYetValid or ErrRevoked. The holder is as known now: an
// Until after the position does not make the key invalid at it.
func (k *Keyring) At(id KeyID, position uint64) (Holder, error) {
	holder, known := k.holders[id]
	switch {
	case !known:
		return Holder{}, fmt.Errorf("find key %q: %w", id, ErrUnknownKey)
	case position < holder.From:
		return Holder{}, fmt.Errorf("find key %s%s: %w: from %d", id, place(position), ErrNotYetValid, holder.From)
	case holder.Until != 0 && position >= holder.Until:
		return Holder{}, fmt.Errorf("find key %s%s: %w: at %d", id, place(position), ErrRevoked, holder.Until)
	}
	return holder, nil
}

// place names a position in an error; the largest stands for "now" and no one
// needs to read it.
func place(position uint64) string {
	if position >= math.MaxInt64 {
		return ""
	}
	return fmt.Sprintf(" at %d", position)
}

// LookupAt returns the function that Open wants, for one stream position.
func (k *Keyring) LookupAt(position uint64) func(KeyID) (PublicKey, error) {
	return func(id KeyID) (PublicKey, error) {
		holder, err := k.At(id, position)
		return holder.PublicKey, err
	}
}

// Keys returns the ids of every key that actor holds or held, ascending.
func (k *Keyring) Keys(actor string) []KeyID {
	var ids []KeyID
	for id, holder := range k.holders {
		if holder.Actor == actor {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Holders returns every key ever granted, in ascending order of key id.
func (k *Keyring) Holders() []Holder {
	return slices.SortedFunc(maps.Values(k.holders), func(a, b Holder) int {
		return strings.Compare(string(a.PublicKey.ID()), string(b.PublicKey.ID()))
	})
}

// MarshalJSON implements json.Marshaler: an array of
// {"keyid","actor","key","from","until"} in ascending order of keyid, without
// "until" while a key is valid. The same content gives the same bytes.
func (k *Keyring) MarshalJSON() ([]byte, error) {
	type entry struct {
		KeyID KeyID  `json:"keyid"`
		Actor string `json:"actor"`
		Key   string `json:"key"`
		From  uint64 `json:"from"`
		Until uint64 `json:"until,omitzero"`
	}
	entries := []entry{}
	for _, h := range k.Holders() {
		entries = append(entries, entry{KeyID: h.PublicKey.ID(), Actor: h.Actor, Key: h.PublicKey.String(), From: h.From, Until: h.Until})
	}
	return json.Marshal(entries)
}

// own makes the maps this keyring's alone before a write.
func (k *Keyring) own() {
	if k.holders == nil {
		k.holders, k.revoked = map[KeyID]Holder{}, map[string]uint64{}
	} else if k.shared {
		k.holders, k.revoked = maps.Clone(k.holders), maps.Clone(k.revoked)
	}
	k.shared = false
}
