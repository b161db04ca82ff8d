package evidence

import (
	"errors"
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/signer"
)

// SealUnsigned sets the envelope of e without any signature, for an event that
// several keys sign one after the other; signkeyid must be set. It returns the
// errors of signer.Unsigned.
func SealUnsigned(e events.Event) (events.Event, error) {
	envelope, err := signer.Unsigned(events.PayloadType, e.SigningPayload())
	if err != nil {
		return events.Event{}, fmt.Errorf("seal event %s: %w", e.ID, err)
	}
	e.Envelope = envelope
	return e, nil
}

// VerifyPartly is VerifyEvent for an event that not everybody has signed yet:
// what signatures there are must be good, and of exactly e. There may be none,
// and signkeyid need not be among them. It returns the signers.
func VerifyPartly(e events.Event, lookup func(signer.KeyID) (signer.PublicKey, error)) ([]signer.KeyID, error) {
	if blank, err := SealUnsigned(e); err == nil && string(blank.Envelope) == string(e.Envelope) {
		return nil, nil
	}
	payload, signers, err := signer.Open(e.Envelope, events.PayloadType, signer.MaxEnvelopeBytes, lookup)
	if err == nil && string(payload) != string(e.SigningPayload()) {
		err = errors.Join(signer.ErrSignature, errors.New("the signed digests are not those of the event"))
	}
	if err != nil {
		return nil, fmt.Errorf("verify event %s: %w", e.ID, err)
	}
	return signers, nil
}
