package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadme runs the session of the README as a newcomer would: in a shell,
// on a machine that deed has never seen.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	must(t, err)
	_, session, found := strings.Cut(string(text), "## Use it\n\n```sh\n")
	session, _, closed := strings.Cut(session, "```\n")
	if !found || !closed || strings.Count(session, "\n") != 5 {
		t.Fatalf("the README's session of five lines is not where it was: %q", session)
	}
	dir := t.TempDir()
	stdout := newcomer(t, dir, session)
	for _, want := range []string{"acme", "impl-1"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("stdout does not name %s:\n%s", want, stdout)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ".local/share/deed/ledgers/acme/ledger.json")); err != nil {
		t.Error(err)
	}
}

// TestFirstTask runs the page that leads from an empty folder to a delivered change.
func TestFirstTask(t *testing.T) {
	text, err := os.ReadFile("../docs/first-task.md")
	must(t, err)
	_, session, found := strings.Cut(string(text), "```sh\n")
	session, _, closed := strings.Cut(session, "```\n")
	if !found || !closed {
		t.Fatal("the page has no session")
	}
	stdout := newcomer(t, t.TempDir(), session)
	for _, want := range []string{"now AwaitingReview", "now Approved", "is deliverable: TASK-1 is Approved", "wrote    .agent-delivery/approvals/TASK-1/a1.json", "ledger first: verified"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("stdout lacks %q:\n%s", want, stdout)
		}
	}
}

// newcomer runs a session in a shell, in an empty folder that is its home, and returns what it printed. What programs tell people
// beside it, on stderr, may be hints alone.
func newcomer(t *testing.T, dir, session string) string {
	t.Helper()
	t.Cleanup(func() { stopServices(dir) })
	cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", session)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv(binDirVariable) + string(os.PathListSeparator) + os.Getenv("PATH"), "NO_COLOR=1", "TERM=dumb",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=Ann", "GIT_CONFIG_KEY_1=user.email", "GIT_CONFIG_VALUE_1=ann@example.org"}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
	}
	if text := stderr.String(); strings.Contains(text, "deed:") || strings.Contains(text, "fatal:") || strings.Contains(text, "error:") {
		t.Errorf("stderr is not clean: %s", text)
	}
	return stdout.String()
}
