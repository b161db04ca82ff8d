package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/projections"
)

// Fault is the first thing that an audit found wrong.
type Fault struct {
	// Position is the first bad event's. Where only the tree can tell, it is 0
	// and From to To is the range between two heads that holds the fault.
	Position events.Position `json:"position,omitzero"`
	From     events.Position `json:"from,omitzero"`
	To       events.Position `json:"to,omitzero"`
	EventID  string          `json:"eventId,omitzero"`
	Subject  string          `json:"subject,omitzero"`
	Reason   string          `json:"reason"`
}

// Audit is the result of verifying a whole history.
type Audit struct {
	Ledger   string              `json:"ledger"`
	Identity string              `json:"identity,omitzero"`
	Events   uint64              `json:"events"` // verified, before the fault if there is one
	Root     string              `json:"root,omitzero"`
	Heads    int                 `json:"heads"` // retained heads that hold
	Fault    *Fault              `json:"fault,omitempty"`
	Digests  projections.Digests `json:"digests"`
	// Suspect are events that are valid, and signed by a key which somebody
	// else may have used: each compromise with what it casts doubt on.
	Suspect []SuspectEvents `json:"suspect,omitempty"`
	// Notes are things that are odd and no fault, such as an author's clock
	// that runs ahead.
	Notes []string `json:"notes,omitempty"`
}

// maxNotes bounds the notes of an audit.
const maxNotes = 100

// clockSlack is how far an author's time may lie after its admission, in ns,
// before an audit notes it.
const clockSlack = 2_000_000_000

// Verify takes every message of a journal as if it were new: exact headers,
// signatures, chains, rules at each position, and the root at every head
// given. It stops at the first fault. The book holds the state up to there.
// An error means that the journal could not be read to its end.
func Verify(ctx context.Context, j journal.Reader, ledger string, heads []evidence.Head, upTo events.Position) (*Book, Audit, error) {
	heads = slices.Clone(heads)
	slices.SortFunc(heads, func(a, b evidence.Head) int {
		switch {
		case a.Size < b.Size:
			return -1
		case a.Size > b.Size:
			return 1
		}
		return 0
	})
	v := &verifier{book: NewBook(ledger), heads: heads, audit: Audit{Ledger: ledger}, upTo: upTo, signed: map[string][]events.Position{}}
	err := j.Replay(ctx, 1, v.take)
	switch {
	case err == nil || errors.Is(err, errStop):
	case errors.Is(err, journal.ErrCorrupt):
		v.fault(v.book.Next(), "", "", err.Error())
	default:
		return nil, Audit{}, fmt.Errorf("verify ledger %s: %w", ledger, err)
	}
	return v.book, v.finish(), nil
}

// errStop ends a replay early.
var errStop = errors.New("stop")

// verifier is an audit under way.
type verifier struct {
	book  *Book
	heads []evidence.Head // those not reached yet, in rising size
	good  uint64          // size of the last head that held
	audit Audit
	upTo  events.Position
	// signed are the positions of what each key signed.
	signed map[string][]events.Position
}

func (v *verifier) take(stored journal.Record) error {
	if v.upTo != 0 && stored.Position > v.upTo {
		return errStop
	}
	r, err := v.book.Take(stored)
	if err != nil {
		id := ""
		if values := stored.Header["ce-id"]; len(values) == 1 {
			id = values[0]
		}
		v.fault(stored.Position, id, stored.Subject, err.Error())
		return errStop
	}
	v.audit.Events++
	v.signed[r.Event.SignKeyID] = append(v.signed[r.Event.SignKeyID], r.Position)
	if t, err := events.ParseTime(r.Event.Time); err == nil && t.UnixNano() > r.Admitted+clockSlack && len(v.audit.Notes) < maxNotes {
		v.audit.Notes = append(v.audit.Notes, fmt.Sprintf("event %s at position %d: its time %s is after its admission", r.Event.ID, r.Position, r.Event.Time))
	}
	return v.compare()
}

// compare holds the tree against each head of the size just reached.
func (v *verifier) compare() error {
	size, root := v.book.Tree.Root()
	identity, err := v.book.Identity()
	if err != nil {
		return err
	}
	for len(v.heads) > 0 && v.heads[0].Size == size {
		h := v.heads[0]
		v.heads = v.heads[1:]
		if h.Identity != identity || h.Root != root {
			v.audit.Fault = &Fault{From: events.Position(min(v.good+1, size)), To: events.Position(size),
				Reason: fmt.Sprintf("the root at size %d is not that of the signed head: something in this range is not what was acknowledged", size)}
			return errStop
		}
		v.good = size
		v.audit.Heads++
	}
	return nil
}

func (v *verifier) fault(at events.Position, id, subject, reason string) {
	v.audit.Fault = &Fault{Position: at, EventID: id, Subject: subject, Reason: reason}
}

// finish looks for heads beyond the end: events that were acknowledged and
// are gone.
func (v *verifier) finish() Audit {
	size, root := v.book.Tree.Root()
	if v.audit.Fault == nil && len(v.heads) > 0 && v.upTo == 0 {
		v.audit.Fault = &Fault{From: events.Position(size + 1), To: events.Position(v.heads[len(v.heads)-1].Size),
			Reason: fmt.Sprintf("a signed head of size %d exists, but history ends at %d: the newest events are missing", v.heads[len(v.heads)-1].Size, size)}
	}
	if v.audit.Fault == nil && v.audit.Events == 0 {
		v.fault(1, "", "", "the history is empty: the genesis event is missing")
	}
	v.audit.Identity = v.book.State.Registry.Identity
	v.audit.Suspect = suspects(&v.book.State.Registry, v.signed)
	if size > 0 {
		v.audit.Root = root.String()
	}
	if d, err := v.book.State.Digests(); err == nil {
		v.audit.Digests = d
	}
	return v.audit
}
