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
		case r == 'ı':
			b.WriteByte('i')
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

// pieces cuts folded text into code points, and bytes that are no UTF-8.
func pieces(folded string) []string {
	list := make([]string, 0, len(folded))
	for folded != "" {
		_, size := utf8.DecodeRuneInString(folded)
		list, folded = append(list, folded[:size]), folded[size:]
	}
	return list
}

// isMark tells whether a piece is written over or under the one before it.
func isMark(piece string) bool {
	r, _ := utf8.DecodeRuneInString(piece)
	return unicode.Is(unicode.M, r)
}

// spellings gives the code points that a folded character, one code point with its
// marks, may have been written as; none where that takes more than one. A byte that is no
// UTF-8 counts as U+FFFD, as in matching by bytes.
func spellings(character string) []rune {
	form := norm.NFC.String(character)
	first, size := utf8.DecodeRuneInString(form)
	if size != len(form) {
		return nil
	}
	list := []rune{first}
	for next := unicode.SimpleFold(first); next != first; next = unicode.SimpleFold(next) {
		list = append(list, next)
	}
	return list
}
