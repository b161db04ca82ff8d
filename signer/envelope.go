package signer

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	sigstoredsse "github.com/sigstore/sigstore/pkg/signature/dsse"
)

const (
	// MaxEnvelopeBytes bounds an envelope, in bytes of its JSON text.
	MaxEnvelopeBytes = 64 << 10
	// MaxSignatures bounds the signatures of one envelope.
	MaxSignatures = 8
	// MaxPayloadTypeBytes bounds a payload type.
	MaxPayloadTypeBytes = 255
)

var (
	// ErrEnvelopeForm means that bytes are not the one canonical encoding of
	// an envelope, or are too large. Nothing was verified.
	ErrEnvelopeForm = errors.New("envelope is not canonical")
	// ErrAmbiguous means that an object names a member twice, exactly or when
	// letter case is folded. It comes together with ErrEnvelopeForm.
	ErrAmbiguous = errors.New("ambiguous object")
	// ErrPayloadType means that an envelope is of another type than asked for.
	ErrPayloadType = errors.New("unexpected payload type")
	// ErrNoSignature means that an envelope, or a request for one, names no
	// signature at all.
	ErrNoSignature = errors.New("no signature")
)

// PAE returns the DSSE pre-authentication encoding, the bytes that are signed:
// "DSSEv1", the length of the type, the type, the length of the payload and the
// payload, separated by single spaces.
func PAE(payloadType string, payload []byte) []byte {
	return dsse.PAE(payloadType, payload)
}

// Seal signs payload with every key and returns the canonical envelope. The
// order of keys does not matter.
//
// It returns ErrNoSignature without keys, ErrNoKey for a zero Key, and
// ErrEnvelopeForm for a key given twice, more than MaxSignatures keys, a
// payload type that is not 1 to MaxPayloadTypeBytes printable ASCII characters
// without space, quote and backslash, a payload that is not UTF-8, or an
// envelope larger than MaxEnvelopeBytes.
func Seal(payloadType string, payload []byte, keys ...Key) ([]byte, error) {
	if err := checkContent(payloadType, payload); err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	if len(keys) > MaxSignatures {
		return nil, fmt.Errorf("seal: %w: %d signatures, at most %d", ErrEnvelopeForm, len(keys), MaxSignatures)
	}
	sorted := slices.SortedFunc(slices.Values(keys), func(a, b Key) int { return strings.Compare(string(a.ID()), string(b.ID())) })
	providers := make([]dsse.Signer, 0, len(keys))
	for _, key := range sorted {
		if key.IsZero() {
			return nil, fmt.Errorf("seal: %w", ErrNoKey)
		}
		providers = append(providers, &sigstoredsse.SignerAdapter{
			SignatureSigner: key.secret().signer,
			PubKeyID:        string(key.ID()),
		})
	}
	envelopeSigner, err := dsse.NewEnvelopeSigner(providers...)
	if errors.Is(err, dsse.ErrNoSigners) {
		return nil, fmt.Errorf("seal: %w", ErrNoSignature)
	} else if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	envelope, err := envelopeSigner.SignPayload(context.Background(), payloadType, payload)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	if err := checkSignatures(envelope.Signatures); err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	encoded := encodeEnvelope(envelope)
	if len(encoded) > MaxEnvelopeBytes {
		return nil, fmt.Errorf("seal: %w: %d bytes, at most %d", ErrEnvelopeForm, len(encoded), MaxEnvelopeBytes)
	}
	return encoded, nil
}

// Open verifies an envelope and returns its payload and the ids of all its
// signers in ascending order, at least one. Nothing is returned beside an error.
//
// At most limit bytes are looked at, and never more than MaxEnvelopeBytes. The
// bytes must be the canonical encoding (else ErrEnvelopeForm, with ErrAmbiguous
// for a member named twice), of exactly this payload type (ErrPayloadType), with
// at least one signature (ErrNoSignature), and every signature must verify
// (ErrSignature) with the key that lookup has for its id. An error of lookup is
// wrapped and returned; a lookup that yields another key than asked for gives
// ErrUnknownKey. lookup is called once per signature, before any is verified.
func Open(envelope []byte, payloadType string, limit int, lookup func(KeyID) (PublicKey, error)) ([]byte, []KeyID, error) {
	parsed, payload, err := parseEnvelope(envelope, limit)
	if err != nil {
		return nil, nil, fmt.Errorf("open envelope: %w", err)
	}
	if parsed.PayloadType != payloadType {
		return nil, nil, fmt.Errorf("open envelope: %w: %q, want %q", ErrPayloadType, parsed.PayloadType, payloadType)
	}
	if len(parsed.Signatures) == 0 {
		return nil, nil, fmt.Errorf("open envelope: %w", ErrNoSignature)
	}
	signers := make([]KeyID, 0, len(parsed.Signatures))
	verifiers := make([]dsse.Verifier, 0, len(parsed.Signatures))
	for _, sig := range parsed.Signatures {
		id := KeyID(sig.KeyID)
		key, err := lookup(id)
		if err != nil {
			return nil, nil, fmt.Errorf("open envelope: look up %s: %w", id, err)
		}
		if key.IsZero() || key.ID() != id {
			return nil, nil, fmt.Errorf("open envelope: look up %s: %w: got %q", id, ErrUnknownKey, key.ID())
		}
		signers = append(signers, id)
		verifiers = append(verifiers, &sigstoredsse.VerifierAdapter{
			SignatureVerifier: key.verifier,
			PubKeyID:          sig.KeyID,
		})
	}
	if err := verifyAll(parsed, verifiers); err != nil {
		return nil, nil, fmt.Errorf("open envelope: %w", err)
	}
	return payload, signers, nil
}

// verifyAll demands one accepted signature for every verifier. The library
// skips bad signatures and counts good ones: only the count makes it strict.
func verifyAll(envelope *dsse.Envelope, verifiers []dsse.Verifier) error {
	verifier, err := dsse.NewMultiEnvelopeVerifier(len(verifiers), verifiers...)
	if err != nil {
		return err
	}
	accepted, err := verifier.Verify(context.Background(), envelope)
	if err != nil || len(accepted) != len(envelope.Signatures) {
		return fmt.Errorf("%w: %d of %d", ErrSignature, len(accepted), len(envelope.Signatures))
	}
	return nil
}

// parseEnvelope returns the envelope that encoded is the canonical form of, and
// its payload. The only rules it leaves to its caller are the type's value and
// that there is a signature.
func parseEnvelope(encoded []byte, limit int) (*dsse.Envelope, []byte, error) {
	if limit = min(limit, MaxEnvelopeBytes); len(encoded) > limit {
		return nil, nil, fmt.Errorf("%w: %d bytes, at most %d", ErrEnvelopeForm, len(encoded), limit)
	}
	var envelope dsse.Envelope
	if err := json.Unmarshal(encoded, &envelope, json.RejectUnknownMembers(true)); err != nil {
		if err := checkAmbiguous(encoded); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrEnvelopeForm, err)
		}
		return nil, nil, fmt.Errorf("%w: not an envelope: %w", ErrEnvelopeForm, err)
	}
	payload, err := decodeBase64(envelope.Payload)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: payload: %w", ErrEnvelopeForm, err)
	}
	if err := checkContent(envelope.PayloadType, payload); err != nil {
		return nil, nil, err
	}
	if err := checkSignatures(envelope.Signatures); err != nil {
		return nil, nil, err
	}
	if !bytes.Equal(encodeEnvelope(&envelope), encoded) {
		return nil, nil, fmt.Errorf("%w: another spelling of its content", ErrEnvelopeForm)
	}
	return &envelope, payload, nil
}

func checkContent(payloadType string, payload []byte) error {
	if len(payloadType) == 0 || len(payloadType) > MaxPayloadTypeBytes {
		return fmt.Errorf("%w: payload type of %d bytes, want 1 to %d", ErrEnvelopeForm, len(payloadType), MaxPayloadTypeBytes)
	}
	for _, c := range []byte(payloadType) {
		if c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return fmt.Errorf("%w: character %q in the payload type", ErrEnvelopeForm, c)
		}
	}
	if !utf8.Valid(payload) {
		return fmt.Errorf("%w: payload is not UTF-8", ErrEnvelopeForm)
	}
	return nil
}

func checkSignatures(signatures []dsse.Signature) error {
	if len(signatures) > MaxSignatures {
		return fmt.Errorf("%w: %d signatures, at most %d", ErrEnvelopeForm, len(signatures), MaxSignatures)
	}
	previous := ""
	for _, s := range signatures {
		if _, err := ParseKeyID(s.KeyID); err != nil {
			return fmt.Errorf("%w: %w", ErrEnvelopeForm, err)
		}
		if s.KeyID <= previous {
			return fmt.Errorf("%w: signature of %s repeated or out of order", ErrEnvelopeForm, s.KeyID)
		}
		previous = s.KeyID
		sig, err := decodeBase64(s.Sig)
		if err != nil {
			return fmt.Errorf("%w: signature: %w", ErrEnvelopeForm, err)
		}
		if len(sig) == ed25519.SignatureSize {
			continue // of which sort it has to be, the key says when it verifies
		}
		if err := checkP256Signature(sig); err != nil {
			return fmt.Errorf("%w: signature of %d bytes is neither Ed25519's nor ECDSA P-256's: %w", ErrEnvelopeForm, len(sig), err)
		}
	}
	return nil
}

// encodeEnvelope writes the canonical form. Its callers have checked that no
// value holds a character which JSON would escape.
func encodeEnvelope(envelope *dsse.Envelope) []byte {
	out := make([]byte, 0, 128+len(envelope.Payload)+len(envelope.Signatures)*192)
	out = append(out, `{"payloadType":"`...)
	out = append(out, envelope.PayloadType...)
	out = append(out, `","payload":"`...)
	out = append(out, envelope.Payload...)
	out = append(out, `","signatures":[`...)
	for i, s := range envelope.Signatures {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"keyid":"`...)
		out = append(out, s.KeyID...)
		out = append(out, `","sig":"`...)
		out = append(out, s.Sig...)
		out = append(out, `"}`...)
	}
	return append(out, `]}`...)
}

// decodeBase64 accepts one spelling only: padded, standard alphabet, no line
// breaks, no stray bits. encoding/base64 alone skips CR and LF.
func decodeBase64(s string) ([]byte, error) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, errors.New("line break in base64")
	}
	return base64.StdEncoding.Strict().DecodeString(s)
}
