package signer_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deedledger/deed/signer"
)

// p256Key makes the P-256 key whose seed is 48 times the byte n.
func p256Key(t testing.TB, n byte) signer.Key {
	t.Helper()
	key, err := signer.Generate(signer.ECDSAP256, bytes.NewReader(bytes.Repeat([]byte{n}, 48)))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

type rs struct{ R, S *big.Int }

func derOf(t testing.TB, r, s *big.Int) []byte {
	t.Helper()
	sig, err := asn1.Marshal(rs{r, s})
	if err != nil {
		t.Fatal(err)
	}
	return sig
}

func TestP256SignatureHasOneSpelling(t *testing.T) {
	n := elliptic.P256().Params().N
	for k := range byte(40) {
		key, message := p256Key(t, k), []byte{k}
		sig, err := key.Sign(message)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := key.Sign(message); err != nil || !bytes.Equal(again, sig) {
			t.Errorf("signed twice: %x, %x, %v", sig, again, err)
		}
		if err := key.Public().Verify(message, sig); err != nil {
			t.Error(err)
		}
		var v rs
		if _, err := asn1.Unmarshal(sig, &v); err != nil {
			t.Fatal(err)
		}
		high := derOf(t, v.R, new(big.Int).Sub(n, v.S))
		fixed := append(v.R.FillBytes(make([]byte, 32)), v.S.FillBytes(make([]byte, 32))...)
		digest := sha256.Sum256(message)
		if !ecdsa.VerifyASN1(goKey(t, key), digest[:], high) {
			t.Error("the other s is no signature: the test shows nothing")
		}
		for name, other := range map[string][]byte{
			"high s": high, "r and s as 64 bytes": fixed, "byte after": append(slices.Clone(sig), 0), "byte missing": sig[:len(sig)-1],
			"long length": append([]byte{0x30, 0x81, sig[1]}, sig[2:]...), "empty": {}, "r + n": derOf(t, new(big.Int).Add(v.R, n), v.S),
			"negative s": derOf(t, v.R, new(big.Int).Neg(v.S)), "s zero": derOf(t, v.R, new(big.Int)), "r zero": derOf(t, new(big.Int), v.S),
			"zeros": make([]byte, 64), "swapped": derOf(t, v.S, v.R), "padded r": padded(v),
		} {
			if err := key.Public().Verify(message, other); !errors.Is(err, signer.ErrSignature) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := key.Public().Verify([]byte("other"), sig); !errors.Is(err, signer.ErrSignature) {
			t.Errorf("other message: %v", err)
		}
	}
}

// padded spells r with a zero byte more than it needs.
func padded(v rs) []byte {
	r, s := v.R.FillBytes(make([]byte, 34)), v.S.FillBytes(make([]byte, 33))
	body := append([]byte{2, byte(len(r))}, r...)
	body = append(append(body, 2, byte(len(s))), s...)
	return append([]byte{0x30, byte(len(body))}, body...)
}

func goKey(t testing.TB, key signer.Key) *ecdsa.PublicKey {
	t.Helper()
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), key.Public().Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return public
}

func TestP256PublicKeyForms(t *testing.T) {
	for n := range byte(10) {
		key := p256Key(t, n).Public()
		if parsed, err := signer.ParsePublicKey(key.String()); err != nil || !parsed.Equal(key) || parsed.ID() != key.ID() || key.Algorithm() != signer.ECDSAP256 {
			t.Errorf("parse %s: %v, %v", key, parsed, err)
		}
		text, err := key.PEM()
		if err != nil {
			t.Fatal(err)
		}
		if parsed, err := signer.ParsePublicKeyPEM(text); err != nil || !parsed.Equal(key) {
			t.Errorf("parse PEM of %s: %v, %v", key, parsed, err)
		}
	}
	if p256Key(t, 1).Public().Equal(testKey(t, 1).Public()) {
		t.Error("keys of two algorithms are equal")
	}
}

func TestP256PublicKeyRefuses(t *testing.T) {
	key := p256Key(t, 1).Public()
	good, raw := key.String(), key.Bytes()
	body := strings.TrimPrefix(good, "ecdsa-p256:")
	p := elliptic.P256().Params().P
	with := func(first byte, x, y *big.Int) string {
		point := append([]byte{first}, x.FillBytes(make([]byte, 32))...)
		return "ecdsa-p256:" + base64.StdEncoding.EncodeToString(append(point, y.FillBytes(make([]byte, 32))...))
	}
	x, y := new(big.Int).SetBytes(raw[1:33]), new(big.Int).SetBytes(raw[33:])
	small := big.NewInt(5) // 5+p still has 32 bytes
	for name, text := range map[string]string{
		"prefix only": "ecdsa-p256:", "other algorithm": "ed25519:" + body, "P-384": "ecdsa-p384:" + body, "capital": "ECDSA-P256:" + body,
		"newline": good + "\n", "without padding": strings.TrimRight(good, "="), "Ed25519 bytes": "ecdsa-p256:" + strings.TrimPrefix(testKey(t, 1).Public().String(), "ed25519:"),
		"not on the curve": with(4, x, new(big.Int).Add(y, big.NewInt(1))), "infinity": with(4, new(big.Int), new(big.Int)), "hybrid": with(6, x, y),
		"hybrid odd": with(7, x, y), "compressed": "ecdsa-p256:" + base64.StdEncoding.EncodeToString(append([]byte{byte(2 + y.Bit(0))}, raw[1:33]...)),
		"x of p or more": with(4, new(big.Int).Add(small, p), y), "negative y of another point": with(4, y, x),
		"stray bits": good[:len(good)-2] + nextBase64(good[len(good)-2]) + "=", "ssh form": "ecdsa-sha2-nistp256 AAAA",
	} {
		if got, err := signer.ParsePublicKey(text); !errors.Is(err, signer.ErrPublicKey) || !got.IsZero() {
			t.Errorf("%s: %q gives %v, %v", name, text, got, err)
		}
	}
	for _, curve := range []elliptic.Curve{elliptic.P224(), elliptic.P384(), elliptic.P521()} {
		private, err := ecdsa.GenerateKey(curve, nil)
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKIXPublicKey(private.Public())
		if err != nil {
			t.Fatal(err)
		}
		text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
		if got, err := signer.ParsePublicKeyPEM(text); !errors.Is(err, signer.ErrPublicKey) || !got.IsZero() {
			t.Errorf("%s: %v, %v", curve.Params().Name, got, err)
		}
	}
	for n := range 48 {
		if key, err := signer.Generate(signer.ECDSAP256, bytes.NewReader(make([]byte, n))); err == nil || !key.IsZero() {
			t.Errorf("a key from %d bytes", n)
		}
	}
	if key, err := signer.Generate("rsa", bytes.NewReader(make([]byte, 99))); !errors.Is(err, signer.ErrPublicKey) || !key.IsZero() {
		t.Errorf("rsa: %v", err)
	}
}

func TestP256KeyFile(t *testing.T) {
	for name, passphrase := range map[string][]byte{"plain": nil, "encrypted": []byte("correct horse")} {
		key, path := p256Key(t, 1), filepath.Join(t.TempDir(), "k")
		if err := signer.WriteKeyFile(path, key, passphrase); err != nil {
			t.Fatal(err)
		}
		got, err := signer.ReadKeyFile(path, pass("correct horse"))
		public, errPublic := signer.ReadPublicKeyFile(signer.PublicKeyPath(path))
		if err != nil || errPublic != nil || got.ID() != key.ID() || !public.Equal(key.Public()) {
			t.Errorf("%s: %v, %v, %v", name, got, err, errPublic)
		}
	}
}

// TestP256OfOpenSSL reads keys that openssl made, checks our signature with it,
// and our id with ssh-keygen.
func TestP256OfOpenSSL(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	run := func(program string, args ...string) string {
		t.Helper()
		out, err := exec.Command(program, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", program, err, out)
		}
		return string(out)
	}
	for _, curve := range []string{"P-256", "P-384", "secp256k1"} {
		run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:"+curve, "-pkeyopt", "ec_param_enc:named_curve", "-out", in(curve))
		if err := os.Chmod(in(curve), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, curve := range []string{"P-384", "secp256k1"} {
		if key, err := signer.ReadKeyFile(in(curve), nil); !errors.Is(err, signer.ErrKeyFile) || !key.IsZero() {
			t.Errorf("%s: %v", curve, err)
		}
	}
	key, err := signer.ReadKeyFile(in("P-256"), nil)
	if err != nil {
		t.Fatal(err)
	}
	run("openssl", "pkey", "-in", in("P-256"), "-pubout", "-out", in("public"))
	if public, err := signer.ReadPublicKeyFile(in("public")); err != nil || !public.Equal(key.Public()) {
		t.Errorf("public half: %v, %v", public, err)
	}
	sig, err := key.Sign([]byte("m"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"m": "m", "sig": string(sig)} {
		if err := os.WriteFile(in(name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("openssl", "dgst", "-sha256", "-verify", in("public"), "-signature", in("sig"), in("m"))
	wire := append([]byte("\x00\x00\x00\x13ecdsa-sha2-nistp256\x00\x00\x00\x08nistp256\x00\x00\x00\x41"), key.Public().Bytes()...)
	if err := os.WriteFile(in("ssh.pub"), []byte("ecdsa-sha2-nistp256 "+base64.StdEncoding.EncodeToString(wire)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := run("ssh-keygen", "-l", "-E", "sha256", "-f", in("ssh.pub")); !strings.Contains(out, " "+string(key.ID())+" ") {
		t.Errorf("ssh-keygen says %s, we say %s", out, key.ID())
	}
}

// TestSealOpenMixed seals with both algorithms, and offers each signature where
// the other's is due.
func TestSealOpenMixed(t *testing.T) {
	old, young := testKey(t, 1), p256Key(t, 1)
	both := seal(t, "{}", old, young)
	if payload, ids, err := signer.Open(both, testType, signer.MaxEnvelopeBytes, lookupIn(old, young)); err != nil || string(payload) != "{}" || len(ids) != 2 {
		t.Fatalf("%s, %v, %v", payload, ids, err)
	}
	oldSig, youngSig := sigText(t, "{}", old), sigText(t, "{}", young)
	one := string(seal(t, "{}", young))
	raw, err := base64.StdEncoding.DecodeString(youngSig)
	if err != nil {
		t.Fatal(err)
	}
	var v rs
	if _, err := asn1.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	high := base64.StdEncoding.EncodeToString(derOf(t, v.R, new(big.Int).Sub(elliptic.P256().Params().N, v.S)))
	fixed := base64.StdEncoding.EncodeToString(append(v.R.FillBytes(make([]byte, 32)), v.S.FillBytes(make([]byte, 32))...))
	for name, c := range map[string]struct {
		envelope string
		want     error
	}{
		"swapped":             {strings.NewReplacer(oldSig, youngSig, youngSig, oldSig).Replace(string(both)), signer.ErrSignature},
		"Ed25519's for P-256": {strings.Replace(one, youngSig, oldSig, 1), signer.ErrSignature},
		"64 bytes":            {strings.Replace(one, youngSig, fixed, 1), signer.ErrSignature},
		"high s":              {strings.Replace(one, youngSig, high, 1), signer.ErrEnvelopeForm},
	} {
		if payload, ids, err := signer.Open([]byte(c.envelope), testType, signer.MaxEnvelopeBytes, lookupIn(old, young)); !errors.Is(err, c.want) || payload != nil || ids != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range one {
		for bit := range 8 {
			bad := []byte(one)
			bad[i] ^= 1 << bit
			if _, _, err := signer.Open(bad, testType, signer.MaxEnvelopeBytes, lookupIn(old, young)); err == nil {
				t.Fatalf("byte %d, bit %d: opens", i, bit)
			}
		}
	}
}
