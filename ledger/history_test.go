package ledger_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
)

// shelf is a journal as a reader finds it, whatever happened to it.
type shelf struct {
	stream  string
	records []journal.Record
}

func (s shelf) Stream() string { return s.stream }

func (s shelf) Last(context.Context) (events.Position, error) {
	return events.Position(len(s.records)), nil
}

func (s shelf) Read(_ context.Context, at events.Position) (journal.Record, error) {
	for _, r := range s.records {
		if r.Position == at {
			return r, nil
		}
	}
	return journal.Record{}, journal.ErrNotFound
}

func (s shelf) Replay(_ context.Context, from events.Position, handle func(journal.Record) error) error {
	for _, r := range s.records {
		if r.Position >= from {
			if err := handle(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s shelf) Follow(ctx context.Context, from events.Position, handle func(journal.Record) error) error {
	return s.Replay(ctx, from, handle)
}

func (s shelf) Close() error { return nil }

// history is a real log of every event type, with the heads of it.
type history struct {
	cast    *ledgertest.Cast
	stream  string
	records []journal.Record
	heads   []evidence.Head // one for each size
}

// everything is a history of every event type.
func everything(t *testing.T) *history {
	t.Helper()
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	h.Play(ledgertest.Everything())
	h.Play(ledgertest.Steering())
	h.Play(ledgertest.Keys())
	h.Do("", ledgertest.Founder, &events.Revocation{Actor: "rob", Reason: "left"})
	return read(h)
}

// short is a history of two tasks, told in turn, on a journal.
func short(t *testing.T, name string, j journal.Journal) *history {
	t.Helper()
	h := ledgertest.Found(t, name, j)
	h.Play(ledgertest.Interleave(ledgertest.Delivery("TASK-1"), ledgertest.Takeover("TASK-2")))
	return read(h)
}

// read takes the history of a house, which must be clean.
func read(h *ledgertest.House) *history {
	h.Audit()
	return &history{cast: h.Cast, stream: h.Journal.Stream(), records: h.Records(), heads: h.Heads()}
}

// sparse returns every tenth head and the last: what an auditor has.
func (h *history) sparse() []evidence.Head {
	var heads []evidence.Head
	for _, head := range h.heads {
		if head.Size%10 == 0 || head == h.heads[len(h.heads)-1] {
			heads = append(heads, head)
		}
	}
	return heads
}

// verify audits some records in place of the history's own.
func (h *history) verify(t *testing.T, records []journal.Record) *ledger.Fault {
	t.Helper()
	_, audit, err := ledger.Verify(t.Context(), shelf{h.stream, records}, h.cast.Ledger, h.sparse(), 0)
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	return audit.Fault
}

// wantAt fails unless the fault names a position and the id of the event there.
func (h *history) wantAt(t *testing.T, f *ledger.Fault, at events.Position, id string) {
	t.Helper()
	if f == nil || f.Position != at || f.EventID != id || f.Reason == "" || f.From != 0 || f.To != 0 {
		t.Errorf("fault %+v, want position %d, event %s", f, at, id)
	}
}

// wantRange fails unless the fault names the range between the two sparse
// heads around a position.
func (h *history) wantRange(t *testing.T, f *ledger.Fault, at events.Position) {
	t.Helper()
	from, to := events.Position(1), events.Position(0)
	for _, head := range h.sparse() {
		if events.Position(head.Size) < at {
			from = events.Position(head.Size) + 1
		} else if to == 0 {
			to = events.Position(head.Size)
		}
	}
	if f == nil || f.Position != 0 || f.From != from || f.To != to || f.Reason == "" {
		t.Errorf("fault %+v, want the range %d to %d", f, from, to)
	}
}

func idOf(r journal.Record) string { return r.Header["ce-id"][0] }

// clone returns records that can be changed without touching the originals.
func clone(records []journal.Record) []journal.Record {
	out := slices.Clone(records)
	for i := range out {
		out[i] = copyOf(out[i])
	}
	return out
}

func copyOf(r journal.Record) journal.Record {
	header := make(map[string][]string, len(r.Header))
	for name, values := range r.Header {
		header[name] = slices.Clone(values)
	}
	r.Header, r.Data = header, slices.Clone(r.Data)
	return r
}

// relabel gives records the positions and Nats-* headers that a store would
// have given them, had they been appended in this order: what somebody with
// full access to the store can do.
func (h *history) relabel(records []journal.Record) []journal.Record {
	out := clone(records)
	last := map[string]events.Position{}
	for i := range out {
		r := &out[i]
		r.Position = events.Position(i + 1)
		m := journal.Message{ID: r.Header[journal.HeaderID][0]}
		for name, value := range journal.Headers(m, journal.Expect{Last: r.Position - 1, SubjectLast: last[r.Subject]}, h.stream) {
			r.Header[name] = []string{value}
		}
		last[r.Subject] = r.Position
	}
	return out
}

// flip is one changed byte of a stored message.
type flip struct {
	field  string // what was changed, for the report
	record journal.Record
}

// patterns are the changes of a byte: its lowest bit, which keeps text
// printable, the bit of letter case, and all bits.
func patterns() [3]byte { return [3]byte{0x01, 0x20, 0xff} }

// flips calls try with every single-byte change of a record: its subject, its
// data, each header's name and value.
func flips(r journal.Record, step int, try func(flip)) {
	at := 0
	each := func(field, text string, put func(*journal.Record, string)) {
		for i := range len(text) {
			for n, mask := range patterns() {
				// Every position of a field is changed when step is 1; else
				// both ends and a sample, in at least two ways.
				if at++; step > 1 && i > 0 && i < len(text)-1 && at%step != 0 || step > 1 && n == 2 {
					continue
				}
				changed := []byte(text)
				changed[i] ^= mask
				c := copyOf(r)
				put(&c, string(changed))
				try(flip{fmt.Sprintf("%s byte %d mask %#x", field, i, mask), c})
			}
		}
	}
	each("subject", r.Subject, func(c *journal.Record, s string) { c.Subject = s })
	each("data", string(r.Data), func(c *journal.Record, s string) { c.Data = []byte(s) })
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		value := r.Header[name][0]
		each("name of "+name, name, func(c *journal.Record, s string) {
			delete(c.Header, name)
			c.Header[s] = append(c.Header[s], value)
		})
		each(name, value, func(c *journal.Record, s string) { c.Header[name] = []string{s} })
	}
}

// monotone reports whether a flip is a change of the admission stamp that
// leaves stamps in order: only the tree covers it.
func (h *history) monotone(f flip) bool {
	if !strings.HasPrefix(f.field, events.HeaderAdmitted+" ") {
		return false
	}
	stamp, err := strconv.ParseInt(f.record.Header[events.HeaderAdmitted][0], 10, 64)
	if err != nil || strconv.FormatInt(stamp, 10) != f.record.Header[events.HeaderAdmitted][0] {
		return false
	}
	before := int64(0)
	if i := f.record.Position - 1; i > 0 {
		before, _ = strconv.ParseInt(h.records[i-1].Header[events.HeaderAdmitted][0], 10, 64)
	}
	return stamp >= before
}
