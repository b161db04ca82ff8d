package signer

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"

	"github.com/sigstore/sigstore/pkg/signature"
)

// ErrNoKey means that a zero Key was asked to sign or to be written.
var ErrNoKey = errors.New("no private key")

// Key is a private key with its public half. It is a small value, safe for
// concurrent use. However it is printed or encoded, it shows its id only. The
// zero Key signs nothing.
type Key struct {
	// secret is nil in the zero value. It is a function because fmt prints the
	// content of unexported fields, even behind pointers, where it cannot call
	// Format; of a function it has only the address.
	secret func() secret
	public PublicKey
}

type secret struct {
	signer  signature.Signer
	private crypto.PrivateKey // nil where a plugin holds it
}

// GenerateKey makes an Ed25519 key from 32 bytes of random, which must be a secure
// source such as crypto/rand.Reader. It fails only if reading fails.
func GenerateKey(random io.Reader) (Key, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return Key{}, fmt.Errorf("generate key: %w", err)
	}
	return newKey(ed25519.NewKeyFromSeed(seed))
}

// ID returns the id of the key's public half, empty for the zero Key.
func (k Key) ID() KeyID { return k.public.ID() }

// Public returns the public half.
func (k Key) Public() PublicKey { return k.public }

// IsZero reports whether k holds no key.
func (k Key) IsZero() bool { return k.secret == nil }

// Sign returns the signature of message: 64 bytes for Ed25519, at most 71 for
// ECDSA P-256 (DER with a low s). The same message gets the same signature,
// except from a plugin. It returns ErrNoKey for the zero Key, and the errors of
// [Plugins].
//
// Never let another party choose the whole message: what Deed signs begins with
// "DSSEv1 " or with the origin of a head, and so cannot be taken for the other.
func (k Key) Sign(message []byte) ([]byte, error) {
	if k.IsZero() {
		return nil, fmt.Errorf("sign: %w", ErrNoKey)
	}
	sig, err := k.secret().signer.SignMessage(bytes.NewReader(message))
	if err != nil {
		return nil, fmt.Errorf("sign with %s: %w", k.ID(), err)
	}
	return sig, nil
}

// Format implements fmt.Formatter, so that no verb prints the private half.
func (k Key) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, "key "+string(k.ID())) // a Formatter has nowhere to report to
}
