package testreport

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// goEvent is a line of go test -json; see "go doc test2json" and "go help buildjson".
type goEvent struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
}

// goTest is one test of a package, until the package ends.
type goTest struct {
	passed, failed, skipped int  // ends; more than one with -count
	running                 bool // began and did not end
	parent                  bool // has subtests
	below                   bool // one of its subtests failed
}

// goPackage is what is known of a package that has not ended.
type goPackage struct {
	tests  map[string]*goTest
	order  []string
	killed string // "signal: …" of the go command
	exited bool   // "exit status …" of the go command
	build  bool
	setup  bool
}

// goReader reads the events of go test -json.
type goReader struct {
	t        *tally
	packages map[string]*goPackage
	builds   []string // import paths that failed to build and no package named yet
	strays   int      // lines that are no event
}

// readGoTest reads a stream of events among other lines.
func readGoTest(in *source, t *tally) {
	r := &goReader{t: t, packages: map[string]*goPackage{}}
	all := &lines{in: in.text}
	for {
		l, more := all.next()
		if !more {
			break
		}
		r.line(l)
	}
	r.end()
}

func (r *goReader) line(l line) {
	if len(bytes.TrimSpace(l.text)) == 0 {
		return
	}
	var e goEvent
	if l.text[0] != '{' || json.Unmarshal(l.text, &e, jsontext.AllowInvalidUTF8(true)) != nil || e.Action == "" {
		r.strays++
		switch {
		case l.text[0] == '{' && l.clipped:
			r.t.truncate("a line that may be an event is longer than %d bytes", maxLineBytes)
		case l.text[0] == '{' && !l.whole:
			r.t.found(CutOff, "the last event is cut off")
		}
		return
	}
	if l.clipped {
		r.t.found(Clipped, "a line was longer than is kept")
	}
	if e.Action == "build-fail" {
		r.build(e.ImportPath)
		return
	}
	if e.Package == "" {
		return // the build's output
	}
	p := r.open(e.Package)
	if p == nil {
		return
	}
	if e.Action == "output" {
		p.output(r.t, e)
		return
	}
	if e.Test != "" {
		r.test(p, e)
		return
	}
	switch e.Action {
	case "pass", "fail", "skip":
		r.close(e, p)
	}
}

// build remembers an import path that did not build until a package names it.
func (r *goReader) build(path string) {
	if len(r.builds) < r.t.limits.Kept {
		r.builds = append(r.builds, path)
	} else {
		r.t.list(&r.t.sum.BuildFailed, barePath(path))
	}
}

// barePath drops what build events add to a path: "p2 [p2.test]".
func barePath(path string) string {
	path, _, _ = strings.Cut(path, " [")
	return path
}

// open gives the state of a package that runs; nil beyond the limit.
func (r *goReader) open(name string) *goPackage {
	if p := r.packages[name]; p != nil {
		return p
	}
	if !r.t.hold(name) {
		return nil
	}
	p := &goPackage{tests: map[string]*goTest{}}
	r.packages[name] = p
	return p
}

// output reads what the go command itself says in a package's output.
func (p *goPackage) output(t *tally, e goEvent) {
	text := strings.TrimSuffix(e.Output, "\n")
	switch {
	case strings.HasPrefix(text, "signal: "):
		p.killed, p.exited = text, false
	case strings.HasPrefix(text, "exit status "):
		p.killed, p.exited = "", true
	case e.Test != "":
	case strings.HasPrefix(text, "FAIL\t") && strings.HasSuffix(text, "[build failed]"):
		p.build = true
	case strings.HasPrefix(text, "FAIL\t") && strings.HasSuffix(text, "[setup failed]"):
		p.setup = true
	case strings.HasPrefix(text, "ok  \t") && strings.Contains(text, "\t(cached)"):
		t.found(Cached, "the result of %s is from an earlier run", e.Package)
	}
}

// test takes an event of one test.
func (r *goReader) test(p *goPackage, e goEvent) {
	one := p.tests[e.Test]
	if e.Action == "run" {
		if one == nil {
			if !r.t.hold(e.Test) {
				return
			}
			one = &goTest{}
			p.tests[e.Test] = one
			p.order = append(p.order, e.Test)
		}
		one.running = true
		p.above(e.Test, func(t *goTest) { t.parent = true })
		return
	}
	if e.Action != "pass" && e.Action != "bench" && e.Action != "fail" && e.Action != "skip" {
		return
	}
	if one == nil || !one.running {
		r.t.found(Contradiction, "%s.%s ended without having begun", e.Package, e.Test)
		if e.Action == "fail" {
			r.t.add(Case{Suite: e.Package, Name: e.Test, Status: Failed})
		}
		return
	}
	one.running = false
	switch e.Action {
	case "fail":
		one.failed++
		p.above(e.Test, func(t *goTest) { t.below = true })
	case "skip":
		one.skipped++
	default:
		one.passed++
	}
}

// above visits the tests that a subtest is part of.
func (p *goPackage) above(name string, visit func(*goTest)) {
	for slash := strings.LastIndexByte(name, '/'); slash >= 0; slash = strings.LastIndexByte(name, '/') {
		name = name[:slash]
		if t := p.tests[name]; t != nil {
			visit(t)
		}
	}
}

// close counts what a package that ended holds.
func (r *goReader) close(e goEvent, p *goPackage) {
	failed, unfinished := r.count(e.Package, p)
	switch {
	case e.Action != "fail" && failed:
		r.t.found(Contradiction, "%s ended as %s with a failed test", e.Package, e.Action)
	case e.Action != "fail":
	case p.setup:
		r.take(e.FailedBuild)
		r.t.list(&r.t.sum.SetupFailed, e.Package)
	case p.build || e.FailedBuild != "":
		r.take(e.FailedBuild)
		r.t.list(&r.t.sum.BuildFailed, e.Package)
	case p.killed != "":
		r.t.found(Killed, "%s: %s", e.Package, p.killed)
		r.t.list(&r.t.sum.SuiteFailed, e.Package)
	case !failed && (unfinished == 0 || p.exited):
		r.t.list(&r.t.sum.SuiteFailed, e.Package)
	}
	delete(r.packages, e.Package)
	r.t.release(e.Package)
	for _, test := range p.order {
		r.t.release(test)
	}
}

// take drops a failed build that a package names.
func (r *goReader) take(build string) {
	for i, b := range r.builds {
		if b == build {
			r.builds = append(r.builds[:i], r.builds[i+1:]...)
			return
		}
	}
}

// count adds the cases of a package: tests without subtests, and tests that
// failed although none of their subtests did.
func (r *goReader) count(name string, p *goPackage) (failed bool, unfinished int) {
	for _, test := range p.order {
		one := p.tests[test]
		if one.running {
			unfinished++
			r.t.unfinished(name + "." + test)
		}
		failed = failed || one.failed > 0
		if one.parent {
			if one.failed > 0 && !one.below {
				r.t.add(Case{Suite: name, Name: test, Status: Failed})
			}
			continue
		}
		for range one.failed {
			r.t.add(Case{Suite: name, Name: test, Status: Failed})
		}
		for range one.passed {
			r.t.add(Case{Suite: name, Name: test, Status: Passed})
		}
		for range one.skipped {
			r.t.add(Case{Suite: name, Name: test, Status: Skipped})
		}
	}
	return failed, unfinished
}

// end settles what the stream left open.
func (r *goReader) end() {
	for _, name := range slices.Sorted(maps.Keys(r.packages)) {
		r.count(name, r.packages[name])
		r.t.unfinished(name)
	}
	for _, path := range r.builds {
		r.t.list(&r.t.sum.BuildFailed, barePath(path))
	}
	if r.strays > 0 {
		r.t.found(TextLine, "%d lines are no event of go test", r.strays)
	}
}
