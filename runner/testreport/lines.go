package testreport

import (
	"bufio"
	"bytes"
	"errors"
)

// maxLineBytes bounds one line, after the long strings of a JSON line were shortened.
const maxLineBytes = 1 << 20

// line is one line without its end.
type line struct {
	text    []byte // valid until the next one
	clipped bool   // something of it is missing
	whole   bool   // a line feed ended it
}

// lines splits a text of any line length.
type lines struct {
	in  *bufio.Reader
	buf []byte
}

// next returns the next line, and false at the end of the text.
func (l *lines) next() (line, bool) {
	l.buf = l.buf[:0]
	var clip clipper
	out, some := line{}, false
	for {
		part, err := l.in.ReadSlice('\n')
		some = some || len(part) > 0 || err == nil
		if err == nil {
			part = part[:len(part)-1]
		}
		room := maxLineBytes - len(l.buf)
		if len(l.buf) > 0 && l.buf[0] == '{' || len(l.buf) == 0 && bytes.HasPrefix(part, []byte("{")) {
			// A string is shortened only within this part: it may pass the room by one part.
			if room > 0 {
				l.buf = clip.append(l.buf, part)
			} else if len(part) > 0 {
				out.clipped = true
			}
		} else {
			l.buf = append(l.buf, part[:min(len(part), room)]...)
			out.clipped = out.clipped || len(part) > room
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		out.text, out.whole = bytes.TrimSuffix(l.buf, []byte("\r")), err == nil
		out.clipped = out.clipped || clip.clipped
		return out, some
	}
}
