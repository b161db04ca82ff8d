package workflow

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// ErrSpec reports a spec.md that cannot be read; the text names the lines.
var ErrSpec = errors.New("invalid spec")

// Limits of a spec.
const (
	MaxSpecBytes = 64 << 10
	MaxItems     = 64
	MaxItemBytes = 4096
)

// Item is one acceptance item of a spec.
type Item struct {
	ID   string // A1 to A999
	Text string // its lines without indentation, divided by line feeds
	Line int    // where it begins, from 1
}

// Spec is what spec.md says.
type Spec struct {
	Title string // the first heading, "" for none
	Items []Item // in the order of the file; at least one
}

// itemLine matches the first line of an item.
var itemLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^- (A[1-9][0-9]{0,2}):(?: |$)`) })

// nearItem matches what somebody meant as an item: another bullet, no bullet, a
// check box, a small letter, no colon, a wide colon, indentation.
var nearItem = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:[-*+]\s*)?(?:\[.?\]\s*)?(?:\*\*)?[Aa][0-9]+(?:\*\*)?\s*(?:[:：.)]|$)|^\s*[-*+]\s+(?:\[.?\]\s*)?(?:\*\*)?[Aa][0-9]+\b`)
})

// ItemID reports whether s is the id of an acceptance item.
func ItemID(s string) bool { return itemLine().MatchString("- "+s+":") && !strings.Contains(s, ":") }

// ParseSpec reads spec.md. Error: [ErrSpec] with every fault that was found, each
// with its line: no item, an id twice, an item without a text, a line that looks
// like an item and is none, a fence that nothing closes, a limit.
func ParseSpec(text []byte) (Spec, error) {
	switch {
	case len(text) > MaxSpecBytes:
		return Spec{}, fmt.Errorf("%w: %d bytes, limit %d", ErrSpec, len(text), MaxSpecBytes)
	case !utf8.Valid(text) || strings.ContainsRune(string(text), 0):
		return Spec{}, fmt.Errorf("%w: it is no UTF-8 text", ErrSpec)
	}
	r := specReader{lines: map[string]int{}}
	for n, line := range strings.Split(string(text), "\n") {
		r.read(n+1, strings.TrimSuffix(line, "\r"))
	}
	r.close()
	switch {
	case r.fence > 0:
		r.fail(r.fence, "nothing closes this fence")
	case len(r.spec.Items) == 0 && len(r.faults) == 0:
		r.faults = append(r.faults, `there is no acceptance item: write one a line, "- A1: what must hold, so that a command can check it"`)
	case len(r.spec.Items) > MaxItems:
		r.faults = append(r.faults, fmt.Sprintf("%d items, limit %d", len(r.spec.Items), MaxItems))
	}
	if len(r.faults) > 0 {
		return Spec{}, fmt.Errorf("%w: %s", ErrSpec, strings.Join(r.faults, "; "))
	}
	return r.spec, nil
}

// specReader reads a spec line by line.
type specReader struct {
	spec   Spec
	open   *Item          // the item that goes on
	fence  int            // line of the open code fence, 0 for none
	lines  map[string]int // of the items so far
	faults []string
}

// maxFaults bounds how many faults one error names.
const maxFaults = 16

func (r *specReader) fail(line int, format string, args ...any) {
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, fmt.Sprintf("line %d: %s", line, fmt.Sprintf(format, args...)))
	}
}

func (r *specReader) read(n int, line string) {
	trimmed := strings.TrimSpace(line)
	fence := strings.HasPrefix(trimmed, "```")
	switch {
	case fence && r.fence > 0:
		r.fence = 0
		r.extend(trimmed)
	case fence:
		r.fence = n
		r.extend(trimmed)
	case r.fence > 0:
		r.extend(trimmed)
	case itemLine().MatchString(line):
		r.close()
		id, rest, _ := strings.Cut(line[len("- "):], ":")
		r.open = &Item{ID: id, Text: strings.TrimSpace(rest), Line: n}
	case nearItem().MatchString(line):
		r.close()
		r.fail(n, `%q looks like an acceptance item: write it as "- A1: text" at the beginning of the line`, clip(trimmed))
	case trimmed == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "- "):
		r.close()
		if title, ok := strings.CutPrefix(line, "# "); ok && r.spec.Title == "" {
			r.spec.Title = strings.TrimSpace(title)
		}
	default:
		r.extend(trimmed)
	}
}

// extend adds a line to the open item.
func (r *specReader) extend(line string) {
	switch {
	case r.open == nil || line == "":
	case r.open.Text == "":
		r.open.Text = line
	default:
		r.open.Text += "\n" + line
	}
}

// close ends the open item.
func (r *specReader) close() {
	i := r.open
	if i == nil {
		return
	}
	r.open = nil
	switch {
	case r.lines[i.ID] > 0:
		r.fail(i.Line, "%s is there twice, first in line %d", i.ID, r.lines[i.ID])
	case i.Text == "":
		r.fail(i.Line, "%s says nothing: write what must hold", i.ID)
	case len(i.Text) > MaxItemBytes:
		r.fail(i.Line, "%s has %d bytes, limit %d", i.ID, len(i.Text), MaxItemBytes)
	default:
		r.spec.Items = append(r.spec.Items, *i)
	}
	r.lines[i.ID] = i.Line
}

// Text writes a spec so that [ParseSpec] gives its title and items again.
func (s Spec) Text() string {
	var b strings.Builder
	if s.Title != "" {
		b.WriteString("# " + s.Title + "\n\n")
	}
	for _, i := range s.Items {
		b.WriteString("- " + i.ID + ": " + strings.ReplaceAll(i.Text, "\n", "\n  ") + "\n")
	}
	return b.String()
}

// clip bounds a text that is quoted in an error.
func clip(s string) string {
	const limit = 60
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
