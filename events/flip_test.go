package events_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	sdk "github.com/cloudevents/sdk-go/v2/event"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/schemas"
)

// flips calls try with text and one of its bits turned, for every byte and
// every bit given.
func flips(text string, bits []int, try func(at int, flipped string)) {
	for i := range len(text) {
		for _, bit := range bits {
			b := []byte(text)
			b[i] ^= 1 << bit
			try(i, string(b))
		}
	}
}

// TestEveryFlipIsSeen turns every bit of every header and of the body of one
// stored record, and three bits of each byte of the others. Each gives a parse error, another eventhash, which the
// signature then does not cover, or another envelope, which signer checks.
func TestEveryFlipIsSeen(t *testing.T) {
	tried, refused := 0, 0
	for _, v := range goldenFiles(t) {
		original, err := events.ParseStored(multi(v.StoredHeaders), []byte(v.Data))
		if err != nil {
			t.Fatal(err)
		}
		bits := []int{0, 5, 7} // another digit or letter, the other case, no ASCII
		if v.Name == negativeBase {
			bits = []int{0, 1, 2, 3, 4, 5, 6, 7}
		}
		if len(v.Data) > 1000 && v.Name != "05-unicode" {
			continue // longer, not different
		}
		try := func(what string, h map[string][]string, data string) {
			tried++
			e, err := events.ParseStored(h, []byte(data))
			if err != nil {
				refused++
			} else if e.Hash() == original.Hash() && bytes.Equal(e.Envelope, original.Envelope) {
				t.Errorf("%s: %s: the change is not seen", v.Name, what)
			}
		}
		for name, value := range v.StoredHeaders {
			flips(value, bits, func(at int, flipped string) {
				h := multi(v.StoredHeaders)
				h[name] = []string{flipped}
				try(fmt.Sprintf("value of %s, byte %d", name, at), h, v.Data)
			})
			flips(name, bits, func(at int, flipped string) {
				h := multi(v.StoredHeaders)
				delete(h, name)
				h[flipped] = []string{value}
				try(fmt.Sprintf("name of %s, byte %d", name, at), h, v.Data)
			})
		}
		flips(v.Data, bits, func(at int, flipped string) {
			try(fmt.Sprintf("body, byte %d", at), multi(v.StoredHeaders), flipped)
		})
		for i := range len(v.Data) {
			try(fmt.Sprintf("body without byte %d", i), multi(v.StoredHeaders), v.Data[:i]+v.Data[i+1:])
			try(fmt.Sprintf("body with byte %d twice", i), multi(v.StoredHeaders), v.Data[:i+1]+v.Data[i:])
		}
	}
	t.Logf("%d changes, %d refused at parse", tried, refused)
}

// TestNoSignatureMovesBetweenEvents gives each event the attributes of others,
// one at a time: type, subject, id and the rest are signed copies.
func TestNoSignatureMovesBetweenEvents(t *testing.T) {
	list := goldenFiles(t)
	for _, v := range list {
		original, err := events.ParseStored(multi(v.StoredHeaders), []byte(v.Data))
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range list {
			for name, value := range other.StoredHeaders {
				if value == v.StoredHeaders[name] || name == "ce-dssematerial" {
					continue
				}
				h := maps.Clone(v.StoredHeaders)
				h[name] = value
				if e, err := events.ParseStored(multi(h), []byte(v.Data)); err == nil && e.Hash() == original.Hash() {
					t.Errorf("%s keeps its hash with the %s of %s", v.Name, name, other.Name)
				}
			}
			if other.Data != v.Data {
				if e, err := events.ParseStored(multi(v.StoredHeaders), []byte(other.Data)); err == nil && e.Hash() == original.Hash() {
					t.Errorf("%s keeps its hash with the data of %s", v.Name, other.Name)
				}
			}
		}
	}
}

// TestDataOfAnotherType offers the data of each type as every other.
func TestDataOfAnotherType(t *testing.T) {
	for _, typ := range events.Types() {
		data := example(t, typ)
		for _, other := range events.Types() {
			_, err := events.DecodeData(other, data)
			if want := other == typ || twins(typ, other); (err == nil) != want {
				t.Errorf("data of %s as %s: %v", typ, other, err)
			}
		}
	}
}

// twins are types whose data has the same members: only the signed type tells
// them apart.
func twins(a, b events.Type) bool {
	reasons := []events.Type{
		events.ContractWithdrawn, events.TaskCancelled, events.LedgerFrozen, events.LedgerUnfrozen, events.TaskPaused, events.TaskUnpaused,
	}
	ends := []events.Type{events.DecisionUnfrozen, events.DecisionWithdrawn}
	return slices.Contains(reasons, a) && slices.Contains(reasons, b) || slices.Contains(ends, a) && slices.Contains(ends, b)
}

// TestAmbiguityNamesBoth demands that a refusal shows both spellings, escaped.
func TestAmbiguityNamesBoth(t *testing.T) {
	for data, want := range map[string][2]string{
		`{"outcome":"fail","outcome":"pass"}`:            {`"outcome"`, `"outcome"`},
		`{"outcome":"fail","Outcome":"pass"}`:            {`"outcome"`, `"Outcome"`},
		"{\"status\":\"fail\",\"\u017ftatus\":\"pass\"}": {`"status"`, `"\u017ftatus"`},
		`{"a":[{"b":{"k":1,"K":2}}]}`:                    {`"k"`, `"K"`},
		"{\"a\":{\"\u212a\":1,\"k\":2}}":                 {`"\u212a"`, `"k"`},
	} {
		for what, err := range map[string]error{
			"stored":  storedWith(t, data),
			"receipt": decodeError(events.ReceiptRecorded, data),
		} {
			if !errors.Is(err, events.ErrAmbiguous) || !strings.Contains(err.Error(), want[0]) || !strings.Contains(err.Error(), want[1]) {
				t.Errorf("%s: %s: %v, want ErrAmbiguous naming %s and %s", what, data, err, want[0], want[1])
			}
		}
	}
	control := `{"text":"{\"outcome\":\"fail\",\"outcome\":\"pass\"}"}`
	if err := storedWith(t, control); err != nil {
		t.Errorf("the same names inside a text: %v", err)
	}
}

func decodeError(typ events.Type, data string) error {
	_, err := events.DecodeData(typ, []byte(data))
	return err
}

// storedWith parses a stored event of an unknown type with the data given.
func storedWith(t *testing.T, data string) error {
	t.Helper()
	h := multi(goldenFiles(t)[1].StoredHeaders)
	h["ce-type"], h["ce-dataschema"] = []string{"dev.deed.lease.nibbled.v1"}, []string{"urn:deed:schema:lease.nibbled:v1"}
	_, err := events.ParseStored(h, []byte(data))
	return err
}

func TestLimits(t *testing.T) {
	object := func(n int) string { return `{"a":"` + strings.Repeat("x", n-8) + `"}` }
	if err := storedWith(t, object(events.MaxData)); err != nil {
		t.Errorf("data at the limit: %v", err)
	}
	for name, err := range map[string]error{
		"data":     storedWith(t, object(events.MaxData+1)),
		"decode":   decodeError(events.ContractAccepted, object(events.MaxData+1)),
		"export":   exportError(strings.Repeat(" ", events.MaxExport+1)),
		"envelope": envelopeError(t, events.MaxEnvelope+3),
	} {
		if !errors.Is(err, events.ErrTooLarge) {
			t.Errorf("%s: %v, want ErrTooLarge", name, err)
		}
	}
	for _, deep := range []string{strings.Repeat("[", 20_000), strings.Repeat(`{"a":`, 9_500), `{"a":` + strings.Repeat("[", 40_000) + "}"} {
		if err := storedWith(t, deep); !errors.Is(err, events.ErrAmbiguous) {
			t.Errorf("deep nesting: %v, want ErrAmbiguous", err)
		}
	}
	long := &events.Cancellation{Reason: strings.Repeat("é", 2001)}
	if _, err := events.EncodeData(long); !errors.Is(err, events.ErrData) {
		t.Errorf("encode a text of 4002 bytes: %v, want ErrData", err)
	}
}

func exportError(text string) error {
	_, err := events.ParseExport([]byte(text))
	return err
}

func envelopeError(t *testing.T, n int) error {
	t.Helper()
	h := multi(goldenFiles(t)[1].StoredHeaders)
	h["ce-dssematerial"] = []string{base64.StdEncoding.EncodeToString(make([]byte, n))}
	_, err := events.ParseStored(h, []byte("{}"))
	return err
}

// TestCloudEvents holds the SDK's event against ours: every attribute, the
// same data bytes, and the way back.
func TestCloudEvents(t *testing.T) {
	for _, v := range goldenFiles(t) {
		e, err := events.ParseExport([]byte(v.Exported))
		if err != nil {
			t.Fatal(err)
		}
		ce, err := e.CloudEvent()
		if err != nil || ce.Validate() != nil {
			t.Fatalf("%s: %v, %v", v.Name, err, ce.Validate())
		}
		got := map[string]string{
			"specversion": ce.SpecVersion(), "id": ce.ID(), "source": ce.Source(), "type": ce.Type(), "subject": ce.Subject(),
			"time": events.FormatTime(ce.Time()), "datacontenttype": ce.DataContentType(), "dataschema": ce.DataSchema(),
		}
		if got["subject"] == "" {
			delete(got, "subject")
		}
		for name, value := range ce.Extensions() {
			got[name] = fmt.Sprint(value)
		}
		want := maps.Clone(v.Attributes)
		want["dssematerial"] = v.StoredHeaders["ce-dssematerial"]
		if !maps.Equal(got, want) {
			t.Errorf("%s: attributes\n%v\nwant\n%v", v.Name, got, want)
		}
		if string(ce.Data()) != v.Data {
			t.Errorf("%s: data %q, want %q", v.Name, ce.Data(), v.Data)
		}
		back, err := events.FromCloudEvent(ce)
		if err != nil || string(back.Export()) != v.Exported {
			t.Errorf("%s: the way back gives %v, %s", v.Name, err, back.Export())
		}
	}
}

func TestFromCloudEventRefuses(t *testing.T) {
	golden := goldenFiles(t)
	for name, change := range map[string]func(*sdk.Event){
		"empty":                func(e *sdk.Event) { *e = sdk.Event{} },
		"fresh":                func(e *sdk.Event) { *e = sdk.New() },
		"old version":          func(e *sdk.Event) { e.SetSpecVersion("0.3") },
		"unknown extension":    func(e *sdk.Event) { e.SetExtension("x", "1") },
		"number extension":     func(e *sdk.Event) { e.SetExtension("fencetoken", 1) },
		"bytes extension":      func(e *sdk.Event) { e.SetExtension("dssematerial", []byte("{}")) },
		"no extension":         func(e *sdk.Event) { e.SetExtension("signkeyid", nil) },
		"time with fraction":   func(e *sdk.Event) { e.SetTime(e.Time().Add(1)) },
		"data in base64":       func(e *sdk.Event) { e.DataBase64 = true },
		"data with space":      func(e *sdk.Event) { e.DataEncoded = append([]byte(" "), e.DataEncoded...) },
		"no data":              func(e *sdk.Event) { e.DataEncoded = nil },
		"other content type":   func(e *sdk.Event) { e.SetDataContentType("text/plain") },
		"other schema":         func(e *sdk.Event) { e.SetDataSchema("urn:deed:schema:task.cancelled:v1") },
		"other source":         func(e *sdk.Event) { e.SetSource("/ledgers/acme/registry") },
		"percent in attribute": func(e *sdk.Event) { e.SetExtension("correlationid", "a%20b") },
	} {
		parsed, err := events.ParseExport([]byte(golden[3].Exported))
		if err != nil {
			t.Fatal(err)
		}
		ce, err := parsed.CloudEvent()
		if err != nil {
			t.Fatal(err)
		}
		change(&ce)
		got, err := events.FromCloudEvent(ce)
		if !errors.Is(err, events.ErrForm) && !errors.Is(err, events.ErrAmbiguous) {
			t.Errorf("%s: %v", name, err)
		}
		if got.ID != "" || got.Data != nil {
			t.Errorf("%s: an event beside the error", name)
		}
	}
}

func BenchmarkParseStored(b *testing.B) {
	for _, v := range goldenFiles(b)[1:3] {
		h, data := multi(v.StoredHeaders), []byte(v.Data)
		b.Run(fmt.Sprintf("%s-%dB", v.Name, len(data)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := events.ParseStored(h, data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkHash(b *testing.B) {
	v := goldenFiles(b)[1]
	e, err := events.ParseStored(multi(v.StoredHeaders), []byte(v.Data))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		_ = e.Hash()
	}
}

func BenchmarkDecodeData(b *testing.B) {
	for _, typ := range []events.Type{events.ContractAccepted, events.ContractProposed, events.ReceiptRecorded} {
		data, err := schemas.Example(typ.Short())
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("%s-%dB", typ.Short(), len(data)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := events.DecodeData(typ, data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
