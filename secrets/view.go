package secrets

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

const (
	minBase64 = 16 // shortest run of base64 that is opened, bytes
	minHex    = 32 // of hex
	// minLine is how long a line of base64 is that goes on in the next one.
	minLine = 60
)

// encodedIn finds secrets under one layer of encoding: the whole run is the place.
func encodedIn(text string, known []string, depth int) []Finding {
	var list []Finding
	open := func(start, end int, decoded string) bool {
		inner := find(decoded, known, depth)
		if len(inner) == 0 {
			return false
		}
		list = append(list, Finding{inner[0].Kind, start, end})
		return true
	}
	for at := 0; at < len(text); {
		end := at + base64Run(text[at:])
		if end-at >= minBase64 {
			openRun(text, at, end, open)
		}
		at = max(end, at+1)
	}
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '%')
		if i < 0 {
			return list
		}
		start, end := wordAround(text, at, at+i)
		if decoded, ok := unescape(text[start:end]); ok {
			open(start, end, decoded)
		}
		at = end
	}
}

// openRun opens a run that can be base64 or hex, whole or in the parts that - and _ join.
func openRun(text string, start, end int, open func(start, end int, decoded string) bool) {
	whole := text[start:end]
	if len(whole) >= minHex && len(whole)%2 == 0 {
		if b, err := hex.DecodeString(whole); err == nil {
			if decoded, ok := readable(b); ok && open(start, end, decoded) {
				return
			}
		}
	}
	if decoded, ok := fromBase64(whole); ok && open(start, end, decoded) {
		return
	}
	if !strings.ContainsAny(whole, "-_") {
		return
	}
	for at := start; at < end; {
		stop := end
		if i := strings.IndexAny(text[at:end], "-_"); i >= 0 {
			stop = at + i
		}
		if stop-at >= minBase64 {
			if decoded, ok := fromBase64(text[at:stop]); ok {
				open(at, stop, decoded)
			}
		}
		at = stop + 1
	}
}

// base64Run returns how far base64 reaches at the start of text, its padding and, after long lines, its line ends included.
func base64Run(text string) int {
	n, line := 0, 0
	for n < len(text) {
		switch c := text[n]; {
		case base64s.has(c):
			n++
			line++
		case line >= minLine && (c == '\n' || c == '\r') && more(text[n:]):
			n++
			if c == '\n' {
				line = 0
			}
		default:
			for n < len(text) && text[n] == '=' {
				n++
			}
			return n
		}
	}
	return n
}

// more reports whether base64 goes on behind a line end.
func more(text string) bool {
	text = strings.TrimPrefix(text, "\r")
	return len(text) > 1 && (text[0] != '\n' && base64s.has(text[0]) || text[0] == '\n' && base64s.has(text[1]))
}

// fromBase64 decodes base64 of either alphabet, with or without padding, cut off or not.
func fromBase64(text string) (string, bool) {
	plain := make([]byte, 0, len(text))
	for i := range len(text) {
		switch c := text[i]; c {
		case '-':
			plain = append(plain, '+')
		case '_':
			plain = append(plain, '/')
		case '\n', '\r', '=':
		default:
			plain = append(plain, c)
		}
	}
	if len(plain)%4 == 1 { // it is cut off
		plain = plain[:len(plain)-1]
	}
	b, err := base64.RawStdEncoding.AppendDecode(nil, plain)
	if err != nil {
		return "", false
	}
	return readable(b)
}

// readable returns bytes as text where they are text, of UTF-8 or of UTF-16 with Latin letters.
func readable(b []byte) (string, bool) {
	if len(b) >= 8 && (b[1] == 0 && b[3] == 0 || b[0] == 0 && b[2] == 0) {
		b = []byte(strings.ReplaceAll(string(b), "\x00", ""))
	}
	odd := 0
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			odd++
		}
	}
	if len(b) < 8 || odd*20 > len(b) {
		return "", false
	}
	// The end of what was cut off can be half a rune.
	for cut := 0; cut < utf8.UTFMax && cut < len(b); cut++ {
		if utf8.Valid(b[:len(b)-cut]) {
			return string(b[:len(b)-cut]), true
		}
	}
	return "", false
}

// wordAround returns the word around a place, from a bound on.
func wordAround(text string, from, at int) (start, end int) {
	const ends = " \t\r\n\"'`<>"
	start = from + strings.LastIndexAny(text[from:at], ends) + 1
	end = len(text)
	if i := strings.IndexAny(text[at:], ends); i >= 0 {
		end = at + i
	}
	return start, end
}

// unescape decodes percent-encoding; what is no code stays. ok says that something was decoded.
func unescape(text string) (decoded string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if c, err := hex.DecodeString(text[i+1 : i+3]); err == nil {
				b.Write(c)
				i += 2
				ok = true
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String(), ok
}
