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
	"path/filepath"
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

// maxUnkept is how far history may be ahead of the newest retained head after
// a crash: headEvery, and the writer's largest group.
const maxUnkept = headEvery + 128

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
	// ArtifactLimit bounds the bytes of one artifact; 0 for
	// [ArtifactLimitDefault]. Optional.
	ArtifactLimit int64
	// External is for a ledger that is kept on an operator's NATS. Optional.
	External External
}

// log returns the logger, one that drops everything where there is none.
func (o Options) log() *slog.Logger {
	if o.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Log
}

// Local is a ledger that runs in this process, in one folder.
type Local struct {
	Folder Folder

	nats    *embedded.Server // nil where the ledger is kept on an operator's NATS
	conn    *nats.Conn
	journal *jetstream.Journal
	heads   *evidence.HeadLog
	writer  *ledger.Writer
	service *Service
	once    sync.Once

	artifacts *artifacts

	// Where the ledger is kept on an operator's NATS:
	url    string
	lock   *os.File
	guard  *guard
	keeper *keeper
	roles  *roles

	mu   sync.Mutex // guards appends to heads, and last
	last []byte     // newest signed head
}

// Create makes a ledger in a folder that has none: the service's key and
// credential, the stream, and the genesis event that genesis builds and signs
// for the service's public key. ErrLedgerExists when there is one. A creation
// that was cut short leaves a folder that Create refuses and Run does not take;
// it holds no history and can be removed.
func Create(ctx context.Context, o Options, name string, genesis func(service signer.PublicKey) (events.Event, error)) (Folder, error) {
	return create(o, name, genesis, func(f Folder, first events.Event) error {
		if err := f.newCredential(o.Random, embedded.ClientUser); err != nil {
			return err
		}
		return found(ctx, f, o, first)
	})
}

// create makes the folder of a ledger; found keeps the genesis event.
func create(o Options, name string, genesis func(signer.PublicKey) (events.Event, error), found func(Folder, events.Event) error) (Folder, error) {
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
	if err := signer.WriteKeyFile(f.KeyPath(), key, nil); err != nil {
		return fail(err)
	}
	f.Identity, f.Service = first.Hash().String(), key.Public().String()
	if err := found(f, first); err != nil {
		return fail(err)
	}
	if err := writeJSON(f.path("ledger.json"), f); err != nil {
		return fail(err)
	}
	return f, nil
}

// found writes the genesis event to a new stream.
func found(ctx context.Context, f Folder, o Options, genesis events.Event) (err error) {
	c, err := config(f, o)
	if err != nil {
		return err
	}
	server, conn, err := start(c)
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

// config returns the settings of the folder's embedded server, which does not
// listen.
func config(f Folder, o Options) (embedded.Config, error) {
	c, err := f.Credential()
	if err != nil {
		return embedded.Config{}, err
	}
	secret := make([]byte, 32)
	if _, err := io.ReadFull(o.Random, secret); err != nil {
		return embedded.Config{}, fmt.Errorf("start server: %w", err)
	}
	return embedded.Config{
		Ledger: f.Ledger, StoreDir: f.StoreDir(), Log: o.Log,
		ServicePassword: hex.EncodeToString(secret), ClientPassword: c.Password,
	}, nil
}

// start runs an embedded server and connects to it.
func start(c embedded.Config) (*embedded.Server, *nats.Conn, error) {
	server, err := embedded.Start(c)
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
// second instance, ErrRemote, a corrupt [*ledger.Refusal] for history that is damaged or
// gone, or of which too few heads are kept.
func Run(ctx context.Context, o Options) (*Local, error) {
	f, err := OpenFolder(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := f.local(); err != nil {
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
	external, err := f.external(o)
	if err != nil {
		return err
	}
	if external != nil {
		err = l.openExternal(ctx, o, external)
	} else {
		err = l.openEmbedded(ctx, o)
	}
	if err != nil {
		return err
	}
	if l.heads, err = evidence.OpenHeadLog(f.HeadsPath(), f.Ledger, identity, key.Public()); err != nil {
		return err
	}
	retained, err := l.retained(identity, key.Public())
	if err != nil {
		return err
	}
	w := ledger.Config{
		Ledger: f.Ledger, Journal: l.journal, Service: key, Now: o.Now, NewID: o.NewID,
		Retain: l.retain, Retained: retained, Log: o.Log,
	}
	if external != nil {
		l.share(&w, o)
	} else if err := l.checkKept(ctx); err != nil { // before the writer, which may keep a head as soon as it runs
		return err
	}
	l.writer, err = ledger.Open(ctx, w)
	if r, ok := errors.AsType[*ledger.Refusal](err); ok && r.Rule == "service-key" {
		return fmt.Errorf("%w: %w", ErrOtherLedger, err)
	}
	if err != nil {
		return err
	}
	if err := l.checkIdentity(); err != nil {
		return err
	}
	if err := l.catchUp(); err != nil {
		return err
	}
	if l.artifacts, err = l.openArtifacts(o, external); err != nil {
		return err
	}
	if l.service, err = startService(l.conn, l.writer, &Service{name: f.Ledger, version: o.Version, keeper: l.keeper, artifacts: l.artifacts}); err != nil {
		return err
	}
	l.service.sweepArtifacts()
	if err := l.conn.Flush(); err != nil {
		return fmt.Errorf("start service: %w", err)
	}
	if external != nil {
		l.roles = l.startRoles(o)
	}
	return writeJSON(f.path("run.json"), Running{PID: o.PID, URL: l.URL()})
}

// openEmbedded runs a server on the folder and opens the stream in it.
func (l *Local) openEmbedded(ctx context.Context, o Options) (err error) {
	f := l.Folder
	if err := hasStore(f); errors.Is(err, fs.ErrNotExist) {
		return damage("stream", "the folder's store is missing")
	} else if err != nil {
		return err
	}
	c, err := config(f, o)
	if err != nil {
		return err
	}
	c.Listen = o.Listen
	if l.nats, l.conn, err = start(c); err != nil {
		return err
	}
	if l.journal, err = jetstream.Open(ctx, l.conn, jetstream.Config{Ledger: f.Ledger}); err != nil {
		if errors.Is(err, journal.ErrNotFound) {
			return damage("stream", "the folder's stream is missing")
		}
		return err
	}
	return nil
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

// checkKept refuses a history of which the newest retained head covers too
// little: the service keeps one before it acknowledges, so heads were removed.
func (l *Local) checkKept(ctx context.Context) error {
	last, err := l.journal.Last(ctx)
	if errors.Is(err, journal.ErrCorrupt) {
		return nil // the writer names the damage
	}
	if err != nil {
		return err
	}
	kept := l.heads.Last().Size
	if uint64(last) <= kept+maxUnkept {
		return nil
	}
	return damage("retained-head", fmt.Sprintf("the kept heads are missing: history has %d events and the newest kept head covers %d; "+
		"history may have been replaced: compare with a head that a client remembers", last, kept))
}

// damage is the refusal of a folder that lacks what it had.
func damage(rule, text string) *ledger.Refusal {
	return &ledger.Refusal{Class: ledger.Corrupt, Code: ledger.CodeDamage, Rule: rule, Text: text}
}

// catchUp keeps the head that a crash came before, so that one crash after
// another never adds up to more than maxUnkept. What a killed service wrote may
// not be on the disk yet: a head must not outlive its events.
func (l *Local) catchUp() error {
	text, _, err := l.writer.Head(0)
	if err != nil {
		return err
	}
	var size uint64
	l.writer.View(func(b *ledger.Book) { size = b.Tree.Size() })
	l.mu.Lock()
	defer l.mu.Unlock()
	if size/headEvery == l.heads.Last().Size/headEvery {
		return nil
	}
	if l.keeper == nil {
		err = syncStore(l.Folder.StoreDir())
	}
	if err != nil {
		return fmt.Errorf("sync store: %w", err)
	}
	if err := l.heads.Append(text); err != nil && !errors.Is(err, evidence.ErrRollback) { // the writer was faster
		return err
	}
	return nil
}

// syncStore makes every file of a store durable.
func syncStore(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the server replaced it, and syncs what it writes
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if err := syncDir(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// retain keeps a head of every headEvery events, and remembers the newest.
func (l *Local) retain(head evidence.Head, text []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
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
func (l *Local) URL() string {
	if l.nats == nil {
		return l.url
	}
	return l.nats.URL()
}

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
	if l.artifacts != nil {
		errs = append(errs, l.artifacts.spool.close())
	}
	if l.roles != nil {
		l.roles.stop()
	}
	if l.writer != nil {
		l.writer.Close()
	}
	if l.keeper != nil { // after the last append
		ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
		_ = l.keeper.release(ctx) // else the others wait for the end of its term
		cancel()
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
	switch {
	case l.nats != nil:
		errs = append(errs, l.nats.Close())
	case l.conn != nil:
		l.conn.Close()
	}
	if l.lock != nil {
		errs = append(errs, l.lock.Close())
	}
	return errors.Join(errs...)
}
