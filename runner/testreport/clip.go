package testreport

import (
	"io"
	"unicode/utf8"
)

// maxStringBytes bounds one string of a JSON text, as it is spelled there.
const maxStringBytes = 64 << 10

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

// append adds text to dst, less what is too much of a string.
func (c *clipper) append(dst, text []byte) []byte {
	for _, b := range text {
		if !c.inString || c.escape == 0 && b == '"' {
			c.inString = !c.inString && b == '"'
			c.kept, c.drop = 0, false
			dst = append(dst, b)
			continue
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
			dst = append(dst, b)
			c.kept++
		}
	}
	return dst
}

// clipReader is a JSON text with its long strings shortened.
type clipReader struct {
	in   io.Reader
	clip clipper
	buf  []byte
	rest []byte
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
		// Shortening never makes a text longer: in place is safe.
		r.rest = r.clip.append(r.buf[:0], r.buf[:n])
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
