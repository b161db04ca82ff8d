package testreport

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxFindings bounds the findings of one report.
	maxFindings = 64
	// maxHeldBytes bounds what a reader remembers of what has not ended.
	maxHeldBytes = 64 << 20
	// heldOverhead is about what a map costs for each name, in bytes.
	heldOverhead = 160
)

// nameKey tells names apart without keeping them.
type nameKey [16]byte

// seen says which outcomes a name had.
type seen uint8

const (
	seenPass seen = 1 << iota
	seenFail
	seenFlaky
)

// tally is a report in the making.
type tally struct {
	limits Limits
	sum    Report
	names  map[nameKey]seen
	held   int    // bytes, see hold
	said   string // the last limit that was recorded
}

func newTally(limits Limits) *tally {
	return &tally{limits: limits, names: map[nameKey]seen{}}
}

func (t *tally) report() Report { return t.sum }

// add counts a case. Its texts may be of any length and hold anything but control
// characters.
func (t *tally) add(c Case) {
	n := &t.sum.Counts
	n.Total++
	switch c.Status {
	case Skipped:
		n.Skipped++
	case Failed:
		n.Failed++
		n.Executed++
	case Passed:
		n.Passed++
		n.Executed++
	}
	c.Flaky = t.meet(c)
	if c.Status == Passed && !c.Flaky {
		return
	}
	c.Suite, c.Name, c.Message = t.clip(c.Suite), t.clip(c.Name), t.clip(firstLine(c.Message))
	if len(t.sum.Cases) < t.limits.Kept {
		t.sum.Cases = append(t.sum.Cases, c)
	}
}

// meet remembers the outcome of a name and tells whether it makes it flaky.
func (t *tally) meet(c Case) bool {
	sum := sha256.Sum256([]byte(c.Suite + "\x00" + c.Name))
	key := nameKey(sum[:16])
	had, known := t.names[key]
	if !known && len(t.names) >= t.limits.Cases {
		t.truncate("more than %d cases", t.limits.Cases)
		return c.Flaky
	}
	now := had
	switch c.Status {
	case Passed:
		now |= seenPass
	case Failed:
		now |= seenFail
	case Skipped:
	}
	both := now&seenPass != 0 && now&seenFail != 0
	if both && had&seenPass == 0 || both && had&seenFail == 0 {
		t.found(FlakyCase, "%s failed and passed in one run", c.ID())
	}
	flaky := both || c.Flaky && c.Status == Passed
	if flaky && had&seenFlaky == 0 {
		t.sum.Counts.Flaky++
		now |= seenFlaky
	}
	t.names[key] = now
	return flaky
}

// hold reserves memory for a name that is to be remembered; without room the report
// is truncated and the name must be let go.
func (t *tally) hold(name string) bool {
	if t.held+len(name)+heldOverhead > maxHeldBytes {
		t.truncate("more names at once than fit into %d bytes", maxHeldBytes)
		return false
	}
	t.held += len(name) + heldOverhead
	return true
}

func (t *tally) release(name string) { t.held -= len(name) + heldOverhead }

// distinct is the number of names told apart.
func (t *tally) distinct() int64 { return int64(len(t.names)) }

// found records a finding once; its text is cut.
func (t *tally) found(code Code, format string, args ...any) {
	f := Finding{code, t.clip(fmt.Sprintf(format, args...))}
	switch {
	case slices.Contains(t.sum.Findings, f):
	case len(t.sum.Findings) < maxFindings:
		t.sum.Findings = append(t.sum.Findings, f)
	case decides(code) && !t.sum.Has(code):
		t.sum.Findings = append(t.sum.Findings, f) // at most one more of each code
	case !t.sum.Has(MoreFindings):
		t.sum.Findings = append(t.sum.Findings, Finding{MoreFindings, "more findings than are listed"})
	}
}

// truncate records that a limit was reached.
func (t *tally) truncate(format string, args ...any) {
	if t.said == format {
		return // it may be said for each of a million cases
	}
	t.sum.Truncated, t.said = true, format
	t.found(Limit, format, args...)
}

// list appends a name to one of the report's lists, up to the limit and once.
func (t *tally) list(to *[]string, name string) {
	name = t.clip(name)
	if len(*to) < t.limits.Kept && !slices.Contains(*to, name) {
		*to = append(*to, name)
	}
}

// unfinished records what began and did not end.
func (t *tally) unfinished(name string) { t.list(&t.sum.Unfinished, name) }

// clip cuts a text at the limit, between characters.
func (t *tally) clip(s string) string { return clipText(s, t.limits.TextBytes) }

func clipText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimRight(s, "\r")
}
