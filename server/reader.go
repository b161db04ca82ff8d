package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/journal/jetstream/embedded"
	"golang.org/x/sys/unix"
)

// Reader reads the history of a ledger whose service is stopped. Nothing
// listens, and the folder stays as it is to the byte: what is read is a copy,
// for a server that finds damage repairs it by cutting the history. While a
// reader is open no service can start on the folder.
type Reader struct {
	journal.Reader
	nats *embedded.Server
	lock *os.File
	temp string // the copy's folder, removed by Close
}

// OpenReader opens the history in a stopped folder for reading, without
// looking at what it says: a damaged history can be read too. It copies the
// store to a private folder among the system's temporary ones. Of the options
// it uses Dir, Random and Log. Errors: ErrNoLedger, with a corrupt
// [*ledger.Refusal] when the folder says that there was one; embedded.ErrInUse
// while a service runs, journal.ErrCorrupt for a store with links or devices in
// it, journal.ErrUnavailable.
func OpenReader(ctx context.Context, o Options) (*Reader, error) {
	f, err := OpenFolder(o.Dir)
	if err != nil {
		return nil, err
	}
	r := &Reader{}
	if err := r.open(ctx, f, o); err != nil {
		return nil, errors.Join(fmt.Errorf("read folder %s: %w", f.Dir, err), r.Close())
	}
	return r, nil
}

func (r *Reader) open(ctx context.Context, f Folder, o Options) (err error) {
	if err := f.local(); err != nil {
		return err
	}
	if err := hasStore(f); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrNoLedger, damage("stream", "the folder's store is missing"))
	} else if err != nil {
		return err
	}
	if r.lock, err = lockStore(ctx, f.StoreDir()); err != nil {
		return err
	}
	if r.temp, err = os.MkdirTemp("", "deed-read-*"); err != nil { // mode 0700
		return fmt.Errorf("copy store: %w", err)
	}
	if r.temp, err = filepath.Abs(r.temp); err != nil {
		return fmt.Errorf("copy store: %w", err)
	}
	if err := copyStore(ctx, f.StoreDir(), r.temp); err != nil {
		return fmt.Errorf("copy store: %w", err)
	}
	c, err := config(f, o)
	if err != nil {
		return err
	}
	c.StoreDir, c.Lazy = r.temp, true // nobody keeps the copy
	nats, conn, err := start(c)
	if err != nil {
		return err
	}
	r.nats = nats
	stream, err := jetstream.OpenReader(ctx, conn, jetstream.Config{Ledger: f.Ledger})
	if errors.Is(err, journal.ErrNotFound) {
		return fmt.Errorf("%w: %w", ErrNoLedger, damage("stream", "the folder's stream is missing"))
	}
	if err != nil {
		return err
	}
	r.Reader = stream
	return nil
}

// Close ends the reader, removes the copy and frees the folder.
func (r *Reader) Close() error {
	var errs []error
	if r.Reader != nil {
		errs = append(errs, r.Reader.Close())
	}
	if r.nats != nil {
		errs = append(errs, r.nats.Close())
	}
	if r.temp != "" {
		errs = append(errs, os.RemoveAll(r.temp))
	}
	if r.lock != nil {
		errs = append(errs, r.lock.Close())
		r.lock = nil
	}
	return errors.Join(errs...)
}

// hasStore returns fs.ErrNotExist for a folder whose store is gone: a server
// would make a new one.
func hasStore(f Folder) error {
	_, err := os.Stat(f.StoreDir())
	return err
}

// lockFile is the file that an embedded server holds locked in its store.
const lockFile = "server.lock"

// lockTries and lockPause bound the wait for a lock that [Folder.InUse] holds
// for an instant.
const (
	lockTries = 20
	lockPause = 5 * time.Millisecond
)

// lockStore takes the lock of the store that an embedded server would take, so
// that nothing writes while it is copied. It ends with the file.
func lockStore(ctx context.Context, store string) (*os.File, error) {
	// A store without the file gets an empty one: there is no other way to
	// keep a service out.
	file, err := os.OpenFile(filepath.Join(store, lockFile), os.O_RDONLY|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock store: %w", err)
	}
	for try := 1; ; try++ {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || try == lockTries {
			break
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("lock store: %w", ctx.Err()), file.Close())
		}
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = embedded.ErrInUse
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock store: %w", err), file.Close())
	}
	return file, nil
}

// copyStore copies the files of a store. What is neither a file nor a folder
// is journal.ErrCorrupt: a link could lead out of the store.
func copyStore(ctx context.Context, from, to string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case name == "." || name == lockFile:
			return nil
		case d.IsDir():
			return os.Mkdir(filepath.Join(to, name), 0o700)
		case !d.Type().IsRegular():
			return fmt.Errorf("%w: %q in the store is no regular file", journal.ErrCorrupt, name)
		}
		return copyFile(root, name, filepath.Join(to, name))
	})
}

// copyFile copies a file of the store to a new one.
func copyFile(root *os.Root, name, to string) error {
	in, err := root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
