package runner

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"
)

var (
	// ErrEffectRunning reports a lock that a call, or what it left behind, still holds.
	ErrEffectRunning = errors.New("an earlier call may still be running")
	// ErrLockDamaged reports a lock file that was replaced, or whose record is not this effect's.
	ErrLockDamaged = errors.New("lock file does not belong to this effect")
)

// maxLockBytes bounds a lock file's record.
const maxLockBytes = 4 << 10

// Place is where processes can be told apart: one boot of one kernel, one namespace of
// process numbers. Two Places are equal only if a process seen in one is seen in the other.
type Place struct {
	Boot      string `json:"boot"`
	Namespace string `json:"namespace"`
}

// lockState is how far a call came.
type lockState string

const (
	lockPrepared lockState = "prepared" // taken; no process yet
	lockStarting lockState = "starting" // about to start; the group's number is not yet known
	lockRunning  lockState = "running"
	lockEnded    lockState = "ended" // the group was killed and its leader reaped
)

// lockRecord is the content of a lock file: one JSON object.
type lockRecord struct {
	Key   string    `json:"key"`
	Place Place     `json:"place"`
	State lockState `json:"state"`
	Group int       `json:"group"` // process group of the call; 0 until running
}

// EffectLock is the held lock of one effect. Take it before the dispatch is recorded.
type EffectLock struct {
	file   *os.File
	path   string
	record lockRecord
}

// AcquireLock takes the lock at path, which belongs to one effect key for ever and is
// never removed. It does not wait. On a system whose boot cannot be told the lock works,
// but proves nothing later.
//
// Errors: [ErrEffectRunning], [ErrLockDamaged], or the file system's.
func AcquireLock(path, key string) (*EffectLock, error) {
	file, err := openLock(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	lock := &EffectLock{file: file, path: path, record: lockRecord{Key: key, State: lockPrepared}}
	err = lock.take()
	if err == nil {
		err = lock.write()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock effect: %w", err), file.Close())
	}
	return lock, nil
}

func (l *EffectLock) take() error {
	if err := flock(l.file, unix.LOCK_EX); err != nil {
		return err
	}
	held, err := l.file.Stat()
	if err != nil {
		return err
	}
	if named, err := os.Lstat(l.path); err != nil || !os.SameFile(held, named) {
		return errors.Join(ErrLockDamaged, err)
	}
	old, err := readRecord(l.file)
	if err == nil && old.Key != l.record.Key || err != nil && held.Size() > 0 {
		return errors.Join(ErrLockDamaged, err)
	}
	if place, err := Here(); err == nil {
		l.record.Place = place
	}
	return nil
}

// Release gives the lock back without a call. After RunEffect it does nothing.
func (l *EffectLock) Release() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	if err != nil {
		return fmt.Errorf("release effect lock: %w", err)
	}
	return nil
}

func (l *EffectLock) write() error {
	text, err := json.Marshal(l.record, json.Deterministic(true))
	if err != nil {
		return err
	}
	// Longer than any earlier record of the key, so that one write replaces it.
	text = append(text, bytes.Repeat([]byte{' '}, max(0, 512-len(text)))...)
	if _, err := l.file.WriteAt(text, 0); err != nil {
		return err
	}
	return l.file.Truncate(int64(len(text)))
}

func (l *EffectLock) enter(state lockState, group int) error {
	l.record.State, l.record.Group = state, group
	return l.write()
}

// Lock is what a lock file shows to somebody who does not hold it.
type Lock struct {
	Held       bool  // some process has the locked file open
	Place      Place // where the call ran; zero if unknown
	Here       Place // where this process runs; zero if unknown
	groupAlive bool
	state      lockState
}

// Started tells whether the call runs, or ran, in a group that is on record: its end can
// be proven later.
func (l Lock) Started() bool { return l.state == lockRunning || l.state == lockEnded }

// CallDead tells whether it is proven that no process of the call is left: the lock is
// free, the call ran in this very boot and namespace, and it never started, or was ended,
// or its group has no living member. A descendant that left the group and closed
// descriptor 3 is out of sight.
func (l Lock) CallDead() bool {
	if l.Held || l.Here == (Place{}) || l.Here != l.Place {
		return false
	}
	switch l.state {
	case lockPrepared, lockEnded:
		return true
	case lockRunning:
		return !l.groupAlive
	}
	return false
}

// ReadLock looks at the lock of an effect key without keeping it. That there is no file
// proves nothing (the call may have run elsewhere) and is an error.
//
// Errors: fs.ErrNotExist, [ErrLockDamaged], or the file system's.
func ReadLock(path, key string) (Lock, error) {
	file, err := openLock(path, os.O_RDONLY)
	if err != nil {
		return Lock{}, err
	}
	defer func() { _ = file.Close() }()
	seen := Lock{}
	// A shared lock, so that two readers do not disturb each other.
	err = flock(file, unix.LOCK_SH)
	if errors.Is(err, ErrEffectRunning) {
		seen.Held = true
	} else if err != nil {
		return Lock{}, fmt.Errorf("read effect lock: %w", err)
	}
	record, err := readRecord(file)
	if err != nil || record.Key != key {
		return Lock{}, fmt.Errorf("read effect lock: %w", errors.Join(ErrLockDamaged, err))
	}
	seen.Place, seen.state = record.Place, record.State
	if here, err := Here(); err == nil {
		seen.Here = here
	}
	if record.State == lockRunning {
		seen.groupAlive = groupAlive(record.Group)
	}
	return seen, nil
}

// LockHeld tells whether a process has the locked file of an effect open. It opens and
// locks for an instant; see ReadLock for what a free lock proves.
func LockHeld(path string) (bool, error) {
	file, err := openLock(path, os.O_RDONLY)
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()
	err = flock(file, unix.LOCK_SH)
	if errors.Is(err, ErrEffectRunning) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read effect lock: %w", err)
	}
	return false, nil
}

func openLock(path string, flag int) (*os.File, error) {
	file, err := os.OpenFile(path, flag|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open effect lock: %w", err)
	}
	return file, nil
}

func flock(file *os.File, kind int) error {
	for {
		err := unix.Flock(int(file.Fd()), kind|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrEffectRunning
		}
		return err
	}
}

func readRecord(file *os.File) (lockRecord, error) {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, maxLockBytes))
	if err != nil {
		return lockRecord{}, err
	}
	var record lockRecord
	if err := json.Unmarshal(text, &record, json.RejectUnknownMembers(true)); err != nil {
		return lockRecord{}, err
	}
	return record, nil
}
