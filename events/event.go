package events

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/cloudevents/sdk-go/v2/event"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

// Form errors. Every error that a parse returns wraps one of them.
var (
	// ErrForm says that an event breaks the profile.
	ErrForm = errors.New("event is not in the profile deed-ce/v1")
	// ErrTooLarge says that an event or a part of it passes a limit.
	ErrTooLarge = errors.New("event is too large")
	// ErrAmbiguous says that JSON has a duplicate or unknown member, a second
	// value, or another spelling than RFC 8785.
	ErrAmbiguous = errors.New("ambiguous object")
	// ErrUnknownType says that the event's type is not known to this version.
	ErrUnknownType = errors.New("unknown event type")
)

// Event is one event of the profile: its attributes as text, absent ones
// empty, and its data bytes. The zero Event is not valid.
type Event struct {
	ID      string // UUIDv7
	Source  Source
	Type    Type
	Subject string // attempt id, or absent
	Time    string // a claim of the author; see TimeLayout

	Sequence      uint64 // contiguous per source, from 1
	PrevHash      Hash   // hash of the source's previous event
	Fence         uint64 // 0 = absent
	CausationID   string
	CorrelationID string
	AuthType      string
	AuthID        string // actor
	SignKeyID     string
	TraceParent   string

	// Data is the RFC 8785 form of the type's object.
	Data []byte
	// Envelope is the canonical DSSE envelope, absent before it is sealed.
	Envelope []byte
}

// SchemaURN returns the dataschema attribute of e.
func (e Event) SchemaURN() string { return e.Type.SchemaURN() }

// extension returns the value of the named extension attribute.
func (e Event) extension(name string) string {
	switch name {
	case "sequence":
		return FormatSequence(e.Sequence)
	case "prevhash":
		return e.PrevHash.String()
	case "fencetoken":
		if e.Fence == 0 {
			return ""
		}
		return FormatFence(e.Fence)
	case "causationid":
		return e.CausationID
	case "correlationid":
		return e.CorrelationID
	case "authtype":
		return e.AuthType
	case "authid":
		return e.AuthID
	case "signkeyid":
		return e.SignKeyID
	case "traceparent":
		return e.TraceParent
	}
	panic("events: unknown extension " + name)
}

// Core returns the digest of the core attributes and data:
// H(H(id) ‖ H(source) ‖ H(specversion) ‖ H(type) ‖ H(datacontenttype) ‖
// H(dataschema) ‖ H(subject) ‖ H(time) ‖ H(data)), H being SHA-256.
func (e Event) Core() Hash {
	h := sha256.New()
	for _, v := range [...]string{e.ID, e.Source.String(), SpecVersion, string(e.Type), ContentType, e.SchemaURN(), e.Subject, e.Time} {
		s := sha256.Sum256([]byte(v))
		h.Write(s[:])
	}
	s := sha256.Sum256(e.Data)
	h.Write(s[:])
	return Hash(h.Sum(nil))
}

// Ext returns the digest of the signed extension attributes:
// H(H(v1) ‖ H(v2) …) in profile order; an absent one hashes as empty.
func (e Event) Ext() Hash {
	h := sha256.New()
	for _, name := range signedExtensions {
		s := sha256.Sum256([]byte(e.extension(name)))
		h.Write(s[:])
	}
	return Hash(h.Sum(nil))
}

// SigningPayload returns the DSSE payload of e: minified JSON with the
// members core, ext and signedextattrs in this order.
func (e Event) SigningPayload() []byte {
	core, ext := e.Core(), e.Ext()
	return []byte(`{"core":"` + base64.StdEncoding.EncodeToString(core[:]) +
		`","ext":"` + base64.StdEncoding.EncodeToString(ext[:]) +
		`","signedextattrs":["` + strings.Join(signedExtensions[:], `","`) + `"]}`)
}

// PAE returns the exact bytes that are signed: the DSSE v1
// pre-authentication encoding of the signing payload.
func (e Event) PAE() []byte { return dsse.PAE(PayloadType, e.SigningPayload()) }

// Hash returns the eventhash of e: SHA-256 of the bytes that are signed.
func (e Event) Hash() Hash { return Sum(e.PAE()) }

// CloudEvent returns e as the CloudEvents SDK's event, for hand-over to code
// that speaks it. It is never verified in that form.
func (e Event) CloudEvent() (sdk.Event, error) {
	out := sdk.New()
	if err := out.UnmarshalJSON(e.Export()); err != nil {
		return sdk.Event{}, fmt.Errorf("convert event %s: %w", e.ID, err)
	}
	return out, nil
}

// check validates every attribute of e, but neither data nor envelope.
func (e Event) check() error {
	switch {
	case !validID(e.ID):
		return fmt.Errorf("%w: id %q is no lower-case UUIDv7", ErrForm, e.ID)
	case !ValidLedger(e.Source.Ledger) || e.Source.Task != "" && !ValidTask(e.Source.Task):
		return fmt.Errorf("%w: source %q", ErrForm, e.Source)
	case !e.Type.wellFormed():
		return fmt.Errorf("%w: type %q, want dev.deed.<noun>.<verb>.v1", ErrForm, clip(string(e.Type)))
	case e.Type.Known() && e.Type.Registry() != (e.Source.Task == ""):
		return fmt.Errorf("%w: type %s does not belong to source %s", ErrForm, e.Type, e.Source)
	case e.Subject != "" && !ValidAttempt(e.Subject):
		return fmt.Errorf("%w: subject %q is no attempt id", ErrForm, e.Subject)
	case e.Sequence == 0:
		return fmt.Errorf("%w: sequence starts at 1", ErrForm)
	case e.CausationID != "" && !validID(e.CausationID):
		return fmt.Errorf("%w: causationid %q is no event id", ErrForm, e.CausationID)
	case !validAuthType(e.AuthType):
		return fmt.Errorf("%w: authtype %q, want user, service_account or system", ErrForm, e.AuthType)
	case !ValidActor(e.AuthID):
		return fmt.Errorf("%w: authid %q is no actor name", ErrForm, e.AuthID)
	case e.SignKeyID == "":
		return fmt.Errorf("%w: signkeyid is missing", ErrForm)
	}
	if _, err := ParseTime(e.Time); err != nil {
		return fmt.Errorf("%w: time: %w", ErrForm, err)
	}
	for _, v := range [...]string{e.CorrelationID, e.SignKeyID, e.TraceParent} {
		if err := checkAttribute(v); err != nil {
			return err
		}
	}
	return nil
}

// checkAttribute refuses a value that needs percent-encoding in a header.
func checkAttribute(v string) error {
	if len(v) > MaxAttribute {
		return fmt.Errorf("%w: attribute of %d bytes, limit %d", ErrTooLarge, len(v), MaxAttribute)
	}
	for i := range len(v) {
		if c := v[i]; c <= 0x20 || c >= 0x7f || c == '"' || c == '%' {
			return fmt.Errorf("%w: attribute value %q has byte 0x%02x", ErrForm, v, c)
		}
	}
	return nil
}

// validAuthType reports whether v is one of the three values of the CloudEvents
// auth context extension that an actor can have; see [Kind.AuthType].
func validAuthType(v string) bool { return v == "user" || v == "service_account" || v == "system" }
