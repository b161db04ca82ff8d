package signer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"fmt"
	"io"

	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/options"
)

// Algorithm says of what sort a key is. Its value is the prefix of the text form
// of such public keys.
type Algorithm string

// The algorithms. There is no other: no second curve, no RSA.
const (
	Ed25519   Algorithm = "ed25519"
	ECDSAP256 Algorithm = "ecdsa-p256" // with SHA-256
)

// Algorithms returns every algorithm; the first is the one to take.
func Algorithms() []Algorithm { return []Algorithm{Ed25519, ECDSAP256} }

// Generate makes a key of an algorithm from random, which must be a secure
// source such as crypto/rand.Reader; it reads 32 bytes for Ed25519 and 48 for
// ECDSA P-256, and the same bytes give the same key. It fails if reading fails,
// and with ErrPublicKey for an algorithm that is none.
func Generate(algorithm Algorithm, random io.Reader) (Key, error) {
	switch algorithm {
	case Ed25519:
		return GenerateKey(random)
	case ECDSAP256:
		private, err := generateP256(random)
		if err != nil {
			return Key{}, fmt.Errorf("generate key: %w", err)
		}
		return newKey(private)
	}
	return Key{}, fmt.Errorf("generate key: %w: algorithm %q", ErrPublicKey, algorithm)
}

// newKey takes a private key of either algorithm. Its errors wrap ErrPublicKey.
func newKey(private crypto.PrivateKey) (Key, error) {
	held, public := secret{private: private}, PublicKey{}
	var err error
	switch k := private.(type) {
	case ed25519.PrivateKey:
		// With SHA-256 as the hash, sigstore signs pure Ed25519: the hash is
		// named for other algorithms and not applied here.
		if held.signer, err = signature.LoadSignerVerifierWithOpts(k, options.WithHash(crypto.SHA256)); err != nil {
			return Key{}, fmt.Errorf("load key: %w: %w", ErrPublicKey, err)
		}
		public, err = publicKeyOf(k.Public())
	case *ecdsa.PrivateKey:
		held.signer = p256Signer{k}
		public, err = publicKeyOf(k.Public())
	default:
		err = fmt.Errorf("%w: %T", ErrPublicKey, private)
	}
	if err != nil {
		return Key{}, fmt.Errorf("load key: %w", err)
	}
	return Key{secret: func() secret { return held }, public: public}, nil
}

// publicKeyOf takes a public key as Go's libraries hold it. Its errors wrap
// ErrPublicKey.
func publicKeyOf(parsed crypto.PublicKey) (PublicKey, error) {
	switch k := parsed.(type) {
	case ed25519.PublicKey:
		return NewPublicKey(k)
	case *ecdsa.PublicKey:
		raw, err := k.Bytes()
		if err != nil {
			return PublicKey{}, fmt.Errorf("%w: %w", ErrPublicKey, err)
		}
		return NewP256PublicKey(raw)
	}
	return PublicKey{}, fmt.Errorf("%w: %T is neither Ed25519 nor ECDSA P-256", ErrPublicKey, parsed)
}
