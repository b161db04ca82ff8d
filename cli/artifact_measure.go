package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/deedledger/deed/events"
)

// measure fills what an artifact's bytes say of it, and what was left open.
func measure(file *os.File, path string, d *events.Artifact) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("read artifact: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is no regular file", errUsage, path)
	}
	sum, text := sha256.New(), textSieve{text: true}
	if d.Size, err = io.Copy(io.MultiWriter(sum, &text), file); err != nil {
		return fmt.Errorf("read artifact: %w", err)
	}
	d.Digest = hex.EncodeToString(sum.Sum(nil))
	if d.MediaType == "" {
		d.MediaType = "application/octet-stream"
		if text.whole() {
			d.MediaType = "text/plain"
		}
	}
	if d.Name == "" && path == "-" {
		return fmt.Errorf("%w: --name must be given with standard input", errUsage)
	}
	if d.Name == "" {
		d.Name = filepath.Base(path)
	}
	return d.Validate()
}

// textSieve is written bytes and knows whether they are text: UTF-8 without a
// zero byte.
type textSieve struct {
	text bool
	rest []byte // the start of a character
}

// Write looks at more bytes.
func (s *textSieve) Write(p []byte) (int, error) {
	data := append(s.rest, p...)
	for s.text && len(data) > 0 && utf8.FullRune(data) {
		r, size := utf8.DecodeRune(data)
		s.text = r != 0 && (r != utf8.RuneError || size > 1)
		data = data[size:]
	}
	s.rest = bytes.Clone(data[:min(len(data), utf8.UTFMax)])
	return len(p), nil
}

// whole reports whether all that was written is text.
func (s *textSieve) whole() bool { return s.text && len(s.rest) == 0 }
