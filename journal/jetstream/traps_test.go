package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/internal/natstest"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/journal/journaltest"
)

// fixture is a journal beside a raw connection with every right.
type fixture struct {
	ctx context.Context
	nc  *nats.Conn
	js  natsjs.JetStream
	j   *jetstream.Journal
}

func newFixture(t *testing.T, config jetstream.Config) fixture {
	t.Helper()
	f := fixture{ctx: natstest.Within(t), nc: natstest.Connect(t, natstest.Start(t, natstest.Config(t)))}
	var err error
	if f.js, err = natsjs.New(f.nc); err != nil {
		t.Fatal(err)
	}
	if f.j, err = jetstream.Create(f.ctx, f.nc, config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.j.Close() })
	return f
}

// publish sends what a foreign program might, and returns the server's answer.
func (f fixture) publish(subject string, header map[string]string) (*natsjs.PubAck, natsjs.ErrorCode, error) {
	msg := &nats.Msg{Subject: subject, Header: nats.Header{}, Data: []byte("{}")}
	for k, v := range header {
		msg.Header[k] = []string{v}
	}
	ack, err := f.js.PublishMsg(f.ctx, msg, natsjs.WithRetryAttempts(0))
	if api, ok := errors.AsType[*natsjs.APIError](err); ok {
		return ack, api.ErrorCode, err
	}
	return ack, 0, err
}

func last(stream, subject int) map[string]string {
	return map[string]string{
		journal.HeaderLast:        fmt.Sprint(stream),
		journal.HeaderSubjectLast: fmt.Sprint(subject),
	}
}

func with(m map[string]string, kv ...string) map[string]string {
	for i := 0; i < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	return m
}

// TestServerAnswers pins what the adapter is built on: what this server really
// answers.
func TestServerAnswers(t *testing.T) {
	f := newFixture(t, natstest.Settings())
	const a, b = journaltest.SubjectA, journaltest.SubjectB
	for _, step := range []struct {
		name      string
		subject   string
		header    map[string]string
		at        uint64 // 0: an error
		duplicate bool
		code      natsjs.ErrorCode
	}{
		{"first", a, with(last(0, 0), "Nats-Msg-Id", "m1"), 1, false, 0},
		{"the same again is no duplicate but a conflict", a, with(last(0, 0), "Nats-Msg-Id", "m1"), 0, false, 10071},
		{"its id on another subject is a duplicate, not stored", b, with(last(1, 0), "Nats-Msg-Id", "m1"), 1, true, 0},
		{"wrong last position, right subject", b, last(0, 0), 0, false, 10071},
		{"right last position, wrong subject", b, last(1, 1), 0, false, 10071},
		{"zero is an expectation, not the lack of one", a, last(0, 0), 0, false, 10071},
		{"another stream", b, with(last(1, 0), "Nats-Expected-Stream", "OTHER"), 0, false, 10060},
		{"rollup", b, with(last(1, 0), "Nats-Rollup", "all"), 0, false, 10111},
		{"ttl", b, with(last(1, 0), "Nats-TTL", "1s"), 0, false, 10166},
		{"not a number", b, with(last(1, 0), journal.HeaderLast, "x"), 0, false, 10071},
		{"lower case is no expectation at all", b, map[string]string{"nats-expected-last-sequence": "77"}, 2, false, 0},
		{"no expectation at all", b, nil, 3, false, 0},
	} {
		ack, code, err := f.publish(step.subject, step.header)
		switch {
		case step.at == 0 && (err == nil || code != step.code):
			t.Errorf("%s: code %d, error %v; want code %d", step.name, code, err, step.code)
		case step.at > 0 && (err != nil || ack.Sequence != step.at || ack.Duplicate != step.duplicate):
			t.Errorf("%s: ack %+v, error %v", step.name, ack, err)
		}
	}
	if at, err := f.j.Last(f.ctx); err != nil || at != 3 {
		t.Errorf("last position %d, error %v", at, err)
	}
}

// TestPipelineOnGuessedPositions shows why a writer has one append in flight:
// a foreign message at a guessed position makes one append fail and those
// behind it succeed.
func TestPipelineOnGuessedPositions(t *testing.T) {
	f := newFixture(t, natstest.Settings())
	if _, _, err := f.publish(journaltest.SubjectB, nil); err != nil { // the foreign message, at 1
		t.Fatal(err)
	}
	_, code, _ := f.publish(journaltest.SubjectA, map[string]string{journal.HeaderLast: "0"})
	ack, _, err := f.publish(journaltest.SubjectA, map[string]string{journal.HeaderLast: "1"})
	if code != 10071 || err != nil || ack.Sequence != 2 {
		t.Errorf("first code %d, second %+v, error %v", code, ack, err)
	}
}

// TestRetryAfterTheWindow: the expectation, not the memory for ids, keeps an
// event single.
func TestRetryAfterTheWindow(t *testing.T) {
	config := natstest.Settings()
	config.Duplicates = 100 * time.Millisecond
	f := newFixture(t, config)
	e := journal.Expect{}
	m := journaltest.NewMessage("m1", journaltest.SubjectA)
	if _, err := f.j.Append(f.ctx, m, e); err != nil {
		t.Fatal(err)
	}
	// Once the same id is stored again without an expectation the window is over.
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for stored := false; !stored; <-tick.C {
		ack, _, err := f.publish(journaltest.SubjectB, map[string]string{"Nats-Msg-Id": "m1"})
		if err != nil {
			t.Fatal(err)
		}
		stored = !ack.Duplicate
	}
	if at, err := journal.AppendSettled(f.ctx, f.j, m, e); err != nil || at != 1 {
		t.Errorf("position %d, error %v; want 1", at, err)
	}
	if at, err := f.j.Last(f.ctx); err != nil || at != 2 {
		t.Errorf("last position %d, error %v; want 2", at, err)
	}
}

// TestAckLostOnTheWire cuts a writer off from its own acknowledgement: it may
// publish but hears no answer.
func TestAckLostOnTheWire(t *testing.T) {
	f := newFixture(t, natstest.Settings())
	m, e := journaltest.NewMessage("m1", journaltest.SubjectA), journal.Expect{}
	ctx, cancel := context.WithCancel(f.ctx)
	// The writer's context ends when the message is in the stream, whether or
	// not the acknowledgement is there.
	sub, err := f.nc.Subscribe(journaltest.SubjectA, func(*nats.Msg) { cancel() })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := f.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if at, err := f.j.Append(ctx, m, e); err != nil && !errors.Is(err, journal.ErrUnknown) || err == nil && at != 1 {
		t.Fatalf("position %d, error %v", at, err)
	}
	if at, err := journal.AppendSettled(f.ctx, f.j, m, e); err != nil || at != 1 {
		t.Errorf("position %d, error %v; want 1", at, err)
	}
	if at, err := f.j.Last(f.ctx); err != nil || at != 1 {
		t.Errorf("last position %d, error %v; want 1", at, err)
	}
}

// TestForeignMessagesAreRead: what another program wrote comes through as it is,
// also what looks like a message of the protocol, which a consumer drops.
func TestForeignMessagesAreRead(t *testing.T) {
	f := newFixture(t, natstest.Settings())
	e := journaltest.Fill(t, f.j, 2)
	raw := func(header nats.Header, data string) {
		t.Helper()
		if _, err := f.js.PublishMsg(f.ctx, &nats.Msg{Subject: journaltest.SubjectA, Header: header, Data: []byte(data)}); err != nil {
			t.Fatal(err)
		}
		e.Last++
	}
	raw(nil, "no header")
	raw(nats.Header{"x": {"1", "2"}, "X": {"3"}}, "repeated header")
	raw(nil, "")
	for _, status := range []string{"100", "404", "408", "409", "503", "400"} {
		raw(nats.Header{"Status": {status}, "Description": {"Consumer Deleted"}}, "")
		raw(nil, "after "+status)
	}
	for _, status := range []string{"100", "404", "100"} { // and several, at the end
		raw(nats.Header{"Status": {status}}, "")
	}
	for name, walk := range map[string]func(context.Context, events.Position, func(journal.Record) error) error{
		"replay": f.j.Replay, "follow": f.j.Follow,
	} {
		enough := errors.New("enough")
		var got []journal.Record
		err := walk(f.ctx, 1, func(r journal.Record) error {
			got = append(got, r)
			if len(got) == int(e.Last) && name == "follow" {
				return enough
			}
			return nil
		})
		if err != nil && !errors.Is(err, enough) || len(got) != int(e.Last) {
			t.Fatalf("%s: %d records, error %v", name, len(got), err)
		}
		for i, r := range got {
			if r.Position != events.Position(i+1) {
				t.Errorf("%s: record %d at position %d", name, i, r.Position)
			}
		}
		if h := got[3].Header; fmt.Sprint(h) != fmt.Sprint(map[string][]string{"x": {"1", "2"}, "X": {"3"}}) {
			t.Errorf("%s: header %v", name, h)
		}
		if got[2].Header != nil || len(got[4].Data) != 0 || got[13].Header["Status"][0] != "503" {
			t.Errorf("%s: records %+v", name, got)
		}
	}
}

// TestRefusals are answers that mean: not written.
func TestRefusals(t *testing.T) {
	m, e := journaltest.NewMessage("m", journaltest.SubjectA), journal.Expect{Last: 2, SubjectLast: 1}
	for name, change := range map[string]func(*natsjs.StreamConfig){
		"full":      func(c *natsjs.StreamConfig) { c.MaxMsgs = 2 },
		"bytes":     func(c *natsjs.StreamConfig) { c.MaxBytes = 700 },
		"too large": func(c *natsjs.StreamConfig) { c.MaxMsgSize = 100 },
		"sealed":    func(c *natsjs.StreamConfig) { c.Sealed = true },
		"subject full": func(c *natsjs.StreamConfig) {
			c.MaxMsgsPerSubject, c.DiscardNewPerSubject = 1, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, natstest.Settings())
			journaltest.Fill(t, f.j, 2)
			config := natstest.Settings().Stream()
			change(&config)
			if _, err := f.js.UpdateStream(f.ctx, config); err != nil {
				t.Fatal(err)
			}
			if _, err := f.j.Append(f.ctx, m, e); !errors.Is(err, journal.ErrRefused) || errors.Is(err, journal.ErrUnknown) {
				t.Errorf("error %v", err)
			}
			if at, err := f.j.Last(f.ctx); err != nil || at != 2 {
				t.Errorf("last position %d, error %v", at, err)
			}
		})
	}
}

// TestStreamGone: nothing answers for a stream that was deleted.
func TestStreamGone(t *testing.T) {
	f := newFixture(t, natstest.Settings())
	e := journaltest.Fill(t, f.j, 2)
	if err := f.js.DeleteStream(f.ctx, f.j.Stream()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.j.Append(f.ctx, journaltest.NewMessage("m", journaltest.SubjectA), e); !errors.Is(err, journal.ErrUnknown) {
		t.Errorf("append: %v", err)
	}
	if _, err := journal.Settle(f.ctx, f.j, journaltest.NewMessage("m", journaltest.SubjectA), e); !errors.Is(err, journal.ErrCorrupt) {
		t.Errorf("settle: %v", err)
	}
	if _, err := f.j.Last(f.ctx); !errors.Is(err, journal.ErrCorrupt) || errors.Is(err, journal.ErrNotFound) {
		t.Errorf("last: %v", err)
	}
	never := func(journal.Record) error { return errors.New("handled") }
	if err := f.j.Follow(f.ctx, 1, never); !errors.Is(err, journal.ErrCorrupt) {
		t.Errorf("follow: %v", err)
	}
	if _, err := jetstream.Open(f.ctx, f.nc, natstest.Settings()); !errors.Is(err, journal.ErrNotFound) || errors.Is(err, journal.ErrCorrupt) {
		t.Errorf("open: %v", err)
	}
	if _, err := jetstream.OpenReader(f.ctx, f.nc, natstest.Settings()); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("open reader: %v", err)
	}
}

// TestCreateIsExplicit: neither creating twice nor opening what is not there.
func TestCreateIsExplicit(t *testing.T) {
	f := newFixture(t, natstest.Settings())
	for range 2 {
		if _, err := jetstream.Create(f.ctx, f.nc, natstest.Settings()); !errors.Is(err, journal.ErrExists) {
			t.Errorf("create again: %v", err)
		}
	}
	if _, err := jetstream.Open(f.ctx, f.nc, jetstream.Config{Ledger: "other"}); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("open another: %v", err)
	}
	for _, config := range []jetstream.Config{
		{}, {Ledger: "A"}, {Ledger: "a.b"}, {Ledger: "a*"}, {Ledger: strings.Repeat("a", 33)},
		{Ledger: "a", Replicas: 2}, {Ledger: "a", Replicas: -1}, {Ledger: "a", Replicas: 7},
		{Ledger: "a", Duplicates: time.Millisecond}, {Ledger: "a", Duplicates: time.Hour}, {Ledger: "a", Duplicates: -1},
	} {
		if _, err := jetstream.Create(f.ctx, f.nc, config); !errors.Is(err, journal.ErrRefused) {
			t.Errorf("%+v: %v", config, err)
		}
	}
}
