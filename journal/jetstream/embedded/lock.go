package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// ErrInUse is returned when another server runs on the folder.
var ErrInUse = errors.New("folder is in use by another server")

// lockName is the file in the folder whose lock says that a server runs. It
// stays when the server ends: removing it would let two servers lock two files
// of the same name.
const lockName = "server.lock"

// Tries to take the lock, and the pause between.
const (
	lockTries = 20
	lockPause = 5 * time.Millisecond
)

// lock is held as long as its file is open, so it ends with the process.
type lock struct{ file *os.File }

func takeLock(dir string) (*lock, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock folder: %w", err)
	}
	for try := 1; ; try++ {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || try == lockTries {
			break
		}
		time.Sleep(lockPause) // InUse may hold it for an instant
	}
	if err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = ErrInUse
		}
		return nil, errors.Join(fmt.Errorf("lock folder %s: %w", dir, err), f.Close())
	}
	return &lock{f}, nil
}

// InUse reports whether a server runs on the folder, in this process or another
// one. A folder without a lock file has none.
func InUse(dir string) (bool, error) {
	f, err := os.Open(filepath.Join(dir, lockName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at lock: %w", err)
	}
	defer f.Close()
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); {
	case err == nil:
		return false, nil
	case errors.Is(err, unix.EWOULDBLOCK):
		return true, nil
	default:
		return false, fmt.Errorf("look at lock: %w", err)
	}
}

func (l *lock) release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("unlock folder: %w", err)
	}
	return nil
}
