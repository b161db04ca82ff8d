package events

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Export returns the exported form of e: compact structured CloudEvents JSON,
// the attributes in profile order as strings, then data byte for byte.
func (e Event) Export() []byte {
	var b bytes.Buffer
	b.Grow(1024 + len(e.Data) + 2*len(e.Envelope))
	b.WriteByte('{')
	e.attributes(func(name, value string) bool {
		// Attribute values need no escape: see checkAttribute.
		b.WriteString(`"` + name + `":"` + value + `",`)
		return true
	})
	b.WriteString(`"data":`)
	b.Write(e.Data)
	b.WriteByte('}')
	return b.Bytes()
}

// ParseExport parses the exported form. What it accepts, Export writes back
// byte for byte; anything else is ErrAmbiguous, ErrForm or ErrTooLarge.
func ParseExport(text []byte) (Event, error) {
	if len(text) > MaxExport {
		return Event{}, fmt.Errorf("%w: %d bytes, limit %d", ErrTooLarge, len(text), MaxExport)
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(text, &members); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrAmbiguous, err)
	}
	data, ok := members["data"]
	if !ok {
		return Event{}, fmt.Errorf("%w: member data is missing", ErrForm)
	}
	delete(members, "data")
	attrs := make(map[string]string, len(members))
	for name, raw := range members {
		var v string
		if err := json.Unmarshal(raw, &v); err != nil {
			return Event{}, fmt.Errorf("%w: attribute %q is no string", ErrForm, clip(name))
		}
		attrs[name] = v
	}
	e, err := fromAttributes(attrs, data)
	if err != nil {
		return Event{}, err
	}
	if !bytes.Equal(e.Export(), text) {
		return Event{}, fmt.Errorf("%w: not the canonical exported form", ErrAmbiguous)
	}
	return e, nil
}
