package events

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrData says that a member of an event's data is out of bounds, breaks its
// pattern, or contradicts another member.
var ErrData = errors.New("bad event data")

// Limits of text and lists in data.
const (
	MaxText    = 4000 // bytes of a free text
	MaxLine    = 500  // bytes of a one-line text
	MaxList    = 256  // entries of a list
	MaxChanges = 400  // changed paths of one result
	MaxArgs    = 64   // words of a command
	maxInt     = 1<<53 - 1
)

// validation collects the first fault of a payload. The zero value is ready.
type validation struct{ err error }

// fail records a fault at the named member, unless there is one already.
func (v *validation) fail(member, format string, args ...any) {
	if v.err == nil {
		v.err = fmt.Errorf("%w: %s: %s", ErrData, member, fmt.Sprintf(format, args...))
	}
}

// that records a fault when ok is false.
func (v *validation) that(ok bool, member, format string, args ...any) {
	if !ok {
		v.fail(member, format, args...)
	}
}

// text checks a free text: valid UTF-8 without NUL, at most limit bytes.
func (v *validation) text(member, s string, limit int) {
	v.that(len(s) <= limit, member, "%d bytes, limit %d", len(s), limit)
	v.that(utf8.ValidString(s) && !strings.ContainsRune(s, 0), member, "no valid UTF-8 text")
}

// need checks a text that must not be empty.
func (v *validation) need(member, s string, limit int) {
	v.that(s != "", member, "is missing or empty")
	v.text(member, s, limit)
}

// digest checks 64 lower-case hex digits; an empty one passes where optional.
func (v *validation) digest(member, s string, optional bool) {
	if s == "" && optional {
		return
	}
	_, err := ParseHash(s)
	v.that(err == nil, member, "%q is no SHA-256 digest in lower-case hex", clip(s))
}

// object checks a git object id: 40 or 64 lower-case hex digits.
func (v *validation) object(member, s string, optional bool) {
	if s == "" && optional {
		return
	}
	ok := len(s) == 40 || len(s) == 64
	for i := range len(s) {
		ok = ok && isHex(s[i])
	}
	v.that(ok, member, "%q is no git object id", clip(s))
}

// oneOf checks membership in a closed set.
func (v *validation) oneOf(member, s string, set ...string) {
	v.that(slices.Contains(set, s), member, "%q, want one of %s", clip(s), strings.Join(set, ", "))
}

// number checks lo ≤ n ≤ hi.
func (v *validation) number(member string, n, lo, hi int64) {
	v.that(n >= lo && n <= hi, member, "%d is not within %d to %d", n, lo, hi)
}

// count checks lo ≤ entries ≤ hi.
func (v *validation) count(member string, n, lo, hi int) {
	v.that(n >= lo && n <= hi, member, "%d entries, want %d to %d", n, lo, hi)
}

// when checks an optional time.
func (v *validation) when(member, s string) {
	if s == "" {
		return
	}
	_, err := ParseTime(s)
	v.that(err == nil, member, "%q, want YYYY-MM-DDTHH:MM:SSZ", clip(s))
}

// actor checks an actor or principal name.
func (v *validation) actor(member, s string) {
	v.that(ValidActor(s), member, "%q is no actor name ([a-z0-9][a-z0-9._@+-]{0,63})", clip(s))
}

// name checks a short identifier within data, such as an acceptance item's.
func (v *validation) name(member, s string) {
	v.that(len(s) <= 64 && matchName(s, true, "_.-"), member, "%q is no identifier ([A-Za-z0-9][A-Za-z0-9._-]{0,63})", clip(s))
}

// line checks a required or optional one-line text: no control character but
// tab, so that no name, branch or version can drive a terminal.
func (v *validation) line(member, s string, optional bool) {
	if !optional {
		v.that(s != "", member, "is missing or empty")
	}
	v.text(member, s, MaxLine)
	control := func(r rune) bool { return r != '\t' && unicode.IsControl(r) }
	v.that(strings.IndexFunc(s, control) < 0, member, "has a line break or another control character")
}

// path checks an encoded path: printable ASCII, see the workspace package.
func (v *validation) path(member, s string) {
	ok := s != "" && len(s) <= 1024
	for i := range len(s) {
		ok = ok && s[i] > 0x20 && s[i] < 0x7f
	}
	v.that(ok, member, "%q is no encoded path of 1 to 1024 bytes", clip(s))
}

// lines checks a list of one-line texts.
func (v *validation) lines(member string, list []string, limit int) {
	v.count(member, len(list), 0, limit)
	for i, s := range list {
		v.line(index(member, i), s, false)
	}
}

// command checks an argument vector; an empty one passes where optional.
func (v *validation) command(member string, argv []string, optional bool) {
	if len(argv) == 0 && optional {
		return
	}
	v.count(member, len(argv), 1, MaxArgs)
	for i, s := range argv {
		v.text(index(member, i), s, MaxText)
	}
	v.that(len(argv) == 0 || argv[0] != "", member, "the program's name is empty")
}

// sorted checks that keys are in strictly rising order, hence unique.
func (v *validation) sorted(member string, keys []string) {
	for i := 1; i < len(keys); i++ {
		v.that(keys[i-1] < keys[i], index(member, i), "%q is not after %q: the list must be sorted without repetition", clip(keys[i]), clip(keys[i-1]))
	}
}

// unique checks that no key occurs twice.
func (v *validation) unique(member string, keys []string) {
	seen := make(map[string]bool, len(keys))
	for i, k := range keys {
		v.that(!seen[k], index(member, i), "%q occurs twice", clip(k))
		seen[k] = true
	}
}

// within validates a nested value under the member's name.
func (v *validation) within(member string, validate func(v *validation)) {
	var inner validation
	validate(&inner)
	if inner.err != nil && v.err == nil {
		text := strings.TrimPrefix(inner.err.Error(), ErrData.Error()+": ")
		v.err = fmt.Errorf("%w: %s.%s", ErrData, member, text)
	}
}

// index names an entry of a list.
func index(member string, i int) string { return fmt.Sprintf("%s[%d]", member, i) }
