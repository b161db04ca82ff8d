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
	t.Cleanup(func() { stopServices(dir) })
	cmd := exec.Command("sh", "-eu", "-c", session)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv(binDirVariable) + string(os.PathListSeparator) + os.Getenv("PATH"), "NO_COLOR=1", "TERM=dumb"}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout.String(), stderr.String())
	}
	if stderr.Len() > 0 {
		t.Errorf("stderr is not clean: %s", stderr.String())
	}
	for _, want := range []string{"acme", "impl-1"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("stdout does not name %s:\n%s", want, stdout.String())
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ".local/share/deed/ledgers/acme/ledger.json")); err != nil {
		t.Error(err)
	}
}
