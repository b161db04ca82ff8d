// Package client is a ledger's service as its users see it: submit a signed
// event, ask what the state is, follow the stream.
//
// A submission has four answers. Done is an [ledger.Ack] whose signed head
// continues the head that this client saw before. Refused and conflict wrote
// nothing. Unknown is settled here as far as it can be: the client looks for
// its own event id and submits the identical bytes again, which changes
// nothing if they are there already. What stays unknown is returned as such.
package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/signer"
	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
)

// Config says which ledger to talk to, and where.
type Config struct {
	URL      string
	User     string
	Password string
	// Access is used instead of User and Password where User is empty.
	Access Access
	Ledger string
	// Identity and Service pin the ledger: the eventhash of its genesis and
	// the key that signs its heads.
	Identity events.Hash
	Service  signer.PublicKey
	// HeadPath is the file that remembers the newest head; "" remembers
	// nothing between processes.
	HeadPath string
	// Timeout bounds one request. Default ten seconds.
	Timeout time.Duration
	// AtLeast lets every query wait until the answer reflects this position,
	// for at most Patience; default thirty seconds.
	AtLeast  events.Position
	Patience time.Duration
}

// Client talks to the service of one ledger.
type Client struct {
	cfg  Config
	conn *nats.Conn
	head evidence.HeadFile
	// seen is the size of the newest head that this client saw.
	seen atomic.Uint64
}

// errUnavailable is the error of a service that cannot be reached.
var errUnavailable = errors.New("service does not answer")

// Dial connects to a service. An error is an unavailable [*ledger.Refusal], or
// a refused one when the service does not take the credential.
func Dial(cfg Config) (*Client, error) {
	if cfg.Patience == 0 {
		cfg.Patience = 30 * time.Second
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	conn, err := connect(cfg)
	if errors.Is(err, ErrAccess) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	if errors.Is(err, nats.ErrAuthorization) {
		return nil, &ledger.Refusal{Class: ledger.Refused, Code: ledger.CodeRule, Rule: "connection", Text: "the service does not take this credential"}
	}
	if Unverified(err) {
		return nil, &ledger.Refusal{Class: ledger.Refused, Code: ledger.CodeRule, Rule: "connection", Text: "the certificate of NATS is not one that this side trusts"}
	}
	if err != nil {
		return nil, unavailable(err)
	}
	if cfg.HeadPath != "" {
		if err := os.MkdirAll(filepath.Dir(cfg.HeadPath), 0o700); err != nil {
			conn.Close()
			return nil, fmt.Errorf("remember heads: %w", err)
		}
	}
	c := &Client{cfg: cfg, conn: conn, head: evidence.NewHeadFile(cfg.HeadPath, cfg.Ledger, cfg.Identity, cfg.Service)}
	if known, err := c.known(); err == nil { // whoever needs it to be good reads it again
		c.seen.Store(known.Size)
	}
	return c, nil
}

func connect(cfg Config) (*nats.Conn, error) {
	options := []nats.Option{nats.Name("deed client"), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})}
	if cfg.User != "" {
		options = append(options, nats.UserInfo(cfg.User, cfg.Password))
	}
	return cfg.Access.Connect(cfg.URL, options...)
}

// Close ends the connection.
func (c *Client) Close() { c.conn.Close() }

func unavailable(err error) *ledger.Refusal {
	return &ledger.Refusal{Class: ledger.Unavailable, Code: ledger.CodeBusy, Rule: "client", Text: fmt.Errorf("%w: %w", errUnavailable, err).Error()}
}

// unknown answers for a request that may have reached the service.
func unknown(err error) *ledger.Refusal {
	return &ledger.Refusal{Class: ledger.Unknown, Code: ledger.CodeBusy, Rule: "client", Text: err.Error()}
}

// request sends one request and decodes the reply. A request that got no
// reply, or one that no service sends, is an unknown [*ledger.Refusal] when it
// may have reached the service.
func (c *Client) request(ctx context.Context, m *nats.Msg, out any) error {
	return c.requestWithin(ctx, c.cfg.Timeout, m, out)
}

// requestWithin is request with another bound on the time.
func (c *Client) requestWithin(ctx context.Context, timeout time.Duration, m *nats.Msg, out any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if m.Header == nil {
		m.Header = nats.Header{}
	}
	if m.Header.Get(protocol.HeaderKnown) == "" {
		m.Header.Set(protocol.HeaderKnown, strconv.FormatUint(c.seen.Load(), 10))
	}
	reply, err := c.conn.RequestMsgWithContext(ctx, m)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return unavailable(err)
	case errors.Is(err, nats.ErrMaxPayload):
		return &ledger.Refusal{Class: ledger.Refused, Code: ledger.CodeLimit, Rule: "client", Text: fmt.Sprintf("request of %d bytes: %v", len(m.Data), err)}
	case err != nil:
		return unknown(fmt.Errorf("no answer: %w", err))
	}
	err = protocol.Decode(reply.Data, reply.Header.Get(protocol.HeaderEncoding) == "gzip", out)
	if errors.Is(err, protocol.ErrReply) {
		return unknown(err)
	}
	return err
}

// ask sends a query.
func (c *Client) ask(ctx context.Context, query string, q protocol.Ask, out any) error {
	q.AtLeast = c.cfg.AtLeast
	body, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("ask %s: %w", query, err)
	}
	err = c.askUntil(ctx, &nats.Msg{Subject: protocol.SubjectQuery(c.cfg.Ledger, query), Data: body}, out)
	if r, ok := errors.AsType[*ledger.Refusal](err); ok && r.Class == ledger.Unknown {
		return unavailable(errors.New(r.Text)) // a query changes nothing
	}
	return err
}

// Tries of a submission whose outcome stays unknown, and the pause between.
const (
	submitTries = 5
	submitPause = 300 * time.Millisecond
)

// Submit submits a signed event and returns its acknowledgement, after the
// head in it was checked and remembered. Errors are [*ledger.Refusal]s;
// evidence.ErrRollback or ErrForked when the head does not continue what this
// client saw before.
func (c *Client) Submit(ctx context.Context, e events.Event, dryRun bool) (ledger.Ack, error) {
	var open *ledger.Refusal // a try whose outcome nobody told
	for try := 1; ; try++ {
		ack, err := c.submitOnce(ctx, e, dryRun)
		r, ok := errors.AsType[*ledger.Refusal](err)
		if !ok || r.Class != ledger.Unknown && r.Class != ledger.Unavailable {
			return ack, err
		}
		if r.Class == ledger.Unknown {
			open = r
		}
		if open != nil {
			err = open // that a later try wrote nothing does not settle this one
		}
		if try == submitTries {
			return ledger.Ack{}, err
		}
		// The very same bytes again: if they are in the ledger, the answer is
		// their place, and nothing is written twice.
		select {
		case <-ctx.Done():
			return ledger.Ack{}, err
		case <-time.After(submitPause):
		}
	}
}

func (c *Client) submitOnce(ctx context.Context, e events.Event, dryRun bool) (ledger.Ack, error) {
	known, err := c.known()
	if err != nil {
		return ledger.Ack{}, err
	}
	m := nats.NewMsg(protocol.SubjectSubmit(c.cfg.Ledger))
	m.Data = e.Export()
	m.Header.Set(protocol.HeaderKnown, strconv.FormatUint(known.Size, 10))
	if dryRun {
		m.Header.Set(protocol.HeaderDryRun, "true")
	}
	var done protocol.Submitted
	if err := c.request(ctx, m, &done); err != nil {
		if r, ok := errors.AsType[*ledger.Refusal](err); ok && r.Rule == ledger.RuleRollback {
			err = fmt.Errorf("%w: %w", evidence.ErrRollback, err)
		}
		return ledger.Ack{}, err
	}
	if !done.Existing && (done.EventID != e.ID || done.Hash != e.Hash().String()) {
		return ledger.Ack{}, unknown(fmt.Errorf("%w: it is about event %q", protocol.ErrReply, done.EventID))
	}
	if dryRun {
		return done.Ack, nil
	}
	head, err := evidence.OpenHead([]byte(done.Head), c.cfg.Ledger, c.cfg.Identity, c.cfg.Service)
	if err != nil {
		return ledger.Ack{}, err
	}
	if done.Position == 0 || uint64(done.Position) > head.Size { // it may be an older head, which anybody has
		return ledger.Ack{}, unknown(fmt.Errorf("%w: its head of size %d does not reach position %d", protocol.ErrReply, head.Size, done.Position))
	}
	if err := c.remember(ctx, known, done.Head, done.Consistency); err != nil {
		return ledger.Ack{}, err
	}
	return done.Ack, nil
}

// known returns the newest head that this client remembers, zero when none.
func (c *Client) known() (evidence.Head, error) {
	if c.cfg.HeadPath == "" {
		return evidence.Head{}, nil
	}
	h, err := c.head.Load()
	if errors.Is(err, fs.ErrNotExist) {
		return evidence.Head{}, nil
	}
	return h, err
}

// remember checks that a head continues the known one and keeps it. Another
// process may have gone further meanwhile: then each head must continue the
// other, and the larger one is kept.
func (c *Client) remember(ctx context.Context, known evidence.Head, text string, consistency []string) error {
	head, err := evidence.OpenHead([]byte(text), c.cfg.Ledger, c.cfg.Identity, c.cfg.Service)
	if err == nil {
		c.saw(head.Size)
	}
	if err != nil || c.cfg.HeadPath == "" {
		return err
	}
	proof, err := protocol.ParseHashes(consistency)
	if err != nil {
		return err
	}
	for range submitTries {
		err = c.head.Advance(known, []byte(text), proof)
		if !errors.Is(err, evidence.ErrHeadMoved) {
			return err
		}
		if known, err = c.known(); err != nil {
			return err
		}
		smaller, larger := known, head
		if smaller.Size > larger.Size {
			smaller, larger = larger, smaller
		}
		if proof, err = c.consistency(ctx, smaller, larger); err != nil {
			return err
		}
		if larger == known {
			return nil
		}
	}
	return nil // others keep advancing it, and ours continues what they kept
}

// saw remembers the size of the newest head, for queries: of two services on
// one ledger one may lag behind.
func (c *Client) saw(size uint64) {
	for old := c.seen.Load(); size > old && !c.seen.CompareAndSwap(old, size); {
		old = c.seen.Load()
	}
}

// consistency asks how a larger head continues a smaller one, and checks the
// answer.
func (c *Client) consistency(ctx context.Context, smaller, larger evidence.Head) ([]events.Hash, error) {
	var answer protocol.Consistency
	if err := c.ask(ctx, protocol.QueryConsistency, protocol.Ask{Known: smaller.Size, Size: larger.Size}, &answer); err != nil {
		return nil, err
	}
	proof, err := protocol.ParseHashes(answer.Consistency)
	if err != nil {
		return nil, err
	}
	return proof, evidence.CompareHeads(smaller, larger, proof)
}

// Status asks for the ledger's status, and checks and remembers its head.
func (c *Client) Status(ctx context.Context) (protocol.Status, error) {
	known, err := c.known()
	if err != nil {
		return protocol.Status{}, err
	}
	var s protocol.Status
	if err := c.ask(ctx, protocol.QueryStatus, protocol.Ask{Known: known.Size}, &s); err != nil {
		return protocol.Status{}, err
	}
	if err := c.remember(ctx, known, s.Head, s.Consistency); err != nil {
		return protocol.Status{}, err
	}
	return s, nil
}

// Head returns the newest head that this client remembers; ok is false when
// it remembers none.
func (c *Client) Head() (head evidence.Head, ok bool, err error) {
	h, err := c.known()
	return h, h != evidence.Head{}, err
}

// Tasks asks for a summary of every task.
func (c *Client) Tasks(ctx context.Context) (out protocol.Tasks, err error) {
	return out, c.ask(ctx, protocol.QueryTasks, protocol.Ask{}, &out)
}

// Task asks for a task's state. CodeNotFound when it has no event.
func (c *Client) Task(ctx context.Context, id string) (out protocol.TaskState, err error) {
	return out, c.ask(ctx, protocol.QueryTask, protocol.Ask{Task: id}, &out)
}

// Registry asks for the ledger's actors and keys.
func (c *Client) Registry(ctx context.Context) (out protocol.RegistryState, err error) {
	return out, c.ask(ctx, protocol.QueryRegistry, protocol.Ask{}, &out)
}

// Locate asks where an event is.
func (c *Client) Locate(ctx context.Context, id string) (out protocol.Located, err error) {
	return out, c.ask(ctx, protocol.QueryEvent, protocol.Ask{Event: id}, &out)
}

// Packet asks for a packet of a task.
func (c *Client) Packet(ctx context.Context, q protocol.Ask) (out protocol.Packet, err error) {
	return out, c.ask(ctx, protocol.QueryPacket, q, &out)
}

// Proof asks for a proof that the event at a position is in the ledger, and
// checks it against the leaf of the record given.
func (c *Client) Proof(ctx context.Context, r events.Record) (out protocol.Proof, err error) {
	if err := c.ask(ctx, protocol.QueryProof, protocol.Ask{At: r.Position}, &out); err != nil {
		return out, err
	}
	head, err := evidence.OpenHead([]byte(out.Head), c.cfg.Ledger, c.cfg.Identity, c.cfg.Service)
	if err != nil {
		return out, err
	}
	hashes, err := protocol.ParseHashes(out.Inclusion)
	if err != nil {
		return out, err
	}
	return out, evidence.VerifyInclusion(evidence.NewLeaf(r), head, hashes)
}

// Renew renews the lease of a run. An error with CodeFence means that the
// lease is lost: stop at once. A heartbeat that another process of the same
// key overtook, or whose clock is behind, is sent again with the next number.
func (c *Client) Renew(ctx context.Context, h ledger.Heartbeat, key signer.Key) error {
	h.Ledger = c.cfg.Ledger
	for {
		envelope, err := ledger.SealHeartbeat(h, key)
		if err != nil {
			return err
		}
		err = c.request(ctx, &nats.Msg{Subject: protocol.SubjectRenew(c.cfg.Ledger), Data: envelope}, &struct{}{})
		r, refused := errors.AsType[*ledger.Refusal](err)
		if !refused || r.Class != ledger.Conflict || int64(r.Sequence) < h.Number || ctx.Err() != nil {
			return err
		}
		h.Number = int64(r.Sequence) + 1
	}
}

// Reader opens the ledger's stream for reading.
func (c *Client) Reader(ctx context.Context) (journal.Reader, error) {
	return jetstream.OpenReader(ctx, c.conn, jetstream.Config{Ledger: c.cfg.Ledger, API: jetstream.ClientAPI})
}
