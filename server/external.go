package server

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/signer"
	"github.com/nats-io/nats.go"
)

// NATS is an operator's NATS that keeps a ledger's stream, as the service
// reaches it. A folder whose ledger is kept there has it in nats.json.
type NATS struct {
	// URL is one or more server addresses, separated by commas.
	URL string `json:"url"`
	client.Access
	// Replicas is how many copies the stream has; 0 for three on a cluster, one
	// elsewhere.
	Replicas int `json:"replicas,omitzero"`
}

// External is how a service lives on an operator's NATS. The zero value takes
// NATS from the folder; with neither a service runs a server of its own.
type External struct {
	// NATS is used instead of the folder's.
	NATS *NATS
	// Instance names this instance to the others; default "deed".
	Instance string
	// Term is how long the writer may be silent before another instance takes
	// over; default [TermDefault].
	Term time.Duration
	// Inspect is how often the stream's settings are looked at; default ten
	// seconds.
	Inspect time.Duration
	// Wrap lets a test stand between the writer and the stream. Optional.
	Wrap func(journal.Journal) journal.Journal
}

// TermDefault is the term of the writer's lease. An election of a stream's
// leader takes four to nine seconds: a shorter term would end with each one.
const TermDefault = 15 * time.Second

// serviceInbox is below what answers to the service are sent.
const serviceInbox = "_SERVICE"

// ErrNotExternal says that a folder's ledger is not kept on an operator's NATS.
var ErrNotExternal = errors.New("the ledger is kept in the folder itself")

// External reads where the folder's ledger is kept: nil for the folder itself.
func (f Folder) External() (*NATS, error) {
	var n NATS
	err := readJSON(f.path("nats.json"), &n)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &n, nil
}

// external decides where a folder's ledger is kept.
func (f Folder) external(o Options) (*NATS, error) {
	kept, err := f.External()
	if err != nil {
		return nil, err
	}
	if o.External.NATS == nil {
		return kept, nil
	}
	if err := hasStore(f); err == nil {
		return nil, fmt.Errorf("%w: %s", ErrNotExternal, f.StoreDir())
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return o.External.NATS, nil
}

// connect connects as the service and looks at the server as far as a client
// can.
func (n *NATS) connect(ctx context.Context, o Options) (*nats.Conn, error) {
	if err := client.CheckURL(n.URL); err != nil {
		return nil, err
	}
	conn, err := n.Connect(n.URL, nats.Name("deed service"), nats.CustomInboxPrefix(serviceInbox),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			o.log().Warn("nats connection", "err", err)
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				o.log().Warn("nats disconnected", "err", err)
			}
		}))
	if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) || errors.Is(err, nats.ErrAuthRevoked) {
		return nil, &ledger.Refusal{Class: ledger.Refused, Code: ledger.CodeRule, Rule: "connection", Text: "NATS does not take this credential"}
	}
	if client.Unverified(err) {
		return nil, &ledger.Refusal{Class: ledger.Refused, Code: ledger.CodeRule, Rule: "connection", Text: "the certificate of NATS is not one that this side trusts"}
	}
	if err != nil && !errors.Is(err, client.ErrAccess) && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("connect to NATS: %w: %w", journal.ErrUnavailable, err)
	}
	if err != nil {
		return nil, err
	}
	if err := jetstream.CheckServer(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, ctx.Err()
}

// config returns the settings of the ledger's stream.
func (n *NATS) config(conn *nats.Conn, name string) jetstream.Config {
	return jetstream.Config{Ledger: name, Replicas: cmp.Or(n.Replicas, jetstream.Replicas(conn))}
}

// CreateExternal is [Create] on an operator's NATS, which o.External names:
// the folder gets the service's key and what says which ledger it is; the
// stream must not be there.
func CreateExternal(ctx context.Context, o Options, name string, genesis func(service signer.PublicKey) (events.Event, error)) (Folder, error) {
	n := o.External.NATS
	// Who does not get in leaves no folder behind.
	conn, err := n.connect(ctx, o)
	if err != nil {
		return Folder{}, fmt.Errorf("create ledger %s: %w", name, err)
	}
	defer conn.Close()
	return create(o, name, genesis, func(f Folder, first events.Event) error {
		j, err := jetstream.Create(ctx, conn, n.config(conn, name))
		if err != nil {
			return err
		}
		defer j.Close()
		if err := ledger.Create(ctx, j, first, o.Now()); err != nil {
			return err
		}
		return writeJSON(f.path("nats.json"), n)
	})
}

// openExternal connects to the operator's NATS and opens the stream there.
func (l *Local) openExternal(ctx context.Context, o Options, n *NATS) (err error) {
	if l.lock, err = lockStore(ctx, l.Folder.Dir); err != nil {
		return err
	}
	if l.conn, err = n.connect(ctx, o); err != nil {
		return err
	}
	l.url = n.URL
	c := n.config(l.conn, l.Folder.Ledger)
	if l.journal, err = jetstream.Open(ctx, l.conn, c); err != nil {
		if errors.Is(err, journal.ErrNotFound) {
			return damage("stream", "the ledger's stream is missing: a ledger is created by deed ledger create, and never again")
		}
		return err
	}
	store, err := jetstream.OpenLease(ctx, l.conn, c)
	if err != nil {
		return err
	}
	name, err := instanceName(o)
	if err != nil {
		return err
	}
	l.guard = &guard{Journal: l.journal}
	l.keeper = newKeeper(store, name, cmp.Or(o.External.Term, TermDefault), o.Now)
	l.guard.may = l.keeper.may
	return nil
}

// instanceName makes the name of this start of an instance, one token of a
// subject.
func instanceName(o Options) (string, error) {
	random := make([]byte, 8)
	if _, err := io.ReadFull(o.Random, random); err != nil {
		return "", fmt.Errorf("name instance: %w", err)
	}
	plain := strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, cmp.Or(o.External.Instance, "deed"))
	return plain[:min(len(plain), 40)] + "-" + hex.EncodeToString(random), nil
}
