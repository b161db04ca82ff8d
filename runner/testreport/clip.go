package testreport

import (
	"io"
	"unicode/utf8"
)

const (
	// maxStringBytes bounds one string of a JSON text, as it is spelled there.
	maxStringBytes = 64 << 10
	// maxBareBytes bounds a number or word of a JSON text.
	maxBareBytes = 64
)

// clipper shortens long strings of a JSON text as it passes, between characters
// and between escapes, so that a decoder never has to hold one. What is not inside
// a string stays as it is.
type clipper struct {
	inString bool
	escape   int // 1 after a backslash; 5 to 2 while hex digits are to come
	kept     int // bytes of the string
	drop     bool
	clipped  bool // a string was shortened
}

// step takes the next byte and says whether it belongs to a string, with its
// quotes, and whether it stays.
func (c *clipper) step(b byte) (quoted, stays bool) {
	if !c.inString {
		if c.inString = b == '"'; c.inString {
			c.kept, c.drop = 0, false
		}
		return c.inString, true
	}
	if c.escape == 0 && b == '"' {
		c.inString = false
		return true, true
	}
	if c.escape == 0 && c.kept >= maxStringBytes && utf8.RuneStart(b) {
		c.drop, c.clipped = true, true
	}
	switch {
	case c.escape == 1 && b == 'u':
		c.escape = 5
	case c.escape > 2:
		c.escape--
	case c.escape > 0:
		c.escape = 0
	case b == '\\':
		c.escape = 1
	}
	if !c.drop {
		c.kept++
	}
	return true, !c.drop
}

// append adds text to dst, less what is too much of a string.
func (c *clipper) append(dst, text []byte) []byte {
	for _, b := range text {
		if _, stays := c.step(b); stays {
			dst = append(dst, b)
		}
	}
	return dst
}

// clipReader is a JSON text with its long strings shortened, at most one white
// space between tokens, and a number or word that is too long ended by a byte that
// makes the text malformed.
type clipReader struct {
	in    io.Reader
	clip  clipper
	space bool // the last byte was white space
	bare  int  // bytes of the number or word so far
	buf   []byte
	rest  []byte
}

func (r *clipReader) Read(p []byte) (int, error) {
	if r.buf == nil {
		r.buf = make([]byte, 32<<10)
	}
	for len(r.rest) == 0 {
		n, err := r.in.Read(r.buf)
		if n == 0 && err != nil {
			return 0, err
		}
		// Nothing gets longer: in place is safe.
		r.rest = r.buf[:0]
		for _, b := range r.buf[:n] {
			if b, stays := r.step(b); stays {
				r.rest = append(r.rest, b)
			}
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// step takes the next byte and says what to pass on of it.
func (r *clipReader) step(b byte) (byte, bool) {
	quoted, stays := r.clip.step(b)
	had := r.space
	r.space = !quoted && isSpace(b)
	switch {
	case r.space:
		r.bare = 0
		return ' ', !had
	case quoted, b == '{', b == '}', b == '[', b == ']', b == ',', b == ':':
		r.bare = 0
		return b, stays
	}
	if r.bare++; r.bare == maxBareBytes {
		return 0, true
	}
	return b, r.bare < maxBareBytes
}
