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

// matchSegments takes the segments of a pattern one by one and keeps which beginnings of
// the path they cover: at[i] says that the first i segments are matched. Whole patterns are
// not given to doublestar: there "[^b]" matches a slash and "a*b/**/**" misses "aab".
func matchSegments(pattern, path []string) bool {
	at := make([]bool, len(path)+1)
	at[0] = true
	for _, segment := range pattern {
		next := make([]bool, len(path)+1)
		for i := range next {
			if segment == "**" {
				next[i] = at[i] || (i > 0 && next[i-1])
			} else if i > 0 && at[i-1] {
				ok, err := doublestar.Match(segment, path[i-1])
				next[i] = ok && err == nil
			}
		}
		at = next
	}
	return at[len(path)]
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
