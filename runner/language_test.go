package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/deedledger/deed/workspace"
)

// want is how a check has to end.
type want struct {
	class Class
	rule  string
	flaky bool
}

// stage is a repository in one language and what its checks meet outside it.
type stage struct {
	repo   *workspace.Repo
	commit string
	env    []string
	up     string // the file that stands for the service: it is up while the file is there
}

func newStage(t *testing.T, files map[string]string, env ...string) *stage {
	t.Helper()
	dir, commit := gitFixture(t, files)
	repo, err := workspace.Open(t.Context(), dir)
	must(t, err)
	place := t.TempDir()
	return &stage{
		repo: repo, commit: commit, up: filepath.Join(place, "up"),
		env: append(env, "SERVICE="+filepath.Join(place, "up"), "FIRST="+filepath.Join(place, "first"), "PATH="+os.Getenv("PATH")),
	}
}

// prove runs one check with the service up or down.
func (s *stage) prove(t *testing.T, check Check, healthy bool, retries int) Outcome {
	t.Helper()
	place := filepath.Dir(s.up)
	for _, name := range []string{"up", "first"} {
		must(t, os.RemoveAll(filepath.Join(place, name)))
	}
	if healthy {
		must(t, os.WriteFile(s.up, nil, 0o644))
	}
	plan := Plan{
		Checks: []Check{check}, Env: s.env, Retries: retries,
		Services: []Service{{Name: "db", Command: shell(`test -e "$SERVICE"`)}},
	}
	if c, confined := confinement(t); confined {
		c.Writable = []string{place}
		for _, entry := range s.env {
			if cache, ok := strings.CutPrefix(entry, "GOCACHE="); ok {
				c.Writable = append(c.Writable, cache)
			}
		}
		plan.Confinement = c
	}
	report, err := Verify(t.Context(), s.repo, s.commit, plan)
	must(t, err)
	return report.Outcomes[0]
}

// each holds the outcomes of a stage's checks against what they have to be.
func (s *stage) each(t *testing.T, check func(name string) Check, wants map[string]want) {
	t.Helper()
	for name, w := range wants {
		test, down := strings.CutSuffix(name, ", service down")
		retries := 0
		if test == "flaky" {
			retries = 1
		}
		got := s.prove(t, check(test), !down, retries)
		if got.Class != w.class || got.Rule != w.rule || got.Flaky != w.flaky || got.Result != w.class.Result() {
			t.Errorf("%s: %s by %s, flaky %v; want %+v\n%s %s %q\n%s", name, got.Class, got.Rule, got.Flaky, w, got.Detail, got.Reason, got.Notes, got.Output.Window())
		}
		if down != strings.Contains(strings.Join(got.Notes, ";"), "service db is not healthy") {
			t.Errorf("%s: notes %q", name, got.Notes)
		}
		if w.flaky && (len(got.Tries) != 1 || got.Tries[0].Class != ClassCodeFailure) {
			t.Errorf("%s: tries %+v", name, got.Tries)
		}
	}
}

func TestVerifyShell(t *testing.T) {
	s := newStage(t, map[string]string{
		"pass.sh":    "exit 0\n",
		"fail.sh":    "echo 'want 12, got 13'; exit 1\n",
		"needs.sh":   "test -e \"$SERVICE\" || { echo 'connect: refused'; exit 1; }\n",
		"gives.sh":   "rm -f \"$SERVICE\"; echo 'connect: refused'; exit 1\n", // the service dies during the check
		"killed.sh":  "kill -9 $$\n",
		"nothing.sh": "echo 1..0\n",
		"skips.sh":   "echo 1..2; echo 'ok 1 a'; echo 'ok 2 b # SKIP no db'\n",
		"lies.sh":    "echo 1..1; echo 'not ok 1 a'; exit 0\n",
		"flaky.sh":   "test -e \"$FIRST\" || { touch \"$FIRST\"; exit 1; }\n",
		"none.sh":    "exec no-such-program\n",
	})
	check := func(name string) Check {
		c := Check{ID: name, Command: []string{"sh", name + ".sh"}}
		if name == "nothing" || name == "skips" || name == "lies" {
			c.Report = &ReportRef{Format: "tap", Path: "-"}
		}
		return c
	}
	s.each(t, check, map[string]want{
		"pass":                  {ClassPass, "exit-zero", false},
		"pass, service down":    {ClassPass, "exit-zero", false}, // it does not need it
		"fail":                  {ClassCodeFailure, "exit-nonzero", false},
		"fail, service down":    {ClassEnvironmentFailure, RuleServiceDown, false},
		"needs":                 {ClassPass, "exit-zero", false},
		"needs, service down":   {ClassEnvironmentFailure, RuleServiceDown, false},
		"killed":                {ClassInconclusive, "killed-by-signal", false},
		"killed, service down":  {ClassEnvironmentFailure, RuleServiceDown, false},
		"nothing":               {ClassInconclusive, "report-nothing-executed", false},
		"skips":                 {ClassInconclusive, "report-skipped", false},
		"lies":                  {ClassInconclusive, "report-disagrees", false},
		"flaky":                 {ClassInconclusive, RuleFlaky, true},
		"none":                  {ClassEnvironmentFailure, "shell-could-not-run", false},
		"skips, service down":   {ClassEnvironmentFailure, RuleServiceDown, false},
		"nothing, service down": {ClassEnvironmentFailure, RuleServiceDown, false},
	})
	gone := s.prove(t, check("gives"), true, 1)
	if gone.Rule != RuleServiceDown || !strings.Contains(strings.Join(gone.Notes, ";"), "after the check") || len(gone.Tries) != 0 {
		t.Errorf("a service that dies during the check: %s %q", gone.Rule, gone.Notes)
	}
	allowed := check("skips")
	allowed.Skips = []string{"b"}
	if got := s.prove(t, allowed, true, 0); got.Rule != "report-passed" || got.Report.Counts.Skipped != 1 {
		t.Errorf("an allowed skip: %s %+v", got.Rule, got.Report)
	}
	if got := s.prove(t, check("fail"), true, 2); got.Class != ClassCodeFailure || len(got.Tries) != 2 || got.Flaky {
		t.Errorf("a failure that repeats: %+v", got)
	}
	for _, n := range []int{-1, MaxRetries + 1} {
		if _, err := Verify(t.Context(), s.repo, s.commit, Plan{Retries: n}); err == nil {
			t.Errorf("%d retries are accepted", n)
		}
	}
}

func TestVerifyGo(t *testing.T) {
	const head = "package m\nimport (\n\t\"os\"\n\t\"testing\"\n)\nvar _ = os.Getenv\n"
	s := newStage(t, map[string]string{
		"go.mod":          "module m\n\ngo 1.26\n",
		"pass/a_test.go":  head + "func TestA(t *testing.T) {}\n",
		"fail/a_test.go":  head + "func TestA(t *testing.T) { t.Error(\"want 12, got 13\") }\n",
		"needs/a_test.go": head + "func TestA(t *testing.T) { if _, err := os.Stat(os.Getenv(\"SERVICE\")); err != nil { t.Fatal(\"connect: refused\") } }\n",
		"killed/a_test.go": "package m\nimport (\n\t\"syscall\"\n\t\"testing\"\n)\n" +
			"func TestA(t *testing.T) { syscall.Kill(syscall.Getpid(), syscall.SIGKILL) }\n",
		"flaky/a_test.go": head + "func TestA(t *testing.T) { if _, err := os.Stat(os.Getenv(\"FIRST\")); err != nil { os.WriteFile(os.Getenv(\"FIRST\"), nil, 0o600); t.Fatal(\"first\") } }\n",
	}, goEnvironment(t)...)
	tool := filepath.Join(runtime.GOROOT(), "bin", "go")
	s.each(t, func(name string) Check {
		command := []string{tool, "test", "-json", "-vet=off", "-count=1", "./" + name}
		if name == "nothing" {
			command = []string{tool, "test", "-json", "-vet=off", "-count=1", "-run", "NoSuch", "./pass"}
		}
		return Check{ID: name, Command: command}
	}, map[string]want{
		"pass":                {ClassPass, "report-passed", false},
		"fail":                {ClassCodeFailure, "report-tests-failed", false},
		"needs, service down": {ClassEnvironmentFailure, RuleServiceDown, false},
		"killed":              {ClassInconclusive, "report-killed", false},
		"nothing":             {ClassInconclusive, "report-nothing-executed", false},
		"flaky":               {ClassInconclusive, RuleFlaky, true},
	})
}

// goEnvironment lets a go command work without a network, with the user's build cache.
func goEnvironment(t *testing.T) []string {
	t.Helper()
	cache := os.Getenv("GOCACHE") // the user's, which only go itself may clean
	if cache == "" {
		dir, err := os.UserCacheDir()
		must(t, err)
		cache = filepath.Join(dir, "go-build")
	}
	must(t, os.MkdirAll(cache, 0o755))
	return []string{"GOCACHE=" + cache, "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod", "GOPROXY=off", "GOENV=off"}
}

// TestVerifyNode runs node --test. Where there is no node, or one that knows no test
// reporters, its checks must prove nothing.
func TestVerifyNode(t *testing.T) {
	const head = "const test = require('node:test');\nconst assert = require('node:assert');\nconst fs = require('node:fs');\n"
	s := newStage(t, map[string]string{
		"pass.js":   head + "test('rounds', () => assert.equal(1, 1));\n",
		"fail.js":   head + "test('rounds', () => assert.equal(1, 2));\n",
		"needs.js":  head + "test('asks', () => assert.ok(fs.existsSync(process.env.SERVICE), 'connect: refused'));\n",
		"killed.js": head + "test('dies', () => process.kill(process.ppid, 'SIGKILL'));\n",
		"none.js":   head + "test('rounds', { skip: true }, () => {});\n",
		"flaky.js":  head + "test('first', () => { if (!fs.existsSync(process.env.FIRST)) { fs.writeFileSync(process.env.FIRST, ''); assert.fail('first'); } });\n",
	})
	wants := map[string]want{
		"pass":                {ClassPass, "report-passed", false},
		"fail":                {ClassCodeFailure, "report-tests-failed", false},
		"needs, service down": {ClassEnvironmentFailure, RuleServiceDown, false},
		"killed":              {ClassInconclusive, "killed-by-signal", false},
		"none":                {ClassInconclusive, "report-nothing-executed", false},
		"flaky":               {ClassInconclusive, RuleFlaky, true},
	}
	check := func(name string) Check {
		return Check{
			ID: name, Command: []string{"node", "--test", "--test-reporter=tap", name + ".js"}, Report: &ReportRef{Format: "tap", Path: "-"},
		}
	}
	if err := exec.Command("node", "--test-reporter=tap", "--version").Run(); err != nil {
		t.Log("no node with test reporters:", err)
		for _, name := range []string{"pass", "fail"} {
			if got := s.prove(t, check(name), true, 0); got.Result != ResultInconclusive {
				t.Errorf("%s without node: %s by %s", name, got.Result, got.Rule)
			}
		}
		return
	}
	s.each(t, check, wants)
}
