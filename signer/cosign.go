package signer

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

// ErrSigned means that a key has signed an envelope already.
var ErrSigned = errors.New("key has signed already")

// Unsigned returns the canonical envelope of payload without any signature. No
// reader takes it: it is what several signers begin with, see Cosign. The
// errors are those of Seal for type, payload and size.
func Unsigned(payloadType string, payload []byte) ([]byte, error) {
	if err := checkContent(payloadType, payload); err != nil {
		return nil, fmt.Errorf("make envelope: %w", err)
	}
	encoded := encodeEnvelope(&dsse.Envelope{PayloadType: payloadType, Payload: base64.StdEncoding.EncodeToString(payload)})
	if len(encoded) > MaxEnvelopeBytes {
		return nil, fmt.Errorf("make envelope: %w: %d bytes, at most %d", ErrEnvelopeForm, len(encoded), MaxEnvelopeBytes)
	}
	return encoded, nil
}

// Cosign adds the signature of key to an envelope and returns the canonical
// result: the same payload, one signature more, in order of keyid. The envelope
// must be what Open takes, or one without signatures; every signature is
// verified before, with the keys that lookup gives, and once more after.
//
// It returns the errors of Open, ErrNoKey for a zero key, ErrSigned for one
// that has signed, ErrEnvelopeForm for one signature more than MaxSignatures,
// and ErrSignature where the key, such as a plugin's, signs wrongly.
func Cosign(envelope []byte, payloadType string, lookup func(KeyID) (PublicKey, error), key Key) ([]byte, error) {
	if key.IsZero() {
		return nil, fmt.Errorf("cosign: %w", ErrNoKey)
	}
	parsed, payload, err := parseEnvelope(envelope, MaxEnvelopeBytes)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cosign: %w", err)
	case parsed.PayloadType != payloadType:
		return nil, fmt.Errorf("cosign: %w: %q, want %q", ErrPayloadType, parsed.PayloadType, payloadType)
	case slices.ContainsFunc(parsed.Signatures, func(s dsse.Signature) bool { return s.KeyID == string(key.ID()) }):
		return nil, fmt.Errorf("cosign: %w: %s", ErrSigned, key.ID())
	}
	if len(parsed.Signatures) > 0 {
		if _, _, err := Open(envelope, payloadType, MaxEnvelopeBytes, lookup); err != nil {
			return nil, fmt.Errorf("cosign: %w", err)
		}
	}
	sig, err := key.Sign(PAE(payloadType, payload))
	if err != nil {
		return nil, fmt.Errorf("cosign: %w", err)
	}
	parsed.Signatures = append(parsed.Signatures, dsse.Signature{KeyID: string(key.ID()), Sig: base64.StdEncoding.EncodeToString(sig)})
	slices.SortFunc(parsed.Signatures, func(a, b dsse.Signature) int { return strings.Compare(a.KeyID, b.KeyID) })
	signed := encodeEnvelope(parsed)
	after, _, err := Open(signed, payloadType, MaxEnvelopeBytes, func(id KeyID) (PublicKey, error) {
		if id == key.ID() {
			return key.Public(), nil
		}
		return lookup(id)
	})
	if err == nil && string(after) != string(payload) {
		err = fmt.Errorf("%w: the payload changed", ErrSignature)
	}
	if err != nil {
		return nil, fmt.Errorf("cosign: %w", err)
	}
	return signed, nil
}
