package projections

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plain returns s as one line that is safe to print anywhere. Control
// characters (line breaks and tabs too), bidirectional and other invisible
// format characters, spaces other than U+0020 and bytes that are no UTF-8 show
// as escapes: \n, \t, \x1b, \u202e; a backslash shows as \\, so that no text
// can imitate an escape. After limit characters of output the rest is left off
// and the length of s is named: "abc… (200000 bytes)". A limit of 0 or less
// leaves nothing off. Neither Markdown nor HTML is escaped.
func Plain(s string, limit int) string {
	var b strings.Builder
	shown := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		text := visible(r, s[i:i+size])
		n := utf8.RuneCountInString(text)
		if limit > 0 && shown+n > limit {
			fmt.Fprintf(&b, "… (%d bytes)", len(s))
			return b.String()
		}
		b.WriteString(text)
		shown += n
		i += size
	}
	return b.String()
}

// PlainLines returns s line by line, each safe as [Plain] makes it. Line feeds
// divide lines; one at the end opens none. After limit bytes of s the rest is
// left off, and a last line names the length of s. A limit of 0 or less leaves
// nothing off.
func PlainLines(s string, limit int) []string {
	shown := s
	if limit > 0 {
		shown = clip(s, limit)
	}
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSuffix(shown, "\n"), "\n") {
		lines = append(lines, Plain(line, 0))
	}
	if len(shown) < len(s) {
		lines = append(lines, fmt.Sprintf("… (%d bytes)", len(s)))
	}
	return lines
}

// visible returns r, which stands as raw in the text, or its escape.
func visible(r rune, raw string) string {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		return fmt.Sprintf(`\x%02x`, raw[0])
	case r == '\\':
		return `\\`
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case unicode.IsPrint(r):
		return raw
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// clip returns the longest prefix of s of at most n bytes that ends between
// two characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
