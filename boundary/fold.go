package boundary

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fold brings all spellings of a name that some file system takes for one into one form:
// letters without case, characters without their Unicode form (composed, decomposed and
// compatible), and without code points that show nothing. Bytes that are no UTF-8 stay.
func fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	for decomposed := norm.NFKD.String(s); decomposed != ""; {
		r, size := utf8.DecodeRuneInString(decomposed)
		switch {
		case r == utf8.RuneError && size <= 1:
			b.WriteByte(decomposed[0])
		case r == 'ß', r == 'ẞ':
			b.WriteString("ss")
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		default:
			b.WriteRune(foldRune(r))
		}
		decomposed = decomposed[size:]
	}
	return norm.NFKD.String(b.String())
}

// FoldPath gives one text for all spellings of a raw path that some file system takes
// for one: without case, Unicode form, code points that show nothing, and the dots and
// spaces at the end of a name.
func FoldPath(path string) string { return strings.Join(spell(path).trimmed, "/") }

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// foldRune gives one letter for all that differ in case alone: the smallest that is a
// letter, in lower case where it has one.
func foldRune(r rune) rune {
	best := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		if !unicode.IsLetter(best) || unicode.IsLetter(next) && next < best {
			best = next
		}
	}
	return unicode.ToLower(best)
}

// characters cuts folded text into characters: each a code point with the marks that
// follow it, or one byte that is no UTF-8.
func characters(folded string) []string {
	list := make([]string, 0, len(folded))
	for folded != "" {
		_, size := utf8.DecodeRuneInString(folded)
		for size < len(folded) {
			r, more := utf8.DecodeRuneInString(folded[size:])
			if !unicode.Is(unicode.M, r) {
				break
			}
			size += more
		}
		list, folded = append(list, folded[:size]), folded[size:]
	}
	return list
}

// spellings gives the code points that a folded character may have been written with.
func spellings(character string) []rune {
	var list []rune
	for _, form := range []string{character, norm.NFC.String(character)} {
		first, _ := utf8.DecodeRuneInString(form)
		list = append(list, first)
		for next := unicode.SimpleFold(first); next != first; next = unicode.SimpleFold(next) {
			list = append(list, next)
		}
	}
	return list
}
