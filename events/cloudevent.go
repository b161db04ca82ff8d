package events

import (
	"fmt"
	"slices"

	sdk "github.com/cloudevents/sdk-go/v2/event"
)

// FromCloudEvent takes an event from code that speaks the CloudEvents SDK, such
// as an HTTP edge. It is as strict as [ParseStored] about all that the SDK
// kept: an extension that is no text, data in base64, a time with a fraction,
// and everything outside the profile is refused with ErrForm, ErrAmbiguous or
// ErrTooLarge.
//
// The SDK's own parser has by then forgiven duplicate members, trailing bytes
// and more. What it lost cannot be found here; what was signed can: verify the
// result before use, and where the bytes are at hand give them to
// [ParseExport].
func FromCloudEvent(in sdk.Event) (Event, error) {
	if in.DataBase64 {
		return Event{}, fmt.Errorf("%w: data is in base64", ErrForm)
	}
	attrs := map[string]string{
		"specversion": in.SpecVersion(), "id": in.ID(), "source": in.Source(), "type": in.Type(),
		"datacontenttype": in.DataContentType(), "dataschema": in.DataSchema(),
	}
	if s := in.Subject(); s != "" {
		attrs["subject"] = s
	}
	if t := in.Time(); !t.IsZero() {
		if t.Nanosecond() != 0 {
			return Event{}, fmt.Errorf("%w: time has a fraction", ErrForm)
		}
		attrs["time"] = FormatTime(t)
	}
	for name, value := range in.Extensions() {
		text, ok := value.(string)
		if !ok {
			return Event{}, fmt.Errorf("%w: attribute %q is no text", ErrForm, clip(name))
		}
		if slices.Contains(coreAttributes[:], name) {
			return Event{}, fmt.Errorf("%w: attribute %q is no extension", ErrForm, clip(name))
		}
		attrs[name] = text
	}
	return fromAttributes(attrs, in.Data())
}
