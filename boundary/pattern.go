package boundary

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

const (
	// MaxPatternBytes bounds one pattern.
	MaxPatternBytes = 512
	// MaxPatterns bounds each list of a boundary.
	MaxPatterns = 256
)

// ErrPattern reports a pattern outside the dialect of the package comment.
var ErrPattern = errors.New("invalid path pattern")

// CheckPattern tells whether a pattern is one of the dialect. Error: [ErrPattern].
func CheckPattern(pattern string) error {
	if reason := patternFault(pattern); reason != "" {
		return fmt.Errorf("check pattern %q: %s: %w", DisplayPath(pattern), reason, ErrPattern)
	}
	return nil
}

func patternFault(p string) string {
	switch {
	case p == "":
		return "empty"
	case len(p) > MaxPatternBytes:
		return "too long"
	case !utf8.ValidString(p):
		return "not UTF-8"
	case strings.ContainsFunc(p, unicode.IsControl):
		return "control character"
	case strings.TrimSpace(p) != p:
		return "space at an end"
	case strings.HasPrefix(p, "!"):
		return "negation; use the exclude list"
	case strings.ContainsAny(p, `\{}`):
		return "backslash or brace"
	}
	for segment := range strings.SplitSeq(p, "/") {
		switch {
		case segment == "":
			return "leading, trailing or doubled slash"
		case segment == "." || segment == "..":
			return "dot segment"
		case strings.Contains(segment, "**") && segment != "**":
			return "** beside other characters"
		// Checked by segment, so that a class can hold no slash.
		case !doublestar.ValidatePattern(segment) || hasReversedRange(segment):
			return "malformed class"
		}
	}
	return ""
}

// hasReversedRange finds a range such as "[z-a]", which would match nothing.
func hasReversedRange(segment string) bool {
	for {
		_, class, found := strings.Cut(segment, "[")
		if !found {
			return false
		}
		end := strings.IndexByte(class, ']')
		if end < 0 {
			return true
		}
		runes := []rune(class[:end])
		for i := 1; i+1 < len(runes); i++ {
			if runes[i] == '-' && runes[i-1] > runes[i+1] {
				return true
			}
		}
		segment = class[end+1:]
	}
}

// MatchPattern tells whether a pattern of the dialect matches a raw path from the
// root. A malformed pattern or path matches nothing.
func MatchPattern(pattern, path string) bool {
	if patternFault(pattern) != "" || !isSegmented(path) {
		return false
	}
	return matchSegments(strings.Split(pattern, "/"), strings.Split(path, "/"))
}

// matchSegments tells whether the segments of a pattern cover those of a path. Whole
// patterns are not given to doublestar: there "[^b]" matches a slash and "a*b/**/**" misses
// "aab".
func matchSegments(pattern, path []string) bool {
	return cover(len(pattern), len(path), func(i int) bool { return pattern[i] == "**" }, func(i, n int) bool {
		if !strings.ContainsAny(pattern[i], "*?[") {
			return pattern[i] == path[n]
		}
		ok, err := doublestar.Match(pattern[i], path[n])
		return ok && err == nil
	})
}

// cover matches a sequence of parts against a sequence of names. A part that isAny takes
// any number of names, every other one takes exactly one. Only the newest any part ever has
// to take more: whatever an older one could take instead, the newest one can take too. So
// it takes no more steps than parts times names.
func cover(parts, names int, isAny func(part int) bool, takes func(part, name int) bool) bool {
	part, name := 0, 0
	last, from := -1, 0 // the newest any part, and the first name after those that it takes
	for name < names {
		switch {
		case part < parts && isAny(part):
			last, from = part, name
			part++
		case part < parts && takes(part, name):
			part, name = part+1, name+1
		case last < 0:
			return false
		default:
			from++
			part, name = last+1, from
		}
	}
	for part < parts && isAny(part) {
		part++
	}
	return part == parts
}

// isSegmented refuses the paths that a matcher would read as text only: "src/**" would
// match "src/../x".
func isSegmented(p string) bool {
	for segment := range strings.SplitSeq(p, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return false
		}
	}
	return true
}
