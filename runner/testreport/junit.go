package testreport

import (
	"slices"
	"strconv"
	"strings"
)

// junitCounts are numbers of cases in a suite.
type junitCounts struct{ total, failed, skipped int64 }

func (c *junitCounts) add(o junitCounts) {
	c.total, c.failed, c.skipped = c.total+o.total, c.failed+o.failed, c.skipped+o.skipped
}

// junitSuite is a suite that is open: what it says of itself, and what is in it.
type junitSuite struct {
	name      string
	declared  map[string]string // its counters as they stand there
	own, here junitCounts       // without and with the suites in it
}

// junitCase is the case that is open.
type junitCase struct {
	suite, name, status      string
	failed, skipped, retried bool
	message                  string
	depth                    int // of its element
}

// junitReader reads JUnit XML. There is no one schema; see the package comment for
// what counts as what.
type junitReader struct {
	x      *xmlReader
	t      *tally
	suites []*junitSuite
	open   *junitCase
}

func readJUnit(in *source, t *tally) {
	if in.clean.unknown != "" {
		return // finish says so
	}
	r := &junitReader{x: &xmlReader{in: in.text, t: t}, t: t}
	for {
		switch r.x.next() {
		case xmlStart:
			r.start()
		case xmlEnd:
			r.end()
		case xmlDone:
			r.done()
			return
		}
	}
}

// start takes the start of an element.
func (r *junitReader) start() {
	name := r.x.name
	if len(r.x.stack) == 1 && name != "testsuites" && name != "testsuite" {
		r.x.fail(Malformed, "the root element is <%s>", name)
		return
	}
	switch {
	case r.open != nil:
		r.inside(name)
	case name == "testsuites" || name == "testsuite":
		s := &junitSuite{name: r.t.clip(r.x.attr("name")), declared: map[string]string{}}
		for _, counter := range []string{"tests", "failures", "errors", "skipped", "disabled"} {
			if v := r.x.attr(counter); v != "" {
				s.declared[counter] = r.t.clip(v)
			}
		}
		r.suites = append(r.suites, s)
	case name == "testcase":
		suite := r.x.attr("classname")
		if suite == "" {
			suite = r.suite().name
		}
		status := r.x.attr("status")
		if result := r.x.attr("result"); result != "" && result != "completed" {
			status = result
		}
		r.open = &junitCase{suite: suite, name: r.x.attr("name"), status: status, depth: len(r.x.stack)}
	case name == "failure" || name == "error":
		r.t.list(&r.t.sum.SuiteFailed, r.suite().name)
	}
}

func (r *junitReader) suite() *junitSuite { return r.suites[len(r.suites)-1] }

// inside takes an element of the open case.
func (r *junitReader) inside(name string) {
	c := r.open
	switch name {
	case "failure", "error":
		c.failed = true
		c.message = r.x.attr("message")
	case "skipped":
		c.skipped = true
		if c.message == "" {
			c.message = r.x.attr("message")
		}
	case "flakyFailure", "flakyError", "rerunFailure", "rerunError":
		c.retried = true
	case "testcase", "testsuite", "testsuites":
		r.t.found(Contradiction, "<%s> inside case %s", name, c.name)
	}
}

// end takes the end of an element.
func (r *junitReader) end() {
	name := r.x.name
	switch {
	case r.open != nil && len(r.x.stack) == r.open.depth-1:
		r.close()
	case r.open != nil:
		if (name == "failure" || name == "error") && r.open.message == "" {
			r.open.message = strings.ToValidUTF8(string(r.x.text), "")
		}
	case name == "testsuites" || name == "testsuite":
		s := r.suite()
		r.suites = r.suites[:len(r.suites)-1]
		s.here.add(s.own)
		r.compare(s)
		if len(r.suites) > 0 {
			r.suite().here.add(s.here)
		}
	}
}

// close counts the open case.
func (r *junitReader) close() {
	c := r.open
	r.open = nil
	one := Case{Suite: c.suite, Name: c.name, Message: c.message, Status: Passed}
	count := junitCounts{total: 1}
	status := strings.ToLower(c.status)
	switch {
	case c.failed || slices.Contains([]string{"failed", "fail", "failure", "error", "errored", "broken"}, status):
		one.Status = Failed
		count.failed = 1
	case c.skipped || slices.Contains([]string{"skipped", "skip", "notrun", "disabled", "ignored", "pending", "suppressed"}, status):
		one.Status = Skipped
		count.skipped = 1
	case slices.Contains([]string{"", "run", "passed", "pass", "success", "successful", "succeeded", "ok", "completed", "executed", "fixed"}, status):
		one.Flaky = c.retried
	default:
		r.t.unfinished(one.ID())
		r.suite().own.add(count)
		return
	}
	if one.Flaky {
		r.t.found(FlakyCase, "%s failed and passed when tried again", one.ID())
	}
	r.suite().own.add(count)
	r.t.add(one)
}

// compare holds a suite's counters against its cases. Writers differ on whether a
// suite counts the suites in it, and whether a total has the skipped ones.
func (r *junitReader) compare(s *junitSuite) {
	number := func(counter string) (int64, bool) {
		text, has := s.declared[counter]
		n, err := strconv.ParseInt(text, 10, 64)
		if has && (err != nil || n < 0) {
			r.t.found(Contradiction, "counters contradict cases: %s=%q in suite %q", counter, text, s.name)
			return 0, false
		}
		return n, has
	}
	if tests, ok := number("tests"); ok && !slices.Contains([]int64{
		s.own.total, s.here.total, s.own.total - s.own.skipped, s.here.total - s.here.skipped,
	}, tests) {
		r.t.found(Contradiction, "counters contradict cases: tests=%d in suite %q, which has %d", tests, s.name, s.here.total)
	}
	failures, hasFailures := number("failures")
	errors, hasErrors := number("errors")
	if n := failures + errors; (hasFailures || hasErrors) && n != s.own.failed && n != s.here.failed {
		r.t.found(Contradiction, "counters contradict cases: %d failures and errors in suite %q, which has %d", n, s.name, s.here.failed)
	}
	skipped, _ := number("skipped")
	disabled, _ := number("disabled")
	if max(skipped, disabled) > s.here.skipped {
		r.t.found(Contradiction, "counters contradict cases: %d skipped in suite %q, which has %d", max(skipped, disabled), s.name, s.here.skipped)
	}
}

// done names what a document that ends early left open.
func (r *junitReader) done() {
	if r.open != nil {
		r.t.unfinished(r.open.name)
	}
}
