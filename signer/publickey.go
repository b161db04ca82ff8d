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
	publicKeyPrefix = "ed25519:"
	publicKeyChars  = len(publicKeyPrefix) + 44
	keyIDPrefix     = "SHA256:"
	keyIDChars      = len(keyIDPrefix) + 43
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

// PublicKey is an Ed25519 public key, ready to verify. It is a small value,
// safe for concurrent use; two of them are compared with Equal. The zero
// PublicKey verifies nothing.
type PublicKey struct {
	raw      [ed25519.PublicKeySize]byte
	id       KeyID
	verifier *signature.ED25519Verifier // parsed once; nil in the zero value
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
	return PublicKey{raw: [32]byte(raw), id: KeyID(ssh.FingerprintSHA256(wire)), verifier: verifier}, nil
}

// ParsePublicKey parses the one text form of a public key, "ed25519:" and the
// padded standard base64 of its 32 bytes. Its errors wrap ErrPublicKey.
func ParsePublicKey(s string) (PublicKey, error) {
	encoded, ok := strings.CutPrefix(s, publicKeyPrefix)
	if !ok || len(s) != publicKeyChars {
		return PublicKey{}, fmt.Errorf("parse public key: %w: want %q and 44 base64 characters", ErrPublicKey, publicKeyPrefix)
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || base64.StdEncoding.EncodeToString(raw) != encoded {
		return PublicKey{}, fmt.Errorf("parse public key: %w: not padded standard base64", ErrPublicKey)
	}
	key, err := NewPublicKey(raw)
	if err != nil {
		return PublicKey{}, fmt.Errorf("parse public key: %w", err)
	}
	return key, nil
}

// ParsePublicKeyPEM parses a PKIX "PUBLIC KEY" block that holds an Ed25519 key
// and nothing around it: exactly what PEM yields. Its errors wrap ErrPublicKey.
func ParsePublicKeyPEM(text []byte) (PublicKey, error) {
	if block, _ := pem.Decode(text); block == nil || block.Type != string(cryptoutils.PublicKeyPEMType) {
		return PublicKey{}, fmt.Errorf("parse public key: %w: no %s block", ErrPublicKey, cryptoutils.PublicKeyPEMType)
	}
	parsed, err := cryptoutils.UnmarshalPEMToPublicKey(text)
	if err != nil {
		return PublicKey{}, fmt.Errorf("parse public key: %w: %w", ErrPublicKey, err)
	}
	raw, ok := parsed.(ed25519.PublicKey)
	if !ok {
		return PublicKey{}, fmt.Errorf("parse public key: %w: %T is not Ed25519", ErrPublicKey, parsed)
	}
	key, err := NewPublicKey(raw)
	if err != nil {
		return PublicKey{}, fmt.Errorf("parse public key: %w", err)
	}
	if canonical, err := key.PEM(); err != nil || !bytes.Equal(canonical, text) {
		return PublicKey{}, fmt.Errorf("parse public key: %w: more than one %s block in its plain form", ErrPublicKey, cryptoutils.PublicKeyPEMType)
	}
	return key, nil
}

// ID returns the key's id, empty for the zero PublicKey.
func (k PublicKey) ID() KeyID { return k.id }

// IsZero reports whether k holds no key.
func (k PublicKey) IsZero() bool { return k.verifier == nil }

// Equal reports whether both hold the same key.
func (k PublicKey) Equal(other PublicKey) bool {
	return k.raw == other.raw && k.IsZero() == other.IsZero()
}

// Bytes returns the 32 bytes of the key.
func (k PublicKey) Bytes() []byte { return bytes.Clone(k.raw[:]) }

// String returns the text form that ParsePublicKey reads.
func (k PublicKey) String() string {
	return publicKeyPrefix + base64.StdEncoding.EncodeToString(k.raw[:])
}

// PEM returns the key as a PKIX "PUBLIC KEY" block, which openssl and cosign
// read. It fails only for the zero PublicKey, with ErrPublicKey.
func (k PublicKey) PEM() ([]byte, error) {
	if k.IsZero() {
		return nil, fmt.Errorf("encode public key: %w: no key", ErrPublicKey)
	}
	text, err := cryptoutils.MarshalPublicKeyToPEM(ed25519.PublicKey(k.raw[:]))
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
