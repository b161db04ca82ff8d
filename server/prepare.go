package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/journal/jetstream/embedded"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/signer"
)

// ErrNotPrepared says that no service key waits for the genesis that founders
// signed.
var ErrNotPrepared = errors.New("no service key waits for this genesis")

// preparing and creating are the folders beside a ledger's, in which its
// service key waits for the founders, and in which it is made.
func (f Folder) preparing() Folder { f.Dir += ".founding"; return f }
func (f Folder) creating() Folder  { f.Dir += ".creating"; return f }

// Prepare makes the service key of a ledger that several founders are to sign,
// beside its folder, which stays away until CreatePrepared; a key that waits
// there already is returned again. ErrLedgerExists when the folder holds
// anything.
func Prepare(o Options, name string) (signer.PublicKey, error) {
	fail := func(err error) (signer.PublicKey, error) {
		return signer.PublicKey{}, fmt.Errorf("prepare ledger %s: %w", name, err)
	}
	f := Folder{Dir: o.Dir, Ledger: name}
	if err := f.vacant(); err != nil {
		return fail(err)
	}
	p := f.preparing()
	key, err := signer.ReadKeyFile(p.KeyPath(), nil)
	if err == nil {
		return key.Public(), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	if key, err = signer.GenerateKey(o.Random); err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return fail(err)
	}
	if err := signer.WriteKeyFile(p.KeyPath(), key, nil); err != nil {
		return fail(err)
	}
	return key.Public(), nil
}

// vacant checks the name, and that the folder is absent or empty.
func (f Folder) vacant() error {
	if !events.ValidLedger(f.Ledger) {
		return fmt.Errorf("%w: name %q, want [a-z0-9][a-z0-9-]{0,31}", events.ErrForm, f.Ledger)
	}
	if entries, err := os.ReadDir(f.Dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s: %w or other files", f.Dir, ErrLedgerExists)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// CreatePrepared makes the ledger of a genesis that its founders signed, for
// the key that Prepare made; on an operator's NATS where o names one. The
// folder appears as a whole: after a crash it is there, or this is done again.
// Errors: ErrLedgerExists, ErrNotPrepared, a [*ledger.Refusal] of a genesis
// that the rules refuse.
func CreatePrepared(ctx context.Context, o Options, genesis events.Event) (Folder, error) {
	f := Folder{Dir: o.Dir, Schema: folderSchema, Ledger: genesis.Source.Ledger}
	fail := func(err error) (Folder, error) {
		return Folder{}, fmt.Errorf("create ledger %s: %w", f.Ledger, err)
	}
	if err := f.vacant(); err != nil {
		return fail(err)
	}
	key, err := f.preparedKey(genesis)
	if err != nil {
		return fail(err)
	}
	f.Identity, f.Service = genesis.Hash().String(), key.Public().String()
	made := f.creating()
	if err := os.RemoveAll(made.Dir); err != nil { // of a creation that was cut short: no service ever ran there
		return fail(err)
	}
	if err := os.MkdirAll(made.Dir, 0o700); err != nil {
		return fail(err)
	}
	if err := signer.WriteKeyFile(made.KeyPath(), key, nil); err != nil {
		return fail(err)
	}
	if err := made.begin(ctx, o, genesis); err != nil {
		return fail(errors.Join(err, os.RemoveAll(made.Dir)))
	}
	if err := os.Remove(f.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty one
		return fail(err)
	}
	if err := os.Rename(made.Dir, f.Dir); err != nil {
		return fail(err)
	}
	if err := syncDir(filepath.Dir(f.Dir)); err != nil {
		return fail(err)
	}
	return f, os.RemoveAll(f.preparing().Dir)
}

// preparedKey returns the service key that waits for a genesis.
func (f Folder) preparedKey(genesis events.Event) (signer.Key, error) {
	p, err := genesis.Payload()
	if err != nil {
		return signer.Key{}, err
	}
	d, ok := p.(*events.Genesis)
	if !ok {
		return signer.Key{}, fmt.Errorf("%w: %s is no genesis", events.ErrForm, genesis.Type)
	}
	key, err := signer.ReadKeyFile(f.preparing().KeyPath(), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return signer.Key{}, fmt.Errorf("%s: %w", f.preparing().Dir, ErrNotPrepared)
	}
	if err == nil && key.Public().String() != d.Service.Key {
		err = fmt.Errorf("%s: %w: it is another one", f.preparing().Dir, ErrNotPrepared)
	}
	return key, err
}

// begin writes everything of a new ledger's folder but the service's key.
func (f Folder) begin(ctx context.Context, o Options, genesis events.Event) error {
	if o.External.NATS == nil {
		if err := f.newCredential(o.Random, embedded.ClientUser); err != nil {
			return err
		}
		if err := found(ctx, f, o, genesis); err != nil {
			return err
		}
		if err := syncStore(f.StoreDir()); err != nil {
			return err
		}
	} else {
		if err := foundOnce(ctx, o, genesis); err != nil {
			return err
		}
		if err := writeJSON(f.path("nats.json"), o.External.NATS); err != nil {
			return err
		}
	}
	return writeJSON(f.path("ledger.json"), f)
}

// foundOnce writes the genesis to a new stream on the operator's NATS, or
// finds that a creation that was cut short had done so.
func foundOnce(ctx context.Context, o Options, genesis events.Event) (err error) {
	n, name := o.External.NATS, genesis.Source.Ledger
	conn, err := n.connect(ctx, o)
	if err != nil {
		return err
	}
	defer conn.Close()
	c := n.config(conn, name)
	j, err := jetstream.Create(ctx, conn, c)
	exists := err
	if errors.Is(err, journal.ErrExists) {
		j, err = jetstream.Open(ctx, conn, c)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	last, err := j.Last(ctx)
	if err != nil || last == 0 {
		if err == nil {
			err = ledger.Create(ctx, j, genesis, o.Now())
		}
		return err
	}
	first, err := j.Read(ctx, 1)
	if err != nil {
		return err
	}
	if last != 1 || !bytes.Equal(first.Data, genesis.Data) || first.Header["ce-id"] == nil || first.Header["ce-id"][0] != genesis.ID {
		return exists
	}
	return nil
}
