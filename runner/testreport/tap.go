package testreport

import (
	"regexp"

	"strconv"
	"strings"
)

// tapLevel is one list of test points: the report's own, or a subtest's.
type tapLevel struct {
	name   string
	plan   int64 // -1 before there is one
	points int64
	failed bool  // a point of it failed
	cases  bool  // it or a subtest of it has a case
	late   bool  // the plan came after a point: nothing may follow it
	top    int64 // highest number of a point
}

// tapReader reads TAP 13 and 14.
type tapReader struct {
	t       *tally
	point   *regexp.Regexp
	plan    *regexp.Regexp
	levels  []*tapLevel
	below   *tapLevel // the subtest that ended and whose point comes next
	next    string    // name of a subtest that was announced
	nextAt  int       // and the level it will be; 0 for none
	version int
	known   bool // a "# Subtest" line came: indented lines are subtests whatever the version
	yaml    string
	inYAML  bool
	strays  int
	bailed  bool
}

func readTAP(in *source, t *tally) {
	r := &tapReader{
		t: t, levels: []*tapLevel{{plan: -1}},
		point: regexp.MustCompile(`^(not )?ok\b(?:[ \t]+([0-9]{1,9})\b)?[ \t]*(?:- ?)?(.*)$`),
		plan:  regexp.MustCompile(`^1\.\.([0-9]{1,9})[ \t]*(?:#[ \t]*(.*))?$`),
	}
	all := &lines{in: in.text}
	for !r.bailed {
		l, more := all.next()
		if !more {
			break
		}
		if l.clipped {
			t.truncate("a line is longer than %d bytes", maxLineBytes)
		}
		r.line(strings.TrimRight(string(l.text), " \t"))
	}
	r.done()
}

// line takes a line with its indentation.
func (r *tapReader) line(text string) {
	bare := strings.TrimLeft(text, " ")
	indent := text[:len(text)-len(bare)]
	if r.inYAML {
		r.inYAML = bare != "..." || indent != r.yaml
		return
	}
	switch {
	case bare == "":
		return
	case bare == "---" && len(indent)%4 == 2:
		r.inYAML, r.yaml = true, indent
		return
	case strings.HasPrefix(bare, "TAP version "):
		if r.version == 0 {
			r.version, _ = strconv.Atoi(bare[len("TAP version "):])
		}
		return
	}
	if name, ok := strings.CutPrefix(bare, "# Subtest"); ok {
		r.known = true
		r.announce(len(indent)/4, r.t.clip(strings.TrimPrefix(name, ": ")))
		return
	}
	if len(indent) > 0 && !r.known && r.version < 14 {
		return // before TAP 14 an indented line belongs to no format
	}
	r.entry(len(indent)/4, len(indent)%4 == 0, bare)
}

// announce takes a "# Subtest: name" line, which may stand before the subtest or be
// its first line.
func (r *tapReader) announce(depth int, name string) {
	if depth >= len(r.levels) && r.settle(depth) && r.levels[depth].name == "" {
		r.levels[depth].name = name
		return
	}
	r.next, r.nextAt = name, depth+1
}

// entry takes a plan, a point or another line of a level.
func (r *tapReader) entry(depth int, aligned bool, text string) {
	point, plan := r.point.FindStringSubmatch(text), r.plan.FindStringSubmatch(text)
	bail := strings.HasPrefix(text, "Bail out!")
	if !aligned || point == nil && plan == nil && !bail {
		if !strings.HasPrefix(text, "#") && !strings.HasPrefix(text, "pragma ") {
			r.strays++
		}
		return
	}
	if bail {
		r.bailed = true
		r.t.found(Killed, "the tests bailed out: %s", strings.TrimSpace(text[len("Bail out!"):]))
		return
	}
	if !r.settle(depth) {
		return
	}
	level := r.levels[len(r.levels)-1]
	if plan != nil {
		r.takePlan(level, plan)
	} else {
		r.takePoint(level, point)
	}
}

// settle opens or ends subtests until depth is the level that is read.
func (r *tapReader) settle(depth int) bool {
	if depth > r.t.limits.Depth {
		r.t.found(Refused, "subtests are nested deeper than %d", r.t.limits.Depth)
		return false
	}
	for len(r.levels)-1 < depth {
		r.orphan()
		l := &tapLevel{plan: -1}
		if r.nextAt == len(r.levels) {
			l.name, r.nextAt = r.next, 0
		}
		r.levels = append(r.levels, l)
	}
	for len(r.levels)-1 > depth {
		r.orphan()
		r.below = r.levels[len(r.levels)-1]
		r.levels = r.levels[:len(r.levels)-1]
		r.ended(r.below)
	}
	return true
}

// orphan settles a subtest that no point followed: it says nothing of how it ended.
func (r *tapReader) orphan() {
	if r.below != nil {
		r.t.unfinished("subtest " + r.below.name)
	}
	r.below = nil
}

// takePlan takes "1..n".
func (r *tapReader) takePlan(l *tapLevel, match []string) {
	if l.plan >= 0 {
		r.t.found(Contradiction, "two plans")
		return
	}
	l.plan, _ = strconv.ParseInt(match[1], 10, 64)
	l.late = l.points > 0
	if l.plan == 0 && len(r.levels) == 1 {
		r.t.add(Case{Name: "all", Status: Skipped, Message: match[2]})
	}
}

// takePoint takes "ok" or "not ok".
func (r *tapReader) takePoint(l *tapLevel, match []string) {
	l.points++
	if l.late || l.plan == 0 {
		r.t.found(Contradiction, "a test point after the plan ended")
	}
	number := l.points
	if match[2] != "" {
		number, _ = strconv.ParseInt(match[2], 10, 64)
		if number != l.points {
			r.t.found(Contradiction, "test point %d is numbered %d", l.points, number)
		}
	}
	l.top = max(l.top, number)
	name, directive, reason := tapDirective(match[3])
	if name == "" {
		name = strconv.FormatInt(number, 10)
	}
	one := Case{Suite: r.suite(), Name: name, Status: Passed, Message: reason}
	not := match[1] != ""
	switch {
	case directive == "skip", directive == "todo" && not:
		one.Status = Skipped
	case directive == "todo":
		r.t.found(NoteTodo, "%s holds, and is marked as todo", one.ID())
	case not:
		one.Status = Failed
	}
	l.failed = l.failed || one.Status == Failed
	sub := r.below
	r.below = nil
	if sub != nil && sub.cases {
		l.cases = true
		if sub.failed && one.Status == Passed {
			r.t.found(Contradiction, "%s is ok, and a test below it is not", one.ID())
		}
		if one.Status != Failed || sub.failed {
			return // it contains cases: it is none
		}
	}
	l.cases = true
	r.t.add(one)
}

// suite names the subtests that the point is in.
func (r *tapReader) suite() string {
	var path []string
	for _, l := range r.levels[1:] {
		if l.name != "" {
			path = append(path, l.name)
		}
	}
	return strings.Join(path, "/")
}

// tapDirective splits "name # SKIP reason".
func tapDirective(text string) (name, directive, reason string) {
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			i++
			continue
		}
		if text[i] != '#' || i > 0 && text[i-1] != ' ' && text[i-1] != '\t' {
			continue
		}
		rest := strings.TrimLeft(text[i+1:], " \t")
		for _, word := range []string{"skip", "todo"} {
			if len(rest) >= 4 && strings.EqualFold(rest[:4], word) {
				return strings.TrimSpace(text[:i]), word, strings.TrimLeft(rest[4:], "pPeEdD: \t")
			}
		}
	}
	return strings.TrimSpace(text), "", ""
}

// ended compares a level's plan with its points.
func (r *tapReader) ended(l *tapLevel) {
	what := "the report"
	if l.name != "" {
		what = "subtest " + l.name
	}
	switch {
	case l.plan < 0 && l.points == 0:
	case l.plan < 0:
		r.t.found(Contradiction, "%s has no plan", what)
	case l.points < l.plan:
		r.t.unfinished(what + ": " + strconv.FormatInt(l.points, 10) + " of " + strconv.FormatInt(l.plan, 10) + " planned")
	case l.points > l.plan:
		r.t.found(Contradiction, "%s has %d test points, planned are %d", what, l.points, l.plan)
	}
}

func (r *tapReader) done() {
	if r.inYAML {
		r.t.found(CutOff, "the report ends inside a diagnostic")
	}
	if !r.bailed {
		r.settle(0)
		r.orphan()
		r.ended(r.levels[0])
	}
	if r.strays > 0 {
		r.t.found(TextLine, "%d lines are not TAP", r.strays)
	}
}
