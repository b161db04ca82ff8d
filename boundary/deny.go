package boundary

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// denial is a pattern that refuses paths. It refuses what the pattern matches, and what
// it would match in another spelling.
type denial struct {
	pattern  string
	exact    []string       // segments; asked only where the loose ones do not include it
	segments []looseSegment // none: the exact spelling alone is refused
	choosy   bool           // it has "?", a class or more than ASCII: the spelling as written counts too
}

// looseSegment is one segment of a denial.
type looseSegment struct {
	any    bool   // "**"
	text   string // folded, of a segment without wildcards
	tokens []token
	// before and after are the folded text before the first and after the last wildcard;
	// simple says that all between them is one "*".
	before, after string
	simple        bool
}

// token is a part of a segment with wildcards.
type token struct {
	kind rune // '*', '?', '[' or 0 for one code point
	text string
}

// maxMarks bounds the marks that one wildcard takes with their character.
const maxMarks = 30

// newDenial prepares a valid pattern.
func newDenial(pattern string) denial {
	d := denial{pattern: pattern, exact: strings.Split(pattern, "/"), choosy: !isASCII(pattern) || strings.ContainsAny(pattern, "?[")}
	for _, segment := range d.exact {
		switch {
		case segment == "**":
			d.segments = append(d.segments, looseSegment{any: true})
		case strings.ContainsAny(segment, "*?["):
			d.segments = append(d.segments, newLooseSegment(segment))
		default:
			d.segments = append(d.segments, looseSegment{text: fold(segment)})
		}
	}
	return d
}

// newLooseSegment prepares a valid segment with wildcards.
func newLooseSegment(segment string) looseSegment {
	first, last := strings.IndexAny(segment, "*?["), strings.LastIndexAny(segment, "*?]")
	return looseSegment{
		tokens: tokens(segment), before: fold(segment[:first]), after: fold(segment[last+1:]), simple: segment[first:last+1] == "*",
	}
}

// tokens reads a valid segment.
func tokens(segment string) []token {
	var list []token
	for segment != "" {
		end := strings.IndexAny(segment, "*?[")
		if end != 0 {
			if end < 0 {
				end = len(segment)
			}
			for _, c := range pieces(fold(segment[:end])) {
				list = append(list, token{text: c})
			}
			segment = segment[end:]
			continue
		}
		end = 1
		if segment[0] == '[' {
			end = strings.IndexByte(segment, ']') + 1
		}
		list, segment = append(list, token{rune(segment[0]), segment[:end]}), segment[end:]
	}
	return list
}

// spelled is a path in the forms that denials look at.
type spelled struct {
	segments []string
	folded   []string
	trimmed  []string // folded, without the dots and spaces that some file systems drop at the end of a name
	dangling bool     // there are some
}

func spell(path string) spelled {
	s := spelled{segments: strings.Split(path, "/")}
	for _, segment := range s.segments {
		folded := fold(segment)
		trimmed := strings.TrimRight(folded, ". ")
		if trimmed == "" {
			trimmed = folded
		}
		s.folded, s.trimmed = append(s.folded, folded), append(s.trimmed, trimmed)
		s.dangling = s.dangling || trimmed != folded
	}
	return s
}

// refuses tells whether the denial holds for a path.
func (d *denial) refuses(path spelled) bool {
	if (d.choosy || d.segments == nil) && matchSegments(d.exact, path.segments) {
		return true
	}
	return d.segments != nil && (d.matches(path.folded) || path.dangling && d.matches(path.trimmed))
}

// below tells whether the denial names something below a path: the path, in some
// spelling, is how the pattern begins before its first wildcard.
func (d *denial) below(path spelled) bool {
	begins := func(names []string) bool {
		if len(names) >= len(d.segments) {
			return false
		}
		for i, name := range names {
			if s := d.segments[i]; s.any || s.tokens != nil || s.text != name {
				return false
			}
		}
		return true
	}
	return begins(path.folded) || begins(path.trimmed)
}

// matches takes segment by segment, as matchSegments does.
func (d *denial) matches(path []string) bool {
	// Most patterns are decided by one segment: the first, the last or any.
	switch s := d.segments; {
	case !s[0].any:
		if !s[0].matches(path[0]) {
			return false
		}
	case len(s) == 2 && !s[1].any:
		return s[1].matches(path[len(path)-1])
	case len(s) == 3 && !s[1].any && s[2].any:
		return slices.ContainsFunc(path, s[1].matches)
	}
	return cover(len(d.segments), len(path), func(i int) bool { return d.segments[i].any },
		func(i, n int) bool { return d.segments[i].matches(path[n]) })
}

func (s *looseSegment) matches(folded string) bool {
	switch {
	case s.tokens == nil:
		return s.text == folded
	case len(folded) < len(s.before)+len(s.after) || !strings.HasPrefix(folded, s.before) || !strings.HasSuffix(folded, s.after):
		return false
	case s.simple:
		return true
	}
	name := pieces(folded)
	at := make([]bool, len(name)+1)
	at[0] = true
	for _, t := range s.tokens {
		at = t.advance(at, name)
	}
	return at[len(name)]
}

// advance gives the places of a name that a token leads to from the places in at.
func (t token) advance(at []bool, name []string) []bool {
	next := make([]bool, len(at))
	for i := range at {
		switch {
		case t.kind == '*':
			next[i] = at[i] || i > 0 && next[i-1]
		case !at[i] || i == len(name):
		case t.kind == 0:
			next[i+1] = t.text == name[i]
		default:
			for end := i + 1; end <= len(name) && end-i <= 1+maxMarks && (end == i+1 || isMark(name[end-1])); end++ {
				next[end] = next[end] || t.takes(name[i:end])
			}
		}
	}
	return next
}

// takes tells whether a "?" or a class takes a code point with its marks, in one of the
// spellings of both. A class with "^" does when one spelling is outside: denials are loose.
func (t token) takes(character []string) bool {
	if t.kind == '?' {
		return true
	}
	return slices.ContainsFunc(spellings(strings.Join(character, "")), func(r rune) bool {
		ok, err := doublestar.Match(t.text, string(r))
		return ok && err == nil
	})
}

// firstRefusal gives the pattern of the first denial that holds for a path, or "".
func firstRefusal(list []denial, path spelled) string {
	for i := range list {
		if list[i].refuses(path) {
			return list[i].pattern
		}
	}
	return ""
}
