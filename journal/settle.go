package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deedledger/deed/events"
)

// Outcome is what reading back says of an append.
type Outcome int

const (
	// Unsettled is the outcome beside an error.
	Unsettled Outcome = iota
	// Done: the message is at its position, with identical bytes.
	Done
	// Absent: nothing is at its position. A request that is still on its way
	// can arrive later, so this is no refusal: the identical bytes may be
	// appended again under the same expectation, and of the two at most one is
	// stored.
	Absent
	// Taken: another message is at its position. This one is not stored there
	// and never will be under this expectation.
	Taken
	// Altered is Taken by a message that has the same id but other bytes.
	Altered
)

// String returns the outcome's name in lower case.
func (o Outcome) String() string {
	switch o {
	case Done:
		return "done"
	case Absent:
		return "absent"
	case Taken:
		return "taken"
	case Altered:
		return "altered"
	default:
		return "unsettled"
	}
}

// Settle decides what became of appending m under e by reading position
// e.Last+1 back. It writes nothing. If the position cannot be read the error is
// ErrUnknown, or ErrClosed.
func Settle(ctx context.Context, j Journal, m Message, e Expect) (Outcome, error) {
	r, err := j.Read(ctx, e.Last+1)
	switch {
	case errors.Is(err, ErrNotFound):
		return Absent, nil
	case errors.Is(err, ErrClosed), errors.Is(err, ErrCorrupt):
		return Unsettled, fmt.Errorf("settle position %d: %w", e.Last+1, err)
	case err != nil:
		return Unsettled, fmt.Errorf("settle position %d: %w: %w", e.Last+1, ErrUnknown, err)
	case r.Holds(m, e, j.Stream()):
		return Done, nil
	case len(r.Header[HeaderID]) > 0 && r.Header[HeaderID][0] == m.ID:
		return Altered, nil
	default:
		return Taken, nil
	}
}

// AppendTries is how often AppendSettled sends a message at most.
const AppendTries = 6

// settleWait is how long AppendSettled waits after its first failed try; each
// further wait is twice as long. All together are 310 ms.
const settleWait = 10 * time.Millisecond

// AppendSettled appends m under e, and settles every outcome that is not plain:
// it reads the position back and, if nothing is there, appends the identical
// bytes again, [AppendTries] times at most. It returns
//
//   - the position: m is stored there, by this call or by an earlier one;
//   - ErrConflict: another message is there, or the expectation was never true.
//     The [ConflictError] has the last position where it could be read;
//   - ErrRefused: nothing was written; also for an id that the journal holds
//     elsewhere (then it is ErrDuplicate too);
//   - ErrUnknown: it still cannot be known. Only settling again can tell;
//   - ErrCorrupt, ErrClosed: as from Append.
//
// When ctx ends, or the journal is closed, before the outcome is known the error
// is ErrUnknown.
func AppendSettled(ctx context.Context, j Journal, m Message, e Expect) (events.Position, error) {
	var lost bool // an earlier try may still be on its way
	for try, wait := 1, settleWait; ; try, wait = try+1, 2*wait {
		at, err := j.Append(ctx, m, e)
		if err == nil {
			return at, nil
		}
		if errors.Is(err, ErrCorrupt) || !ambiguous(err) && !lost {
			return 0, err
		}
		outcome, serr := Settle(ctx, j, m, e)
		switch {
		case errors.Is(serr, ErrCorrupt):
			return 0, serr
		case outcome == Done:
			return e.Last + 1, nil
		case outcome == Taken, outcome == Altered:
			return 0, conflict(ctx, j, e, outcome == Altered)
		case outcome == Absent && !lost && !retriable(err):
			return 0, refusal(ctx, j, e, err)
		}
		lost = lost || errors.Is(err, ErrUnknown)
		if try < AppendTries && !errors.Is(serr, ErrClosed) && pause(ctx, wait) {
			continue
		}
		if outcome == Absent && errors.Is(err, ErrConflict) {
			return 0, conflict(ctx, j, e, false)
		}
		return 0, unknown(err, serr)
	}
}

// retriable reports whether the same bytes may succeed although nothing is at
// their position.
func retriable(err error) bool {
	if c, ok := errors.AsType[*ConflictError](err); ok {
		return c.InFlight
	}
	return errors.Is(err, ErrUnknown)
}

// refusal is the error for a message that is not at its position, and that the
// journal said, with err, it did not put there.
func refusal(ctx context.Context, j Journal, e Expect, err error) error {
	if errors.Is(err, ErrConflict) {
		return conflict(ctx, j, e, false)
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// ambiguous reports whether an append that returned err can have been stored.
func ambiguous(err error) bool {
	return errors.Is(err, ErrUnknown) || errors.Is(err, ErrConflict) || errors.Is(err, ErrDuplicate)
}

func conflict(ctx context.Context, j Journal, e Expect, sameID bool) error {
	c := &ConflictError{Expect: e, SameID: sameID}
	if last, err := j.Last(ctx); err == nil {
		c.Last = last
	}
	return c
}

// unknown is the error after the last try. Of an answer such as a conflict, and
// of why it could not be settled, only the text is kept: neither is the outcome.
func unknown(err, settling error) error {
	if !errors.Is(err, ErrUnknown) {
		err = fmt.Errorf("%w: %s", ErrUnknown, err.Error())
	}
	if settling != nil {
		err = fmt.Errorf("%w; %s", err, settling.Error())
	}
	return err
}

// pause waits, and reports false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
