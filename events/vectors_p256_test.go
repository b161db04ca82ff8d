package events_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"testing"
)

// newP256VectorKey derives an ECDSA P-256 key, without package signer.
func newP256VectorKey(t testing.TB, name string) (crypto.Signer, vectorKey) {
	t.Helper()
	seed := sha256.Sum256([]byte("deed test key " + name))
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), seed[:])
	if err != nil {
		t.Fatal(err)
	}
	point, err := private.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	id := sha256.Sum256(append([]byte("\x00\x00\x00\x13ecdsa-sha2-nistp256\x00\x00\x00\x08nistp256\x00\x00\x00\x41"), point...))
	return private, vectorKey{
		Seed: hex.EncodeToString(seed[:]), PublicKey: base64.StdEncoding.EncodeToString(point),
		PublicKeyPEM: string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
		KeyID:        "SHA256:" + base64.RawStdEncoding.EncodeToString(id[:]),
	}
}

// signVector signs as the format demands: Ed25519, or deterministic ECDSA with
// the lower s.
func signVector(t testing.TB, private crypto.Signer, message []byte) []byte {
	t.Helper()
	if _, ok := private.(*ecdsa.PrivateKey); !ok {
		sig, err := private.Sign(nil, message, crypto.Hash(0))
		if err != nil {
			t.Fatal(err)
		}
		return sig
	}
	digest := sha256.Sum256(message)
	sig, err := private.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	var parts struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(sig, &parts); err != nil {
		t.Fatal(err)
	}
	if n := elliptic.P256().Params().N; parts.S.Cmp(new(big.Int).Rsh(n, 1)) > 0 {
		parts.S.Sub(n, parts.S)
	}
	if sig, err = asn1.Marshal(parts); err != nil {
		t.Fatal(err)
	}
	return sig
}
