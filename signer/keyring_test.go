package signer_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/deedledger/deed/signer"
	"pgregory.net/rapid"
)

func grant(t testing.TB, ring *signer.Keyring, key signer.Key, actor string, from uint64) {
	t.Helper()
	if err := ring.Grant(key.Public(), actor, from); err != nil {
		t.Fatal(err)
	}
}

func TestKeyringInterval(t *testing.T) {
	var ring signer.Keyring
	k1, k2, k3 := testKey(t, 1), testKey(t, 2), testKey(t, 3)
	grant(t, &ring, k1, "root", 1)
	grant(t, &ring, k2, "impl-7", 10)
	grant(t, &ring, k3, "impl-7", 20)
	if err := ring.Revoke("impl-7", 30); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		key      signer.Key
		position uint64
		actor    string
		want     error
	}{
		{k1, 0, "", signer.ErrNotYetValid},
		{k1, 1, "root", nil},
		{k1, 1 << 63, "root", nil},
		{k2, 9, "", signer.ErrNotYetValid},
		{k2, 10, "impl-7", nil},
		{k2, 29, "impl-7", nil},
		{k2, 30, "", signer.ErrRevoked},
		{k2, 31, "", signer.ErrRevoked},
		{k3, 19, "", signer.ErrNotYetValid},
		{k3, 20, "impl-7", nil},
		{k3, 30, "", signer.ErrRevoked},
		{testKey(t, 4), 10, "", signer.ErrUnknownKey},
	}
	for _, c := range cases {
		holder, err := ring.At(c.key.ID(), c.position)
		if !errors.Is(err, c.want) || holder.Actor != c.actor {
			t.Errorf("%s at %d: %q, %v, want %q, %v", c.key.ID(), c.position, holder.Actor, err, c.actor, c.want)
		}
		if public, err := ring.LookupAt(c.position)(c.key.ID()); !errors.Is(err, c.want) || public.IsZero() != (c.want != nil) {
			t.Errorf("look up %s at %d: %v, %v", c.key.ID(), c.position, public, err)
		}
	}
	if _, err := ring.At("", 1); !errors.Is(err, signer.ErrUnknownKey) {
		t.Errorf("empty id: %v", err)
	}
}

func TestKeyringSameBlockOfPositions(t *testing.T) {
	var ring signer.Keyring
	key := testKey(t, 1)
	grant(t, &ring, key, "a", 5)
	if err := ring.Revoke("a", 5); err != nil {
		t.Fatal(err)
	}
	if _, err := ring.At(key.ID(), 5); !errors.Is(err, signer.ErrRevoked) {
		t.Errorf("revoked where granted: %v", err)
	}
}

func TestKeyringRefuses(t *testing.T) {
	var ring signer.Keyring
	k1, k2, fresh := testKey(t, 1), testKey(t, 2), testKey(t, 3).Public()
	grant(t, &ring, k1, "a", 10)
	grant(t, &ring, k2, "b", 20)
	if err := ring.Revoke("b", 30); err != nil {
		t.Fatal(err)
	}
	before := view(t, &ring)
	cases := []struct {
		name string
		do   func() error
		want error
	}{
		{"same key, other actor", func() error { return ring.Grant(k1.Public(), "c", 40) }, signer.ErrKeyTaken},
		{"same key, same actor", func() error { return ring.Grant(k1.Public(), "a", 40) }, signer.ErrKeyTaken},
		{"revoked key, other actor", func() error { return ring.Grant(k2.Public(), "c", 40) }, signer.ErrKeyTaken},
		{"new key, revoked actor", func() error { return ring.Grant(fresh, "b", 40) }, signer.ErrRevoked},
		{"zero key", func() error { return ring.Grant(signer.PublicKey{}, "c", 40) }, signer.ErrPublicKey},
		{"no actor", func() error { return ring.Grant(fresh, "", 40) }, signer.ErrUnknownKey},
		{"grant in the past", func() error { return ring.Grant(fresh, "c", 29) }, signer.ErrKeyringOrder},
		{"grant at 0", func() error { return ring.Grant(fresh, "c", 0) }, signer.ErrKeyringOrder},
		{"revoke an unknown actor", func() error { return ring.Revoke("c", 40) }, signer.ErrUnknownKey},
		{"revoke no actor", func() error { return ring.Revoke("", 40) }, signer.ErrUnknownKey},
		{"revoke twice", func() error { return ring.Revoke("b", 40) }, signer.ErrRevoked},
		{"revoke in the past", func() error { return ring.Revoke("a", 29) }, signer.ErrKeyringOrder},
		{"revoke at 0", func() error { return ring.Revoke("a", 0) }, signer.ErrKeyringOrder},
	}
	for _, c := range cases {
		if err := c.do(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if after := view(t, &ring); after != before {
			t.Errorf("%s changed the keyring:\n%s\n%s", c.name, before, after)
		}
	}
	var empty signer.Keyring
	if err := empty.Grant(fresh, "c", 0); !errors.Is(err, signer.ErrKeyringOrder) {
		t.Errorf("first grant at 0: %v", err)
	}
	if err := empty.Revoke("c", 1); !errors.Is(err, signer.ErrUnknownKey) {
		t.Errorf("revoke in an empty keyring: %v", err)
	}
}

func view(t testing.TB, ring *signer.Keyring) string {
	t.Helper()
	text, err := ring.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestKeyringView(t *testing.T) {
	var ring signer.Keyring
	if got := view(t, &ring); got != "[]" {
		t.Errorf("empty: %s", got)
	}
	var want []string
	for i, key := range sortedKeys(t, 3) {
		actor := fmt.Sprintf("a%d", i)
		want = append(want, fmt.Sprintf(`{"keyid":"%s","actor":"%s","key":"%s","from":7}`, key.ID(), actor, key.Public()))
	}
	keys := sortedKeys(t, 3)
	for _, i := range []int{2, 0, 1} {
		grant(t, &ring, keys[i], fmt.Sprintf("a%d", i), 7)
	}
	if got := view(t, &ring); got != "["+strings.Join(want, ",")+"]" {
		t.Errorf("got %s", got)
	}
	if err := ring.Revoke("a1", 9); err != nil {
		t.Fatal(err)
	}
	if got := view(t, &ring); !strings.Contains(got, `"from":7,"until":9}`) {
		t.Errorf("got %s", got)
	}
}

// TestKeyringClones grows a tree of clones at random and compares each with a
// keyring that was built on its own from the same history.
func TestKeyringClones(t *testing.T) {
	keys := sortedKeys(t, 12)
	type step struct{ key, actor int } // key < 0 revokes
	apply := func(ring *signer.Keyring, s step, at uint64) {
		actor := fmt.Sprintf("a%d", s.actor)
		if s.key < 0 {
			_ = ring.Revoke(actor, at) // refusals are part of the history
			return
		}
		_ = ring.Grant(keys[s.key].Public(), actor, at)
	}
	rapid.Check(t, func(t *rapid.T) {
		rings, histories := []*signer.Keyring{{}}, [][]step{nil}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			i := rapid.IntRange(0, len(rings)-1).Draw(t, "ring")
			if rapid.IntRange(0, 3).Draw(t, "clone") == 0 {
				rings = append(rings, rings[i].Clone())
				histories = append(histories, slices.Clone(histories[i]))
				continue
			}
			s := step{rapid.IntRange(-3, len(keys)-1).Draw(t, "key"), rapid.IntRange(0, 4).Draw(t, "actor")}
			histories[i] = append(histories[i], s)
			apply(rings[i], s, uint64(len(histories[i])))
		}
		for i, ring := range rings {
			var alone signer.Keyring
			for n, s := range histories[i] {
				apply(&alone, s, uint64(n+1))
			}
			got, err1 := ring.MarshalJSON()
			want, err2 := alone.MarshalJSON()
			if err1 != nil || err2 != nil || string(got) != string(want) {
				t.Fatalf("ring %d: %s, want %s (%v, %v)", i, got, want, err1, err2)
			}
		}
	})
}
