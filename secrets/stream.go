package secrets

import (
	"bytes"
	"errors"
	"io"
)

const (
	// part is how much of a stream is looked at at once, bytes; it ends with a line.
	part = 1 << 20
	// longestLine is where a line is cut that has no end.
	longestLine = 8 << 20
)

// RedactStream copies text with [Marker] for everything that [Find] finds in it, and returns how many places that were. It holds a
// few MiB of it at a time: a secret that begins in one such part and ends in another is found as long as its first line and its
// last are less than 64 KiB apart, or it is one line of at most 8 MiB.
func RedactStream(dst io.Writer, src io.Reader, known ...string) (int, error) {
	total := 0
	buffer := make([]byte, 0, part+64<<10)
	for {
		want := part
		if len(buffer) >= part {
			want = len(buffer) + part
		}
		_, err := io.CopyN((*sink)(&buffer), src, int64(want-len(buffer)))
		if err != nil && !errors.Is(err, io.EOF) {
			return total, err
		}
		end := len(buffer)
		if err == nil { // there is more
			if end = boundary(buffer); end == 0 && len(buffer) < longestLine {
				continue
			} else if end == 0 {
				end = len(buffer)
			}
		}
		text, found := Redact(string(buffer[:end]), known...)
		total += found
		if _, err := io.WriteString(dst, text); err != nil {
			return total, err
		}
		buffer = append(buffer[:0], buffer[end:]...)
		if errors.Is(err, io.EOF) {
			return total, nil
		}
	}
}

// sink is a buffer that grows.
type sink []byte

func (s *sink) Write(p []byte) (int, error) { *s = append(*s, p...); return len(p), nil }

// boundary returns where text can be cut: behind the last line end, and not within the last private key; 0 for nowhere.
func boundary(text []byte) int {
	end := bytes.LastIndexByte(text, '\n') + 1
	near := max(0, end-maxKey)
	if i := bytes.LastIndex(text[near:end], []byte("-----BEGIN ")); i >= 0 {
		return near + i
	}
	return end
}
