package journal

import (
	"bytes"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// Limits of a message, in bytes. The header counts as it is stored: with each
// name, value and separator.
const (
	MaxIDBytes      = 128
	MaxSubjectBytes = 256
	// MaxHeaderBytes is the largest header that a NATS server stores.
	MaxHeaderBytes = 1<<16 - 1
	// MaxMessageBytes bounds header and data together. An event has at most
	// 64 KiB of headers and 48 KiB of data; the rest is room for later
	// versions, so that the settings of a stream need not change for them.
	MaxMessageBytes = 256 << 10
)

// The headers that a journal sets.
const (
	HeaderID          = "Nats-Msg-Id"
	HeaderStream      = "Nats-Expected-Stream"
	HeaderLast        = "Nats-Expected-Last-Sequence"
	HeaderSubjectLast = "Nats-Expected-Last-Subject-Sequence"
)

// Headers returns exactly the Nats-* headers that a message carries when it was
// appended to a stream under an expectation. An auditor, who knows the
// expectation from the positions of the records before, compares them byte for
// byte.
func Headers(m Message, e Expect, stream string) map[string]string {
	return map[string]string{
		HeaderID:          m.ID,
		HeaderStream:      stream,
		HeaderLast:        strconv.FormatUint(uint64(e.Last), 10),
		HeaderSubjectLast: strconv.FormatUint(uint64(e.SubjectLast), 10),
	}
}

// StoredHeader returns the whole header of the record that appending a message
// makes: its own headers and those of [Headers].
func StoredHeader(m Message, e Expect, stream string) map[string][]string {
	h := make(map[string][]string, len(m.Header)+4)
	for k, v := range m.Header {
		h[k] = []string{v}
	}
	for k, v := range Headers(m, e, stream) {
		h[k] = []string{v}
	}
	return h
}

// Validate returns ErrRefused, with the reason, unless a journal of the ledger
// can store m under e:
//
//   - the id is 1 to [MaxIDBytes] bytes of printable ASCII without space;
//   - the subject is below [SubjectPrefix], literal, at most [MaxSubjectBytes];
//   - a header's name is printable ASCII without space and colon, is not one
//     that NATS uses (Nats-*, Status, Description, in any case), and differs
//     from every other by more than case; its value is printable ASCII, not
//     empty, without a space at either end;
//   - header and data keep to [MaxHeaderBytes] and [MaxMessageBytes], and there
//     is at least one byte of data;
//   - the subject's last position is not after the journal's.
func (m Message) Validate(ledger string, e Expect) error {
	if m.ID == "" || len(m.ID) > MaxIDBytes || !printable(m.ID) || strings.Contains(m.ID, " ") {
		return fmt.Errorf("%w: message id %.*q", ErrRefused, MaxIDBytes, m.ID)
	}
	if err := checkSubject(m.Subject, SubjectPrefix(ledger)); err != nil {
		return err
	}
	if err := checkHeader(m.Header); err != nil {
		return err
	}
	if e.SubjectLast > e.Last {
		return fmt.Errorf("%w: expected position %d of the subject is after the last, %d", ErrRefused, e.SubjectLast, e.Last)
	}
	if len(m.Data) == 0 {
		return fmt.Errorf("%w: message without data", ErrRefused)
	}
	size := headerBytes(m, e, StreamName(ledger))
	if size > MaxHeaderBytes {
		return fmt.Errorf("%w: header of %d bytes, limit %d", ErrRefused, size, MaxHeaderBytes)
	}
	if total := size + len(m.Data); total > MaxMessageBytes {
		return fmt.Errorf("%w: message of %d bytes, limit %d", ErrRefused, total, MaxMessageBytes)
	}
	return nil
}

// Holds reports whether r is what appending m to the stream under e stores:
// the same position, subject, headers and data, byte for byte.
func (r Record) Holds(m Message, e Expect, stream string) bool {
	return r.Position == e.Last+1 &&
		r.Subject == m.Subject &&
		bytes.Equal(r.Data, m.Data) &&
		maps.EqualFunc(r.Header, StoredHeader(m, e, stream), func(a, b []string) bool {
			return len(a) == 1 && a[0] == b[0]
		})
}

func checkHeader(header map[string]string) error {
	folded := make(map[string]bool, len(header))
	for k, v := range header {
		name := strings.ToLower(k)
		switch {
		case k == "" || !printable(k) || strings.ContainsAny(k, " :"):
			return fmt.Errorf("%w: header name %.80q", ErrRefused, k)
		case strings.HasPrefix(name, "nats-"), name == "status", name == "description":
			return fmt.Errorf("%w: header name %.80q is reserved", ErrRefused, k)
		case folded[name]:
			return fmt.Errorf("%w: header name %.80q occurs twice", ErrRefused, k)
		case v == "" || !printable(v) || v[0] == ' ' || v[len(v)-1] == ' ':
			return fmt.Errorf("%w: value %.80q of header %.80q", ErrRefused, v, k)
		}
		folded[name] = true
	}
	return nil
}

// headerBytes returns the size of the header on the wire and in the store:
// "NATS/1.0\r\n", a line "name: value\r\n" for each, and an empty line.
func headerBytes(m Message, e Expect, stream string) int {
	size := len("NATS/1.0\r\n\r\n")
	for k, v := range m.Header {
		size += len(k) + len(": \r\n") + len(v)
	}
	for k, v := range Headers(m, e, stream) {
		size += len(k) + len(": \r\n") + len(v)
	}
	return size
}

func printable(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}
