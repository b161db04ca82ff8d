package signer

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/big"

	"github.com/sigstore/sigstore/pkg/signature"
	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
	"golang.org/x/crypto/ssh"
)

const (
	// p256PointSize is the length of an uncompressed point: 04, x and y.
	p256PointSize = 65
	// maxP256Signature is the length in bytes of the longest signature with a low
	// s: r may need a zero byte in front, s never does.
	maxP256Signature = 71
	// p256SeedSize is 16 bytes more than the order has, so that the remainder is
	// even (FIPS 186-5, A.2.1).
	p256SeedSize = 48
)

// NewP256PublicKey takes the 65 bytes of an ECDSA P-256 public key as an
// uncompressed point, 04, x and y. Its errors wrap ErrPublicKey: wrong length,
// another form, not on the curve, a coordinate of p or more.
func NewP256PublicKey(raw []byte) (PublicKey, error) {
	if len(raw) != p256PointSize {
		return PublicKey{}, fmt.Errorf("%w: %d bytes, want %d", ErrPublicKey, len(raw), p256PointSize)
	}
	point, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw)
	if err != nil {
		return PublicKey{}, fmt.Errorf("%w: %w", ErrPublicKey, err)
	}
	wire, err := ssh.NewPublicKey(point)
	if err != nil {
		return PublicKey{}, fmt.Errorf("encode public key: %w: %w", ErrPublicKey, err)
	}
	verifier, err := signature.LoadECDSAVerifier(point, crypto.SHA256)
	if err != nil {
		return PublicKey{}, fmt.Errorf("load public key: %w: %w", ErrPublicKey, err)
	}
	return PublicKey{algorithm: ECDSAP256, raw: string(raw), id: KeyID(ssh.FingerprintSHA256(wire)), verifier: p256Verifier{verifier}}, nil
}

// generateP256 makes a private key from 48 bytes. crypto/ecdsa would not: it
// draws its own.
func generateP256(random io.Reader) (*ecdsa.PrivateKey, error) {
	seed := make([]byte, p256SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return nil, err
	}
	one := big.NewInt(1)
	d := new(big.Int).SetBytes(seed)
	d.Mod(d, new(big.Int).Sub(p256Order(), one)).Add(d, one)
	return ecdsa.ParseRawPrivateKey(elliptic.P256(), d.FillBytes(make([]byte, 32)))
}

func p256Order() *big.Int { return elliptic.P256().Params().N }

// p256Signer is a sigstore signer whose signatures are deterministic (RFC 6979)
// and have a low s. sigstore's own draws randomness, and one half of what it
// signs would be refused here.
type p256Signer struct{ private *ecdsa.PrivateKey }

// SignMessage implements signature.Signer.
func (s p256Signer) SignMessage(message io.Reader, _ ...signature.SignOption) ([]byte, error) {
	text, err := io.ReadAll(message)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(text)
	sig, err := s.private.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		return nil, err
	}
	return lowS(sig)
}

// PublicKey implements signature.Signer.
func (s p256Signer) PublicKey(...signature.PublicKeyOption) (crypto.PublicKey, error) {
	return s.private.Public(), nil
}

// p256Verifier is sigstore's verifier behind the demand for the one spelling:
// alone it takes a high s, and r and s as 64 bytes.
type p256Verifier struct{ signature.Verifier }

// VerifySignature implements signature.Verifier.
func (v p256Verifier) VerifySignature(sig, message io.Reader, opts ...signature.VerifyOption) error {
	text, err := io.ReadAll(io.LimitReader(sig, maxP256Signature+1))
	if err != nil {
		return err
	}
	if err := checkP256Signature(text); err != nil {
		return err
	}
	return v.Verifier.VerifySignature(bytes.NewReader(text), message, opts...)
}

// checkP256Signature demands the one spelling of an ECDSA P-256 signature: DER,
// nothing after it, r and s in [1, n-1], and s at most n/2.
func checkP256Signature(sig []byte) error {
	low, err := lowS(sig)
	if err != nil {
		return err
	}
	if !bytes.Equal(low, sig) {
		return errors.New("s is in the upper half")
	}
	return nil
}

// lowS returns a DER signature with n-s in the place of s when s is more than
// n/2. With either of the two a signature verifies.
func lowS(sig []byte) ([]byte, error) {
	r, s := new(big.Int), new(big.Int)
	input, inner := cryptobyte.String(sig), cryptobyte.String{}
	if len(sig) > maxP256Signature+1 || !input.ReadASN1(&inner, asn1.SEQUENCE) || !input.Empty() ||
		!inner.ReadASN1Integer(r) || !inner.ReadASN1Integer(s) || !inner.Empty() {
		return nil, errors.New("not the DER of two integers")
	}
	n := p256Order()
	if r.Sign() <= 0 || s.Sign() <= 0 || r.Cmp(n) >= 0 || s.Cmp(n) >= 0 {
		return nil, errors.New("r or s is out of range")
	}
	if half := new(big.Int).Rsh(n, 1); s.Cmp(half) > 0 {
		s.Sub(n, s)
	}
	var out cryptobyte.Builder
	out.AddASN1(asn1.SEQUENCE, func(b *cryptobyte.Builder) {
		b.AddASN1BigInt(r)
		b.AddASN1BigInt(s)
	})
	return out.Bytes()
}
