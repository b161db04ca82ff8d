package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"sync"
)

const (
	// DefaultOutputBytes is the window kept of a command's output when none is given.
	DefaultOutputBytes = 64 << 10
	// MaxOutputBytes is the largest window.
	MaxOutputBytes = 8 << 20
)

// Output is what a command printed: a window, and the measure of all of it. The bytes are
// untrusted.
type Output struct {
	Head   []byte // the first bytes
	Tail   []byte // the last bytes; empty while all of the output fits into Head
	Bytes  int64  // how much was printed
	Digest string // SHA-256 of all of it, lower hex
}

// Omitted is the number of bytes between Head and Tail.
func (o Output) Omitted() int64 { return o.Bytes - int64(len(o.Head)) - int64(len(o.Tail)) }

// Window is the head and the tail with a note of what is missing between them.
func (o Output) Window() string {
	if n := o.Omitted(); n > 0 {
		return fmt.Sprintf("%s\n[%d bytes omitted]\n%s", o.Head, n, o.Tail)
	}
	return string(o.Head) + string(o.Tail)
}

// recorder counts and hashes everything and keeps a head and a ring of the last bytes, so
// that a flood costs no memory. Its mutex guards against two pipes that write at once.
type recorder struct {
	mu    sync.Mutex
	head  []byte
	ring  []byte
	next  int // where the ring is written next, once it is full
	limit int // of the head, and of the ring
	bytes int64
	hash  hash.Hash
	also  []io.Writer // see everything too
}

func newRecorder(window int, also ...io.Writer) *recorder {
	if window <= 0 {
		window = DefaultOutputBytes
	}
	return &recorder{limit: max(1, min(window, MaxOutputBytes)/2), hash: sha256.New(), also: also}
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes += int64(len(p))
	r.hash.Write(p)
	for _, w := range r.also {
		_, _ = w.Write(p)
	}
	rest := p
	if room := r.limit - len(r.head); room > 0 {
		n := min(room, len(rest))
		r.head, rest = append(r.head, rest[:n]...), rest[n:]
	}
	if len(rest) > r.limit {
		rest = rest[len(rest)-r.limit:]
	}
	for _, c := range rest {
		if len(r.ring) < r.limit {
			r.ring = append(r.ring, c)
			continue
		}
		r.ring[r.next] = c
		r.next = (r.next + 1) % r.limit
	}
	return len(p), nil
}

func (r *recorder) output() Output {
	r.mu.Lock()
	defer r.mu.Unlock()
	tail := append(append([]byte{}, r.ring[r.next:]...), r.ring[:r.next]...)
	return Output{Head: append([]byte{}, r.head...), Tail: tail, Bytes: r.bytes, Digest: hex.EncodeToString(r.hash.Sum(nil))}
}
