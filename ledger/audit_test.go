package ledger_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/internal/natstest"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
)

var everyByte = flag.Bool("every-byte", false, "change every byte of a record of each type, not a sample")

// TestEveryByte changes single bytes of a stored record of every type and asks
// the book, which is what an audit asks: it must refuse the record and stay as
// it was. Each field of each type is changed at both ends and at a sample of
// places in between, or at all of them with -every-byte.
func TestEveryByte(t *testing.T) {
	t.Parallel()
	step := 29
	if *everyByte {
		step = 1
	}
	h := everything(t)
	book := ledger.NewBook("acme")
	seen := map[string]bool{}
	tried, byTree := 0, 0
	for _, r := range h.records {
		kind := r.Header["ce-type"][0]
		if !seen[kind] {
			seen[kind] = true
			size, root := book.Tree.Root()
			flips(r, step, func(f flip) {
				if h.monotone(f) {
					byTree++
					return
				}
				tried++
				if _, err := book.Take(f.record); err == nil {
					t.Fatalf("%s at %d: %s was taken", kind, r.Position, f.field)
				}
			})
			for name, values := range r.Header {
				without, twice, added := copyOf(r), copyOf(r), copyOf(r)
				delete(without.Header, name)
				twice.Header[name] = append(values[:1:1], values[0])
				added.Header[name+"x"] = values
				for what, c := range map[string]journal.Record{"missing": without, "twice": twice, "repeated under another name": added} {
					if _, err := book.Take(c); err == nil {
						t.Fatalf("%s at %d: taken with header %s %s", kind, r.Position, name, what)
					}
				}
			}
			if s, now := book.Tree.Root(); s != size || now != root || book.Next() != r.Position {
				t.Fatalf("%s at %d: a refused record changed the book", kind, r.Position)
			}
		}
		if _, err := book.Take(r); err != nil {
			t.Fatalf("position %d: %v", r.Position, err)
		}
	}
	if len(seen) != len(events.Types()) || byTree == 0 {
		t.Errorf("%d types seen of %d, %d flips left to the tree", len(seen), len(events.Types()), byTree)
	}
	t.Logf("%d changed bytes refused, %d of stamps left to the tree", tried, byTree)
}

// TestAuditNamesChangedField changes one byte of each field of events of both
// kinds of source, the oldest and the newest among them; the audit names the
// event, or the range where only the tree can tell.
func TestAuditNamesChangedField(t *testing.T) {
	t.Parallel()
	h := short(t, "acme", memory(t, "acme"))
	for _, at := range []int{0, 2, 22, len(h.records) - 1} {
		done := map[string]bool{}
		flips(h.records[at], 97, func(f flip) {
			field, _, _ := strings.Cut(f.field, " byte ")
			field += fmt.Sprint(h.monotone(f))
			if done[field] {
				return
			}
			done[field] = true
			t.Run(fmt.Sprint(at+1, " ", f.field), func(t *testing.T) {
				records := slices.Clone(h.records)
				records[at] = f.record
				fault := h.verify(t, records)
				switch {
				case !h.monotone(f):
					h.wantAt(t, fault, h.records[at].Position, strings.Join(f.record.Header["ce-id"], ""))
				case fault != nil && fault.Position != 0:
					// The stamp passed the next one's: that one goes back.
					h.wantAt(t, fault, h.records[at].Position+1, idOf(h.records[at+1]))
				default:
					h.wantRange(t, fault, h.records[at].Position)
				}
			})
		})
	}
}

// TestAuditNamesMovedEvents drops, repeats, swaps and inserts events, with the
// store's own marks left as they are and, as somebody with access to the store
// would do it, made anew.
func TestAuditNamesMovedEvents(t *testing.T) {
	t.Parallel()
	h := short(t, "acme", memory(t, "acme"))
	n := len(h.records)
	newest := h.heads[len(h.heads)-1]
	without := func(i int) []journal.Record { return slices.Delete(slices.Clone(h.records), i, i+1) }
	next := func(i int) int { // the next record of the same source
		for k := i + 1; k < n; k++ {
			if h.records[k].Subject == h.records[i].Subject {
				return k
			}
		}
		return -1
	}
	for i := range n {
		if i%7 != 0 && i < n-2 { // a sample, and the newest
			continue
		}
		t.Run(fmt.Sprint("drop ", i+1), func(t *testing.T) {
			fault := h.verify(t, without(i)) // a hole
			if i == n-1 {
				h.wantMissing(t, fault, events.Position(n), newest)
			} else {
				h.wantAt(t, fault, events.Position(i+2), idOf(h.records[i+1]))
			}
			fault = h.verify(t, h.relabel(without(i))) // closed up
			switch k := next(i); {
			case i == n-1:
				h.wantMissing(t, fault, events.Position(n), newest)
			case fault != nil && fault.Position == 0:
				// The rest of its source is gone or later than the next head.
				h.wantRange(t, fault, events.Position(i+1))
			case k < 0:
				t.Errorf("fault %+v, want a range", fault)
			default:
				h.wantAt(t, fault, events.Position(k), idOf(h.records[k]))
			}
		})
		t.Run(fmt.Sprint("repeat ", i+1), func(t *testing.T) {
			twice := slices.Insert(slices.Clone(h.records), i+1, h.records[i])
			h.wantAt(t, h.verify(t, twice), events.Position(i+1), idOf(h.records[i]))
			h.wantAt(t, h.verify(t, h.relabel(twice)), events.Position(i+2), idOf(h.records[i]))
		})
		if i == n-1 {
			continue
		}
		t.Run(fmt.Sprint("swap ", i+1), func(t *testing.T) {
			swapped := slices.Clone(h.records)
			swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
			h.wantAt(t, h.verify(t, swapped), swapped[i].Position, idOf(swapped[i]))
			h.wantSwapped(t, h.verify(t, h.relabel(swapped)), i)
			// With the stamps swapped back, independent events can change
			// places without anything but the tree to show it.
			stamps := h.relabel(swapped)
			a, b := stamps[i].Header[events.HeaderAdmitted], stamps[i+1].Header[events.HeaderAdmitted]
			stamps[i].Header[events.HeaderAdmitted], stamps[i+1].Header[events.HeaderAdmitted] = b, a
			fault := h.verify(t, stamps)
			if fault == nil || fault.Position == 0 && (int(fault.From) > i+2 || int(fault.To) < i+1) || fault.Position != 0 && int(fault.Position) < i+1 {
				t.Errorf("fault %+v of events %d and %d", fault, i+1, i+2)
			}
		})
	}
}

// wantSwapped fails unless the fault is what shows first after records i and
// i+1 changed places: the second, if it needs the first; a head between them;
// or the first, whose stamp now goes back.
func (h *history) wantSwapped(t *testing.T, f *ledger.Fault, i int) {
	t.Helper()
	first, second := h.records[i], h.records[i+1]
	switch {
	case first.Subject == second.Subject:
		h.wantAt(t, f, first.Position, idOf(second))
	case slices.ContainsFunc(h.sparse(), func(head evidence.Head) bool { return events.Position(head.Size) == first.Position }):
		h.wantRange(t, f, first.Position)
	default:
		h.wantAt(t, f, second.Position, idOf(first))
	}
}

// wantMissing fails unless the fault says that events up to a head are gone.
func (h *history) wantMissing(t *testing.T, f *ledger.Fault, from events.Position, head evidence.Head) {
	t.Helper()
	if f == nil || f.Position != 0 || f.From != from || f.To != events.Position(head.Size) || f.Reason == "" {
		t.Errorf("fault %+v, want %d to %d missing", f, from, head.Size)
	}
}

// TestAuditNamesInsertedEvents puts valid events where they do not belong, and
// well-signed events that nobody admitted.
func TestAuditNamesInsertedEvents(t *testing.T) {
	t.Parallel()
	h := short(t, "acme", memory(t, "acme"))
	other := short(t, "acme", memory(t, "acme"))
	n := len(h.records)
	for _, at := range []int{1, 2, n / 3, n / 2, n - 1} {
		insert := func(r journal.Record) []journal.Record {
			r = copyOf(r)
			r.Header[events.HeaderAdmitted] = h.records[at-1].Header[events.HeaderAdmitted]
			return h.relabel(slices.Insert(slices.Clone(h.records), at, r))
		}
		position := events.Position(at + 1)
		t.Run(fmt.Sprint("earlier event at ", position), func(t *testing.T) {
			h.wantAt(t, h.verify(t, insert(h.records[at/2])), position, idOf(h.records[at/2]))
		})
		if at+3 < n {
			t.Run(fmt.Sprint("later event at ", position), func(t *testing.T) {
				h.wantAt(t, h.verify(t, insert(h.records[n-1])), position, idOf(h.records[n-1]))
			})
		}
		t.Run(fmt.Sprint("a twin ledger's event at ", position), func(t *testing.T) {
			r := other.records[at]
			fault := h.verify(t, insert(r))
			if fault == nil || fault.Position == 0 && int(fault.To) < at {
				t.Errorf("fault %+v", fault)
			}
		})
		t.Run(fmt.Sprint("forged event at ", position), func(t *testing.T) {
			h.wantAt(t, h.verify(t, insert(h.forged(t, at, "stranger"))), position, forgedID)
		})
		t.Run(fmt.Sprint("unadmitted event at ", position), func(t *testing.T) {
			// Signed by a real actor on the real head: nothing is wrong with
			// it, but the event after it, or the tree, does not fit.
			if at < 20 {
				return // auditors have no key yet
			}
			fault := h.verify(t, insert(h.forged(t, at, ledgertest.Auditor)))
			switch {
			case fault == nil:
				t.Error("an inserted event was not found")
			case fault.Position != 0:
				if fault.Position <= position {
					t.Errorf("fault %+v before the event after %d", fault, position)
				}
			case fault.From > position || fault.To < position && int(fault.To) != n:
				t.Errorf("fault %+v, the event is at %d", fault, position)
			}
		})
	}
}

const forgedID = "01890a5d-ac96-774b-bcce-ffffffffffff"

// forged returns a finding on the head of TASK-1 as it was before a position,
// signed by an actor.
func (h *history) forged(t *testing.T, at int, actor string) journal.Record {
	t.Helper()
	book, audit, err := ledger.Verify(t.Context(), shelf{h.stream, h.records[:at]}, h.cast.Ledger, nil, 0)
	if err != nil || audit.Fault != nil {
		t.Fatalf("%+v, %v", audit.Fault, err)
	}
	e := h.cast.Draft(book.State, "TASK-1", actor, finding("forged"))
	e.ID = forgedID
	m := evidence.NewMessage(ledgertest.Seal(e, actor), 1)
	return journal.Record{Position: 1, Subject: m.Subject, Header: journal.StoredHeader(m, journal.Expect{}, h.stream), Data: m.Data}
}

// TestAuditStamps changes admission stamps so that they stay in order: the
// range between two heads is named, whichever event it is.
func TestAuditStamps(t *testing.T) {
	t.Parallel()
	h := short(t, "acme", memory(t, "acme"))
	for i := range h.records {
		if i%9 != 0 && i != len(h.records)-1 {
			continue
		}
		records := slices.Clone(h.records)
		records[i] = copyOf(records[i])
		stamp, err := strconv.ParseInt(records[i].Header[events.HeaderAdmitted][0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		records[i].Header[events.HeaderAdmitted] = []string{strconv.FormatInt(stamp+1, 10)}
		h.wantRange(t, h.verify(t, records), events.Position(i+1))
	}
}

// TestAuditHeads holds history against heads that are not its own.
func TestAuditHeads(t *testing.T) {
	t.Parallel()
	h := short(t, "acme", memory(t, "acme"))
	audit := func(heads ...evidence.Head) *ledger.Fault {
		_, a, err := ledger.Verify(t.Context(), shelf{h.stream, h.records}, "acme", heads, 0)
		if err != nil {
			t.Fatal(err)
		}
		return a.Fault
	}
	newest := h.heads[len(h.heads)-1]
	if f := audit(newest, h.heads[3], h.heads[30]); f != nil {
		t.Errorf("unsorted heads: %+v", f)
	}
	wrong := h.heads[30]
	wrong.Root[0] ^= 1
	if f := audit(newest, h.heads[3], wrong); f == nil || f.From != events.Position(h.heads[3].Size+1) || f.To != events.Position(wrong.Size) {
		t.Errorf("a wrong root: %+v", f)
	}
	foreign := newest
	foreign.Identity[0] ^= 1
	if f := audit(foreign); f == nil || f.To != events.Position(newest.Size) {
		t.Errorf("another ledger's head: %+v", f)
	}
	ahead := newest
	ahead.Size++
	if f := audit(ahead); f == nil || f.From != events.Position(newest.Size+1) || f.To != events.Position(ahead.Size) {
		t.Errorf("a head beyond the end: %+v", f)
	}
	_, a, err := ledger.Verify(t.Context(), shelf{h.stream, nil}, "acme", []evidence.Head{newest}, 0)
	if err != nil || a.Fault == nil || a.Fault.From != 1 {
		t.Errorf("an empty history: %+v, %v", a.Fault, err)
	}
	_, a, err = ledger.Verify(t.Context(), shelf{h.stream, h.records}, "acme", h.heads, 25)
	if err != nil || a.Fault != nil || a.Events != 25 {
		t.Errorf("up to 25: %+v, %v", a, err)
	}
}

// TestAuditJetStream audits what a real server stored: header for header what
// the memory journal has, and the same faults in it are found.
func TestAuditJetStream(t *testing.T) {
	t.Parallel()
	h := short(t, natstest.Ledger, natstest.Journal(t))
	mem := short(t, natstest.Ledger, memory(t, natstest.Ledger))
	for i, r := range h.records {
		want := mem.records[i]
		if r.Subject != want.Subject || !slices.Equal(slices.Sorted(maps.Keys(r.Header)), slices.Sorted(maps.Keys(want.Header))) {
			t.Fatalf("position %d: stored %s %v, in memory %s %v", i+1, r.Subject, r.Header, want.Subject, want.Header)
		}
	}
	for _, at := range []int{0, 20} {
		flips(h.records[at], 997, func(f flip) {
			if h.monotone(f) || !strings.HasSuffix(f.field, " byte 0 mask 0x1") {
				return
			}
			records := slices.Clone(h.records)
			records[at] = f.record
			h.wantAt(t, h.verify(t, records), h.records[at].Position, strings.Join(f.record.Header["ce-id"], ""))
		})
	}
	n := len(h.records)
	h.wantMissing(t, h.verify(t, h.records[:n-1]), events.Position(n), h.heads[len(h.heads)-1])
}
