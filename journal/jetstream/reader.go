package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
)

// RequestTimeout bounds one request to the server, whatever the caller's
// context allows: an answer that was lost does not come later.
const RequestTimeout = 5 * time.Second

// errStreamMissing is why the server does not know the stream. It is damage to
// a journal that was opened, and journal.ErrNotFound to one that is to be.
var errStreamMissing = fmt.Errorf("%w: the stream is gone", journal.ErrCorrupt)

// missing makes errStreamMissing the error of opening.
func missing(err error) error {
	if errors.Is(err, errStreamMissing) {
		return journal.ErrNotFound
	}
	return err
}

// Reader reads one ledger's stream. It needs no more rights than those of the
// embedded server's client user: it asks for the stream's info, gets messages
// through the stream's leader and makes ephemeral consumers.
type Reader struct {
	nc     *nats.Conn
	js     natsjs.JetStream
	api    string // prefix of JetStream's requests
	ledger string
	stream string

	// life ends with Close. It is here because it bounds not one call but all.
	life context.Context
	end  context.CancelFunc
}

var _ journal.Reader = (*Reader)(nil)

// OpenReader opens the ledger's stream for reading. journal.ErrNotFound if there
// is none, journal.ErrUnavailable if the server cannot be asked. It looks at no
// settings, so that a stream which has drifted can still be audited. The
// connection stays the caller's.
func OpenReader(ctx context.Context, nc *nats.Conn, c Config) (*Reader, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("open stream: %w", err)
	}
	r, err := newReader(nc, c)
	if err != nil {
		return nil, fmt.Errorf("open stream: %w", err)
	}
	if _, err := r.info(ctx); err != nil {
		return nil, fmt.Errorf("open stream %s: %w", r.stream, missing(err))
	}
	return r, nil
}

func newReader(nc *nats.Conn, c Config) (*Reader, error) {
	js, err := natsjs.NewWithAPIPrefix(nc, c.api())
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	return &Reader{
		nc:     nc,
		js:     js,
		api:    c.api(),
		ledger: c.Ledger,
		stream: journal.StreamName(c.Ledger),
		life:   life,
		end:    end,
	}, nil
}

// Stream returns DEED_<ledger>.
func (r *Reader) Stream() string { return r.stream }

// Last returns the stream's last sequence, as its leader has it. ErrCorrupt if
// the stream's own counts show that positions are missing.
func (r *Reader) Last(ctx context.Context) (events.Position, error) {
	last, err := r.last(ctx)
	if err != nil {
		return 0, fmt.Errorf("read last position: %w", err)
	}
	return last, nil
}

func (r *Reader) last(ctx context.Context) (events.Position, error) {
	info, err := r.info(ctx)
	if err != nil {
		return 0, err
	}
	if drifts := info.State.drifts(); len(drifts) > 0 {
		return 0, &DriftError{Stream: r.stream, Drifts: drifts}
	}
	return info.State.LastSeq, nil
}

// Read gets the message at a position from the stream's leader.
func (r *Reader) Read(ctx context.Context, at events.Position) (journal.Record, error) {
	rec, err := r.get(ctx, at)
	if err != nil {
		return journal.Record{}, fmt.Errorf("read position %d: %w", at, err)
	}
	return rec, nil
}

func (r *Reader) get(ctx context.Context, at events.Position) (journal.Record, error) {
	if at == 0 {
		return journal.Record{}, journal.ErrNotFound
	}
	var answer struct {
		Error   *natsjs.APIError `json:"error"`
		Message *struct {
			Subject  string          `json:"subject"`
			Sequence events.Position `json:"seq"`
			Header   []byte          `json:"hdrs"`
			Data     []byte          `json:"data"`
		} `json:"message"`
	}
	request := fmt.Appendf(nil, `{"seq":%d}`, at)
	if err := r.ask(ctx, r.api+".STREAM.MSG.GET."+r.stream, request, &answer); err != nil {
		return journal.Record{}, err
	}
	if answer.Error != nil {
		if answer.Error.ErrorCode == codeNoMessage {
			return journal.Record{}, journal.ErrNotFound
		}
		return journal.Record{}, apiError(answer.Error)
	}
	m := answer.Message
	if m == nil || m.Sequence != at {
		return journal.Record{}, fmt.Errorf("%w: the server answered with another message", journal.ErrCorrupt)
	}
	rec := journal.Record{Position: at, Subject: m.Subject, Data: m.Data}
	if len(m.Header) > 0 {
		header, err := nats.DecodeHeadersMsg(m.Header)
		if err != nil {
			return journal.Record{}, fmt.Errorf("%w: decode header: %w", journal.ErrCorrupt, err)
		}
		rec.Header = header
	}
	return rec, nil
}

// Close ends every Replay and Follow. It leaves the connection open.
func (r *Reader) Close() error {
	r.end()
	return nil
}

func (r *Reader) isClosed() bool { return r.life.Err() != nil }

// streamInfo is the part of the server's answer that a journal needs. The
// configuration stays as it came: see compareSettings.
type streamInfo struct {
	Error  *natsjs.APIError `json:"error"`
	Config json.RawMessage  `json:"config"`
	State  streamState      `json:"state"`
}

func (r *Reader) info(ctx context.Context) (*streamInfo, error) {
	var info streamInfo
	if err := r.ask(ctx, r.api+".STREAM.INFO."+r.stream, nil, &info); err != nil {
		return nil, err
	}
	if info.Error != nil {
		return nil, apiError(info.Error)
	}
	return &info, nil
}

// ask sends one request and decodes its answer. A request that got none is
// journal.ErrUnavailable.
func (r *Reader) ask(ctx context.Context, subject string, request []byte, answer any) error {
	if r.isClosed() {
		return journal.ErrClosed
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	msg, err := r.nc.RequestWithContext(ctx, subject, request)
	if err != nil {
		return fmt.Errorf("%w: %w", journal.ErrUnavailable, err)
	}
	if err := json.Unmarshal(msg.Data, answer); err != nil {
		return fmt.Errorf("%w: decode answer: %w", journal.ErrUnavailable, err)
	}
	return nil
}

// apiError makes the server's error to a read one of journal's.
func apiError(err *natsjs.APIError) error {
	if err.ErrorCode == codeStreamNotFound {
		return errStreamMissing
	}
	return fmt.Errorf("%w: %w", journal.ErrUnavailable, err)
}

// bounded returns ctx with a deadline no further away than RequestTimeout.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, RequestTimeout)
}
