package testreport

import (
	"strings"
	"testing"
)

// want is what a report has to say.
type want struct {
	name   string
	text   string
	exit   int
	skips  []string
	class  string
	rule   string
	reason string // part of the reason
	counts Counts
	codes  []Code
}

// check reads a report and compares its counts, findings and verdict.
func (w want) check(t *testing.T, format string) {
	t.Helper()
	r, err := Read(format, strings.NewReader(w.text), Limits{})
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	class, rule, reason := r.Verdict(w.exit, w.skips)
	if class != w.class || rule != w.rule || !strings.Contains(reason, w.reason) {
		t.Errorf("verdict %s by %s (%s), want %s by %s (%s)", class, rule, reason, w.class, w.rule, w.reason)
	}
	if r.Counts != w.counts {
		t.Errorf("counts %+v, want %+v", r.Counts, w.counts)
	}
	for _, code := range w.codes {
		if !r.Has(code) {
			t.Errorf("no finding %s in %v", code, r.Findings)
		}
	}
	if len(w.codes) == 0 && len(r.Findings) > 0 {
		t.Errorf("findings %v, want none", r.Findings)
	}
	if len(r.SHA256) != 64 || r.Bytes != int64(len(w.text)) || r.Format != format {
		t.Errorf("digest %q of %d bytes as %q, want one of %d as %q", r.SHA256, r.Bytes, r.Format, len(w.text), format)
	}
}

// events writes go test events: "package action" or "package test action".
func goEvents(list ...string) string {
	var out strings.Builder
	for _, e := range list {
		f := strings.Fields(e)
		if len(f) == 2 {
			out.WriteString(`{"Action":"` + f[1] + `","Package":"` + f[0] + `"}` + "\n")
		} else {
			out.WriteString(`{"Action":"` + f[2] + `","Package":"` + f[0] + `","Test":"` + f[1] + `"}` + "\n")
		}
	}
	return out.String()
}

func goOutput(pkg, text string) string {
	return `{"Action":"output","Package":"` + pkg + `","Output":"` + text + `\n"}` + "\n"
}

// buildFailed is what Go 1.26 writes of a package that does not compile.
const buildFailed = `{"ImportPath":"p2 [p2.test]","Action":"build-output","Output":"# p2 [p2.test]\n"}
{"ImportPath":"p2 [p2.test]","Action":"build-output","Output":"p2/a_test.go:3:27: undefined: undefined\n"}
{"ImportPath":"p2 [p2.test]","Action":"build-fail"}
{"Action":"start","Package":"p2"}
{"Action":"output","Package":"p2","Output":"FAIL\tp2 [build failed]\n"}
{"Action":"fail","Package":"p2","Elapsed":0,"FailedBuild":"p2 [p2.test]"}
`

func three() string {
	return goEvents("p1 start", "p1 TestA run", "p1 TestA pass", "p1 TestB run", "p1 TestB pass", "p1 TestC run", "p1 TestC pass", "p1 pass")
}

// TestGoTestCase24 holds every variant of case C24.
func TestGoTestCase24(t *testing.T) {
	passed3 := Counts{Total: 3, Executed: 3, Passed: 3}
	long := strings.Repeat("x", 3<<20)
	failing := goEvents("p1 TestZ run", "p1 TestZ fail", "p1 fail")
	for _, w := range []want{
		{name: "build failed", text: three() + buildFailed, exit: 1,
			class: classCodeFailure, rule: "report-build-failed", reason: "build failed: p2", counts: passed3},
		{name: "build failed, exit 0", text: three() + buildFailed, exit: 0,
			class: classInconclusive, rule: "report-disagrees", reason: "build failed: p2", counts: passed3},
		{name: "build failed, older Go", exit: 1,
			text:  "# p2\np2/a.go:1: undefined: x\n" + three() + goOutput("p2", `FAIL\tp2 [build failed]`) + goEvents("p2 fail"),
			class: classCodeFailure, rule: "report-build-failed", reason: "build failed: p2", counts: passed3, codes: []Code{TextLine}},
		{name: "only the build event", text: three() + strings.Join(strings.SplitAfter(buildFailed, "\n")[:3], ""), exit: 1,
			class: classCodeFailure, rule: "report-build-failed", reason: "build failed: p2", counts: passed3},
		{name: "cut after run", text: three() + goEvents("p2 start", "p2 TestX run"), exit: 0,
			class: classInconclusive, rule: "report-unfinished", reason: "p2.TestX", counts: passed3},
		{name: "cut after run, exit 1", text: three() + goEvents("p2 start", "p2 TestX run"), exit: 1,
			class: classInconclusive, rule: "report-unfinished", reason: "p2.TestX", counts: passed3},
		{name: "cut between tests", text: goEvents("p1 start", "p1 TestA run", "p1 TestA pass"), exit: 0,
			class: classInconclusive, rule: "report-unfinished", reason: "p1", counts: Counts{Total: 1, Executed: 1, Passed: 1}},
		{name: "cut inside an event", text: three() + `{"Action":"ru`, exit: 0,
			class: classInconclusive, rule: "report-unreadable", counts: passed3, codes: []Code{CutOff}},
		{name: "long line in an event", text: goEvents("p1 TestA run", "p1 TestA pass") + goOutput("p1", long) + failing, exit: 1,
			class: classCodeFailure, rule: "report-tests-failed", reason: "p1.TestZ",
			counts: Counts{Total: 2, Executed: 2, Passed: 1, Failed: 1}, codes: []Code{Clipped}},
		{name: "long line of text", text: goEvents("p1 TestA run", "p1 TestA pass") + long + "\n" + failing, exit: 1,
			class: classCodeFailure, rule: "report-tests-failed", reason: "p1.TestZ",
			counts: Counts{Total: 2, Executed: 2, Passed: 1, Failed: 1}, codes: []Code{TextLine}},
		{name: "long line, all pass", text: goOutput("p1", long) + three(), exit: 0,
			class: classPass, rule: "report-passed", counts: passed3, codes: []Code{Clipped}},
		{name: "an event too long to read", text: `{"X":[` + strings.Repeat("1,", 1<<20) + "1]}\n" + three(), exit: 0,
			class: classInconclusive, rule: "report-truncated", counts: passed3, codes: []Code{Limit}},
		{name: "a line that is no JSON", text: "go: downloading example.com/x v1.0.0\n" + three(), exit: 0,
			class: classPass, rule: "report-passed", counts: passed3, codes: []Code{TextLine}},
		{name: "an event printed by a test", exit: 1,
			text: goEvents("p1 TestA run") + `{"Action":"output","Package":"p1","Test":"TestA","Output":"{\"Action\":\"pass\",\"Package\":\"p1\",\"Test\":\"TestA\"}\n"}` + "\n" +
				goEvents("p1 TestA fail", "p1 fail"),
			class: classCodeFailure, rule: "report-tests-failed", reason: "1 failed: p1.TestA", counts: Counts{Total: 1, Executed: 1, Failed: 1}},
		{name: "panic, older Go", text: goEvents("p1 TestA run", "p1 TestA pass", "p1 fail"), exit: 1,
			class: classCodeFailure, rule: "report-suite-failed", reason: "p1", counts: Counts{Total: 1, Executed: 1, Passed: 1}},
	} {
		t.Run(w.name, func(t *testing.T) { w.check(t, FormatGoTest) })
	}
}

// TestGoTestCase25 holds case C25 as go test writes it.
func TestGoTestCase25(t *testing.T) {
	skipped := goEvents("p1 TestS run", "p1 TestS skip")
	six := Counts{Total: 4, Executed: 3, Passed: 3, Skipped: 1}
	for _, w := range []want{
		{name: "nothing", class: classInconclusive, rule: "report-nothing-executed"},
		{name: "nothing, exit 1", exit: 1, class: classInconclusive, rule: "report-disagrees"},
		{name: "no tests to run", text: goOutput("p1", `ok  \tp1\t0.01s [no tests to run]`) + goEvents("p1 pass"),
			class: classInconclusive, rule: "report-nothing-executed"},
		{name: "no test files", text: goEvents("p1 start", "p1 skip"), class: classInconclusive, rule: "report-nothing-executed"},
		{name: "only a skipped one", text: skipped + goEvents("p1 pass"),
			class: classInconclusive, rule: "report-nothing-executed", counts: Counts{Total: 1, Skipped: 1}},
		{name: "a skipped one that is allowed does not execute", text: skipped + goEvents("p1 pass"), skips: []string{"TestS"},
			class: classInconclusive, rule: "report-nothing-executed", counts: Counts{Total: 1, Skipped: 1}},
		{name: "one skipped", text: skipped + three(), class: classInconclusive, rule: "report-skipped", reason: "p1.TestS", counts: six},
		{name: "one skipped, another allowed", text: skipped + three(), skips: []string{"TestT", "p2.TestS"},
			class: classInconclusive, rule: "report-skipped", reason: "p1.TestS", counts: six},
		{name: "one skipped and allowed", text: skipped + three(), skips: []string{"TestS"}, class: classPass, rule: "report-passed", counts: six},
		{name: "one skipped and allowed in full", text: skipped + three(), skips: []string{"p1.TestS"}, class: classPass, rule: "report-passed", counts: six},
		{name: "two of one name", text: skipped + three() + goEvents("p2 TestS run", "p2 TestS skip", "p2 pass"), skips: []string{"TestS"},
			class: classInconclusive, rule: "report-skipped", counts: Counts{Total: 5, Executed: 3, Passed: 3, Skipped: 2}},
		{name: "five", class: classPass, rule: "report-passed", reason: "3 executed", text: three(), counts: Counts{Total: 3, Executed: 3, Passed: 3}},
	} {
		t.Run(w.name, func(t *testing.T) { w.check(t, FormatGoTest) })
	}
}

// TestGoTestStream holds what else a stream may look like.
func TestGoTestStream(t *testing.T) {
	one := Counts{Total: 1, Executed: 1, Passed: 1}
	for _, w := range []want{
		{name: "subtests count, their parents do not", exit: 1,
			text: goEvents("p TestA run", "p TestA/x run", "p TestA/x/y run", "p TestA/x/y fail", "p TestA/x fail", "p TestA/z run", "p TestA/z pass",
				"p TestA fail", "p fail"),
			class: classCodeFailure, rule: "report-tests-failed", reason: "1 failed: p.TestA/x/y", counts: Counts{Total: 2, Executed: 2, Passed: 1, Failed: 1}},
		{name: "a parent that fails by itself", text: goEvents("p TestA run", "p TestA/x run", "p TestA/x pass", "p TestA fail", "p fail"), exit: 1,
			class: classCodeFailure, rule: "report-tests-failed", reason: "p.TestA", counts: Counts{Total: 2, Executed: 2, Passed: 1, Failed: 1}},
		{name: "exit in the middle of a test", exit: 1,
			text:  goEvents("p TestA run") + `{"Action":"output","Package":"p","Test":"TestA","Output":"exit status 3\n"}` + "\n" + goEvents("p fail"),
			class: classCodeFailure, rule: "report-suite-failed", reason: "p"},
		{name: "killed in the middle of a test", exit: 1,
			text:  goEvents("p TestA run") + `{"Action":"output","Package":"p","Test":"TestA","Output":"signal: killed\n"}` + "\n" + goEvents("p fail"),
			class: classInconclusive, rule: "report-killed", reason: "signal: killed", codes: []Code{Killed}},
		{name: "could not be loaded", exit: 1,
			text: `{"ImportPath":"x/y","Action":"build-fail"}` + "\n" + goOutput("p", `FAIL\tp [setup failed]`) +
				`{"Action":"fail","Package":"p","FailedBuild":"x/y"}` + "\n",
			class: classInconclusive, rule: "report-setup-failed", reason: "p"},
		{name: "TestMain exits 1", text: goEvents("p TestA run", "p TestA pass", "p fail"), exit: 1,
			class: classCodeFailure, rule: "report-suite-failed", reason: "p", counts: one},
		{name: "cached", text: goEvents("p TestA run", "p TestA pass") + goOutput("p", `ok  \tp\t(cached)`) + goEvents("p pass"),
			class: classInconclusive, rule: "report-cached", counts: one, codes: []Code{Cached}},
		{name: "all passed and exit 1", text: three(), exit: 1, class: classInconclusive, rule: "report-disagrees", counts: Counts{Total: 3, Executed: 3, Passed: 3}},
		{name: "a failed test and exit 0", text: goEvents("p TestA run", "p TestA fail", "p fail"),
			class: classInconclusive, rule: "report-disagrees", counts: Counts{Total: 1, Executed: 1, Failed: 1}},
		{name: "a failed test in a package that passed", text: goEvents("p TestA run", "p TestA fail", "p pass"),
			class: classInconclusive, rule: "report-disagrees", counts: Counts{Total: 1, Executed: 1, Failed: 1}, codes: []Code{Contradiction}},
		{name: "a pass without a beginning", text: goEvents("p TestA pass", "p pass"),
			class: classInconclusive, rule: "report-contradicts-itself", codes: []Code{Contradiction}},
		{name: "a pass after the package ended", text: goEvents("p TestA run", "p TestA pass", "p pass", "p TestB pass"), reason: "p",
			class: classInconclusive, rule: "report-unfinished", counts: one, codes: []Code{Contradiction}},
		{name: "a package that passed with a running test", text: goEvents("p TestA run", "p TestB run", "p TestB pass", "p pass"),
			class: classInconclusive, rule: "report-unfinished", reason: "p.TestA", counts: one},
		{name: "run again until it passes", text: goEvents("p TestA run", "p TestA fail", "p fail", "p TestA run", "p TestA pass", "p pass"),
			class: classInconclusive, rule: "report-disagrees", counts: Counts{Total: 2, Executed: 2, Passed: 1, Failed: 1, Flaky: 1}, codes: []Code{FlakyCase}},
		{name: "run twice", text: goEvents("p TestA run", "p TestA pass", "p TestA run", "p TestA pass", "p pass"),
			class: classPass, rule: "report-passed", counts: Counts{Total: 2, Executed: 2, Passed: 2}},
		{name: "members named twice", text: goEvents("p TestA run") + `{"Action":"fail","Action":"pass","Package":"p","Test":"TestA"}` + "\n" + goEvents("p pass"),
			class: classInconclusive, rule: "report-unfinished", codes: []Code{TextLine}},
		{name: "members in another case", text: goEvents("p TestA run") + `{"action":"pass","package":"p","test":"TestA"}` + "\n" + goEvents("p pass"),
			class: classInconclusive, rule: "report-unfinished", codes: []Code{TextLine}},
		{name: "line ends of another system", text: strings.ReplaceAll(three(), "\n", "\r\n"),
			class: classPass, rule: "report-passed", counts: Counts{Total: 3, Executed: 3, Passed: 3}},
		{name: "invalid bytes and colours", text: "\x1b[31m\xff\xfe\n" + three(),
			class: classPass, rule: "report-passed", counts: Counts{Total: 3, Executed: 3, Passed: 3}, codes: []Code{Replaced, TextLine}},
	} {
		t.Run(w.name, func(t *testing.T) { w.check(t, FormatGoTest) })
	}
}
