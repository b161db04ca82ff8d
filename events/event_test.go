package events_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/deedledger/deed/events"
)

// sample returns a well-formed event; its envelope is not a real signature.
func sample(t testing.TB) events.Event {
	t.Helper()
	data, err := events.EncodeData(&events.Acceptance{Version: 1, Digest: events.Sum([]byte("contract")).String()})
	if err != nil {
		t.Fatal(err)
	}
	return events.Event{
		ID: "01890a5d-ac96-774b-bcce-b302099a8057", Source: events.Source{Ledger: "acme", Task: "TASK-481"},
		Type: events.ContractAccepted, Time: "2026-11-30T12:00:00Z", Sequence: 2,
		PrevHash: events.Sum([]byte("previous")), AuthType: "user", AuthID: "owner",
		SignKeyID: "SHA256:abc", Data: data, Envelope: []byte(`{"payloadType":"x"}`),
	}
}

func TestFormsRoundTrip(t *testing.T) {
	e := sample(t)
	header := map[string][]string{}
	for k, v := range e.Headers() {
		header[k] = []string{v}
	}
	stored, err := events.ParseStored(header, e.Data)
	if err != nil {
		t.Fatal(err)
	}
	exported, err := events.ParseExport(e.Export())
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []events.Event{stored, exported} {
		if got.Hash() != e.Hash() || !bytes.Equal(got.Export(), e.Export()) {
			t.Fatalf("round trip changed the event:\n%s\n%s", got.Export(), e.Export())
		}
	}
	if ce, err := e.CloudEvent(); err != nil || ce.Validate() != nil {
		t.Fatalf("CloudEvents SDK refuses the event: %v, %v", err, ce.Validate())
	}
}

func TestDecodeDataRefusesAmbiguity(t *testing.T) {
	digest := events.Sum(nil).String()
	for name, data := range map[string]string{
		"duplicate":      `{"digest":"` + digest + `","version":1,"version":2}`,
		"case":           `{"digest":"` + digest + `","Version":1}`,
		"long s":         `{"digeſt":"` + digest + `","version":1}`,
		"unknown":        `{"digest":"` + digest + `","version":1,"x":1}`,
		"space":          `{"digest":"` + digest + `", "version":1}`,
		"order":          `{"version":1,"digest":"` + digest + `"}`,
		"second value":   `{"digest":"` + digest + `","version":1}{}`,
		"trailing":       `{"digest":"` + digest + `","version":1} `,
		"float":          `{"digest":"` + digest + `","version":1.0}`,
		"exponent":       `{"digest":"` + digest + `","version":1e0}`,
		"escape":         `{"digest":"` + digest + `","\u0076ersion":1}`,
		"null":           `null`,
		"missing member": `{"version":1}`,
	} {
		if _, err := events.DecodeData(events.ContractAccepted, []byte(data)); err == nil {
			t.Errorf("%s: accepted %s", name, data)
		} else if name != "missing member" && !errors.Is(err, events.ErrAmbiguous) {
			t.Errorf("%s: %v, want ErrAmbiguous", name, err)
		}
	}
}
