package journaltest

import (
	"context"
	"fmt"
	"sync"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
)

// Fault is what goes wrong with one append.
type Fault int

const (
	// None: nothing goes wrong.
	None Fault = iota
	// AckLost: the message is stored, its acknowledgement is lost.
	AckLost
	// RequestLost: the message never arrives.
	RequestLost
	// RequestLate: the message arrives after the writer gave up, after its
	// next read, which finds nothing, or else before its next append.
	RequestLate
	// DeliveredTwice: the message arrives twice and the second answer comes
	// back: a conflict with itself, as from a single server.
	DeliveredTwice
	// AnsweredDuplicate: the message arrives twice and the second answer is
	// duplicate:true, as from a replicated stream.
	AnsweredDuplicate
	// InFlight: the message is not taken since another append is on its way:
	// code 10164 of a replicated stream, where nothing has changed.
	InFlight
	// StoredInFlight: an earlier copy of the message is what was on its way;
	// the answer is 10164 and the message is stored.
	StoredInFlight
	// Refused: the journal takes no message.
	Refused
	// Foreign: another writer's message takes the position first.
	Foreign
	// ForeignSameID: as Foreign, and it has the same id.
	ForeignSameID
)

// Faulty is a journal whose appends and reads go wrong as planned. It may be
// put before any journal; reads and appends may be made at the same time.
type Faulty struct {
	journal.Journal

	mu    sync.Mutex // guards what is below
	plan  []Fault
	reads int    // that fail
	read  func() // called before each read
	late  func() // delivers what is late
	tries int
}

// NewFaulty returns a journal where nothing goes wrong yet.
func NewFaulty(j journal.Journal) *Faulty { return &Faulty{Journal: j} }

// Plan sets what goes wrong with the next appends, in order.
func (f *Faulty) Plan(faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan = faults
}

// FailReads makes the next n reads fail with journal.ErrUnavailable.
func (f *Faulty) FailReads(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads = n
}

// OnRead makes every read call a function first.
func (f *Faulty) OnRead(call func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read = call
}

// Tries returns how many appends were made so far.
func (f *Faulty) Tries() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tries
}

// Append appends as planned.
func (f *Faulty) Append(ctx context.Context, m journal.Message, e journal.Expect) (events.Position, error) {
	f.arrive()
	fault := f.next()
	inner := func() (events.Position, error) { return f.Journal.Append(ctx, m, e) }
	lost := fmt.Errorf("append %s: %w: planned", m.ID, journal.ErrUnknown)
	switch fault {
	case AckLost:
		if _, err := inner(); err != nil {
			return 0, err
		}
		return 0, lost
	case RequestLost:
		return 0, lost
	case RequestLate:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.late = func() { _, _ = f.Journal.Append(context.WithoutCancel(ctx), m, e) }
		return 0, lost
	case DeliveredTwice:
		if _, err := inner(); err != nil {
			return 0, err
		}
		return inner()
	case AnsweredDuplicate:
		at, err := inner()
		if err != nil {
			return 0, err
		}
		return 0, &journal.DuplicateError{ID: m.ID, At: at}
	case StoredInFlight:
		if _, err := inner(); err != nil {
			return 0, err
		}
		return 0, &journal.ConflictError{Expect: e, InFlight: true}
	case InFlight:
		return 0, &journal.ConflictError{Expect: e, InFlight: true}
	case Refused:
		return 0, fmt.Errorf("append %s: %w: planned", m.ID, journal.ErrRefused)
	case Foreign, ForeignSameID:
		other := m
		other.Data = append([]byte("other "), m.Data...)
		if fault == Foreign {
			other.ID = "other-" + m.ID
		}
		if _, err := f.Journal.Append(ctx, other, e); err != nil {
			return 0, err
		}
	}
	return inner()
}

// Read reads, or fails as planned.
func (f *Faulty) Read(ctx context.Context, at events.Position) (journal.Record, error) {
	f.mu.Lock()
	fail, call := f.reads > 0, f.read
	if fail {
		f.reads--
	}
	f.mu.Unlock()
	if call != nil {
		call()
	}
	if fail {
		return journal.Record{}, fmt.Errorf("read position %d: %w: planned", at, journal.ErrUnavailable)
	}
	r, err := f.Journal.Read(ctx, at)
	f.arrive()
	return r, err
}

func (f *Faulty) next() Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tries++
	if len(f.plan) == 0 {
		return None
	}
	fault := f.plan[0]
	f.plan = f.plan[1:]
	return fault
}

// arrive delivers what was late: after a read, so that the reader still finds
// nothing.
func (f *Faulty) arrive() {
	f.mu.Lock()
	late := f.late
	f.late = nil
	f.mu.Unlock()
	if late != nil {
		late()
	}
}
