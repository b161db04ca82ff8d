package boundary

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// ErrPathEncoding reports text that EncodePath never gives.
	ErrPathEncoding = errors.New("path is not in its encoded form")
	// ErrPath reports a path that cannot name an entry of a tree.
	ErrPath = errors.New("path cannot name a file in the repository")
)

// EncodePath writes raw path bytes as printable ASCII: every byte outside "!" to "~", and
// "%" and the double quote, become "%" and two upper-case hex digits. Two paths never
// become equal.
func EncodePath(raw string) string {
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		if c := raw[i]; mustEncode(c) {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func mustEncode(c byte) bool { return c < 0x21 || c > 0x7e || c == '%' || c == '"' }

// DecodePath is the inverse of EncodePath. Text with another spelling, lower-case hex
// or a needless escape, is refused, so that one path has one form. The empty path and
// the zero byte, which no path holds, are refused too. Error: [ErrPathEncoding].
func DecodePath(encoded string) (string, error) {
	raw := make([]byte, 0, len(encoded))
	for i := 0; i < len(encoded); i++ {
		c := encoded[i]
		if c == '%' {
			if i+2 >= len(encoded) {
				return "", ErrPathEncoding
			}
			high, low := upperHex(encoded[i+1]), upperHex(encoded[i+2])
			if high < 0 || low < 0 {
				return "", ErrPathEncoding
			}
			c = byte(high<<4 | low)
			i += 2
			if !mustEncode(c) || c == 0 {
				return "", ErrPathEncoding
			}
		} else if mustEncode(c) {
			return "", ErrPathEncoding
		}
		raw = append(raw, c)
	}
	if len(raw) == 0 {
		return "", ErrPathEncoding
	}
	return string(raw), nil
}

func upperHex(c byte) int { return strings.IndexByte("0123456789ABCDEF", c) }

// DisplayPath writes raw bytes for a terminal: printable Unicode stays, everything that
// could move the cursor, reorder or hide text becomes an escape. Different bytes give
// different text.
func DisplayPath(raw string) string {
	var b strings.Builder
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRuneInString(raw[i:])
		switch {
		case r == utf8.RuneError && size <= 1, r < 0x20, r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, raw[i])
		case r == '\\':
			b.WriteString(`\\`)
		case !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\u{%04x}`, r)
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// CleanPath brings a path that somebody typed or claimed into the form of a tree path:
// "." segments go, nothing else is repaired. An absolute path, an empty or ".."
// segment, a ".git" segment, or a zero byte is refused with [ErrPath]. It does not look
// at links.
func CleanPath(typed string) (string, error) {
	var kept []string
	for segment := range strings.SplitSeq(typed, "/") {
		if segment != "." {
			kept = append(kept, segment)
		}
	}
	clean := strings.Join(kept, "/")
	if !isTreePath(clean) {
		return "", fmt.Errorf("clean path %q: %w", DisplayPath(typed), ErrPath)
	}
	return clean, nil
}

// isTreePath tells whether p is a relative path of plain segments.
func isTreePath(p string) bool {
	if strings.IndexByte(p, 0) >= 0 {
		return false
	}
	for segment := range strings.SplitSeq(p, "/") {
		if segment == "" || segment == "." || segment == ".." || strings.EqualFold(segment, ".git") {
			return false
		}
	}
	return true
}
