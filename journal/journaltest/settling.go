package journaltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
)

func testSettle(t *testing.T, open Open) {
	j := open()
	next := Fill(t, j, 3)
	base := NewMessage("fill-3", SubjectA)
	baseExpect := journal.Expect{Last: 2, SubjectLast: 1}
	for _, test := range []struct {
		name   string
		change func(*journal.Message, *journal.Expect)
		want   journal.Outcome
	}{
		{"identical", func(*journal.Message, *journal.Expect) {}, journal.Done},
		{"other data", func(m *journal.Message, _ *journal.Expect) { m.Data = []byte("{}") }, journal.Altered},
		{"other header", func(m *journal.Message, _ *journal.Expect) { m.Header["Deed-Admitted"] = "18" }, journal.Altered},
		{"header more", func(m *journal.Message, _ *journal.Expect) { m.Header["x"] = "x" }, journal.Altered},
		{"header less", func(m *journal.Message, _ *journal.Expect) { delete(m.Header, "ce-type") }, journal.Altered},
		{"other subject", func(m *journal.Message, _ *journal.Expect) { m.Subject = SubjectB }, journal.Altered},
		{"other expectation", func(_ *journal.Message, e *journal.Expect) { e.SubjectLast = 2 }, journal.Altered},
		{"other id", func(m *journal.Message, _ *journal.Expect) { m.ID = "other" }, journal.Taken},
		{"other position", func(_ *journal.Message, e *journal.Expect) { e.Last = 0; e.SubjectLast = 0 }, journal.Taken},
		{"nothing there", func(_ *journal.Message, e *journal.Expect) { *e = next }, journal.Absent},
	} {
		m, e := NewMessage(base.ID, base.Subject), baseExpect
		test.change(&m, &e)
		if got, err := journal.Settle(Within(t), j, m, e); err != nil || got != test.want {
			t.Errorf("%s: outcome %v, error %v; want %v", test.name, got, err, test.want)
		}
	}
	f := NewFaulty(j)
	f.FailReads(1)
	got, err := journal.Settle(Within(t), f, base, baseExpect)
	wantErrors(t, err, journal.ErrUnknown, journal.ErrUnavailable)
	if got != journal.Unsettled {
		t.Errorf("outcome %v beside an error", got)
	}
}

func testAppendSettled(t *testing.T, open Open) {
	many := slices.Repeat([]Fault{RequestLost}, journal.AppendTries)
	busy := slices.Repeat([]Fault{InFlight}, journal.AppendTries)
	refused := append([]Fault{RequestLost}, slices.Repeat([]Fault{Refused}, journal.AppendTries)...)
	j := open()
	last := events.Position(0)
	for _, test := range []struct {
		name   string
		faults []Fault
		reads  int // that fail
		want   error
		stored bool
		tries  int
	}{
		{"plain", nil, 0, nil, true, 1},
		{"ack lost", []Fault{AckLost}, 0, nil, true, 1},
		{"ack lost, then reads fail", []Fault{AckLost}, 2, nil, true, 3},
		{"request lost", []Fault{RequestLost}, 0, nil, true, 2},
		{"request lost twice, then ack lost", []Fault{RequestLost, RequestLost, AckLost}, 0, nil, true, 3},
		{"request late", []Fault{RequestLate}, 0, nil, true, 2},
		{"request late, retry lost", []Fault{RequestLate, RequestLost}, 0, nil, true, 2},
		{"delivered twice", []Fault{DeliveredTwice}, 0, nil, true, 1},
		{"answered duplicate", []Fault{AnsweredDuplicate}, 0, nil, true, 1},
		{"in flight, then free", []Fault{InFlight}, 0, nil, true, 2},
		{"in flight was ours", []Fault{StoredInFlight}, 0, nil, true, 1},
		{"always in flight", busy, 0, journal.ErrConflict, false, journal.AppendTries},
		{"foreign first", []Fault{Foreign}, 0, journal.ErrConflict, true, 1},
		{"foreign first, other bytes under our id", []Fault{ForeignSameID}, 0, journal.ErrConflict, true, 1},
		{"request lost, then foreign", []Fault{RequestLost, Foreign}, 0, journal.ErrConflict, true, 2},
		{"refused", []Fault{Refused}, 0, journal.ErrRefused, false, 1},
		{"request lost, then refused", []Fault{RequestLost, Refused}, 0, nil, true, 3},
		{"request late, then refused", []Fault{RequestLate, Refused}, 0, nil, true, 2},
		{"request lost, then always refused", refused, 0, journal.ErrUnknown, false, journal.AppendTries},
		{"always lost", many, 0, journal.ErrUnknown, false, journal.AppendTries},
		{"ack lost, never readable", []Fault{AckLost}, journal.AppendTries, journal.ErrUnknown, true, journal.AppendTries},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := NewFaulty(j)
			f.Plan(test.faults...)
			f.FailReads(test.reads)
			m := NewMessage(fmt.Sprintf("settled-after-%d-%s", last, t.Name()), SubjectA)
			m.ID = fmt.Sprintf("%x", m.ID)[:64]
			e := journal.Expect{Last: last, SubjectLast: last}
			at, err := journal.AppendSettled(Within(t), f, m, e)
			if test.want == nil {
				if err != nil || at != e.Last+1 {
					t.Errorf("position %d, error %v", at, err)
				}
				if r := mustRead(t, j, e.Last+1); !r.Holds(m, e, j.Stream()) {
					t.Errorf("record %+v", r)
				}
			} else {
				wantErrors(t, err, test.want)
				if at != 0 {
					t.Errorf("position %d beside an error", at)
				}
				checkConflict(t, err, test.faults, e)
			}
			if test.stored {
				last++
			}
			if f.Tries() != test.tries {
				t.Errorf("%d tries, want %d", f.Tries(), test.tries)
			}
			wantLast(t, j, last)
		})
	}
}

// checkConflict checks what a conflict tells the caller.
func checkConflict(t *testing.T, err error, faults []Fault, e journal.Expect) {
	t.Helper()
	c, ok := errors.AsType[*journal.ConflictError](err)
	if !errors.Is(err, journal.ErrConflict) || !ok {
		return
	}
	foreign := faults[len(faults)-1] == Foreign || faults[len(faults)-1] == ForeignSameID
	if foreign && c.Last != e.Last+1 || !foreign && c.Last != e.Last {
		t.Errorf("conflict after %+v names last position %d", e, c.Last)
	}
	if c.SameID != (faults[len(faults)-1] == ForeignSameID) {
		t.Errorf("conflict with same id = %v", c.SameID)
	}
}

// testAppendSettledDuplicateID: an id that is elsewhere is never reported as
// done, neither there nor here.
func testAppendSettledDuplicateID(t *testing.T, open Open) {
	j := open()
	Fill(t, j, 2)
	f := NewFaulty(j)
	m, e := NewMessage("fill-1", SubjectB), journal.Expect{Last: 2, SubjectLast: 2}
	at, err := journal.AppendSettled(Within(t), f, m, e)
	wantErrors(t, err, journal.ErrRefused, journal.ErrDuplicate)
	if at != 0 || f.Tries() != 1 {
		t.Errorf("position %d after %d tries", at, f.Tries())
	}
	wantLast(t, j, 2)
}

// cut is a journal that is closed right after a message was stored.
type cut struct{ journal.Journal }

func (c cut) Append(ctx context.Context, m journal.Message, e journal.Expect) (events.Position, error) {
	if _, err := c.Journal.Append(ctx, m, e); err != nil {
		return 0, err
	}
	_ = c.Close()
	return 0, fmt.Errorf("append %s: %w: planned", m.ID, journal.ErrUnknown)
}

// testAppendSettledCut: what cannot be settled any more is unknown, and settling
// it after a restart finds it.
func testAppendSettledCut(t *testing.T, open Open) {
	m := NewMessage("cut", SubjectA)
	_, err := journal.AppendSettled(Within(t), cut{open()}, m, journal.Expect{})
	wantErrors(t, err, journal.ErrUnknown)
	j := open()
	if got, err := journal.Settle(Within(t), j, m, journal.Expect{}); err != nil || got != journal.Done {
		t.Errorf("outcome %v, error %v", got, err)
	}
	if at, err := journal.AppendSettled(Within(t), j, m, journal.Expect{}); err != nil || at != 1 {
		t.Errorf("position %d, error %v", at, err)
	}
	wantLast(t, j, 1)

	// A context that ends while the message is on its way.
	ctx, cancel := context.WithCancel(t.Context())
	f := NewFaulty(j)
	f.Plan(AckLost)
	f.OnRead(cancel)
	m, e := NewMessage("cancelled", SubjectA), journal.Expect{Last: 1, SubjectLast: 1}
	_, err = journal.AppendSettled(ctx, f, m, e)
	wantErrors(t, err, journal.ErrUnknown)
	if got, err := journal.Settle(Within(t), j, m, e); err != nil || got != journal.Done {
		t.Errorf("outcome %v, error %v", got, err)
	}
}
