package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrInUse is returned when another server runs on the folder.
var ErrInUse = errors.New("folder is in use by another server")

// lockName is the file in the folder whose lock says that a server runs. It
// stays when the server ends: removing it would let two servers lock two files
// of the same name.
const lockName = "server.lock"

// lock is held as long as its file is open, so it ends with the process.
type lock struct{ file *os.File }

func takeLock(dir string) (*lock, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock folder: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrInUse
		}
		return nil, errors.Join(fmt.Errorf("lock folder %s: %w", dir, err), f.Close())
	}
	return &lock{f}, nil
}

func (l *lock) release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("unlock folder: %w", err)
	}
	return nil
}
