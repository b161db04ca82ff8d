package runner

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

const (
	// maxTestLineBytes bounds one line of a test report; longer ones are passed over.
	maxTestLineBytes = 1 << 20
	// maxTestCases bounds how many tests are told apart.
	maxTestCases = 200_000
)

// Tests is what a go test run told of itself. Without -json and -v single tests cannot be
// told apart: then a package that ran counts as one executed case.
type Tests struct {
	Known         bool // the command is a go test
	Passed        int  // cases without subtests of their own that passed
	Failed        int
	Skipped       int
	BuildFailed   bool // a package did not compile
	SetupFailed   bool // a package could not be loaded: its code or its environment
	PackageFailed bool // a package failed outside its tests
	Cached        bool // a result was taken from an earlier run
	Overflow      bool // a line or the number of tests went beyond a limit
}

// Executed is the number of cases that ran to an end: total less skipped.
func (t Tests) Executed() int { return t.Passed + t.Failed }

// testReader reads the output of a go test as it comes, in lines.
type testReader struct {
	on      bool
	json    bool
	line    []byte
	long    bool
	sum     Tests
	parents map[string]bool // "package\x00test" of tests that have subtests
}

// newTestReader gives a reader for the command; for other commands it reads nothing.
func newTestReader(command []string) *testReader {
	return &testReader{
		on: isGoTest(command), json: slices.ContainsFunc(command, isJSONFlag), parents: map[string]bool{},
	}
}

func isJSONFlag(a string) bool {
	return a == "-json" || a == "--json" || a == "-json=true" || a == "--json=true"
}

func (r *testReader) Write(p []byte) (int, error) {
	n := len(p)
	for r.on && len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		part := p
		if end >= 0 {
			part = p[:end]
		}
		if len(r.line)+len(part) > maxTestLineBytes {
			r.long, r.sum.Overflow = true, true
		} else {
			r.line = append(r.line, part...)
		}
		if end < 0 {
			break
		}
		r.endLine()
		p = p[end+1:]
	}
	return n, nil
}

func (r *testReader) endLine() {
	line := r.line
	r.line = r.line[:0]
	if r.long {
		r.long = false
		return
	}
	if r.json {
		r.readEvent(line)
	} else {
		r.readText(string(line))
	}
}

// tests gives the sum; call it after the last write.
func (r *testReader) tests() Tests {
	if !r.on {
		return Tests{}
	}
	if len(r.line) > 0 {
		r.endLine()
	}
	r.sum.Known = true
	return r.sum
}

// testEvent is a line of go test -json; see "go doc test2json".
type testEvent struct {
	Action, Package, Test, Output string
}

func (r *testReader) readEvent(line []byte) {
	var e testEvent
	// Lines that are no event come from the go command itself.
	if json.Unmarshal(line, &e) != nil {
		return
	}
	switch {
	case e.Action == "run":
		r.markParents(e)
	case e.Test != "":
		r.countCase(e.Action, r.parents[e.Package+"\x00"+e.Test])
	case e.Action == "fail":
		r.sum.PackageFailed = true
	case e.Action == "output":
		r.readPackageLine(strings.TrimSuffix(e.Output, "\n"))
	}
}

func (r *testReader) markParents(e testEvent) {
	for name := e.Test; ; {
		slash := strings.LastIndexByte(name, '/')
		if slash < 0 {
			return
		}
		name = name[:slash]
		if len(r.parents) >= maxTestCases {
			r.sum.Overflow = true
			return
		}
		r.parents[e.Package+"\x00"+name] = true
	}
}

func (r *testReader) countCase(action string, parent bool) {
	switch {
	case action == "fail":
		r.sum.Failed++
	case action == "pass" && !parent:
		r.sum.Passed++
	case action == "skip" && !parent:
		r.sum.Skipped++
	}
}

// readText reads the plain report, where only the lines of packages are certain.
func (r *testReader) readText(line string) {
	r.readPackageLine(line)
	switch {
	case strings.HasPrefix(line, "ok  \t") && !strings.HasSuffix(line, "[no tests to run]"):
		r.sum.Passed++
	case strings.HasPrefix(line, "FAIL\t") && !strings.HasSuffix(line, " failed]"):
		r.sum.PackageFailed = true
	}
}

// readPackageLine reads the line that ends a package in either form.
func (r *testReader) readPackageLine(line string) {
	switch {
	case strings.HasPrefix(line, "FAIL\t") && strings.HasSuffix(line, "[build failed]"):
		r.sum.BuildFailed = true
	case strings.HasPrefix(line, "FAIL\t") && strings.HasSuffix(line, "[setup failed]"):
		r.sum.SetupFailed = true
	case strings.HasPrefix(line, "ok  \t") && strings.Contains(line, "\t(cached)"):
		r.sum.Cached = true
	}
}
