package signer_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/deedledger/deed/signer"
)

// TestCosign builds an envelope one signature at a time, in any order of keys
// and of both algorithms: the bytes are those of one Seal with all of them.
func TestCosign(t *testing.T) {
	keys := sortedKeys(t, 7)
	p256, err := signer.Generate(signer.ECDSAP256, bytes.NewReader(bytes.Repeat([]byte{9}, 48)))
	if err != nil {
		t.Fatal(err)
	}
	keys = append(keys, p256)
	want := seal(t, "{}", keys...)
	got, err := signer.Unsigned(testType, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{7, 3, 0, 6, 1, 5, 2, 4} {
		if got, err = signer.Cosign(got, testType, lookupIn(keys...), keys[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got, want) {
		t.Errorf("cosigned %s\nsealed   %s", got, want)
	}
}

// TestCosignRefused adds nothing to what is not good, or to what is full.
func TestCosignRefused(t *testing.T) {
	keys := sortedKeys(t, 9)
	one := seal(t, "{}", keys[1])
	flipped := bytes.Replace(bytes.Clone(one), []byte(`"payload":"e30="`), []byte(`"payload":"W10="`), 1)
	for name, c := range map[string]struct {
		envelope []byte
		kind     string
		known    []signer.Key
		key      signer.Key
		want     error
	}{
		"the same key twice":        {one, testType, keys, keys[1], signer.ErrSigned},
		"no key":                    {one, testType, keys, signer.Key{}, signer.ErrNoKey},
		"a ninth signature":         {seal(t, "{}", keys[:8]...), testType, keys, keys[8], signer.ErrEnvelopeForm},
		"another type":              {one, "text/plain", keys, keys[2], signer.ErrPayloadType},
		"a signer nobody knows":     {one, testType, keys[2:], keys[2], signer.ErrUnknownKey},
		"a changed payload":         {flipped, testType, keys, keys[2], signer.ErrSignature},
		"a byte after the end":      {append(bytes.Clone(one), '\n'), testType, keys, keys[2], signer.ErrEnvelopeForm},
		"no envelope":               {nil, testType, keys, keys[2], signer.ErrEnvelopeForm},
		"no envelope, but an array": {[]byte("[]"), testType, keys, keys[2], signer.ErrEnvelopeForm},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := signer.Cosign(c.envelope, c.kind, lookupIn(c.known...), c.key)
			if !errors.Is(err, c.want) || got != nil {
				t.Errorf("got %q, %v; want %v", got, err, c.want)
			}
		})
	}
	if _, err := signer.Unsigned("a type", []byte("{}")); !errors.Is(err, signer.ErrEnvelopeForm) {
		t.Errorf("a type with a space: %v", err)
	}
	if _, err := signer.Unsigned(testType, bytes.Repeat([]byte("x"), signer.MaxEnvelopeBytes)); !errors.Is(err, signer.ErrEnvelopeForm) {
		t.Errorf("too large: %v", err)
	}
	blank, err := signer.Unsigned(testType, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := signer.Open(blank, testType, signer.MaxEnvelopeBytes, lookupIn(keys...)); !errors.Is(err, signer.ErrNoSignature) {
		t.Errorf("an unsigned envelope opens: %v", err)
	}
}
