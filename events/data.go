package events

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Payload is the data of one event type.
type Payload interface {
	// Type returns the event type that the payload belongs to.
	Type() Type
	// Validate checks bounds, patterns and relations between members. Its
	// error names the first bad member.
	Validate() error
}

// EncodeData validates p and returns its RFC 8785 bytes.
func EncodeData(p Payload) ([]byte, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("encode %s: %w", p.Type(), err)
	}
	data, err := Canonical(p)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", p.Type(), err)
	}
	if len(data) > MaxData {
		return nil, fmt.Errorf("encode %s: %w: data of %d bytes, limit %d", p.Type(), ErrTooLarge, len(data), MaxData)
	}
	return data, nil
}

// DecodeData parses data as the payload of type t. Members that are
// duplicate, unknown or spelled with other case, a second value, and any
// spelling other than the one that EncodeData writes are ErrAmbiguous.
func DecodeData(t Type, data []byte) (Payload, error) {
	if len(data) > MaxData {
		return nil, fmt.Errorf("decode %s: %w: data of %d bytes, limit %d", t, ErrTooLarge, len(data), MaxData)
	}
	p := newPayload(t)
	if p == nil {
		return nil, fmt.Errorf("decode data: %w: %q", ErrUnknownType, clip(string(t)))
	}
	if err := DecodeStrict(data, p); err != nil {
		return nil, fmt.Errorf("decode %s: %w", t, err)
	}
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("decode %s: %w", t, err)
	}
	return p, nil
}

// DecodeStrict parses canonical JSON into v: what it accepts, [Canonical]
// writes back byte for byte. Anything else is ErrAmbiguous.
func DecodeStrict(data []byte, v any) error {
	if err := json.Unmarshal(data, v, json.RejectUnknownMembers(true)); err != nil {
		if err := checkTokens(data); err != nil {
			return err // it shows both names of an ambiguous member
		}
		var syntax *jsontext.SyntacticError
		if errors.As(err, &syntax) {
			return fmt.Errorf("%w: at byte %d: %w", ErrAmbiguous, syntax.ByteOffset, syntax.Err)
		}
		return fmt.Errorf("%w: %w", ErrAmbiguous, err)
	}
	again, err := Canonical(v)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAmbiguous, err)
	}
	if !bytes.Equal(again, data) {
		return fmt.Errorf("%w: not the RFC 8785 form of its value", ErrAmbiguous)
	}
	return nil
}

// Canonical returns the RFC 8785 form of v. The values of this package hold
// no floating point numbers, so number spelling never matters. An integer that
// the form would round, beyond 2^53, is ErrForm: two values must not have one
// digest.
func Canonical(v any) ([]byte, error) {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForm, err)
	}
	var exact jsontext.Value
	if longestNumber(b) >= 16 { // 2^53 has 16 digits
		exact = bytes.Clone(b)
	}
	value := jsontext.Value(b)
	if err := value.Canonicalize(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForm, err)
	}
	if exact == nil {
		return value, nil
	}
	if err := exact.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForm, err)
	}
	if !bytes.Equal(exact, value) {
		return nil, fmt.Errorf("%w: an integer is beyond what the RFC 8785 form can hold", ErrForm)
	}
	return value, nil
}

// longestNumber returns how many digits the longest number of a JSON text has.
// What stands in a string right after a quote is none; other digits in strings
// count, which costs time and nothing else.
func longestNumber(b []byte) int {
	longest, run, inNumber, before := 0, 0, false, byte(':')
	for _, c := range b {
		if c < '0' || c > '9' {
			run, before = 0, c
			continue
		}
		if run == 0 {
			inNumber = before == ':' || before == ',' || before == '[' || before == '-'
		}
		if run++; inNumber {
			longest = max(longest, run)
		}
	}
	return longest
}

// Payload decodes the data of e.
func (e Event) Payload() (Payload, error) { return DecodeData(e.Type, e.Data) }
