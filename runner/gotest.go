package runner

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// maxTestLineBytes bounds one line of a test report in text; longer ones are passed over.
const maxTestLineBytes = 1 << 20

// Tests is what a go test run without -json told of itself. Single tests cannot be told
// apart there: a package that ran counts as one executed case. A run with -json is a
// report; see [ReportRef].
type Tests struct {
	Known         bool // the command is a go test that prints text
	Passed        int  // packages that passed and ran something
	BuildFailed   bool // a package did not compile
	SetupFailed   bool // a package could not be loaded: its code or its environment
	PackageFailed bool // a package failed
	Cached        bool // a result was taken from an earlier run
	Overflow      bool // a line went beyond the limit
}

// testReader reads the output of a go test as it comes, in lines.
type testReader struct {
	on   bool
	line []byte
	long bool
	sum  Tests
}

// newTestReader gives a reader for the command; for other commands it reads nothing.
func newTestReader(command []string) *testReader {
	return &testReader{on: isGoTest(command) && !slices.ContainsFunc(command, isJSONFlag)}
}

func isJSONFlag(a string) bool {
	return a == "-json" || a == "--json" || a == "-json=true" || a == "--json=true"
}

// isGoTest tells whether the command is "go test …" or "go -C dir test …".
func isGoTest(command []string) bool {
	if len(command) < 2 || path.Base(command[0]) != "go" {
		return false
	}
	rest := command[1:]
	switch {
	case len(rest) > 2 && rest[0] == "-C":
		rest = rest[2:]
	case len(rest) > 1 && strings.HasPrefix(rest[0], "-C="):
		rest = rest[1:]
	}
	return rest[0] == "test"
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
	line := string(r.line)
	r.line = r.line[:0]
	if r.long {
		r.long = false
		return
	}
	switch {
	case strings.HasPrefix(line, "FAIL\t") && strings.HasSuffix(line, "[build failed]"):
		r.sum.BuildFailed = true
	case strings.HasPrefix(line, "FAIL\t") && strings.HasSuffix(line, "[setup failed]"):
		r.sum.SetupFailed = true
	case strings.HasPrefix(line, "FAIL\t"):
		r.sum.PackageFailed = true
	case strings.HasPrefix(line, "ok  \t") && strings.Contains(line, "\t(cached)"):
		r.sum.Cached = true
	}
	if strings.HasPrefix(line, "ok  \t") && !strings.HasSuffix(line, "[no tests to run]") {
		r.sum.Passed++
	}
}

// tests gives what was read once the output has ended.
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
