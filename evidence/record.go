package evidence

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/signer"
)

// ErrRecord means that a stored message is not exactly what a writer would
// have stored: a foreign, missing, repeated or changed header.
var ErrRecord = errors.New("stored message is not what a writer stores")

// Seal signs e with the keys, sets its envelope and, when absent, its
// signkeyid to the first key. It returns the errors of signer.Seal.
func Seal(e events.Event, keys ...signer.Key) (events.Event, error) {
	if e.SignKeyID == "" && len(keys) > 0 {
		e.SignKeyID = string(keys[0].ID())
	}
	envelope, err := signer.Seal(events.PayloadType, e.SigningPayload(), keys...)
	if err != nil {
		return events.Event{}, fmt.Errorf("seal event %s: %w", e.ID, err)
	}
	e.Envelope = envelope
	return e, nil
}

// MaxSignatures is the number of signatures that an event can have: one, or
// eight in the registry.
func MaxSignatures(e events.Event) int {
	if e.Source.Task == "" {
		return 8
	}
	return 1
}

// VerifyEvent checks that the envelope of e is canonical, that it signs
// exactly e, that every signature is good under the keys that lookup gives,
// and that signkeyid is among them. It returns the signers.
func VerifyEvent(e events.Event, lookup func(signer.KeyID) (signer.PublicKey, error)) ([]signer.KeyID, error) {
	payload, signers, err := signer.Open(e.Envelope, events.PayloadType, signer.MaxEnvelopeBytes, lookup)
	if err != nil {
		return nil, fmt.Errorf("verify event %s: %w", e.ID, err)
	}
	if limit := MaxSignatures(e); len(signers) > limit {
		return nil, fmt.Errorf("verify event %s: %w: %d signatures, at most %d", e.ID, signer.ErrEnvelopeForm, len(signers), limit)
	}
	if string(payload) != string(e.SigningPayload()) {
		return nil, fmt.Errorf("verify event %s: %w: the signed digests are not those of the event", e.ID, signer.ErrSignature)
	}
	if !slices.Contains(signers, signer.KeyID(e.SignKeyID)) {
		return nil, fmt.Errorf("verify event %s: %w: signkeyid %s did not sign", e.ID, signer.ErrSignature, e.SignKeyID)
	}
	return signers, nil
}

// NewLeaf returns the leaf of an event at its place.
func NewLeaf(r events.Record) Leaf {
	return Leaf{
		Position: r.Position, Admitted: r.Admitted, Subject: r.Event.Source.Subject(),
		Core: r.Event.Core(), Ext: r.Event.Ext(), Envelope: events.Sum(r.Event.Envelope),
	}
}

// NewMessage returns what a writer stores for an event admitted at a time,
// in unix nanoseconds.
func NewMessage(e events.Event, admitted int64) journal.Message {
	h := e.Headers()
	h[events.HeaderAdmitted] = strconv.FormatInt(admitted, 10)
	return journal.Message{ID: e.Hash().String(), Subject: e.Source.Subject(), Header: h, Data: e.Data}
}

// OpenRecord turns a stored message into the record that it holds. The
// message must be, header for header, what a writer stores at this position
// when the subject's last message is at subjectLast. It checks no signature.
func OpenRecord(stored journal.Record, subjectLast events.Position, stream string) (events.Record, error) {
	fail := func(format string, args ...any) (events.Record, error) {
		return events.Record{}, fmt.Errorf("open position %d: %w: %s", stored.Position, ErrRecord, fmt.Sprintf(format, args...))
	}
	e, err := events.ParseStored(stored.Header, stored.Data)
	if err != nil {
		return events.Record{}, fmt.Errorf("open position %d: %w", stored.Position, err)
	}
	if stored.Subject != e.Source.Subject() {
		return fail("subject %q holds an event of %s", stored.Subject, e.Source)
	}
	stamp := stored.Header[events.HeaderAdmitted]
	if len(stamp) != 1 {
		return fail("header %s occurs %d times", events.HeaderAdmitted, len(stamp))
	}
	admitted, err := strconv.ParseInt(stamp[0], 10, 64)
	if err != nil || admitted <= 0 || strconv.FormatInt(admitted, 10) != stamp[0] {
		return fail("header %s is %q", events.HeaderAdmitted, stamp[0])
	}
	want := journal.StoredHeader(NewMessage(e, admitted), journal.Expect{Last: stored.Position - 1, SubjectLast: subjectLast}, stream)
	if !maps.EqualFunc(stored.Header, want, slices.Equal[[]string]) {
		return fail("%s", headerFault(stored.Header, want))
	}
	return events.Record{Position: stored.Position, Admitted: admitted, Event: e}, nil
}

// headerFault names the first header, in the order of names, that is not what
// it should be.
func headerFault(got, want map[string][]string) string {
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if !slices.Equal(got[name], want[name]) {
			return fmt.Sprintf("header %q is %q, want %q", name, got[name], want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if _, ok := got[name]; !ok {
			return fmt.Sprintf("header %q is missing", name)
		}
	}
	return "headers differ"
}
