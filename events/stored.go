package events

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// HeaderAdmitted is the header in which the writer stamps the time of
// admission: unix nanoseconds, decimal.
const HeaderAdmitted = "Deed-Admitted"

// headerPrefix marks an attribute in the NATS binary mode of CloudEvents.
const headerPrefix = "ce-"

// coreAttributes are the attributes that are not extensions, in export order.
// Read-only.
var coreAttributes = [...]string{"specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema"}

// attribute returns the value of the named attribute, "" when absent.
func (e Event) attribute(name string) string {
	switch name {
	case "specversion":
		return SpecVersion
	case "id":
		return e.ID
	case "source":
		return e.Source.String()
	case "type":
		return string(e.Type)
	case "subject":
		return e.Subject
	case "time":
		return e.Time
	case "datacontenttype":
		return ContentType
	case "dataschema":
		return e.SchemaURN()
	case "dssematerial":
		return base64.StdEncoding.EncodeToString(e.Envelope)
	}
	return e.extension(name)
}

// attributes calls yield for each attribute that is present, in export order.
func (e Event) attributes(yield func(name, value string) bool) {
	emit := func(name string) bool {
		v := e.attribute(name)
		return v == "" || yield(name, v)
	}
	for _, name := range coreAttributes {
		if !emit(name) {
			return
		}
	}
	for _, name := range signedExtensions {
		if !emit(name) {
			return
		}
	}
	emit("dssematerial")
}

// Headers returns the ce-* headers of the stored form; e.Data is the body.
func (e Event) Headers() map[string]string {
	h := make(map[string]string, 18)
	e.attributes(func(name, value string) bool {
		h[headerPrefix+name] = value
		return true
	})
	return h
}

// ParseStored parses the stored form: exactly the ce-* headers of the profile
// and the data bytes. It looks at no other header. A repeated, empty or
// unknown ce-* header, whatever its case, is ErrForm. Data that is not the
// RFC 8785 form of an object without ambiguous members is ErrAmbiguous, even
// where the type is unknown. The returned event re-encodes to the same headers
// and data, and its exported form parses. It shares data's memory.
func ParseStored(header map[string][]string, data []byte) (Event, error) {
	attrs := make(map[string]string, 18)
	for name, values := range header {
		attr, ok := strings.CutPrefix(name, headerPrefix)
		if !ok {
			if len(name) >= 3 && strings.EqualFold(name[:3], headerPrefix) {
				return Event{}, fmt.Errorf("%w: header %q is not spelled %s", ErrForm, name, strings.ToLower(name))
			}
			continue
		}
		if len(values) != 1 {
			return Event{}, fmt.Errorf("%w: header %q occurs %d times", ErrForm, name, len(values))
		}
		attrs[attr] = values[0]
	}
	return fromAttributes(attrs, data)
}

// fromAttributes builds the event that has exactly the attributes and data
// given. It consumes attrs.
func fromAttributes(attrs map[string]string, data []byte) (Event, error) {
	if len(data) > MaxData {
		return Event{}, fmt.Errorf("%w: data of %d bytes, limit %d", ErrTooLarge, len(data), MaxData)
	}
	e := Event{
		ID: attrs["id"], Type: Type(attrs["type"]), Subject: attrs["subject"], Time: attrs["time"],
		CausationID: attrs["causationid"], CorrelationID: attrs["correlationid"],
		AuthType: attrs["authtype"], AuthID: attrs["authid"], SignKeyID: attrs["signkeyid"],
		TraceParent: attrs["traceparent"], Data: data,
	}
	if err := e.parseTyped(attrs); err != nil {
		return Event{}, err
	}
	if err := e.check(); err != nil {
		return Event{}, err
	}
	if err := checkForm(data); err != nil {
		return Event{}, err
	}
	// Every attribute must be the one spelling that e itself would write, and
	// there must be no other.
	n := 0
	var bad string
	e.attributes(func(name, value string) bool {
		n++
		if got := attrs[name]; got != value {
			bad = fmt.Sprintf("attribute %s is %s, want %s", name, strconv.Quote(clip(got)), strconv.Quote(clip(value)))
		}
		return bad == ""
	})
	if bad != "" {
		return Event{}, fmt.Errorf("%w: %s", ErrForm, bad)
	}
	if n != len(attrs) {
		return Event{}, fmt.Errorf("%w: %s", ErrForm, e.surplus(attrs))
	}
	return e, nil
}

// parseTyped fills the fields of e that are not plain text.
func (e *Event) parseTyped(attrs map[string]string) error {
	var err error
	if e.Source, err = ParseSource(attrs["source"]); err != nil {
		return fmt.Errorf("%w: %w", ErrForm, err)
	}
	if e.Sequence, err = ParseSequence(attrs["sequence"]); err != nil {
		return fmt.Errorf("%w: %w", ErrForm, err)
	}
	if e.PrevHash, err = ParseHash(attrs["prevhash"]); err != nil {
		return fmt.Errorf("%w: prevhash: %w", ErrForm, err)
	}
	if f := attrs["fencetoken"]; f != "" {
		if e.Fence, err = ParseFence(f); err != nil {
			return fmt.Errorf("%w: %w", ErrForm, err)
		}
	}
	material := attrs["dssematerial"]
	if len(material) > base64.StdEncoding.EncodedLen(MaxEnvelope) {
		return fmt.Errorf("%w: dssematerial of %d bytes", ErrTooLarge, len(material))
	}
	if e.Envelope, err = base64.StdEncoding.Strict().DecodeString(material); err != nil || len(e.Envelope) == 0 {
		return fmt.Errorf("%w: dssematerial is missing or no padded base64", ErrForm)
	}
	return nil
}

// surplus names the attributes that do not belong to e.
func (e Event) surplus(attrs map[string]string) string {
	e.attributes(func(name, _ string) bool { delete(attrs, name); return true })
	least := ""
	for name := range attrs {
		if least == "" || name < least {
			least = name
		}
	}
	return fmt.Sprintf("attribute %q is unknown or empty", clip(least))
}

// clip shortens s for an error message.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
