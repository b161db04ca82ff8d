package journal

import (
	"errors"
	"fmt"

	"github.com/deedledger/deed/events"
)

// The outcomes that callers branch on. See [Journal] for what each one means
// for a write.
var (
	ErrConflict    = errors.New("journal: expectation does not hold")
	ErrDuplicate   = errors.New("journal: message id was stored before")
	ErrUnknown     = errors.New("journal: outcome unknown")
	ErrRefused     = errors.New("journal: refused")
	ErrCorrupt     = errors.New("journal: history is damaged")
	ErrNotFound    = errors.New("journal: not found")
	ErrExists      = errors.New("journal: exists already")
	ErrUnavailable = errors.New("journal: cannot be asked now")
	ErrClosed      = errors.New("journal: closed")
)

// ConflictError says that an expectation does not hold. It is [ErrConflict].
type ConflictError struct {
	// Expect is what did not hold.
	Expect Expect
	// Last is the journal's last position, or 0 where it is not known. It may
	// have grown since.
	Last events.Position
	// InFlight reports that another append of the same subject was on its way,
	// so that the expectation may hold all the same.
	InFlight bool
	// SameID reports that the message at the wanted position has the id of the
	// one that was to be appended, but other bytes.
	SameID bool
}

// Error names the expectation and, where known, the last position.
func (e *ConflictError) Error() string {
	s := fmt.Sprintf("%v: expected last position %d, of the subject %d", ErrConflict, e.Expect.Last, e.Expect.SubjectLast)
	if e.Last > 0 {
		s += fmt.Sprintf("; the last position is %d", e.Last)
	}
	if e.SameID {
		s += "; another message with the same id is there"
	}
	return s
}

// Is reports whether target is ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// DuplicateError says that a message was not stored because its id was stored
// before. It is [ErrDuplicate].
type DuplicateError struct {
	ID string
	// At is where the journal says that id was stored.
	At events.Position
}

// Error names the id and its position.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("%v: %q at position %d", ErrDuplicate, e.ID, e.At)
}

// Is reports whether target is ErrDuplicate.
func (e *DuplicateError) Is(target error) bool { return target == ErrDuplicate }
