package testreport

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// source is a report's bytes as clean UTF-8, and the measure of the raw ones.
type source struct {
	raw   *measured
	text  *bufio.Reader
	clean *cleaner
}

func newSource(r io.Reader, limit int64, xml bool) *source {
	raw := &measured{in: r, sum: sha256.New(), left: limit}
	clean := &cleaner{in: bufio.NewReaderSize(raw, 32<<10)}
	clean.detect(xml)
	return &source{raw: raw, clean: clean, text: bufio.NewReaderSize(clean, 32<<10)}
}

// finish reads what the reader left, so that the digest is of everything, and
// records what the bytes were like. It returns an error of the underlying reader.
func (s *source) finish(t *tally) error {
	if s.clean.unknown != "" {
		t.found(Encoding, "declared encoding %q is not supported", s.clean.unknown)
	}
	for _, rest := range []io.Reader{s.text, s.raw} {
		if _, err := io.Copy(io.Discard, rest); err != nil {
			return err
		}
	}
	if s.raw.err != nil {
		return s.raw.err
	}
	if s.raw.over {
		t.truncate("more than the limit in bytes")
	}
	if s.clean.replaced > 0 {
		t.found(Replaced, "%d invalid bytes or control characters were replaced", s.clean.replaced)
	}
	return nil
}

// digest gives the SHA-256 of the raw bytes, "" if not all were read, and their number.
func (s *source) digest() (string, int64) {
	if s.raw.over {
		return "", s.raw.count
	}
	return hex.EncodeToString(s.raw.sum.Sum(nil)), s.raw.count
}

// measured hashes and counts what is read, up to a limit. Errors of the reader
// below end the text and are kept for finish.
type measured struct {
	in    io.Reader
	sum   hash.Hash
	left  int64
	count int64
	over  bool
	err   error
}

func (m *measured) Read(p []byte) (int, error) {
	if m.left <= 0 {
		var one [1]byte
		n, err := m.in.Read(one[:])
		if n > 0 {
			m.over = true
			return 0, io.EOF
		}
		if err == nil {
			return 0, nil
		}
		return 0, m.end(err)
	}
	if int64(len(p)) > m.left {
		p = p[:m.left]
	}
	n, err := m.in.Read(p)
	m.sum.Write(p[:n])
	m.count += int64(n)
	m.left -= int64(n)
	if err != nil {
		return n, m.end(err)
	}
	return n, nil
}

func (m *measured) end(err error) error {
	if !errors.Is(err, io.EOF) {
		m.err = err
	}
	return io.EOF
}

// charset is an encoding that can be read.
type charset int

const (
	charsetUTF8 charset = iota
	charsetLatin1
	charsetWindows1252
	charsetUTF16LE
	charsetUTF16BE
)

// cleaner turns bytes of one encoding into UTF-8 without control characters other
// than tab, line feed and carriage return.
type cleaner struct {
	in       *bufio.Reader
	charset  charset
	unknown  string // declared encoding that cannot be read; then there is no text
	replaced int64
	rest     []byte // of a character that did not fit
	store    [utf8.UTFMax]byte
}

// detect obeys a byte order mark, and for XML the declared encoding.
func (c *cleaner) detect(xml bool) {
	start, _ := c.in.Peek(512)
	switch {
	case bytes.HasPrefix(start, []byte{0xEF, 0xBB, 0xBF}):
		_, _ = c.in.Discard(3)
		start = start[3:]
	case bytes.HasPrefix(start, []byte{0xFF, 0xFE}):
		_, _ = c.in.Discard(2)
		c.charset = charsetUTF16LE
		return
	case bytes.HasPrefix(start, []byte{0xFE, 0xFF}):
		_, _ = c.in.Discard(2)
		c.charset = charsetUTF16BE
		return
	case xml && bytes.HasPrefix(start, []byte("<\x00?\x00")):
		c.charset = charsetUTF16LE
		return
	case xml && bytes.HasPrefix(start, []byte("\x00<\x00?")):
		c.charset = charsetUTF16BE
		return
	}
	if xml {
		c.declared(start)
	}
}

// declared reads the encoding of an XML declaration.
func (c *cleaner) declared(start []byte) {
	end := bytes.Index(start, []byte("?>"))
	if !bytes.HasPrefix(start, []byte("<?xml")) || end < 0 {
		return
	}
	found := regexp.MustCompile(`\sencoding\s*=\s*["']([A-Za-z0-9._:-]*)["']`).FindSubmatch(start[:end])
	if found == nil {
		return
	}
	switch name := strings.ToLower(string(found[1])); name {
	case "utf-8", "utf8", "us-ascii", "ascii":
	case "iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "latin-1":
		c.charset = charsetLatin1
	case "windows-1252", "cp1252":
		c.charset = charsetWindows1252
	default:
		c.unknown = name
	}
}

func (c *cleaner) Read(p []byte) (int, error) {
	if c.unknown != "" {
		return 0, io.EOF
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	for n < len(p) {
		if c.charset == charsetUTF8 {
			n += c.plain(p[n:])
			if n == len(p) {
				break
			}
		}
		if n > 0 && c.in.Buffered() == 0 {
			break // give what is there before waiting for more
		}
		r, err := c.next()
		if err != nil {
			if n > 0 {
				return n, nil
			}
			return 0, err
		}
		wide := utf8.AppendRune(c.store[:0], r)
		used := copy(p[n:], wide)
		n += used
		c.rest = wide[used:]
	}
	return n, nil
}

// plain copies printable ASCII that is buffered already.
func (c *cleaner) plain(p []byte) int {
	ready, _ := c.in.Peek(min(c.in.Buffered(), len(p)))
	n := 0
	for n < len(ready) && (ready[n] >= ' ' && ready[n] < 0x7F || ready[n] == '\n' || ready[n] == '\t' || ready[n] == '\r') {
		n++
	}
	copy(p, ready[:n])
	_, _ = c.in.Discard(n)
	return n
}

// next reads one character and replaces what must not stand in text.
func (c *cleaner) next() (rune, error) {
	var r rune
	switch c.charset {
	case charsetUTF16LE, charsetUTF16BE:
		unit, err := c.unit()
		if err != nil {
			return 0, err
		}
		r = unit
		if utf16.IsSurrogate(r) {
			r = c.pair(r)
		}
	case charsetUTF8:
		got, size, err := c.in.ReadRune()
		if err != nil {
			return 0, err
		}
		if r = got; got == utf8.RuneError && size == 1 {
			c.replaced++
		}
		return c.printable(r), nil
	case charsetLatin1, charsetWindows1252:
		b, err := c.in.ReadByte()
		if err != nil {
			return 0, err
		}
		if r = rune(b); c.charset == charsetWindows1252 && b >= 0x80 && b < 0xA0 {
			r = windows1252(b)
		}
	}
	if r == utf8.RuneError {
		c.replaced++
	}
	return c.printable(r), nil
}

func (c *cleaner) printable(r rune) rune {
	if r < ' ' && r != '\n' && r != '\t' && r != '\r' || r >= 0x7F && r < 0xA0 {
		c.replaced++
		return utf8.RuneError
	}
	return r
}

// unit reads one unit of UTF-16; a last odd byte gives U+FFFD.
func (c *cleaner) unit() (rune, error) {
	a, err := c.in.ReadByte()
	if err != nil {
		return 0, err
	}
	b, err := c.in.ReadByte()
	if err != nil {
		return utf8.RuneError, nil
	}
	if c.charset == charsetUTF16LE {
		a, b = b, a
	}
	return rune(a)<<8 | rune(b), nil
}

// pair reads the second half of a surrogate pair if it is there.
func (c *cleaner) pair(first rune) rune {
	ahead, err := c.in.Peek(2)
	if err != nil {
		return utf8.RuneError
	}
	a, b := ahead[0], ahead[1]
	if c.charset == charsetUTF16LE {
		a, b = b, a
	}
	r := utf16.DecodeRune(first, rune(a)<<8|rune(b))
	if r != utf8.RuneError {
		_, _ = c.in.Discard(2)
	}
	return r
}

// windows1252 gives the characters of Windows-1252 that ISO-8859-1 has no
// printable ones for; U+FFFD where there is none.
func windows1252(b byte) rune {
	const table = "€\uFFFD‚ƒ„…†‡ˆ‰Š‹Œ\uFFFDŽ\uFFFD\uFFFD‘’“”•–—˜™š›œ\uFFFDžŸ"
	return []rune(table)[b-0x80]
}
