package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deedledger/deed/workspace"
)

// TestHostileChecks runs checks that want to be taken for what they are not. None of
// them may pass, and none may reach the test.
func TestHostileChecks(t *testing.T) {
	place := realPath(t.TempDir())
	secret := filepath.Join(place, "olga.key")
	must(t, os.WriteFile(secret, []byte("s3cret\n"), 0o600))
	report := func(format string) *ReportRef { return &ReportRef{Format: format, Path: "out/report"} }
	passing := `<testsuite tests="1"><testcase classname="a" name="b"/></testsuite>`
	dir, commit := gitFixture(t, map[string]string{
		"value": "good\n", "check.sh": "test \"$(cat value)\" = good\n", "committed.xml": passing,
	})
	checks := map[string]Check{
		"prints PASS and exits 1":     {Command: shell("echo PASS; echo 'ok  \tm\t0.1s'; exit 1")},
		"prints a passing report":     {Command: shell("printf '1..1\nok 1 a\n'; exit 1"), Report: &ReportRef{Format: "tap", Path: "-"}},
		"hides a failure behind 0":    {Command: shell("printf '1..2\nok 1 a\nnot ok 2 b\n'; exit 0"), Report: &ReportRef{Format: "tap", Path: "-"}},
		"fails and reports nothing":   {Command: shell("exit 1"), Report: report("junit")},
		"reports nothing":             {Command: shell("exit 0"), Report: report("junit")},
		"committed its report":        {Command: shell("exit 0"), Report: &ReportRef{Format: "junit", Path: "committed.xml"}},
		"links its report to a file":  {Command: shell("mkdir out; ln -s /etc/passwd out/report"), Report: report("junit")},
		"links its report's folder":   {Command: shell("ln -s /etc out"), Report: &ReportRef{Format: "tap", Path: "out/passwd"}},
		"links to a committed report": {Command: shell("mkdir out; ln -s ../committed.xml out/report"), Report: report("junit")},
		"a pipe for a report":         {Command: shell("mkdir out; mkfifo out/report"), Report: report("junit")},
		"a folder for a report":       {Command: shell("mkdir -p out/report"), Report: report("junit")},
		"a report outside":            {Command: shell("exit 0"), Report: &ReportRef{Format: "junit", Path: "../report"}},
		"an endless report line":      {Command: shell("mkdir out; head -c 20000000 /dev/zero | tr '\\0' '<' > out/report"), Report: report("junit")},
		"floods":                      {Command: shell("head -c 20000000 /dev/zero; exit 1")},
		"floods its report":           {Command: shell("yes '{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"T\"}' | head -c 20000000; exit 0"), Report: &ReportRef{Format: "go-test-json", Path: "-"}},
		"hangs":                       {Command: shell("trap '' TERM INT HUP; while :; do tail -f /dev/null; done"), Timeout: 300 * time.Millisecond},
		"hangs its reader":            {Command: shell("printf '1..1\nok 1'; exec tail -f /dev/null"), Timeout: 300 * time.Millisecond, Report: &ReportRef{Format: "tap", Path: "-"}},
		"edits the tested file":       {Command: shell("echo bad > value; exit 0")},
		"edits the pinned check":      {Command: shell("echo 'exit 0' > check.sh; sh check.sh"), Pinned: pin("check.sh", "test \"$(cat value)\" = good\n")},
		"commits what it likes":       {Command: shell("git -c user.name=x -c user.email=x@example.org commit -q --allow-empty -m x")},
		"removes git":                 {Command: shell("rm -rf .git; exit 0")},
		"names a filter":              {Command: shell("git config filter.x.clean 'touch " + place + "/filtered; cat'; echo '* filter=x' > .git/info/attributes; echo more >> value")},
		"names a monitor":             {Command: shell("git config core.fsmonitor 'touch " + place + "/monitored; false'; echo more >> value")},
	}
	want := map[string]string{
		"prints PASS and exits 1": "exit-nonzero", "prints a passing report": "report-disagrees", "hides a failure behind 0": "report-disagrees",
		"fails and reports nothing": RuleReportMissing, "reports nothing": RuleReportMissing, "committed its report": RuleReportExisted,
		"links its report to a file": RuleReportNoFile, "links its report's folder": RuleReportNoFile, "links to a committed report": RuleReportNoFile,
		"a pipe for a report": RuleReportNoFile, "a folder for a report": RuleReportNoFile, "a report outside": RuleReportNoFile,
		"an endless report line": "report-unreadable", "floods": "exit-nonzero", "floods its report": "report-unreadable",
		"hangs": "timed-out", "hangs its reader": "timed-out",
		"edits the tested file": RuleCheckoutChanged, "edits the pinned check": RuleCheckoutChanged, "commits what it likes": RuleCheckoutChanged,
		"removes git": RuleCheckoutChanged, "names a filter": RuleCheckoutChanged, "names a monitor": RuleCheckoutChanged,
	}
	repo, err := workspace.Open(t.Context(), dir)
	must(t, err)
	c, confined := confinement(t, place)
	for name, check := range checks {
		check.ID, check.OutputBytes = name, 1000
		plan := Plan{Checks: []Check{check}}
		if confined {
			plan.Confinement = c
		}
		got, err := Verify(t.Context(), repo, commit, plan)
		must(t, err)
		if out := got.Outcomes[0]; out.Rule != want[name] || out.Result == ResultPass || strings.Contains(out.Reason+out.Detail, "root:") {
			t.Errorf("%s: %s by %s, want %s: %s %s", name, out.Result, out.Rule, want[name], out.Reason, out.Detail)
		}
	}
	for _, trace := range []string{"filtered", "monitored"} {
		if exists(filepath.Join(place, trace)) {
			t.Errorf("a check made git run a program of its own: %s", trace)
		}
	}
}

// TestHostileKill lets a check kill the process that runs it, and that one's group: where
// the kernel scopes signals it cannot.
func TestHostileKill(t *testing.T) {
	if _, confined := confinement(t); !confined {
		return
	}
	self, err := os.Executable()
	must(t, err)
	cmd := exec.Command(self, t.TempDir())
	cmd.Env = append(os.Environ(), helperVariable+"=victim")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its group is its own, not the test's
	out, err := cmd.Output()
	version, _ := Landlock()
	if survived := err == nil && string(out) == "exit-zero 0\n"; survived != (version >= 6) {
		t.Errorf("Landlock %d: %v %q", version, err, out)
	}
}

// TestHostileDaemon leaves a process in a session of its own behind. The run ends without
// it; where checks are confined it cannot reach anything then either.
func TestHostileDaemon(t *testing.T) {
	place := realPath(t.TempDir())
	must(t, os.WriteFile(filepath.Join(place, "olga.key"), []byte("s3cret\n"), 0o600))
	mark := filepath.Join(place, "mark")
	must(t, os.Mkdir(mark, 0o755))
	c, confined := confinement(t)
	// The daemon waits for the run's end, which it sees by its checkout's, tries to read
	// the key, says what it got, and ends by itself.
	script := `setsid sh -c 'touch "$MARK/up"; while test -e "$ROOT/value"; do sleep 0.05; done; cat "$KEY" > "$MARK/got" 2>/dev/null; echo done > "$MARK/done"' >/dev/null 2>&1 < /dev/null &
until test -e "$MARK/up"; do sleep 0.05; done
exit 1`
	dir, commit := gitFixture(t, map[string]string{"value": "good\n"})
	repo, err := workspace.Open(t.Context(), dir)
	must(t, err)
	plan := Plan{
		Checks: []Check{{ID: "daemon", Command: shell(`ROOT=$PWD; export ROOT; ` + script)}},
		Env:    []string{"KEY=" + filepath.Join(place, "olga.key"), "MARK=" + mark},
	}
	if confined {
		c.Writable = []string{mark}
		plan.Confinement = c
	}
	got, err := Verify(t.Context(), repo, commit, plan)
	must(t, err)
	if out := got.Outcomes[0]; out.Rule != "exit-nonzero" {
		t.Errorf("%s %s", out.Rule, out.Output.Window())
	}
	eventually(t, "the daemon ends", func() bool { return exists(filepath.Join(mark, "done")) })
	text, err := os.ReadFile(filepath.Join(mark, "got"))
	must(t, err)
	if read := strings.Contains(string(text), "s3cret"); read == confined {
		t.Errorf("confined %v, and the daemon read %q", confined, text)
	}
}
