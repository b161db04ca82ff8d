package journal

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/deedledger/deed/events"
)

// Memory is a journal that lives as long as its process. It sets the headers
// and keeps the limits of the real one, and refuses a repeated id for ever.
type Memory struct {
	ledger string

	mu      sync.Mutex // guards everything below
	records []Record   // records[i] is at position i+1
	last    map[string]events.Position
	ids     map[string]events.Position
	grown   chan struct{} // closed, and replaced, when a record is added
	closed  bool
	done    chan struct{} // closed by Close
}

var _ Journal = (*Memory)(nil)

// NewMemory returns an empty journal of a ledger. ErrRefused if the ledger's
// name is none.
func NewMemory(ledger string) (*Memory, error) {
	if err := CheckLedger(ledger); err != nil {
		return nil, fmt.Errorf("create journal: %w", err)
	}
	return &Memory{
		ledger: ledger,
		last:   map[string]events.Position{},
		ids:    map[string]events.Position{},
		grown:  make(chan struct{}),
		done:   make(chan struct{}),
	}, nil
}

// Reopen closes a journal and returns one that holds the same records: what a
// restart does to a journal that is kept on disk.
func (j *Memory) Reopen() *Memory {
	_ = j.Close()
	j.mu.Lock()
	defer j.mu.Unlock()
	return &Memory{
		ledger:  j.ledger,
		records: slices.Clone(j.records),
		last:    maps.Clone(j.last),
		ids:     maps.Clone(j.ids),
		grown:   make(chan struct{}),
		done:    make(chan struct{}),
	}
}

// Stream returns DEED_<ledger>.
func (j *Memory) Stream() string { return StreamName(j.ledger) }

// Append stores a message; see [Journal]. It is never ErrUnknown.
func (j *Memory) Append(ctx context.Context, m Message, e Expect) (events.Position, error) {
	if err := m.Validate(j.ledger, e); err != nil {
		return 0, fmt.Errorf("append %.80q: %w", m.ID, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return 0, fmt.Errorf("append %s: %w", m.ID, ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("append %s: %w: %w", m.ID, ErrRefused, err)
	}
	last := events.Position(len(j.records))
	if last != e.Last || j.last[m.Subject] != e.SubjectLast {
		return 0, fmt.Errorf("append %s: %w", m.ID, &ConflictError{Expect: e, Last: last})
	}
	if at, ok := j.ids[m.ID]; ok {
		return 0, fmt.Errorf("append %s: %w", m.ID, &DuplicateError{ID: m.ID, At: at})
	}
	r := Record{
		Position: last + 1,
		Subject:  m.Subject,
		Header:   StoredHeader(m, e, j.Stream()),
		Data:     bytes.Clone(m.Data),
	}
	j.records = append(j.records, r)
	j.last[m.Subject], j.ids[m.ID] = r.Position, r.Position
	close(j.grown)
	j.grown = make(chan struct{})
	return r.Position, nil
}

// Last returns the last position.
func (j *Memory) Last(ctx context.Context) (events.Position, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("read last position: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return 0, fmt.Errorf("read last position: %w", ErrClosed)
	}
	return events.Position(len(j.records)), nil
}

// Read returns the record at a position.
func (j *Memory) Read(ctx context.Context, at events.Position) (Record, error) {
	if err := ctx.Err(); err != nil {
		return Record{}, fmt.Errorf("read position %d: %w", at, err)
	}
	r, ok, _, err := j.next(at)
	if err == nil && !ok {
		err = ErrNotFound
	}
	if err != nil {
		return Record{}, fmt.Errorf("read position %d: %w", at, err)
	}
	return r, nil
}

// Replay hands over the records from a position to the last.
func (j *Memory) Replay(ctx context.Context, from events.Position, handle func(Record) error) error {
	last, err := j.Last(ctx)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	if err := CheckStart(from, last); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	for ; from <= last; from++ {
		r, err := j.Read(ctx, from)
		if err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		if err := handle(r); err != nil {
			return err
		}
	}
	return nil
}

// Follow hands over the records from a position on, for ever.
func (j *Memory) Follow(ctx context.Context, from events.Position, handle func(Record) error) error {
	last, err := j.Last(ctx)
	if err != nil {
		return fmt.Errorf("follow: %w", err)
	}
	if err := CheckStart(from, last); err != nil {
		return fmt.Errorf("follow: %w", err)
	}
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("follow: %w", err)
		}
		r, ok, grown, err := j.next(from)
		if err != nil {
			return fmt.Errorf("follow: %w", err)
		}
		if !ok {
			select {
			case <-grown:
			case <-j.done:
			case <-ctx.Done():
			}
			continue
		}
		if err := handle(r); err != nil {
			return err
		}
		from++
	}
}

// Close closes the journal.
func (j *Memory) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.closed {
		j.closed = true
		close(j.done)
	}
	return nil
}

// next returns a copy of the record at a position, or the channel that is
// closed when the next one is added.
func (j *Memory) next(at events.Position) (Record, bool, <-chan struct{}, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return Record{}, false, nil, ErrClosed
	}
	if at == 0 || at > events.Position(len(j.records)) {
		return Record{}, false, j.grown, nil
	}
	r := j.records[at-1]
	header := make(map[string][]string, len(r.Header))
	for k, v := range r.Header {
		header[k] = slices.Clone(v)
	}
	r.Header, r.Data = header, bytes.Clone(r.Data)
	return r, true, nil, nil
}

// CheckStart returns what [Reader] says of a start: ErrRefused for 0, and
// ErrCorrupt for one beyond the position after the last.
func CheckStart(from, last events.Position) error {
	if from == 0 {
		return fmt.Errorf("%w: position 0 is before the first", ErrRefused)
	}
	if from > last+1 {
		return fmt.Errorf("%w: asked from position %d, but the last is %d", ErrCorrupt, from, last)
	}
	return nil
}
