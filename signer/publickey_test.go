package signer_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedledger/deed/signer"
)

func TestPublicKeyForms(t *testing.T) {
	for n := range byte(20) {
		key := testKey(t, n).Public()
		if parsed, err := signer.ParsePublicKey(key.String()); err != nil || !parsed.Equal(key) || parsed.ID() != key.ID() {
			t.Errorf("parse %s: %v, %v", key, parsed, err)
		}
		text, err := key.PEM()
		if err != nil {
			t.Fatal(err)
		}
		if parsed, err := signer.ParsePublicKeyPEM(text); err != nil || !parsed.Equal(key) {
			t.Errorf("parse PEM of %s: %v, %v", key, parsed, err)
		}
		if id, err := signer.ParseKeyID(string(key.ID())); err != nil || id != key.ID() {
			t.Errorf("parse id %s: %s, %v", key.ID(), id, err)
		}
		var through struct{ Key signer.PublicKey }
		encoded, err := json.Marshal(struct{ Key signer.PublicKey }{key})
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(encoded, &through); err != nil || !through.Key.Equal(key) {
			t.Errorf("through JSON: %s: %v", encoded, err)
		}
	}
}

func TestPublicKeyRefuses(t *testing.T) {
	good := testKey(t, 1).Public().String()
	body := strings.TrimPrefix(good, "ed25519:")
	cases := map[string]string{
		"empty":             "",
		"no prefix":         body,
		"prefix only":       "ed25519:",
		"prefix in capital": "ED25519:" + body,
		"prefix twice":      "ed25519:" + good,
		"ssh form":          "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIqI4910CfGV",
		"without padding":   strings.TrimSuffix(good, "="),
		"more padding":      good + "=",
		"leading space":     " " + good,
		"trailing newline":  good + "\n",
		"newline inside":    "ed25519:" + body[:4] + "\n" + body[5:],
		"URL base64":        "ed25519:" + strings.Replace(body, body[3:4], "-", 1),
		"stray bits":        "ed25519:" + body[:42] + nextBase64(body[42]) + "=",
		"31 bytes":          "ed25519:" + base64.StdEncoding.EncodeToString(make([]byte, 31)),
		"33 bytes":          "ed25519:" + base64.StdEncoding.EncodeToString(make([]byte, 33)),
	}
	for name, text := range cases {
		key, err := signer.ParsePublicKey(text)
		if !errors.Is(err, signer.ErrPublicKey) || !key.IsZero() {
			t.Errorf("%s: %q gives %v, %v", name, text, key, err)
		}
	}
}

// nextBase64 returns the character whose lowest bit differs from c's.
func nextBase64(c byte) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	return string(alphabet[strings.IndexByte(alphabet, c)^1])
}

// smallOrderKeys are all encodings of points whose order divides 8 that Go's
// verifier takes.
var smallOrderKeys = []string{
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0000000000000000000000000000000000000000000000000000000000000080",
	"0100000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000080",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
}

func TestPublicKeyRefusesPoints(t *testing.T) {
	identity := append([]byte{1}, make([]byte, 31)...)
	forged := append(identity, make([]byte, 32)...) // R = identity, S = 0
	for _, text := range smallOrderKeys {
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if key, err := signer.NewPublicKey(raw); !errors.Is(err, signer.ErrPublicKey) || !key.IsZero() {
			t.Errorf("%s accepted: %v", text, err)
		}
		// Show that the list is of what it says: without a private key there is
		// a signature that Go accepts for some message.
		accepted := false
		for i := range 200 {
			accepted = accepted || ed25519.Verify(raw, fmt.Append(nil, i), forged)
		}
		if !accepted {
			t.Errorf("%s is no key of small order", text)
		}
	}
	refused := 0
	for y := range byte(64) {
		raw := append([]byte{y}, make([]byte, 31)...)
		if _, err := signer.NewPublicKey(raw); err != nil {
			refused++
		}
	}
	// About one half of all y has no x.
	if refused < 20 || refused > 44 {
		t.Errorf("%d of 64 small y are refused", refused)
	}
	for d := range byte(0x13) { // y = p + d
		raw := bytes.Repeat([]byte{0xff}, 32)
		raw[0], raw[31] = 0xed+d, 0x7f
		if _, err := signer.NewPublicKey(raw); !errors.Is(err, signer.ErrPublicKey) {
			t.Errorf("y = p+%d accepted", d)
		}
	}
	for _, n := range []int{0, 1, 31, 33, 64} {
		if _, err := signer.NewPublicKey(make([]byte, n)); !errors.Is(err, signer.ErrPublicKey) {
			t.Errorf("%d bytes accepted", n)
		}
	}
}

func TestParsePublicKeyPEMRefuses(t *testing.T) {
	good, err := testKey(t, 1).Public().PEM()
	if err != nil {
		t.Fatal(err)
	}
	rsa, err := exec.Command("openssl", "pkey", "-pubout", "-in", opensslKey(t, "RSA")).Output()
	if err != nil {
		t.Fatal(err)
	}
	private, err := os.ReadFile(opensslKey(t, "ED25519"))
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		"empty":            "",
		"text":             "ed25519",
		"two blocks":       string(good) + string(good),
		"text before":      "key:\n" + string(good),
		"text after":       string(good) + "x",
		"no last newline":  strings.TrimSuffix(string(good), "\n"),
		"carriage returns": strings.ReplaceAll(string(good), "\n", "\r\n"),
		"a header":         strings.Replace(string(good), "KEY-----\n", "KEY-----\nA: b\n\n", 1),
		"another type":     strings.ReplaceAll(string(good), "PUBLIC", "RSA PUBLIC"),
		"RSA":              string(rsa),
		"private":          string(private),
		"small order":      "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n-----END PUBLIC KEY-----\n",
	}
	for name, text := range cases {
		if key, err := signer.ParsePublicKeyPEM([]byte(text)); !errors.Is(err, signer.ErrPublicKey) || !key.IsZero() {
			t.Errorf("%s: %v, %v", name, key, err)
		}
	}
}

func opensslKey(t *testing.T, algorithm string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if out, err := exec.Command("openssl", "genpkey", "-algorithm", algorithm, "-out", path).CombinedOutput(); err != nil {
		t.Fatalf("openssl genpkey: %v: %s", err, out)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestParseKeyIDRefuses(t *testing.T) {
	good := string(testKey(t, 1).ID())
	for _, text := range []string{"", "SHA256:", good[7:], "sha256:" + good[7:], "MD5:" + good[7:], good + "=", good[:49], good + "A", " " + good, good + "\n",
		good[:20] + "\n" + good[21:], good[:20] + "-" + good[21:], good[:20] + "é" + good[22:], good[:49] + nextBase64(good[49])} {
		if id, err := signer.ParseKeyID(text); !errors.Is(err, signer.ErrPublicKey) || id != "" {
			t.Errorf("%q gives %q, %v", text, id, err)
		}
	}
}

// TestKeyIDIsOpenSSHs compares with the program that made the form known.
func TestKeyIDIsOpenSSHs(t *testing.T) {
	key := testKey(t, 3)
	wire := append([]byte("\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20"), key.Public().Bytes()...)
	path := filepath.Join(t.TempDir(), "k.pub")
	if err := os.WriteFile(path, []byte("ssh-ed25519 "+base64.StdEncoding.EncodeToString(wire)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("ssh-keygen", "-l", "-E", "sha256", "-f", path).CombinedOutput()
	if err != nil {
		t.Fatalf("ssh-keygen: %v: %s", err, out)
	}
	if !strings.Contains(string(out), " "+string(key.ID())+" ") {
		t.Errorf("ssh-keygen says %s, we say %s", out, key.ID())
	}
}

func TestZeroKeys(t *testing.T) {
	var key signer.Key
	if _, err := key.Sign(nil); !errors.Is(err, signer.ErrNoKey) {
		t.Errorf("sign: %v", err)
	}
	var public signer.PublicKey
	if err := public.Verify(nil, make([]byte, 64)); !errors.Is(err, signer.ErrPublicKey) {
		t.Errorf("verify: %v", err)
	}
	if _, err := public.PEM(); !errors.Is(err, signer.ErrPublicKey) {
		t.Errorf("PEM: %v", err)
	}
	if _, err := json.Marshal(public); !errors.Is(err, signer.ErrPublicKey) {
		t.Errorf("JSON: %v", err)
	}
	if public.Equal(testKey(t, 1).Public()) || public.ID() != "" || key.ID() != "" || !key.IsZero() {
		t.Error("a zero key is like a real one")
	}
	if err := json.Unmarshal([]byte(`"ed25519:"`), &public); !errors.Is(err, signer.ErrPublicKey) {
		t.Errorf("from JSON: %v", err)
	}
}

func TestGenerateKeyNeedsRandom(t *testing.T) {
	for n := range 32 {
		if key, err := signer.GenerateKey(bytes.NewReader(make([]byte, n))); err == nil || !key.IsZero() {
			t.Errorf("a key from %d bytes", n)
		}
	}
}

// TestKeyNeverPrints looks for the seed, and for the public half that stands
// beside it in a dump, in every way a key could end up in a log.
func TestKeyNeverPrints(t *testing.T) {
	key := testKey(t, 0x5a)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "key", key, "pointer", &key)
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", "key", key, "pointer", &key)
	encoded, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		fmt.Fprintf(&log, verb, key)
		fmt.Fprintf(&log, verb, &key)
		fmt.Fprintf(&log, verb, []any{key, map[string]signer.Key{"a": key}, struct{ K signer.Key }{key}})
		fmt.Fprintf(&log, verb, struct{ k signer.Key }{key})
		fmt.Fprintf(&log, verb, &struct{ k []signer.Key }{[]signer.Key{key}})
	}
	log.Write(encoded)
	for _, secret := range []string{"5a5a", "5A5A", "ZZZZ", "WlpaWl", "90 90", "0x5a, 0x5a"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("found %q in %q", secret, log.String())
		}
	}
}
