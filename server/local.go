package server

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/journal/jetstream/embedded"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/signer"
	"github.com/nats-io/nats.go"
)

// headEvery is how many events lie between two retained heads; the newest
// head is retained when the service stops, too.
const headEvery = 32

// Options are what a local service needs. Every field is required unless it
// says so.
type Options struct {
	Dir string
	// Listen is a loopback address for clients, host:port; port 0 takes a free
	// one.
	Listen  string
	Now     func() time.Time
	NewID   func() string
	Random  io.Reader
	Log     *slog.Logger // optional
	Version string
	PID     int
}

// Local is a ledger that runs in this process, in one folder.
type Local struct {
	Folder Folder

	nats    *embedded.Server
	conn    *nats.Conn
	journal *jetstream.Journal
	heads   *evidence.HeadLog
	writer  *ledger.Writer
	service *Service
	once    sync.Once
	last    []byte // newest signed head; touched by the writer goroutine, then by Close
}

// Create makes a ledger in a folder that has none: the service's key and
// credential, the stream, and the genesis event that genesis builds and signs
// for the service's public key. ErrLedgerExists when there is one. A creation
// that was cut short leaves a folder that Create refuses and Run does not take;
// it holds no history and can be removed.
func Create(ctx context.Context, o Options, name string, genesis func(service signer.PublicKey) (events.Event, error)) (Folder, error) {
	f := Folder{Dir: o.Dir, Schema: folderSchema, Ledger: name}
	fail := func(err error) (Folder, error) { return Folder{}, fmt.Errorf("create ledger %s: %w", name, err) }
	if !events.ValidLedger(name) {
		return fail(fmt.Errorf("%w: name %q, want [a-z0-9][a-z0-9-]{0,31}", events.ErrForm, name))
	}
	if entries, err := os.ReadDir(o.Dir); err == nil && len(entries) > 0 {
		return fail(fmt.Errorf("%s: %w or other files", o.Dir, ErrLedgerExists))
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	key, err := signer.GenerateKey(o.Random)
	if err != nil {
		return fail(err)
	}
	// The genesis is built first: a refusal of its signer leaves no trace.
	first, err := genesis(key.Public())
	if err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return fail(err)
	}
	if err := errors.Join(signer.WriteKeyFile(f.KeyPath(), key, nil), f.newCredential(o.Random, embedded.ClientUser)); err != nil {
		return fail(err)
	}
	f.Identity, f.Service = first.Hash().String(), key.Public().String()
	if err := found(ctx, f, o, first); err != nil {
		return fail(err)
	}
	if err := writeJSON(f.path("ledger.json"), f); err != nil {
		return fail(err)
	}
	return f, nil
}

// found writes the genesis event to a new stream.
func found(ctx context.Context, f Folder, o Options, genesis events.Event) (err error) {
	server, conn, err := start(f, o, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	j, err := jetstream.Create(ctx, conn, jetstream.Config{Ledger: f.Ledger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	return ledger.Create(ctx, j, genesis, o.Now())
}

// start runs the folder's embedded server and connects to it.
func start(f Folder, o Options, listen string) (*embedded.Server, *nats.Conn, error) {
	c, err := f.Credential()
	if err != nil {
		return nil, nil, err
	}
	secret := make([]byte, 32)
	if _, err := io.ReadFull(o.Random, secret); err != nil {
		return nil, nil, fmt.Errorf("start server: %w", err)
	}
	server, err := embedded.Start(embedded.Config{
		Ledger: f.Ledger, StoreDir: f.StoreDir(), Listen: listen, Log: o.Log,
		ServicePassword: hex.EncodeToString(secret), ClientPassword: c.Password,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("start server: %w", err)
	}
	conn, err := server.Connect(nats.Name("deed service"), nats.ReconnectBufSize(-1))
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("connect to server: %w", err), server.Close())
	}
	return server, conn, nil
}

// Run starts the service of the ledger in a folder. It verifies the whole
// history first. Errors: ErrNoLedger, ErrOtherLedger, embedded.ErrInUse for a
// second instance, a corrupt [*ledger.Refusal] for damaged history.
func Run(ctx context.Context, o Options) (*Local, error) {
	f, err := OpenFolder(o.Dir)
	if err != nil {
		return nil, err
	}
	l := &Local{Folder: f}
	if err := l.start(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("run ledger %s: %w", f.Ledger, err), l.close())
	}
	return l, nil
}

func (l *Local) start(ctx context.Context, o Options) (err error) {
	f := l.Folder
	key, err := signer.ReadKeyFile(f.KeyPath(), nil)
	if err != nil {
		return err
	}
	if key.Public().String() != f.Service {
		return fmt.Errorf("%w: service.key is not the key that ledger.json names", ErrOtherLedger)
	}
	identity, err := events.ParseHash(f.Identity)
	if err != nil {
		return fmt.Errorf("read ledger.json: %w", err)
	}
	if l.nats, l.conn, err = start(f, o, o.Listen); err != nil {
		return err
	}
	if l.journal, err = jetstream.Open(ctx, l.conn, jetstream.Config{Ledger: f.Ledger}); err != nil {
		if errors.Is(err, journal.ErrNotFound) {
			return fmt.Errorf("%w: the folder's stream is missing", ErrNoLedger)
		}
		return err
	}
	if l.heads, err = evidence.OpenHeadLog(f.HeadsPath(), f.Ledger, identity, key.Public()); err != nil {
		return err
	}
	retained, err := l.retained(identity, key.Public())
	if err != nil {
		return err
	}
	l.writer, err = ledger.Open(ctx, ledger.Config{
		Ledger: f.Ledger, Journal: l.journal, Service: key, Now: o.Now, NewID: o.NewID,
		Retain: l.retain, Retained: retained, Log: o.Log,
	})
	if r, ok := errors.AsType[*ledger.Refusal](err); ok && r.Rule == "service-key" {
		return fmt.Errorf("%w: %w", ErrOtherLedger, err)
	}
	if err != nil {
		return err
	}
	if err := l.checkIdentity(); err != nil {
		return err
	}
	if l.service, err = StartService(l.conn, l.writer, f.Ledger, o.Version); err != nil {
		return err
	}
	if err := l.conn.Flush(); err != nil {
		return fmt.Errorf("start service: %w", err)
	}
	return writeJSON(f.path("run.json"), Running{PID: o.PID, URL: l.nats.URL()})
}

// retained reads the heads that were kept so far.
func (l *Local) retained(identity events.Hash, public signer.PublicKey) ([]evidence.Head, error) {
	file, err := os.Open(l.Folder.HeadsPath())
	if err != nil {
		return nil, fmt.Errorf("read heads: %w", err)
	}
	defer file.Close()
	heads, _, err := evidence.ReadHeadLog(file, l.Folder.Ledger, identity, public)
	return heads, err
}

// retain keeps a head of every headEvery events, and remembers the newest.
func (l *Local) retain(head evidence.Head, text []byte) error {
	l.last = text
	if head.Size/headEvery == l.heads.Last().Size/headEvery {
		return nil
	}
	return l.heads.Append(text)
}

func (l *Local) checkIdentity() (err error) {
	l.writer.View(func(b *ledger.Book) {
		if b.State.Registry.Identity != l.Folder.Identity {
			err = fmt.Errorf("%w: folder has %s, history %s", ErrOtherLedger, l.Folder.Identity, b.State.Registry.Identity)
		}
	})
	return err
}

// URL returns where clients connect.
func (l *Local) URL() string { return l.nats.URL() }

// Writer returns the ledger's writer.
func (l *Local) Writer() *ledger.Writer { return l.writer }

// Close answers what is under way, keeps the newest head, and stops. A second
// Close does nothing.
func (l *Local) Close() (err error) {
	l.once.Do(func() { err = l.shut() })
	return err
}

func (l *Local) shut() error {
	if err := os.Remove(l.Folder.path("run.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("stop service: %w", err), l.close())
	}
	return l.close()
}

// close stops whatever start had started, in reverse order.
func (l *Local) close() error {
	var errs []error
	if l.service != nil {
		errs = append(errs, l.service.Stop())
	}
	if l.writer != nil {
		l.writer.Close()
	}
	if l.heads != nil {
		if l.last != nil {
			if err := l.heads.Append(l.last); err != nil && !errors.Is(err, evidence.ErrRollback) {
				errs = append(errs, err)
			}
		}
		errs = append(errs, l.heads.Close())
	}
	if l.journal != nil {
		errs = append(errs, l.journal.Close())
	}
	if l.nats != nil {
		errs = append(errs, l.nats.Close())
	}
	return errors.Join(errs...)
}
