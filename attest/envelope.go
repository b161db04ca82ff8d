package attest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/signer"
)

// ErrSubject means that an attestation is about another commit, tree or attempt.
var ErrSubject = errors.New("attestation is about something else")

// Seal signs a statement. The bytes it returns are the attestation: they are to be
// kept as they are. Errors: those of [signer.Seal].
func Seal(s Statement, key signer.Key) ([]byte, error) {
	payload, err := events.Canonical(s)
	if err != nil {
		return nil, fmt.Errorf("seal attestation: %w", err)
	}
	envelope, err := signer.Seal(PayloadType, payload, key)
	if err != nil {
		return nil, fmt.Errorf("seal attestation: %w", err)
	}
	return envelope, nil
}

// Verify opens an attestation of one key and checks that it is about exactly this
// commit, tree and attempt. Nothing is returned beside an error; the caller decides
// on the result that it states, and whose key that is.
//
// Errors: those of [signer.Open], ErrStatement for a payload that is not the one
// canonical form of a statement, ErrSubject for one about something else.
func Verify(envelope []byte, key signer.PublicKey, about About) (Statement, error) {
	payload, _, err := signer.Open(envelope, PayloadType, signer.MaxEnvelopeBytes, func(id signer.KeyID) (signer.PublicKey, error) {
		if id != key.ID() {
			return signer.PublicKey{}, fmt.Errorf("%w: signed by %s", signer.ErrUnknownKey, id)
		}
		return key, nil
	})
	if err != nil {
		return Statement{}, fmt.Errorf("verify attestation: %w", err)
	}
	s, err := parse(payload)
	if err != nil {
		return Statement{}, fmt.Errorf("verify attestation: %w", err)
	}
	want := about.subjects()
	for i := range want {
		if s.Subject[i].Name != want[i].Name || !maps.Equal(s.Subject[i].Digest, want[i].Digest) {
			return Statement{}, fmt.Errorf("verify attestation: %w: its %s is not %v", ErrSubject, want[i].Name, slices.Collect(maps.Values(want[i].Digest)))
		}
	}
	return s, nil
}

// parse reads a statement in the one form that Seal writes.
func parse(payload []byte) (Statement, error) {
	var s Statement
	if err := events.DecodeStrict(payload, &s); err != nil {
		return Statement{}, fmt.Errorf("%w: %w", ErrStatement, err)
	}
	switch {
	case s.Type != StatementType || s.PredicateType != PredicateType:
		return Statement{}, fmt.Errorf("%w: type %q, predicate %q", ErrStatement, s.Type, s.PredicateType)
	case len(s.Subject) != 3:
		return Statement{}, fmt.Errorf("%w: %d subjects", ErrStatement, len(s.Subject))
	}
	return s, s.Predicate.consistent()
}

// consistent refuses a result that its tests do not bear out.
func (p TestResult) consistent() error {
	bad := len(p.FailedTests) > 0
	ok := false
	switch p.Result {
	case ResultPassed:
		ok = !bad && len(p.WarnedTests) == 0 && len(p.PassedTests) > 0
	case ResultWarned:
		ok = !bad && len(p.WarnedTests) > 0
	case ResultFailed:
		ok = bad || len(p.WarnedTests) > 0
	}
	if !ok {
		return fmt.Errorf("%w: result %q with %d passed, %d warned and %d failed tests", ErrStatement, p.Result, len(p.PassedTests), len(p.WarnedTests), len(p.FailedTests))
	}
	return nil
}
