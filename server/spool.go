package server

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/server/protocol"
)

// spool keeps verified copies of the artifacts that were read last in files
// without a name: they are gone with the process, however it ends.
type spool struct {
	dir string

	mu     sync.Mutex // guards copies
	copies []verified // the one that was filled last is last
}

type verified struct {
	digest string
	size   int64
	file   *os.File
}

// maxCopies bounds the spool, in artifacts.
const maxCopies = 4

// spoolPattern names files in the moment before they lose their name.
const spoolPattern = ".artifact-*"

// newSpool returns the spool of a folder, after removing what a process left
// that was killed in that moment.
func newSpool(dir string) (*spool, error) {
	left, err := filepath.Glob(filepath.Join(dir, spoolPattern))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return nil, fmt.Errorf("clear spool: %w", err)
	}
	return &spool{dir: dir}, nil
}

// has reports whether there is a copy.
func (s *spool) has(digest string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.index(digest) >= 0
}

func (s *spool) index(digest string) int {
	for i, c := range s.copies {
		if c.digest == digest {
			return i
		}
	}
	return -1
}

// fill makes a copy of what get writes, once get says that it is right.
func (s *spool) fill(digest string, get func(io.Writer) (int64, error)) error {
	file, err := os.CreateTemp(s.dir, spoolPattern)
	if err != nil {
		return fmt.Errorf("spool artifact: %w", err)
	}
	if err = os.Remove(file.Name()); err != nil {
		return errors.Join(fmt.Errorf("spool artifact: %w", err), file.Close())
	}
	size, err := get(file)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := s.index(digest)
	if gone < 0 && len(s.copies) == maxCopies {
		gone = 0
	}
	if gone >= 0 {
		_ = s.copies[gone].file.Close() // it was only read
		s.copies = append(s.copies[:gone], s.copies[gone+1:]...)
	}
	s.copies = append(s.copies, verified{digest, size, file})
	return nil
}

// read returns the bytes from an offset on, at most a message's, and the whole
// size. journal.ErrUnavailable when others took the copy's place.
func (s *spool) read(digest string, offset int64) ([]byte, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.index(digest)
	if i < 0 {
		return nil, 0, fmt.Errorf("read spool: %w", journal.ErrUnavailable)
	}
	c := s.copies[i]
	if offset < 0 || offset >= c.size {
		return nil, c.size, nil
	}
	data := make([]byte, min(c.size-offset, protocol.MaxArtifactChunk))
	if _, err := c.file.ReadAt(data, offset); err != nil {
		return nil, 0, fmt.Errorf("read spool: %w: %w", journal.ErrUnavailable, err)
	}
	return data, c.size, nil
}

// close removes every copy.
func (s *spool) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, c := range s.copies {
		errs = append(errs, c.file.Close())
	}
	s.copies = nil
	return errors.Join(errs...)
}
