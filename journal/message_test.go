package journal_test

import (
	"maps"
	"testing"

	"github.com/deedledger/deed/journal"
)

// TestHeaders writes the headers out, since an auditor of a later version has to
// find the same bytes.
func TestHeaders(t *testing.T) {
	m := journal.Message{ID: "ab12", Header: map[string]string{"ce-id": "1"}}
	got := journal.Headers(m, journal.Expect{Last: 1<<64 - 2, SubjectLast: 7}, journal.StreamName("team-1"))
	want := map[string]string{
		"Nats-Msg-Id":                         "ab12",
		"Nats-Expected-Stream":                "DEED_team-1",
		"Nats-Expected-Last-Sequence":         "18446744073709551614",
		"Nats-Expected-Last-Subject-Sequence": "7",
	}
	if !maps.Equal(got, want) {
		t.Errorf("headers %v, want %v", got, want)
	}
	if got := journal.SubjectPrefix("team-1"); got != "deed.team-1.ev." {
		t.Errorf("prefix %q", got)
	}
}

func TestHoldsIsByteForByte(t *testing.T) {
	const stream = "DEED_test"
	e := journal.Expect{Last: 6, SubjectLast: 2}
	m := journal.Message{ID: "ab12", Subject: "deed.test.ev.registry", Header: map[string]string{"ce-id": "1"}, Data: []byte("{}")}
	stored := func() journal.Record {
		return journal.Record{Position: 7, Subject: m.Subject, Header: journal.StoredHeader(m, e, stream), Data: []byte("{}")}
	}
	if !stored().Holds(m, e, stream) {
		t.Fatal("the stored record does not hold its message")
	}
	for name, change := range map[string]func(*journal.Record){
		"position":            func(r *journal.Record) { r.Position = 8 },
		"subject":             func(r *journal.Record) { r.Subject += "x" },
		"data":                func(r *journal.Record) { r.Data = []byte("{ }") },
		"no header":           func(r *journal.Record) { r.Header = nil },
		"value":               func(r *journal.Record) { r.Header["ce-id"] = []string{"2"} },
		"second value":        func(r *journal.Record) { r.Header["ce-id"] = []string{"1", "1"} },
		"no value":            func(r *journal.Record) { r.Header["ce-id"] = nil },
		"case of a name":      func(r *journal.Record) { delete(r.Header, "ce-id"); r.Header["Ce-Id"] = []string{"1"} },
		"another header":      func(r *journal.Record) { r.Header["Nats-Rollup"] = []string{"all"} },
		"header gone":         func(r *journal.Record) { delete(r.Header, journal.HeaderSubjectLast) },
		"another expectation": func(r *journal.Record) { r.Header[journal.HeaderLast] = []string{"06"} },
		"another stream":      func(r *journal.Record) { r.Header[journal.HeaderStream] = []string{"DEED_other"} },
	} {
		r := stored()
		change(&r)
		if r.Holds(m, e, stream) {
			t.Errorf("holds although changed: %s", name)
		}
	}
}
