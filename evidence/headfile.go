package evidence

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/signer"
)

// ErrHeadMoved means that another process advanced a head file meanwhile.
var ErrHeadMoved = errors.New("remembered head moved")

// HeadFile is where a client remembers the last head of one ledger that it saw,
// as the signed note itself. Beside it lie "<path>.lock", which is locked while
// the file changes and never removed, and for an instant "<path>.tmp". Several
// processes may share a HeadFile.
type HeadFile struct {
	path     string
	ledger   string
	identity events.Hash
	public   signer.PublicKey
}

// NewHeadFile names the file for heads of one ledger, signed by public. It does
// not touch the disk.
func NewHeadFile(path, ledger string, identity events.Hash, public signer.PublicKey) HeadFile {
	return HeadFile{path: path, ledger: ledger, identity: identity, public: public}
}

// Load returns the remembered head. Without a file the error wraps
// fs.ErrNotExist; a file that is not exactly one head of this ledger gives the
// errors of OpenHead and is left as it is. Such a file is evidence or damage:
// no program of Deed replaces or removes it.
func (f HeadFile) Load() (Head, error) {
	text, err := readAtMost(f.path, MaxHeadBytes)
	if err != nil {
		return Head{}, fmt.Errorf("load remembered head: %w", err)
	}
	head, err := OpenHead(text, f.ledger, f.identity, f.public)
	if err != nil {
		return Head{}, fmt.Errorf("load remembered head from %q: %w", f.path, err)
	}
	return head, nil
}

// Advance verifies the signed head text and a consistency proof, and remembers
// the head. previous is the head that the proof starts from, as Load returned
// it, or the zero Head when there was no file; then proof is not looked at.
//
// When it returns nil, the new head is on disk and fsynced. On error the old one
// still is, except that a failed fsync may leave either. It returns the errors
// of OpenHead and CompareHeads, those of Load for a damaged file, and
// ErrHeadMoved if the file does not hold previous: load and compare again.
// Advancing to the remembered head writes nothing.
func (f HeadFile) Advance(previous Head, text []byte, proof []events.Hash) error {
	next, err := OpenHead(text, f.ledger, f.identity, f.public)
	if err != nil {
		return fmt.Errorf("advance remembered head: %w", err)
	}
	unlock, err := lockFile(f.path + ".lock")
	if err != nil {
		return fmt.Errorf("advance remembered head: %w", err)
	}
	defer unlock()

	current, err := f.Load()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("advance remembered head: %w", err)
	}
	if current != previous { // both are zero when there is nothing yet
		return fmt.Errorf("advance remembered head: %w: size %d, not %d", ErrHeadMoved, current.Size, previous.Size)
	}
	if current != (Head{}) {
		if err := CompareHeads(current, next, proof); err != nil {
			return fmt.Errorf("advance remembered head: %w", err)
		}
	}
	if current == next {
		return nil
	}
	if err := replaceFile(f.path, text); err != nil {
		return fmt.Errorf("advance remembered head: %w", err)
	}
	return nil
}

// replaceFile gives path new content at once: a reader, and a restart, sees the
// old or the new content and never a part. Its caller holds the lock.
func replaceFile(path string, content []byte) error {
	temporary := path + ".tmp"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // what is there is left from a process that died
	}
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return syncFolder(filepath.Dir(path))
}

// lockFile waits for the lock on a file, which it creates if need be, and
// returns what releases it. The lock dies with the process.
func lockFile(path string) (func(), error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(file, syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %q: %w", path, err), file.Close())
	}
	return func() { _ = file.Close() }, nil // nothing was written; closing unlocks
}

func flock(file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// readAtMost returns the content of a file, or its first limit+1 bytes.
func readAtMost(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // nothing was written
	return io.ReadAll(io.LimitReader(file, limit+1))
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
