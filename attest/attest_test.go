package attest_test

import (
	"bytes"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/deedledger/deed/attest"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/signer"
	securedsse "github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/dsse"
)

const (
	commit = "1111111111111111111111111111111111111111"
	tree   = "2222222222222222222222222222222222222222"
)

func hash(s string) events.Hash { return events.Sum([]byte(s)) }

func about() attest.About {
	return attest.About{Commit: commit, Tree: tree, Attempt: hash("attempt")}
}

// key makes a key that is the same in every run.
func key(t *testing.T, seed byte) signer.Key {
	t.Helper()
	k, err := signer.GenerateKey(rand.NewChaCha8([32]byte{seed}))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// receipt makes a valid receipt with these checks.
func receipt(t *testing.T, checks ...events.CheckOutcome) *events.Receipt {
	t.Helper()
	r := &events.Receipt{
		Head: commit, Environment: events.Environment{OS: "linux", Arch: "amd64"},
		Verifier: events.Verifier{Kind: "ci", Version: "deed 1", Assurance: "same-host"},
		Nonce:    "0123456789abcdef", ObservedAt: "2026-01-02T03:04:05Z", RunURL: "https://ci.example/9", Checks: checks,
	}
	environment, err := events.DigestOf(r.Environment)
	if err != nil {
		t.Fatal(err)
	}
	r.Binding = events.Binding{
		Checks: hash("checks").String(), Contract: hash("contract").String(), Environment: environment.String(),
		Policy: hash("policy").String(), Result: hash("result").String(), Tree: tree,
	}
	input, err := r.Binding.Digest()
	if err != nil {
		t.Fatal(err)
	}
	r.InputDigest = input.String()
	return r
}

func check(id string, class events.Class) events.CheckOutcome {
	c := events.CheckOutcome{ID: id, Acceptance: "A1", Command: []string{"true"}, Class: class, Outcome: events.OutcomeInconclusive, Rule: "exit", Artifact: hash(id).String()}
	switch class {
	case events.ClassPass:
		c.Outcome = events.OutcomePass
	case events.ClassCodeFailure:
		c.Outcome, c.Exit = events.OutcomeFail, 1
	}
	return c
}

func sealed(t *testing.T, a attest.About, k signer.Key, r *events.Receipt) []byte {
	t.Helper()
	s, err := attest.Of(a, r, hash("receipt"))
	if err != nil {
		t.Fatal(err)
	}
	envelope, err := attest.Seal(s, k)
	if err != nil {
		t.Fatal(err)
	}
	return envelope
}

// TestResult holds which outcomes give which result.
func TestResult(t *testing.T) {
	pass, flaky := check("p", events.ClassPass), check("y", events.ClassPass)
	flaky.Flaky = true
	for _, c := range []struct {
		checks []events.CheckOutcome
		want   string
		lists  string
	}{
		{[]events.CheckOutcome{pass}, attest.ResultPassed, "A1/p||"},
		{[]events.CheckOutcome{pass, flaky}, attest.ResultWarned, "A1/p|A1/y|"},
		{[]events.CheckOutcome{pass, check("i", events.ClassInconclusive)}, attest.ResultFailed, "A1/p|A1/i|"},
		{[]events.CheckOutcome{check("e", events.ClassEnvironmentFailure), flaky}, attest.ResultFailed, "|A1/e,A1/y|"},
		{[]events.CheckOutcome{flaky, check("f", events.ClassCodeFailure)}, attest.ResultFailed, "|A1/y|A1/f"},
		{[]events.CheckOutcome{check("f", events.ClassCodeFailure), pass}, attest.ResultFailed, "A1/p||A1/f"},
	} {
		s, err := attest.Of(about(), receipt(t, c.checks...), hash("receipt"))
		p := s.Predicate
		lists := strings.Join([]string{strings.Join(p.PassedTests, ","), strings.Join(p.WarnedTests, ","), strings.Join(p.FailedTests, ",")}, "|")
		if err != nil || p.Result != c.want || lists != c.lists {
			t.Errorf("%s with %s (%v), want %s with %s", p.Result, lists, err, c.want, c.lists)
		}
		if got, err := attest.Verify(sealed(t, about(), key(t, 1), receipt(t, c.checks...)), key(t, 1).Public(), about()); err != nil || got.Predicate.Result != c.want {
			t.Errorf("verified as %q: %v", got.Predicate.Result, err)
		}
	}
}

// TestVerifyRefuses holds that nothing else than the attestation of this key,
// commit, tree and attempt verifies.
func TestVerifyRefuses(t *testing.T) {
	k := key(t, 1)
	good := sealed(t, about(), k, receipt(t, check("p", events.ClassPass)))
	other := func(change func(*attest.About)) attest.About {
		a := about()
		change(&a)
		return a
	}
	raw := func(payloadType, payload string) []byte {
		envelope, err := signer.Seal(payloadType, []byte(payload), k)
		if err != nil {
			t.Fatal(err)
		}
		return envelope
	}
	payload := string(payloadOf(t, good))
	for _, c := range []struct {
		name     string
		envelope []byte
		key      signer.Key
		about    attest.About
		want     error
	}{
		{"another attempt", good, k, other(func(a *attest.About) { a.Attempt = hash("attempt 2") }), attest.ErrSubject},
		{"another commit", good, k, other(func(a *attest.About) { a.Commit = tree }), attest.ErrSubject},
		{"another tree", good, k, other(func(a *attest.About) { a.Tree = commit }), attest.ErrSubject},
		{"another key", good, key(t, 2), about(), signer.ErrUnknownKey},
		{"nothing", nil, k, about(), signer.ErrEnvelopeForm},
		{"another payload type", raw("application/json", payload), k, about(), signer.ErrPayloadType},
		{"another predicate", raw(attest.PayloadType, strings.Replace(payload, "test-result/v0.1", "test-result/v0.2", 1)), k, about(), attest.ErrStatement},
		{"another statement", raw(attest.PayloadType, strings.Replace(payload, "Statement/v1", "Statement/v2", 1)), k, about(), attest.ErrStatement},
		{"a member more", raw(attest.PayloadType, strings.Replace(payload, `{"_type"`, `{"__":1,"_type"`, 1)), k, about(), attest.ErrStatement},
		{"another spelling", raw(attest.PayloadType, payload+"\n"), k, about(), attest.ErrStatement},
		{"a pass of nothing", raw(attest.PayloadType, strings.Replace(payload, `"passedTests":["A1/p"],`, "", 1)), k, about(), attest.ErrStatement},
		{"a result that its tests deny", raw(attest.PayloadType, strings.Replace(payload, `"PASSED"`, `"FAILED"`, 1)), k, about(), attest.ErrStatement},
		{"a result that nobody knows", raw(attest.PayloadType, strings.Replace(payload, `"PASSED"`, `"OK"`, 1)), k, about(), attest.ErrStatement},
		{"no subjects", raw(attest.PayloadType, payload[:strings.Index(payload, `"subject":[`)]+`"subject":[]}`), k, about(), attest.ErrStatement},
	} {
		if got, err := attest.Verify(c.envelope, c.key.Public(), c.about); !errors.Is(err, c.want) || got.Type != "" {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if _, err := attest.Verify(bad, k.Public(), about()); err == nil {
			t.Fatalf("verifies with byte %d changed", i)
		}
	}
}

// TestOfRefuses holds that a receipt of something else gets no statement.
func TestOfRefuses(t *testing.T) {
	wrong := receipt(t, check("p", events.ClassPass))
	wrong.InputDigest = hash("other").String()
	elsewhere := receipt(t, check("p", events.ClassPass))
	elsewhere.Head = tree
	for name, r := range map[string]*events.Receipt{"an invalid receipt": wrong, "another commit": elsewhere, "no checks": receipt(t)} {
		if s, err := attest.Of(about(), r, hash("receipt")); !errors.Is(err, attest.ErrStatement) || s.Type != "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func payloadOf(t *testing.T, envelope []byte) []byte {
	t.Helper()
	var e securedsse.Envelope
	if err := json.Unmarshal(envelope, &e); err != nil {
		t.Fatal(err)
	}
	payload, err := base64.StdEncoding.DecodeString(e.Payload)
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

// cosign checks an attestation as "cosign verify-blob-attestation --key K --type
// PREDICATE --insecure-ignore-tlog BLOB" does, with nothing of this module: the
// envelope with sigstore's verifier, then payload type, predicate type, and that
// a subject has the SHA-256 of the blob.
func cosign(envelope []byte, public crypto.PublicKey, predicate string, blobDigest string) error {
	verifier, err := signature.LoadVerifier(public, crypto.SHA256)
	if err != nil {
		return err
	}
	if err := dsse.WrapVerifier(verifier).VerifySignature(bytes.NewReader(envelope), nil); err != nil {
		return err
	}
	var e struct {
		PayloadType string `json:"payloadType"`
		Payload     []byte `json:"payload"`
	}
	if err := json.Unmarshal(envelope, &e); err != nil {
		return err
	}
	if e.PayloadType != "application/vnd.in-toto+json" {
		return errors.New("payload type")
	}
	var s struct {
		Type          string `json:"_type"`
		PredicateType string `json:"predicateType"`
		Subject       []struct {
			Name   string            `json:"name"`
			Digest map[string]string `json:"digest"`
		} `json:"subject"`
		Predicate json.RawMessage `json:"predicate"`
	}
	if err := json.Unmarshal(e.Payload, &s); err != nil {
		return err
	}
	if s.Type != "https://in-toto.io/Statement/v1" || s.PredicateType != predicate || len(s.Predicate) == 0 {
		return errors.New("statement or predicate type")
	}
	for _, subject := range s.Subject {
		if subject.Digest["sha256"] == blobDigest {
			return nil
		}
	}
	return errors.New("no subject has the digest")
}

// TestCosign holds that cosign's rules take an attestation, with the attempt's
// signed bytes as the blob, and refuse another attempt, key or predicate.
func TestCosign(t *testing.T) {
	const predicate = "https://in-toto.io/attestation/test-result/v0.1"
	k := key(t, 1)
	envelope := sealed(t, about(), k, receipt(t, check("p", events.ClassPass)))
	public := func(k signer.Key) crypto.PublicKey {
		text, err := k.Public().PEM()
		if err != nil {
			t.Fatal(err)
		}
		public, err := cryptoutils.UnmarshalPEMToPublicKey(text)
		if err != nil {
			t.Fatal(err)
		}
		return public
	}
	attempt := hash("attempt").String()
	if err := cosign(envelope, public(k), predicate, attempt); err != nil {
		t.Errorf("refused: %v", err)
	}
	changed := slices.Concat(envelope[:60], []byte("A"), envelope[61:])
	for name, err := range map[string]error{
		"another attempt":   cosign(envelope, public(k), predicate, hash("attempt 2").String()),
		"another key":       cosign(envelope, public(key(t, 2)), predicate, attempt),
		"another predicate": cosign(envelope, public(k), "https://slsa.dev/provenance/v1", attempt),
		"a changed byte":    cosign(changed, public(k), predicate, attempt),
	} {
		if err == nil {
			t.Errorf("%s: verifies", name)
		}
	}
}
