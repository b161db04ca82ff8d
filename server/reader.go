package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/journal/jetstream/embedded"
)

// Reader reads the history of a ledger whose service is stopped. Nothing
// listens and nothing is written to the history; while it is open no service
// can start on the folder.
type Reader struct {
	journal.Reader
	nats *embedded.Server
}

// OpenReader opens the history in a stopped folder for reading, without
// looking at what it says: a damaged history can be read too. Of the options it
// uses Dir, Random and Log. Errors: ErrNoLedger, embedded.ErrInUse while a
// service runs, journal.ErrUnavailable.
func OpenReader(ctx context.Context, o Options) (*Reader, error) {
	f, err := OpenFolder(o.Dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(f.StoreDir()); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read folder %s: %w: its store is missing", f.Dir, ErrNoLedger)
	}
	nats, conn, err := start(f, o, "")
	if err != nil {
		return nil, fmt.Errorf("read folder %s: %w", f.Dir, err)
	}
	r, err := jetstream.OpenReader(ctx, conn, jetstream.Config{Ledger: f.Ledger})
	if errors.Is(err, journal.ErrNotFound) {
		err = fmt.Errorf("%w: its stream is missing", ErrNoLedger)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read folder %s: %w", f.Dir, err), nats.Close())
	}
	return &Reader{Reader: r, nats: nats}, nil
}

// Close ends the reader and frees the folder.
func (r *Reader) Close() error { return errors.Join(r.Reader.Close(), r.nats.Close()) }
