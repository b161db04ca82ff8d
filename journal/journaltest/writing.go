package journaltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
)

func testStoresExactly(t *testing.T, open Open) {
	j := open()
	wantLast(t, j, 0)
	m := journal.Message{
		ID:      "event-1",
		Subject: SubjectA,
		Header:  map[string]string{"ce-type": "dev.deed.x.v1", "Deed-Admitted": "1", "UPPER": "a: b = \"c\"", "x": "~"},
		Data:    []byte("{\"a\":\"<&>\"}\r\n\x00\xff"),
	}
	mustAppend(t, j, m, journal.Expect{})
	m2 := NewMessage("event-2", SubjectA)
	mustAppend(t, j, m2, journal.Expect{Last: 1, SubjectLast: 1})
	m3 := NewMessage("event-3", SubjectB)
	mustAppend(t, j, m3, journal.Expect{Last: 2})
	wantLast(t, j, 3)

	r := mustRead(t, j, 1)
	want := map[string][]string{
		"ce-type": {"dev.deed.x.v1"}, "Deed-Admitted": {"1"}, "UPPER": {`a: b = "c"`}, "x": {"~"},
		"Nats-Msg-Id": {"event-1"}, "Nats-Expected-Stream": {"DEED_test"},
		"Nats-Expected-Last-Sequence": {"0"}, "Nats-Expected-Last-Subject-Sequence": {"0"},
	}
	if !maps.EqualFunc(r.Header, want, slices.Equal) {
		t.Errorf("header %v, want %v", r.Header, want)
	}
	if r.Position != 1 || r.Subject != SubjectA || !bytes.Equal(r.Data, m.Data) {
		t.Errorf("record %+v", r)
	}
	for i, m := range []journal.Message{m, m2, m3} {
		e := []journal.Expect{{}, {Last: 1, SubjectLast: 1}, {Last: 2}}[i]
		if r := mustRead(t, j, e.Last+1); !r.Holds(m, e, j.Stream()) {
			t.Errorf("record %+v does not hold %+v", r, m)
		}
	}
	for _, at := range []events.Position{0, 4, 1 << 62} {
		_, err := j.Read(Within(t), at)
		wantErrors(t, err, journal.ErrNotFound)
	}
	var replayed []journal.Record
	if err := j.Replay(Within(t), 1, func(r journal.Record) error { replayed = append(replayed, r); return nil }); err != nil {
		t.Fatal(err)
	}
	for i, got := range replayed {
		read := mustRead(t, j, events.Position(i+1))
		if got.Position != read.Position || got.Subject != read.Subject || !bytes.Equal(got.Data, read.Data) ||
			!maps.EqualFunc(got.Header, read.Header, slices.Equal) {
			t.Errorf("replayed %+v, read %+v", got, read)
		}
	}
	if len(replayed) != 3 {
		t.Errorf("%d records, want 3", len(replayed))
	}
}

func testRecordIsTheReaders(t *testing.T, open Open) {
	j := open()
	m := NewMessage("event-1", SubjectA)
	mustAppend(t, j, m, journal.Expect{})
	m.Data[0], m.Header["ce-type"] = 'X', "X"
	r := mustRead(t, j, 1)
	r.Data[0] = 'X'
	r.Header["ce-type"][0] = "X"
	r.Header["more"] = []string{"X"}
	if r := mustRead(t, j, 1); !r.Holds(NewMessage("event-1", SubjectA), journal.Expect{}, j.Stream()) {
		t.Errorf("the stored record has changed: %+v", r)
	}
}

func testExpectation(t *testing.T, open Open) {
	j := open()
	next := Fill(t, j, 5) // A at 1, 3, 5; B at 2, 4
	for i, e := range []journal.Expect{
		{},
		{Last: 4, SubjectLast: 3},
		{Last: 4},
		{Last: 5, SubjectLast: 3},
		{Last: 5, SubjectLast: 4},
		{Last: 5},
		{Last: 6, SubjectLast: 5},
		{Last: 6, SubjectLast: 6},
		{Last: 1<<64 - 2, SubjectLast: 5},
	} {
		m := NewMessage(fmt.Sprintf("wrong-%d", i), SubjectA)
		_, err := j.Append(Within(t), m, e)
		wantErrors(t, err, journal.ErrConflict)
		_, err = journal.AppendSettled(Within(t), j, m, e)
		wantErrors(t, err, journal.ErrConflict)
		if c, ok := errors.AsType[*journal.ConflictError](err); !ok || c.Last != 5 || c.Expect != e || c.SameID {
			t.Errorf("conflict %+v", c)
		}
	}
	_, err := j.Append(Within(t), NewMessage("new-subject", "deed.test.ev.registry"), journal.Expect{Last: 5, SubjectLast: 5})
	wantErrors(t, err, journal.ErrConflict)
	wantLast(t, j, 5)
	mustAppend(t, j, NewMessage("right", SubjectA), next)
}

func testRefusesMessages(t *testing.T, open Open) {
	j := open()
	refuse := func(name string, e journal.Expect, change func(*journal.Message)) {
		t.Run(name, func(t *testing.T) {
			m := NewMessage("refused", SubjectA)
			change(&m)
			_, err := j.Append(Within(t), m, e)
			wantErrors(t, err, journal.ErrRefused)
			_, err = journal.AppendSettled(Within(t), j, m, e)
			wantErrors(t, err, journal.ErrRefused)
		})
	}
	for _, subject := range []string{
		"", ".", "deed", "deed.test.ev", "deed.test.ev.", "deed.test.ev..x", "deed.test.ev.x.", "deed.test.ev.*",
		"deed.test.ev.>", "deed.test.ev.a*b", "deed.test.ev.a>b", "deed.test.ev.a b", "deed.test.ev.a\tb",
		"deed.test.ev.a\r\nb", "deed.test.ev.\x00", "deed.test.ev.é", " deed.test.ev.x", "deed.test.ev.x ",
		"deed.other.ev.x", "deed.test.v1.submit", "DEED.test.ev.x", "$JS.API.STREAM.DELETE.DEED_test", "_INBOX.x",
		"deed.test.ev." + strings.Repeat("x", journal.MaxSubjectBytes),
	} {
		refuse(fmt.Sprintf("subject %.40q", subject), journal.Expect{}, func(m *journal.Message) { m.Subject = subject })
	}
	for _, id := range []string{"", " ", "a b", "a\r\nb", "é", "\x00", strings.Repeat("x", journal.MaxIDBytes+1)} {
		refuse(fmt.Sprintf("id %.40q", id), journal.Expect{}, func(m *journal.Message) { m.ID = id })
	}
	for _, name := range []string{
		"", " ", "a b", "a:b", "a\r\nb", "é", "Nats-Msg-Id", "Nats-Rollup", "nats-rollup", "NATS-TTL", "Nats-Expected-Last-Msg-Id",
		"Nats-Batch-Id", "Nats-Schedule", "Nats-Incr", "Status", "status", "Description", "CE-Type",
	} {
		refuse(fmt.Sprintf("header %.40q", name), journal.Expect{}, func(m *journal.Message) { m.Header[name] = "x" })
	}
	for _, value := range []string{"", " ", " x", "x ", "\t", "a\tb", "a\r\nNats-Rollup: all", "a\nb", "é", "\x00", "\x7f"} {
		refuse(fmt.Sprintf("value %.40q", value), journal.Expect{}, func(m *journal.Message) { m.Header["x"] = value })
	}
	refuse("no data", journal.Expect{}, func(m *journal.Message) { m.Data = nil })
	refuse("empty data", journal.Expect{}, func(m *journal.Message) { m.Data = []byte{} })
	refuse("large data", journal.Expect{}, func(m *journal.Message) { m.Data = make([]byte, journal.MaxMessageBytes) })
	refuse("1.5 MiB", journal.Expect{}, func(m *journal.Message) { m.Data = make([]byte, 3<<19) })
	refuse("large header", journal.Expect{}, func(m *journal.Message) { m.Header["x"] = strings.Repeat("x", journal.MaxHeaderBytes) })
	refuse("subject after last", journal.Expect{Last: 1, SubjectLast: 2}, func(*journal.Message) {})
	wantLast(t, j, 0)
}

// testTakesLargestMessage finds the limits of a message by the refusal of one
// more byte, and that the journal takes what the limits allow.
func testTakesLargestMessage(t *testing.T, open Open) {
	j := open()
	m := NewMessage("largest", SubjectA)
	m.Header["x"] = "x"
	refused := func() bool { return errors.Is(m.Validate(Ledger, journal.Expect{}), journal.ErrRefused) }
	for m.Header["x"] = strings.Repeat("x", journal.MaxHeaderBytes-1000); !refused(); m.Header["x"] += "x" {
	}
	m.Header["x"] = m.Header["x"][1:]
	for m.Data = make([]byte, journal.MaxMessageBytes-journal.MaxHeaderBytes-1000); !refused(); m.Data = append(m.Data, 0) {
	}
	if _, err := j.Append(Within(t), m, journal.Expect{}); !errors.Is(err, journal.ErrRefused) {
		t.Errorf("one byte too many: %v", err)
	}
	m.Data = m.Data[1:]
	mustAppend(t, j, m, journal.Expect{})
	if r := mustRead(t, j, 1); !r.Holds(m, journal.Expect{}, j.Stream()) {
		t.Error("the largest message was not stored as it is")
	}
}

func testDuplicateID(t *testing.T, open Open, replicated bool) {
	j := open()
	Fill(t, j, 2)
	// The same id on another subject, with the right expectation.
	_, err := j.Append(Within(t), NewMessage("fill-1", SubjectB), journal.Expect{Last: 2, SubjectLast: 2})
	wantErrors(t, err, journal.ErrDuplicate)
	if d, ok := errors.AsType[*journal.DuplicateError](err); !ok || d.At != 1 || d.ID != "fill-1" {
		t.Errorf("duplicate %+v", d)
	}
	// The same message again, as after a lost acknowledgement.
	_, err = j.Append(Within(t), NewMessage("fill-2", SubjectB), journal.Expect{Last: 1})
	if replicated && errors.Is(err, journal.ErrDuplicate) {
		wantErrors(t, err, journal.ErrDuplicate)
	} else {
		wantErrors(t, err, journal.ErrConflict)
	}
	wantLast(t, j, 2)
	mustAppend(t, j, NewMessage("new", SubjectB), journal.Expect{Last: 2, SubjectLast: 2})
}

func testContexts(t *testing.T, open Open) {
	j := open()
	next := Fill(t, j, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := j.Append(ctx, NewMessage("late", SubjectA), next)
	wantErrors(t, err, journal.ErrRefused, context.Canceled)
	_, err = journal.AppendSettled(ctx, j, NewMessage("late", SubjectA), next)
	wantErrors(t, err, journal.ErrRefused, context.Canceled)
	_, err = j.Last(ctx)
	wantErrors(t, err, context.Canceled)
	_, err = j.Read(ctx, 1)
	wantErrors(t, err, context.Canceled)
	never := func(journal.Record) error { return errors.New("handled a record") }
	wantErrors(t, j.Replay(ctx, 1, never), context.Canceled)
	wantErrors(t, j.Follow(ctx, 1, never), context.Canceled)
	wantLast(t, j, 2)
}

func testClose(t *testing.T, open Open) {
	j := open()
	next := Fill(t, j, 2)
	for range 2 {
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ctx := Within(t)
	_, err := j.Append(ctx, NewMessage("late", SubjectA), next)
	wantErrors(t, err, journal.ErrClosed)
	_, err = journal.AppendSettled(ctx, j, NewMessage("late", SubjectA), next)
	wantErrors(t, err, journal.ErrClosed)
	_, err = j.Last(ctx)
	wantErrors(t, err, journal.ErrClosed)
	_, err = j.Read(ctx, 1)
	wantErrors(t, err, journal.ErrClosed)
	never := func(journal.Record) error { return errors.New("handled a record") }
	wantErrors(t, j.Replay(ctx, 1, never), journal.ErrClosed)
	wantErrors(t, j.Follow(ctx, 1, never), journal.ErrClosed)
	wantLast(t, open(), 2)
}

func testRestart(t *testing.T, open Open) {
	j := open()
	Fill(t, j, 2)
	last := []events.Position{1, 2}
	for i := range 4 {
		before := mustRead(t, j, 1)
		j = open()
		if r := mustRead(t, j, 1); !bytes.Equal(r.Data, before.Data) || !maps.EqualFunc(r.Header, before.Header, slices.Equal) {
			t.Fatalf("record 1 is %+v, was %+v", r, before)
		}
		subject := []string{SubjectA, SubjectB}[i%2]
		e := journal.Expect{Last: events.Position(2 + i), SubjectLast: last[i%2]}
		m := NewMessage(fmt.Sprintf("restart-%d", i), subject)
		_, err := j.Append(Within(t), m, journal.Expect{Last: e.Last - 1, SubjectLast: e.SubjectLast - 1})
		wantErrors(t, err, journal.ErrConflict)
		mustAppend(t, j, m, e)
		last[i%2] = e.Last + 1
	}
	// A writer that restarts after a lost acknowledgement sends the same again.
	j = open()
	e := journal.Expect{Last: 5, SubjectLast: 4}
	if at, err := journal.AppendSettled(Within(t), j, NewMessage("restart-3", SubjectB), e); err != nil || at != 6 {
		t.Errorf("position %d, error %v; want 6", at, err)
	}
	wantLast(t, j, 6)
}

// testRace lets eight writers, each with its own view, fight for every position.
func testRace(t *testing.T, open Open, replicated bool) {
	const writers, rounds = 8, 25
	j := open()
	ctx := Within(t)
	won := make([][]events.Position, writers)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for {
				last, err := j.Last(ctx)
				if err != nil {
					t.Errorf("last position: %v", err)
					return
				}
				if last >= rounds {
					return
				}
				m := NewMessage(fmt.Sprintf("writer-%d-after-%d", w, last), SubjectA)
				at, err := journal.AppendSettled(ctx, j, m, journal.Expect{Last: last, SubjectLast: last})
				switch {
				case err == nil:
					won[w] = append(won[w], at)
				case errors.Is(err, journal.ErrConflict):
					c, ok := errors.AsType[*journal.ConflictError](err)
					if moved := ok && c.Last > last; !moved && (!replicated || !ok || c.Last < last) {
						t.Errorf("conflict after %d without a newer last position: %+v", last, c)
					}
				default:
					t.Errorf("append: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	wantLast(t, j, rounds)
	owner := map[events.Position]int{}
	for w, positions := range won {
		for _, at := range positions {
			if other, ok := owner[at]; ok {
				t.Errorf("position %d: writers %d and %d", at, other, w)
			}
			owner[at] = w
			want := fmt.Sprintf("writer-%d-after-%d", w, at-1)
			if got := mustRead(t, j, at).Header[journal.HeaderID]; len(got) != 1 || got[0] != want {
				t.Errorf("position %d: message %v, want %s", at, got, want)
			}
		}
	}
	if len(owner) != rounds {
		t.Errorf("%d winners for %d positions", len(owner), rounds)
	}
}
