package evidence

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/signer"
)

// noteLines is the number of lines of a signed head: origin, size, root, an
// empty one, the signature. It is what separates one head from the next.
const noteLines = 5

var (
	// ErrHeadLog means that a head log is damaged: a whole record in it does
	// not verify, or its sizes do not grow.
	ErrHeadLog = errors.New("head log is damaged")
	// ErrHeadLogBusy means that another process has the head log open.
	ErrHeadLogBusy = errors.New("head log is in use")
	// ErrHeadLogFailed means that a write failed before. Nothing more is
	// accepted until the log is closed and opened again.
	ErrHeadLogFailed = errors.New("head log stopped after a failed write")
)

// HeadLog is the append-only file of heads that a service keeps. The file is one
// signed head after another with nothing between; each has exactly five lines
// and a larger size than the one before.
//
// A write that a crash cut short leaves fewer than five lines at the end. That
// record was never acknowledged: OpenHeadLog reports it, cuts it and nothing
// else. Every other defect is ErrHeadLog. A HeadLog belongs to one goroutine.
type HeadLog struct {
	file     *os.File
	ledger   string
	identity events.Hash
	public   signer.PublicKey
	last     Head
	torn     []byte
	failed   error // the first failed write
}

// ReadHeadLog reads a whole head log and verifies every head. torn is what
// follows the last whole record, nil if nothing does; it was cut short by a
// crash. It returns ErrHeadLog with the errors of OpenHead, or ErrRollback or
// ErrForked where sizes do not grow, and errors of reading; then no heads.
func ReadHeadLog(r io.Reader, ledger string, identity events.Hash, public signer.PublicKey) (heads []Head, torn []byte, err error) {
	in := bufio.NewReaderSize(r, MaxHeadBytes+1)
	for offset := int64(0); ; {
		record, whole, err := readRecord(in)
		if err != nil {
			return nil, nil, fmt.Errorf("read head %d at byte %d: %w", len(heads)+1, offset, err)
		}
		if !whole {
			return heads, record, nil
		}
		head, err := OpenHead(record, ledger, identity, public)
		if err != nil {
			return nil, nil, fmt.Errorf("read head %d at byte %d: %w: %w", len(heads)+1, offset, ErrHeadLog, err)
		}
		if len(heads) > 0 {
			if err := checkGrows(heads[len(heads)-1], head); err != nil {
				return nil, nil, fmt.Errorf("read head %d at byte %d: %w: %w", len(heads)+1, offset, ErrHeadLog, err)
			}
		}
		heads = append(heads, head)
		offset += int64(len(record))
	}
}

// OpenHeadLog opens a head log for appending, or creates it with mode 0600, and
// verifies all of it. It returns the errors of VerifierKey, ErrHeadLogBusy while
// another process has it open, the errors of ReadHeadLog, and those of the file
// system.
func OpenHeadLog(path, ledger string, identity events.Hash, public signer.PublicKey) (*HeadLog, error) {
	if _, err := VerifierKey(ledger, identity, public); err != nil { // before a file is made
		return nil, fmt.Errorf("open head log: %w", err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open head log: %w", err)
	}
	l := &HeadLog{file: file, ledger: ledger, identity: identity, public: public}
	if err := l.recover(); err != nil {
		return nil, fmt.Errorf("open head log %q: %w", path, errors.Join(err, file.Close()))
	}
	if err := syncFolder(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("open head log %q: %w", path, errors.Join(err, file.Close()))
	}
	return l, nil
}

// recover locks and reads the file, and cuts a torn record off its end.
func (l *HeadLog) recover() error {
	if err := flock(l.file, syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrHeadLogBusy
	} else if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	heads, torn, err := ReadHeadLog(l.file, l.ledger, l.identity, l.public)
	if err != nil {
		return err
	}
	if len(heads) > 0 {
		l.last = heads[len(heads)-1]
	}
	if l.torn = torn; len(torn) == 0 {
		return nil
	}
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	if err := l.file.Truncate(info.Size() - int64(len(torn))); err != nil {
		return fmt.Errorf("cut torn record: %w", err)
	}
	return l.file.Sync()
}

// Last returns the newest head, or the zero Head of an empty log.
func (l *HeadLog) Last() Head { return l.last }

// Torn returns the bytes that were cut when the log was opened, for the log of
// operations; nil if there were none.
func (l *HeadLog) Torn() []byte { return l.torn }

// Append adds a signed head and fsyncs it before it returns. It returns the
// errors of OpenHead, and ErrRollback or ErrForked unless the head is larger
// than the last; then nothing was written. After a failed write it is unknown
// whether the head is on disk: this and every later call return
// ErrHeadLogFailed, and opening the log again tells.
func (l *HeadLog) Append(text []byte) error {
	if l.failed != nil {
		return fmt.Errorf("append to head log: %w: %w", ErrHeadLogFailed, l.failed)
	}
	head, err := OpenHead(text, l.ledger, l.identity, l.public)
	if err != nil {
		return fmt.Errorf("append to head log: %w", err)
	}
	if l.last != (Head{}) {
		if err := checkGrows(l.last, head); err != nil {
			return fmt.Errorf("append to head log: %w", err)
		}
	}
	if _, err = l.file.Write(text); err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		l.failed = err
		return fmt.Errorf("append to head log: %w: %w", ErrHeadLogFailed, err)
	}
	l.last = head
	return nil
}

// Close closes the file and so unlocks it.
func (l *HeadLog) Close() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("close head log: %w", err)
	}
	return nil
}

func checkGrows(last, head Head) error {
	switch {
	case head.Size < last.Size:
		return fmt.Errorf("%w: size %d after %d", ErrRollback, head.Size, last.Size)
	case head.Size == last.Size && head.Root != last.Root:
		return fmt.Errorf("%w: two roots at size %d", ErrForked, head.Size)
	case head.Size == last.Size:
		return fmt.Errorf("%w: size %d twice", ErrRollback, head.Size)
	}
	return nil
}

// readRecord reads five lines. At the end of the file it returns what is left,
// possibly nothing, as not whole. A record of more than MaxHeadBytes, whole or
// not, is ErrHeadLog: no crash leaves that.
func readRecord(in *bufio.Reader) (record []byte, whole bool, err error) {
	for range noteLines {
		line, err := in.ReadSlice('\n')
		record = append(record, line...)
		if errors.Is(err, bufio.ErrBufferFull) || len(record) > MaxHeadBytes {
			return nil, false, fmt.Errorf("%w: record larger than %d bytes", ErrHeadLog, MaxHeadBytes)
		}
		if errors.Is(err, io.EOF) {
			return record, false, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	return record, true, nil
}
