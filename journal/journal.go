package journal

import (
	"context"

	"github.com/deedledger/deed/events"
)

// Message is what a writer wants stored. [Message.Validate] states the limits.
type Message struct {
	// ID is unique per message; Deed uses the event's hash in hex. It is stored
	// as the header Nats-Msg-Id.
	ID string
	// Subject is the one literal subject of the message's source.
	Subject string
	// Header holds the headers besides those that the journal sets itself. The
	// order in which they are stored is the journal's business.
	Header map[string]string
	// Data is the body, at least one byte.
	Data []byte
}

// Record is a stored message. It belongs to whoever received it.
type Record struct {
	Position events.Position
	Subject  string
	// Header holds every stored header, the Nats-* ones too. A header that
	// occurs twice has two values, so that a reader can refuse it. Names keep
	// their case. It is nil if the message was stored without any.
	Header map[string][]string
	Data   []byte
}

// Expect is the compare-and-swap under which a message is appended. A zero
// position means that there is none yet.
type Expect struct {
	// Last is the journal's last position.
	Last events.Position
	// SubjectLast is the last position of the message's subject.
	SubjectLast events.Position
}

// Reader reads one journal. Its methods may be called at the same time.
//
// Every method returns [ErrClosed] after Close and [ErrUnavailable] if the
// journal cannot be asked now.
type Reader interface {
	// Stream returns the journal's name, which every stored message carries in
	// its header Nats-Expected-Stream.
	Stream() string

	// Last returns the journal's last position, 0 if it is empty. A position
	// whose Append returned before the call is never missed. ErrCorrupt if the
	// journal says of itself that positions are gone.
	Last(ctx context.Context) (events.Position, error)

	// Read returns the record at a position. ErrNotFound if there is none.
	Read(ctx context.Context, at events.Position) (Record, error)

	// Replay calls handle with every record from a position to the last as of
	// the call, in order and in the caller's goroutine, and returns nil; the
	// position after the last one is a valid start. It returns the error of
	// handle as it is. ErrRefused for position 0; ErrCorrupt for a gap, and for
	// a start further on: then the caller knows a longer history than this.
	Replay(ctx context.Context, from events.Position, handle func(Record) error) error

	// Follow is Replay that does not return at the last record but waits for
	// more, until ctx ends (its error is returned), handle returns an error, or
	// the journal is closed. It outlives interruptions of the connection.
	Follow(ctx context.Context, from events.Position, handle func(Record) error) error

	// Close releases the reader and ends every Replay and Follow. What was
	// stored stays. A second Close does nothing.
	Close() error
}

// Journal reads and writes one journal.
type Journal interface {
	Reader

	// Append stores a message at position e.Last+1, which it returns, or
	// returns an error:
	//
	//   - ErrRefused: nothing was written and nothing will be; the message
	//     breaks a limit, or the journal takes no messages.
	//   - ErrConflict ([ConflictError]): the expectation does not hold now. It
	//     may not hold because an earlier try of this very message succeeded:
	//     Settle tells.
	//   - ErrDuplicate ([DuplicateError]): the journal stored a message of this
	//     id before. It may be this one: Settle tells.
	//   - ErrUnknown: it may be stored, now or later. A ctx that ends while the
	//     message is on its way comes back as this.
	//   - ErrCorrupt: the journal answered what it cannot answer. Stop.
	//   - ErrClosed: nothing was written.
	//
	// A message is durable when Append has returned, as far as the journal's
	// settings promise durability at all. Writers that race are safe, but a
	// writer has one append in flight: a second one, sent on the guess that the
	// first succeeds, can succeed without it.
	Append(ctx context.Context, m Message, e Expect) (events.Position, error)
}
