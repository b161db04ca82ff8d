package runner

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestClassifyTable(t *testing.T) {
	goTest := []string{"go", "test", "./..."}
	skipped, passed := &Reported{Class: ClassInconclusive, Rule: "report-skipped"}, &Reported{Class: ClassPass, Rule: "report-passed"}
	known := func(x Tests) Tests { x.Known = true; return x }
	for name, c := range map[string]struct {
		facts Facts
		want  Verdict
	}{
		"nothing":              {Facts{Command: goTest, Tests: known(Tests{})}, Verdict{ClassInconclusive, "go-test-nothing-executed"}},
		"5 packages pass":      {Facts{Command: goTest, Tests: known(Tests{Passed: 5})}, Verdict{ClassPass, "exit-zero"}},
		"fail but exit 0":      {Facts{Command: goTest, Tests: known(Tests{Passed: 5, PackageFailed: true})}, Verdict{ClassInconclusive, "go-test-contradiction"}},
		"cached":               {Facts{Command: goTest, Tests: known(Tests{Passed: 5, Cached: true})}, Verdict{ClassInconclusive, "go-test-cached"}},
		"beyond limits":        {Facts{Command: goTest, Tests: known(Tests{Passed: 5, Overflow: true})}, Verdict{ClassInconclusive, "go-test-unreadable"}},
		"build":                {Facts{Command: goTest, ExitCode: 1, Tests: known(Tests{BuildFailed: true, PackageFailed: true})}, Verdict{ClassCodeFailure, "go-test-build-failed"}},
		"setup":                {Facts{Command: goTest, ExitCode: 1, Tests: known(Tests{SetupFailed: true, PackageFailed: true})}, Verdict{ClassInconclusive, "go-test-setup-failed"}},
		"nothing ran, exit 1":  {Facts{Command: goTest, ExitCode: 1, Tests: known(Tests{})}, Verdict{ClassInconclusive, "go-test-did-not-run"}},
		"report":               {Facts{Command: goTest, ExitCode: 1, Report: skipped}, Verdict{ClassInconclusive, "report-skipped"}},
		"report, exit 0":       {Facts{Command: goTest, Report: skipped}, Verdict{ClassInconclusive, "report-skipped"}},
		"report, killed":       {Facts{Command: goTest, ExitCode: -1, Signal: "SIGKILL", Report: passed}, Verdict{ClassInconclusive, "killed-by-signal"}},
		"report, timed out":    {Facts{Command: goTest, TimedOut: true, Report: passed}, Verdict{ClassInconclusive, "timed-out"}},
		"report, interrupted":  {Facts{Command: goTest, Interrupted: true, Report: passed}, Verdict{ClassInconclusive, "interrupted"}},
		"report of no program": {Facts{Command: []string{"sh"}, ExitCode: 127, Report: passed}, Verdict{ClassEnvironmentFailure, "shell-could-not-run"}},
		"127 of a program":     {Facts{Command: []string{"./x"}, ExitCode: 127}, Verdict{ClassCodeFailure, "exit-nonzero"}},
		"127 of env":           {Facts{Command: []string{"/usr/bin/env", "x"}, ExitCode: 127}, Verdict{ClassEnvironmentFailure, "shell-could-not-run"}},
		"no status":            {Facts{Command: []string{"./x"}, ExitCode: -1}, Verdict{ClassInconclusive, "killed-by-signal"}},
		"timed out and failed": {Facts{Command: []string{"./x"}, ExitCode: 1, TimedOut: true}, Verdict{ClassInconclusive, "timed-out"}},
	} {
		if got := Classify(c.facts); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	names := map[string]bool{}
	for _, r := range rules() {
		if names[r.name] {
			t.Errorf("two rules are called %s", r.name)
		}
		names[r.name] = true
	}
	for _, class := range []Class{"", "PASS", "skipped", "neutral", "cancelled", ClassInconclusive, ClassEnvironmentFailure} {
		if class.Result() != ResultInconclusive {
			t.Errorf("class %q gives %s", class, class.Result())
		}
	}
}

func TestIsGoTest(t *testing.T) {
	for _, c := range [][]string{{"go", "test"}, {"/usr/local/go/bin/go", "test", "./..."}, {"go", "-C", "x", "test"}, {"go", "-C=x", "test"}} {
		if !isGoTest(c) {
			t.Errorf("%q is a go test", c)
		}
	}
	for _, c := range [][]string{nil, {"go"}, {"go", "vet"}, {"go", "-C", "test"}, {"sh", "-c", "go test"}, {"gotest", "test"}, {"go", "run", "test"}} {
		if isGoTest(c) {
			t.Errorf("%q is no go test", c)
		}
	}
}

// TestRunGoTest runs the real go command on small modules.
func TestRunGoTest(t *testing.T) {
	const head = "package m\nimport \"testing\"\n"
	files := map[string]string{
		"go.mod":            "module m\n\ngo 1.26\n",
		"pass/a_test.go":    head + "func TestA(t *testing.T) { t.Run(\"x\", func(*testing.T) {}) }\n",
		"fail/a_test.go":    head + "func TestA(t *testing.T) { t.Error(\"no\") }\n",
		"skip/a_test.go":    head + "func TestA(t *testing.T) { t.Run(\"x\", func(t *testing.T) { t.Skip() }) }\n",
		"none/a.go":         "package m\n",
		"broken/a_test.go":  head + "func TestA(t *testing.T) { undefined() }\n",
		"missing/a_test.go": "package m\nimport _ \"example.invalid/x\"\n",
		"panics/a_test.go":  "package m\nfunc init() { panic(1) }\n" + "",
	}
	root := t.TempDir()
	for path, text := range files {
		full := filepath.Join(root, path)
		must(t, os.MkdirAll(filepath.Dir(full), 0o755))
		must(t, os.WriteFile(full, []byte(text), 0o644))
	}
	tool := filepath.Join(runtime.GOROOT(), "bin", "go")
	cache := os.Getenv("GOCACHE") // the user's, which only go itself may clean
	if cache == "" {
		dir, err := os.UserCacheDir()
		must(t, err)
		cache = filepath.Join(dir, "go-build")
	}
	env := []string{"GOCACHE=" + cache, "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod", "GOPROXY=off", "GOENV=off"}
	for name, c := range map[string]struct {
		args     []string
		class    Class
		rule     string // with -json
		plain    string // without; "" to leave it out
		executed int64
	}{
		"pass":          {[]string{"./pass"}, ClassPass, "report-passed", "exit-zero", 1},
		"pass and none": {[]string{"./pass", "./none"}, ClassPass, "report-passed", "exit-zero", 1},
		"fail":          {[]string{"./fail"}, ClassCodeFailure, "report-tests-failed", "go-test-package-failed", 1},
		"no such test":  {[]string{"-run", "NoSuch", "./pass"}, ClassInconclusive, "report-nothing-executed", "go-test-nothing-executed", 0},
		"no test files": {[]string{"./none"}, ClassInconclusive, "report-nothing-executed", "go-test-nothing-executed", 0},
		"broken":        {[]string{"./broken"}, ClassCodeFailure, "report-build-failed", "", 0},
		"missing":       {[]string{"./missing"}, ClassInconclusive, "report-setup-failed", "", 0},
		"panics":        {[]string{"./panics"}, ClassCodeFailure, "report-suite-failed", "", 0},
		"bad flag":      {[]string{"-mod=nonsense", "./pass"}, ClassInconclusive, "report-disagrees", "", 0},
	} {
		got := Run(t.Context(), root, Check{Command: append([]string{tool, "test", "-json", "-vet=off", "-count=1"}, c.args...)}, env)
		if got.Class != c.class || got.Rule != c.rule || got.Report == nil || got.Report.Counts.Executed != c.executed {
			t.Errorf("%s: %s %s %+v\n%s", name, got.Class, got.Rule, got.Report, got.Output.Window())
		}
		if c.plain == "" {
			continue
		}
		got = Run(t.Context(), root, Check{Command: append([]string{tool, "test", "-vet=off", "-count=1"}, c.args...)}, env)
		if got.Class != c.class || got.Rule != c.plain {
			t.Errorf("%s in plain text: %s %s %+v\n%s", name, got.Class, got.Rule, got.Tests, got.Output.Window())
		}
	}
	for rule, skips := range map[string][]string{"report-nothing-executed": {"TestA/x"}, "report-skipped": nil, "report-passed": {"TestA/x"}} {
		packages := []string{"./skip", "./pass"}
		if rule == "report-nothing-executed" {
			packages = packages[:1]
		}
		skip := Run(t.Context(), root, Check{Command: append([]string{tool, "test", "-json", "-count=1"}, packages...), Skips: skips}, env)
		if skip.Rule != rule || skip.Report.Counts.Skipped != 1 {
			t.Errorf("%s: %s %+v", rule, skip.Rule, skip.Report)
		}
	}
	for _, rule := range []string{"report-passed", "report-cached"} {
		if got := Run(t.Context(), root, Check{Command: []string{tool, "test", "-json", "./pass"}}, env); got.Rule != rule {
			t.Errorf("%s: %s %+v", rule, got.Rule, got.Report)
		}
	}
}
