package signer

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"golang.org/x/crypto/ssh"
)

const (
	keyIDPrefix = "SHA256:"
	keyIDChars  = len(keyIDPrefix) + 43
)

// ErrPublicKey means that a public key is not in its one spelling, or is a
// point that no honest key generator yields.
var ErrPublicKey = errors.New("public key refused")

// ErrSignature means that a signature does not belong to these bytes and this
// key.
var ErrSignature = errors.New("signature does not verify")

// KeyID names a public key: the OpenSSH fingerprint of its wire form,
// "SHA256:" and the unpadded standard base64 of 32 bytes, 50 characters.
type KeyID string

// ParseKeyID parses exactly the text form of a key id. Its errors wrap
// ErrPublicKey.
func ParseKeyID(s string) (KeyID, error) {
	digest, ok := strings.CutPrefix(s, keyIDPrefix)
	if !ok || len(s) != keyIDChars {
		return "", fmt.Errorf("parse key id: %w: want %q and 43 base64 characters", ErrPublicKey, keyIDPrefix)
	}
	raw, err := base64.RawStdEncoding.Strict().DecodeString(digest)
	if err != nil || base64.RawStdEncoding.EncodeToString(raw) != digest {
		return "", fmt.Errorf("parse key id: %w: not unpadded standard base64", ErrPublicKey)
	}
	return KeyID(s), nil
}

// PublicKey is an Ed25519 or ECDSA P-256 public key, ready to verify. It is a
// small value, safe for concurrent use; two of them are compared with Equal. The
// zero PublicKey verifies nothing.
type PublicKey struct {
	algorithm Algorithm
	raw       string // 32 bytes, or the 65 of an uncompressed point
	id        KeyID
	verifier  signature.Verifier // parsed once; nil in the zero value
}

// NewPublicKey takes the 32 bytes of an Ed25519 public key. Its errors wrap
// ErrPublicKey: wrong length, not on the curve, of small order, or a second
// encoding of a point.
func NewPublicKey(raw []byte) (PublicKey, error) {
	if err := checkPoint(raw); err != nil {
		return PublicKey{}, err
	}
	key := ed25519.PublicKey(bytes.Clone(raw))
	wire, err := ssh.NewPublicKey(key)
	if err != nil {
		return PublicKey{}, fmt.Errorf("encode public key: %w", err)
	}
	verifier, err := signature.LoadED25519Verifier(key)
	if err != nil {
		return PublicKey{}, fmt.Errorf("load public key: %w", err)
	}
	return PublicKey{algorithm: Ed25519, raw: string(raw), id: KeyID(ssh.FingerprintSHA256(wire)), verifier: verifier}, nil
}

// ParsePublicKey parses the one text form of a public key: the algorithm, a
// colon, and padded standard base64 of the 32 bytes of an Ed25519 key, 44
// characters, or of the 65 bytes of an uncompressed P-256 point, 88 characters.
// Its errors wrap ErrPublicKey.
func ParsePublicKey(s string) (PublicKey, error) {
	algorithm, encoded, _ := strings.Cut(s, ":")
	load, chars := NewPublicKey, 44
	switch Algorithm(algorithm) {
	case Ed25519:
	case ECDSAP256:
		load, chars = NewP256PublicKey, 88
	default:
		return PublicKey{}, fmt.Errorf("parse public key: %w: want %q or %q, a colon and base64", ErrPublicKey, Ed25519, ECDSAP256)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || len(encoded) != chars || base64.StdEncoding.EncodeToString(raw) != encoded {
		return PublicKey{}, fmt.Errorf("parse public key: %w: not %d characters of padded standard base64", ErrPublicKey, chars)
	}
	key, err := load(raw)
	if err != nil {
		return PublicKey{}, fmt.Errorf("parse public key: %w", err)
	}
	return key, nil
}

// ParsePublicKeyPEM parses a PKIX "PUBLIC KEY" block that holds an Ed25519 or
// ECDSA P-256 key and nothing around it: exactly what PEM yields. Its errors wrap ErrPublicKey.
func ParsePublicKeyPEM(text []byte) (PublicKey, error) {
	if block, _ := pem.Decode(text); block == nil || block.Type != string(cryptoutils.PublicKeyPEMType) {
		return PublicKey{}, fmt.Errorf("parse public key: %w: no %s block", ErrPublicKey, cryptoutils.PublicKeyPEMType)
	}
	parsed, err := cryptoutils.UnmarshalPEMToPublicKey(text)
	if err != nil {
		return PublicKey{}, fmt.Errorf("parse public key: %w: %w", ErrPublicKey, err)
	}
	key, err := publicKeyOf(parsed)
	if err != nil {
		return PublicKey{}, fmt.Errorf("parse public key: %w", err)
	}
	if canonical, err := key.PEM(); err != nil || !bytes.Equal(canonical, text) {
		return PublicKey{}, fmt.Errorf("parse public key: %w: more than one %s block in its plain form", ErrPublicKey, cryptoutils.PublicKeyPEMType)
	}
	return key, nil
}

// parseForeignPEM parses a PKIX block as another program spells it: with text or
// line breaks of its own. Its errors wrap ErrPublicKey.
func parseForeignPEM(text []byte) (PublicKey, error) {
	if len(text) > MaxKeyFileBytes {
		return PublicKey{}, fmt.Errorf("parse public key: %w: %d bytes", ErrPublicKey, len(text))
	}
	parsed, err := cryptoutils.UnmarshalPEMToPublicKey(text)
	if err != nil {
		return PublicKey{}, fmt.Errorf("parse public key: %w: no %s block", ErrPublicKey, cryptoutils.PublicKeyPEMType)
	}
	return publicKeyOf(parsed)
}

// ID returns the key's id, empty for the zero PublicKey.
func (k PublicKey) ID() KeyID { return k.id }

// IsZero reports whether k holds no key.
func (k PublicKey) IsZero() bool { return k.verifier == nil }

// Equal reports whether both hold the same key.
func (k PublicKey) Equal(other PublicKey) bool {
	return k.algorithm == other.algorithm && k.raw == other.raw
}

// Algorithm returns the key's algorithm, empty for the zero PublicKey.
func (k PublicKey) Algorithm() Algorithm { return k.algorithm }

// Bytes returns the 32 bytes of an Ed25519 key, or the 65 bytes of a P-256 key as
// an uncompressed point.
func (k PublicKey) Bytes() []byte { return []byte(k.raw) }

// String returns the text form that ParsePublicKey reads.
func (k PublicKey) String() string {
	return string(k.algorithm) + ":" + base64.StdEncoding.EncodeToString([]byte(k.raw))
}

// PEM returns the key as a PKIX "PUBLIC KEY" block, which openssl and cosign
// read. It fails only for the zero PublicKey, with ErrPublicKey.
func (k PublicKey) PEM() ([]byte, error) {
	if k.IsZero() {
		return nil, fmt.Errorf("encode public key: %w: no key", ErrPublicKey)
	}
	held, err := k.verifier.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("encode public key: %w", err)
	}
	text, err := cryptoutils.MarshalPublicKeyToPEM(held)
	if err != nil {
		return nil, fmt.Errorf("encode public key: %w", err)
	}
	return text, nil
}

// MarshalText implements encoding.TextMarshaler; it fails for the zero value.
func (k PublicKey) MarshalText() ([]byte, error) {
	if k.IsZero() {
		return nil, fmt.Errorf("encode public key: %w: no key", ErrPublicKey)
	}
	return []byte(k.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler with ParsePublicKey.
func (k *PublicKey) UnmarshalText(text []byte) error {
	parsed, err := ParsePublicKey(string(text))
	if err != nil {
		return err
	}
	*k = parsed
	return nil
}

// Verify checks that sig is this key's signature of message. It returns
// ErrSignature if it is not, ErrPublicKey for the zero PublicKey.
func (k PublicKey) Verify(message, sig []byte) error {
	if k.IsZero() {
		return fmt.Errorf("verify: %w: no key", ErrPublicKey)
	}
	if err := k.verifier.VerifySignature(bytes.NewReader(sig), bytes.NewReader(message)); err != nil {
		return fmt.Errorf("verify with %s: %w", k.id, ErrSignature)
	}
	return nil
}
