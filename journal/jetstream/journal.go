package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
)

// Journal writes and reads one ledger's stream.
type Journal struct {
	*Reader
	config Config
}

var _ journal.Journal = (*Journal)(nil)

// Create makes the ledger's stream and opens it. journal.ErrExists if there is
// one already, with whatever settings; journal.ErrUnknown if it may or may not
// have been made; else as from Open.
//
// The connection stays the caller's; Close leaves it open. It should not keep
// what it cannot send (nats.ReconnectBufSize(-1)): a message that is sent after
// its Append returned is harmless, but late.
func Create(ctx context.Context, nc *nats.Conn, c Config) (*Journal, error) {
	j, err := newJournal(nc, c)
	if err != nil {
		return nil, fmt.Errorf("create stream: %w", err)
	}
	// The server takes creating a stream with the settings it has for success.
	switch _, err := j.info(ctx); {
	case err == nil:
		return nil, fmt.Errorf("create stream %s: %w", j.stream, journal.ErrExists)
	case !errors.Is(err, errStreamMissing):
		return nil, fmt.Errorf("create stream %s: %w", j.stream, err)
	}
	if _, err := j.js.CreateStream(ctx, c.Stream()); err != nil {
		if errors.Is(err, natsjs.ErrStreamNameAlreadyInUse) {
			return nil, fmt.Errorf("create stream %s: %w", j.stream, journal.ErrExists)
		}
		if _, ok := errors.AsType[*natsjs.APIError](err); ok {
			return nil, fmt.Errorf("create stream %s: %w: %w", j.stream, journal.ErrRefused, err)
		}
		return nil, fmt.Errorf("create stream %s: %w: %w", j.stream, journal.ErrUnknown, err)
	}
	return Open(ctx, nc, c)
}

// Open opens the ledger's stream for writing and reading. journal.ErrNotFound
// if there is none, [DriftError] if it is not what a ledger needs,
// journal.ErrUnavailable if the server cannot be asked.
func Open(ctx context.Context, nc *nats.Conn, c Config) (*Journal, error) {
	j, err := newJournal(nc, c)
	if err != nil {
		return nil, fmt.Errorf("open stream: %w", err)
	}
	if err := j.checkSettings(ctx); err != nil {
		return nil, fmt.Errorf("open stream %s: %w", j.stream, missing(err))
	}
	return j, nil
}

func newJournal(nc *nats.Conn, c Config) (*Journal, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	r, err := newReader(nc, c)
	if err != nil {
		return nil, err
	}
	return &Journal{Reader: r, config: c}, nil
}

// Append stores a message; see [journal.Journal] and the package comment. It
// waits [RequestTimeout] at most.
func (j *Journal) Append(ctx context.Context, m journal.Message, e journal.Expect) (events.Position, error) {
	if err := m.Validate(j.ledger, e); err != nil {
		return 0, fmt.Errorf("append %.80q: %w", m.ID, err)
	}
	if j.isClosed() {
		return 0, fmt.Errorf("append %s: %w", m.ID, journal.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("append %s: %w: %w", m.ID, journal.ErrRefused, err)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	msg := &nats.Msg{
		Subject: m.Subject,
		Header:  journal.StoredHeader(m, e, j.stream),
		Data:    m.Data,
	}
	ack, err := j.js.PublishMsg(ctx, msg, natsjs.WithRetryAttempts(0))
	if err == nil {
		err = checkAck(ack, m, e, j.stream)
	} else {
		err = classify(err, e)
	}
	if err != nil {
		return 0, fmt.Errorf("append %s: %w", m.ID, err)
	}
	return e.Last + 1, nil
}

// checkAck returns nil only for an acknowledgement of the wanted position.
func checkAck(ack *natsjs.PubAck, m journal.Message, e journal.Expect, stream string) error {
	at := events.Position(ack.Sequence)
	switch {
	case ack.Stream != stream:
		return fmt.Errorf("%w: stream %.80q acknowledged", journal.ErrCorrupt, ack.Stream)
	case ack.Duplicate:
		return &journal.DuplicateError{ID: m.ID, At: at}
	case at != e.Last+1:
		return fmt.Errorf("%w: acknowledged at position %d, expected %d", journal.ErrCorrupt, at, e.Last+1)
	default:
		return nil
	}
}
