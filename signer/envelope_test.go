package signer_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deedledger/deed/signer"
)

const testType = "application/vnd.deed.test+json"

// testKey makes the key whose seed is 32 times the byte n.
func testKey(t testing.TB, n byte) signer.Key {
	t.Helper()
	key, err := signer.GenerateKey(bytes.NewReader(bytes.Repeat([]byte{n}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sortedKeys returns the first n test keys in ascending order of id.
func sortedKeys(t testing.TB, n int) []signer.Key {
	t.Helper()
	var keys []signer.Key
	for i := range n {
		keys = append(keys, testKey(t, byte(i+1)))
	}
	slices.SortFunc(keys, func(a, b signer.Key) int { return strings.Compare(string(a.ID()), string(b.ID())) })
	return keys
}

func lookupIn(keys ...signer.Key) func(signer.KeyID) (signer.PublicKey, error) {
	return func(id signer.KeyID) (signer.PublicKey, error) {
		for _, k := range keys {
			if k.ID() == id {
				return k.Public(), nil
			}
		}
		return signer.PublicKey{}, signer.ErrUnknownKey
	}
}

func seal(t testing.TB, payload string, keys ...signer.Key) []byte {
	t.Helper()
	envelope, err := signer.Seal(testType, []byte(payload), keys...)
	if err != nil {
		t.Fatal(err)
	}
	return envelope
}

// sigText returns the base64 of a right signature of payload.
func sigText(t testing.TB, payload string, key signer.Key) string {
	t.Helper()
	sig, err := key.Sign(signer.PAE(testType, []byte(payload)))
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(sig)
}

func TestSealOpen(t *testing.T) {
	keys := sortedKeys(t, signer.MaxSignatures)
	for _, payload := range []string{"", "{}", `{"command":"go test ./... && echo <ok>"}`, "é e\u0301 \u2028 🙂", `{"seq":9007199254740993,"n":-0,"f":1e21,"g":1.0}`} {
		for n := 1; n <= len(keys); n++ {
			envelope := seal(t, payload, keys[:n]...)
			got, ids, err := signer.Open(envelope, testType, signer.MaxEnvelopeBytes, lookupIn(keys...))
			if err != nil {
				t.Fatalf("open %q with %d keys: %v", payload, n, err)
			}
			if string(got) != payload {
				t.Errorf("payload %q came back as %q", payload, got)
			}
			var want []signer.KeyID
			for _, k := range keys[:n] {
				want = append(want, k.ID())
			}
			if !slices.Equal(ids, want) {
				t.Errorf("signers %v, want %v", ids, want)
			}
			reversed := slices.Clone(keys[:n])
			slices.Reverse(reversed)
			if again := seal(t, payload, reversed...); !bytes.Equal(again, envelope) {
				t.Errorf("order of keys changes the envelope:\n%s\n%s", envelope, again)
			}
		}
	}
}

func TestSealGolden(t *testing.T) {
	key := testKey(t, 1)
	const want = `{"payloadType":"application/vnd.deed.test+json","payload":"e30=","signatures":[{"keyid":"SHA256:`
	got := string(seal(t, "{}", key))
	if !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want it to begin with %s", got, want)
	}
	if want := fmt.Sprintf(`%s%s","sig":"%s"}]}`, strings.TrimSuffix(want, "SHA256:"), key.ID(), sigText(t, "{}", key)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSealRefuses(t *testing.T) {
	key, other := testKey(t, 1), testKey(t, 2)
	nine := sortedKeys(t, signer.MaxSignatures+1)
	cases := []struct {
		name        string
		payloadType string
		payload     string
		keys        []signer.Key
		want        error
	}{
		{"no key", testType, "{}", nil, signer.ErrNoSignature},
		{"zero key", testType, "{}", []signer.Key{{}}, signer.ErrNoKey},
		{"zero key among others", testType, "{}", []signer.Key{key, {}}, signer.ErrNoKey},
		{"key twice", testType, "{}", []signer.Key{key, other, key}, signer.ErrEnvelopeForm},
		{"nine keys", testType, "{}", nine, signer.ErrEnvelopeForm},
		{"empty type", "", "{}", []signer.Key{key}, signer.ErrEnvelopeForm},
		{"long type", strings.Repeat("a", signer.MaxPayloadTypeBytes+1), "{}", []signer.Key{key}, signer.ErrEnvelopeForm},
		{"space in type", "a b", "{}", []signer.Key{key}, signer.ErrEnvelopeForm},
		{"quote in type", `a"b`, "{}", []signer.Key{key}, signer.ErrEnvelopeForm},
		{"backslash in type", `a\b`, "{}", []signer.Key{key}, signer.ErrEnvelopeForm},
		{"control in type", "a\x1bb", "{}", []signer.Key{key}, signer.ErrEnvelopeForm},
		{"delete in type", "a\x7fb", "{}", []signer.Key{key}, signer.ErrEnvelopeForm},
		{"not ASCII in type", "é", "{}", []signer.Key{key}, signer.ErrEnvelopeForm},
		{"not UTF-8 in type", "a\xb3", "{}", []signer.Key{key}, signer.ErrEnvelopeForm},
		{"not UTF-8 in payload", testType, "\xb3", []signer.Key{key}, signer.ErrEnvelopeForm},
		{"too large", testType, strings.Repeat("a", signer.MaxEnvelopeBytes*3/4), []signer.Key{key}, signer.ErrEnvelopeForm},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := signer.Seal(c.payloadType, []byte(c.payload), c.keys...)
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if got != nil {
				t.Errorf("an envelope beside an error: %s", got)
			}
		})
	}
}

// TestOpenRefusesForms offers envelopes whose signature is right, in every
// spelling but the canonical one.
func TestOpenRefusesForms(t *testing.T) {
	keys := sortedKeys(t, 2)
	good := string(seal(t, `{"outcome":"fail?>"}`, keys...))
	one := string(seal(t, `{"outcome":"fail?>"}`, keys[0]))
	payload := base64.StdEncoding.EncodeToString([]byte(`{"outcome":"fail?>"}`))
	first := fmt.Sprintf(`{"keyid":"%s","sig":"%s"}`, keys[0].ID(), sigText(t, `{"outcome":"fail?>"}`, keys[0]))
	second := fmt.Sprintf(`{"keyid":"%s","sig":"%s"}`, keys[1].ID(), sigText(t, `{"outcome":"fail?>"}`, keys[1]))
	with := func(signatures string) string {
		return fmt.Sprintf(`{"payloadType":"%s","payload":"%s","signatures":%s}`, testType, payload, signatures)
	}
	if with("["+first+","+second+"]") != good || with("["+first+"]") != one {
		t.Fatal("the test builds other envelopes than Seal")
	}
	swap := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("nothing to replace: %q", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	sig := sigText(t, `{"outcome":"fail?>"}`, keys[0])
	cases := []struct {
		name, envelope string
		also           error // nil, or what comes with ErrEnvelopeForm
	}{
		{"empty", "", nil},
		{"not JSON", "receipt", nil},
		{"null", "null", nil},
		{"array", "[" + good + "]", nil},
		{"string", `"` + payload + `"`, nil},
		{"cut short", good[:len(good)-1], nil},
		{"trailing newline", good + "\n", nil},
		{"trailing byte", good + "x", nil},
		{"two values", good + good, nil},
		{"byte order mark", "\ufeff" + good, nil},
		{"leading space", " " + good, nil},
		{"space inside", swap(`,"payload"`, `, "payload"`), nil},
		{"unknown member", swap(`,"payload"`, `,"extra":1,"payload"`), nil},
		{"unknown member of a signature", swap(`,"sig"`, `,"cert":"","sig"`), nil},
		{"empty member name", swap(`,"payload"`, `,"":1,"payload"`), nil},
		{"members reordered", fmt.Sprintf(`{"payload":"%s","payloadType":"%s","signatures":[%s]}`, payload, testType, first), nil},
		{"signature members reordered", with(fmt.Sprintf(`[{"sig":"%s","keyid":"%s"}]`, sig, keys[0].ID())), nil},
		{"member twice", swap(`,"payload"`, `,"payloadType":"`+testType+`","payload"`), signer.ErrAmbiguous},
		{"payload twice", swap(`,"signatures"`, `,"payload":"e30=","signatures"`), signer.ErrAmbiguous},
		{"member in another case", swap(`,"signatures"`, `,"Payload":"e30=","signatures"`), signer.ErrAmbiguous},
		{"member with a long s", swap(`,"signatures"`, `,"ſignatures":[],"signatures"`), signer.ErrAmbiguous},
		{"member escaped", swap(`,"signatures"`, `,"p\u0061yload":"e30=","signatures"`), signer.ErrAmbiguous},
		{"signature member twice", swap(`,"sig"`, `,"keyid":"`+string(keys[1].ID())+`","sig"`), signer.ErrAmbiguous},
		{"signature member in another case", swap(`,"sig"`, `,"Sig":"","sig"`), signer.ErrAmbiguous},
		{"duplicate deep inside", swap(`,"payload"`, `,"x":{"y":[{"k":1,"K":2}]},"payload"`), signer.ErrAmbiguous},
		{"all names in another case", strings.Replace(one, `"payload"`, `"Payload"`, 1), nil},
		{"escaped name", swap(`"payload"`, `"p\u0061yload"`), nil},
		{"escaped slash", swap("application/", `application\/`), nil},
		{"escaped value", swap("application", `\u0061pplication`), nil},
		{"type missing", strings.Replace(good, `"payloadType":"`+testType+`",`, "", 1), nil},
		{"payload missing", strings.Replace(good, `"payload":"`+payload+`",`, "", 1), nil},
		{"payload null", swap(`"`+payload+`"`, "null"), nil},
		{"payload a number", swap(`"`+payload+`"`, "1"), nil},
		{"signatures missing", strings.Replace(with("[]"), `,"signatures":[]`, "", 1), nil},
		{"signatures null", with("null"), nil},
		{"signatures an object", with(first), nil},
		{"signature null", with("[null]"), nil},
		{"signature without keyid", with(fmt.Sprintf(`[{"sig":"%s"}]`, sig)), nil},
		{"signature with an empty keyid", with(fmt.Sprintf(`[{"keyid":"","sig":"%s"}]`, sig)), nil},
		{"keyid in hex", with(fmt.Sprintf(`[{"keyid":"%x","sig":"%s"}]`, keys[0].ID(), sig)), nil},
		{"keyid padded", with(fmt.Sprintf(`[{"keyid":"%s=","sig":"%s"}]`, keys[0].ID(), sig)), nil},
		{"signature repeated", with("[" + first + "," + first + "]"), nil},
		{"signatures out of order", with("[" + second + "," + first + "]"), nil},
		{"nine signatures", with("[" + strings.Repeat(first+",", 8) + second + "]"), nil},
		{"payload in URL base64", swap(payload, strings.NewReplacer("+", "-", "/", "_").Replace(payload)), nil},
		{"payload without padding", swap(payload, strings.TrimRight(payload, "=")), nil},
		{"payload with an escaped line break", swap(payload, payload[:4]+`\n`+payload[4:]), nil},
		{"payload with stray bits", `{"payloadType":"` + testType + `","payload":"e31=","signatures":[` + first + `]}`, nil},
		{"signature in URL base64", with(fmt.Sprintf(`[{"keyid":"%s","sig":"%s"}]`, keys[0].ID(), strings.Replace(sig, sig[:1], "-", 1))), nil},
		{"signature without padding", with(fmt.Sprintf(`[{"keyid":"%s","sig":"%s"}]`, keys[0].ID(), strings.TrimRight(sig, "="))), nil},
		{"signature empty", with(fmt.Sprintf(`[{"keyid":"%s","sig":""}]`, keys[0].ID())), nil},
		{"signature of 63 bytes", with(fmt.Sprintf(`[{"keyid":"%s","sig":"%s"}]`, keys[0].ID(), sig[:84])), nil},
		{"not UTF-8", swap("application", "application\xb3"), nil},
		{"payload not UTF-8", swap(payload, "swAA"), nil},
		{"type with a space", swap("application/", "application /"), nil},
		{"type with an escape sequence", swap("application/", `application\u001b/`), nil},
		{"type empty", swap(testType, ""), nil},
	}
	if base64.StdEncoding.EncodeToString([]byte(`{"outcome":"fail?>"}`)) == strings.NewReplacer("+", "-", "/", "_").Replace(payload) {
		t.Fatal("the payload has no character that differs in URL base64")
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			payload, ids, err := signer.Open([]byte(c.envelope), testType, signer.MaxEnvelopeBytes, lookupIn(keys...))
			if !errors.Is(err, signer.ErrEnvelopeForm) {
				t.Errorf("error %v, want %v", err, signer.ErrEnvelopeForm)
			}
			if got := errors.Is(err, signer.ErrAmbiguous); got != (c.also != nil) {
				t.Errorf("ambiguous %t in %v", got, err)
			}
			if payload != nil || ids != nil {
				t.Errorf("a result beside an error: %q %v", payload, ids)
			}
		})
	}
}

func TestAmbiguousNamesAreEscaped(t *testing.T) {
	_, _, err := signer.Open([]byte(`{"x":{"status":1,"ſtatus":2}}`), testType, signer.MaxEnvelopeBytes, lookupIn())
	if err == nil || !strings.Contains(err.Error(), `"status"`) || !strings.Contains(err.Error(), `"\u017ftatus"`) {
		t.Errorf("the reason does not show both names escaped: %v", err)
	}
	_, _, err = signer.Open([]byte(`{"x":"{\"a\":1,\"a\":2}","y":["a","A"]}`), testType, signer.MaxEnvelopeBytes, lookupIn())
	if errors.Is(err, signer.ErrAmbiguous) {
		t.Errorf("names inside a string or an array count as members: %v", err)
	}
}

// TestOpenRefusesMeaning offers canonical envelopes that must not verify.
func TestOpenRefusesMeaning(t *testing.T) {
	keys := sortedKeys(t, 2)
	stranger := testKey(t, 99)
	good := seal(t, "{}", keys...)
	broken := errors.New("registry is gone")
	emptyList := fmt.Sprintf(`{"payloadType":"%s","payload":"e30=","signatures":[]}`, testType)
	oneBad := strings.Replace(string(good), sigText(t, "{}", keys[1]), sigText(t, "{ }", keys[1]), 1)
	otherBad := strings.Replace(string(good), sigText(t, "{}", keys[0]), sigText(t, "{ }", keys[0]), 1)
	swapped := strings.NewReplacer(sigText(t, "{}", keys[0]), sigText(t, "{}", keys[1]), sigText(t, "{}", keys[1]), sigText(t, "{}", keys[0])).Replace(string(good))
	otherPayload := strings.Replace(string(good), "e30=", "W10=", 1)
	otherType := strings.Replace(string(good), "deed.test", "deed.best", 1)
	zeroSig := strings.Replace(string(seal(t, "{}", keys[0])), sigText(t, "{}", keys[0]), base64.StdEncoding.EncodeToString(make([]byte, 64)), 1)
	cases := []struct {
		name        string
		envelope    string
		payloadType string
		limit       int
		lookup      func(signer.KeyID) (signer.PublicKey, error)
		want        error
	}{
		{"payload type of a result", string(good), "application/vnd.deed.receipt+json", signer.MaxEnvelopeBytes, lookupIn(keys...), signer.ErrPayloadType},
		{"payload type in another case", string(good), strings.ToUpper(testType), signer.MaxEnvelopeBytes, lookupIn(keys...), signer.ErrPayloadType},
		{"no type expected", string(good), "", signer.MaxEnvelopeBytes, lookupIn(keys...), signer.ErrPayloadType},
		{"type changed after signing", otherType, strings.Replace(testType, "deed.test", "deed.best", 1), signer.MaxEnvelopeBytes, lookupIn(keys...), signer.ErrSignature},
		{"envelope not JSON", "not json", testType, signer.MaxEnvelopeBytes, lookupIn(keys...), signer.ErrEnvelopeForm},
		{"empty signature list", emptyList, testType, signer.MaxEnvelopeBytes, lookupIn(keys...), signer.ErrNoSignature},
		{"two signatures, second bad", oneBad, testType, signer.MaxEnvelopeBytes, lookupIn(keys...), signer.ErrSignature},
		{"two signatures, first bad", otherBad, testType, signer.MaxEnvelopeBytes, lookupIn(keys...), signer.ErrSignature},
		{"signatures swapped between keys", swapped, testType, signer.MaxEnvelopeBytes, lookupIn(keys...), signer.ErrSignature},
		{"payload changed", otherPayload, testType, signer.MaxEnvelopeBytes, lookupIn(keys...), signer.ErrSignature},
		{"signature of zeros", zeroSig, testType, signer.MaxEnvelopeBytes, lookupIn(keys...), signer.ErrSignature},
		{"unknown key", string(good), testType, signer.MaxEnvelopeBytes, lookupIn(stranger), signer.ErrUnknownKey},
		{"one key unknown", string(good), testType, signer.MaxEnvelopeBytes, lookupIn(keys[0]), signer.ErrUnknownKey},
		{"look-up of another key", string(good), testType, signer.MaxEnvelopeBytes, func(signer.KeyID) (signer.PublicKey, error) { return stranger.Public(), nil }, signer.ErrUnknownKey},
		{"look-up of a zero key", string(good), testType, signer.MaxEnvelopeBytes, func(signer.KeyID) (signer.PublicKey, error) { return signer.PublicKey{}, nil }, signer.ErrUnknownKey},
		{"look-up fails", string(good), testType, signer.MaxEnvelopeBytes, func(signer.KeyID) (signer.PublicKey, error) { return signer.PublicKey{}, broken }, broken},
		{"one byte over the limit", string(good), testType, len(good) - 1, lookupIn(keys...), signer.ErrEnvelopeForm},
		{"limit 0", string(good), testType, 0, lookupIn(keys...), signer.ErrEnvelopeForm},
		{"limit below 0", string(good), testType, -1, lookupIn(keys...), signer.ErrEnvelopeForm},
		{"beyond every limit", strings.Repeat(" ", signer.MaxEnvelopeBytes+1), testType, 1 << 30, lookupIn(keys...), signer.ErrEnvelopeForm},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			payload, ids, err := signer.Open([]byte(c.envelope), c.payloadType, c.limit, c.lookup)
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if payload != nil || ids != nil {
				t.Errorf("a result beside an error: %q %v", payload, ids)
			}
		})
	}
	if _, _, err := signer.Open(good, testType, len(good), lookupIn(keys...)); err != nil {
		t.Errorf("at the limit: %v", err)
	}
}

// TestOpenEveryFlip changes each byte of an envelope in each of its bits.
func TestOpenEveryFlip(t *testing.T) {
	keys := sortedKeys(t, 2)
	good := seal(t, `{"outcome":"pass"}`, keys...)
	for i := range good {
		for bit := range 8 {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << bit
			if _, _, err := signer.Open(bad, testType, signer.MaxEnvelopeBytes, lookupIn(keys...)); err == nil {
				t.Errorf("byte %d, bit %d flipped and accepted: %q", i, bit, bad)
			}
		}
	}
	for i := range good {
		if _, _, err := signer.Open(slices.Delete(bytes.Clone(good), i, i+1), testType, signer.MaxEnvelopeBytes, lookupIn(keys...)); err == nil {
			t.Errorf("byte %d dropped and accepted", i)
		}
	}
}

func TestSignatureEveryFlip(t *testing.T) {
	key := testKey(t, 1)
	message := signer.PAE(testType, []byte("{}"))
	sig, err := key.Sign(message)
	if err != nil {
		t.Fatal(err)
	}
	if err := key.Public().Verify(message, sig); err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{message, sig} {
		for i := range text {
			for bit := range 8 {
				text[i] ^= 1 << bit
				if err := key.Public().Verify(message, sig); !errors.Is(err, signer.ErrSignature) {
					t.Errorf("byte %d, bit %d flipped: error %v", i, bit, err)
				}
				text[i] ^= 1 << bit
			}
		}
	}
	for _, bad := range [][]byte{nil, sig[:63], append(bytes.Clone(sig), 0)} {
		if err := key.Public().Verify(message, bad); !errors.Is(err, signer.ErrSignature) {
			t.Errorf("signature of %d bytes: error %v", len(bad), err)
		}
	}
}

func TestPAE(t *testing.T) {
	// The example of the DSSE protocol document.
	if got, want := string(signer.PAE("http://example.com/HelloWorld", []byte("hello world"))), "DSSEv1 29 http://example.com/HelloWorld 11 hello world"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOpenSSL verifies with a program that shares no code with this package.
func TestOpenSSL(t *testing.T) {
	key := testKey(t, 7)
	folder := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	verify := func(message, sig []byte) (string, error) {
		out, err := exec.Command("openssl", "pkeyutl", "-verify", "-pubin", "-inkey", signer.PublicKeyPath(filepath.Join(folder, "k")),
			"-rawin", "-in", write("event.pae", message), "-sigfile", write("sig.bin", sig)).CombinedOutput()
		return string(out), err
	}
	if err := signer.WriteKeyFile(filepath.Join(folder, "k"), key, nil); err != nil {
		t.Fatal(err)
	}
	message := signer.PAE(testType, []byte(`{"outcome":"pass"}`))
	sig, err := key.Sign(message)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := verify(message, sig); err != nil {
		t.Errorf("openssl refuses: %v: %s", err, out)
	}
	sig[0] ^= 1
	if out, err := verify(message, sig); err == nil {
		t.Errorf("openssl accepts a changed signature: %s", out)
	}

	made := filepath.Join(folder, "made")
	if out, err := exec.Command("openssl", "genpkey", "-algorithm", "ed25519", "-out", made).CombinedOutput(); err != nil {
		t.Fatalf("openssl genpkey: %v: %s", err, out)
	}
	if err := os.Chmod(made, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := signer.ReadKeyFile(made, nil); err != nil {
		t.Errorf("read a key that openssl made: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	keys := sortedKeys(f, 2)
	f.Add(seal(f, "{}", keys[0]))
	f.Add(seal(f, `{"a":"b"}`, keys...))
	f.Add([]byte(`{"payloadType":"a","payload":"","signatures":[]}`))
	f.Add([]byte(`{"payloadType":"a","payloadtype":"b"}`))
	f.Add([]byte(`[{"a":{"b":[]}},{"A":1,"a":2}]`))
	f.Fuzz(func(t *testing.T, envelope []byte) {
		payload, ids, err := signer.Open(envelope, testType, signer.MaxEnvelopeBytes, lookupIn(keys...))
		if err != nil {
			if payload != nil || ids != nil {
				t.Fatalf("a result beside %v", err)
			}
			return
		}
		var by []signer.Key
		for _, k := range keys {
			if slices.Contains(ids, k.ID()) {
				by = append(by, k)
			}
		}
		// Ed25519 signatures are deterministic, so sealing again is encoding again.
		if again := seal(t, string(payload), by...); !bytes.Equal(again, envelope) {
			t.Fatalf("opened %q, which encodes as %q", envelope, again)
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	key, payload := testKey(b, 1), bytes.Repeat([]byte("a"), 300)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := signer.Seal(testType, payload, key); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	key := testKey(b, 1)
	envelope, lookup := seal(b, strings.Repeat("a", 300), key), lookupIn(key)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := signer.Open(envelope, testType, signer.MaxEnvelopeBytes, lookup); err != nil {
			b.Fatal(err)
		}
	}
}
