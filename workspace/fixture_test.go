package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedledger/deed/boundary"
)

// fixture is a real repository in a temporary folder. Author, committer and dates are
// fixed, so that its commit ids are the same on every machine.
type fixture struct {
	t   *testing.T
	dir string
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	f := fixture{t: t, dir: t.TempDir()}
	f.git("init", "--quiet", "--initial-branch=main")
	return f
}

func (f fixture) git(args ...string) string {
	f.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = f.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z",
		"GIT_COMMITTER_NAME=Bob", "GIT_COMMITTER_EMAIL=bob@example.org", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func (f fixture) write(path, text string) {
	f.t.Helper()
	full := filepath.Join(f.dir, path)
	must(f.t, os.MkdirAll(filepath.Dir(full), 0o755))
	must(f.t, os.WriteFile(full, []byte(text), 0o644))
}

func (f fixture) link(path, target string) {
	f.t.Helper()
	full := filepath.Join(f.dir, path)
	must(f.t, os.MkdirAll(filepath.Dir(full), 0o755))
	must(f.t, os.Symlink(target, full))
}

func (f fixture) remove(path string) {
	f.t.Helper()
	must(f.t, os.RemoveAll(filepath.Join(f.dir, path)))
}

func (f fixture) commit(message string) string {
	f.t.Helper()
	f.git("add", "--all")
	f.git("commit", "--quiet", "--allow-empty", "--message", message)
	return f.git("rev-parse", "HEAD")
}

func (f fixture) open() *Repo {
	f.t.Helper()
	r, err := Open(f.t.Context(), f.dir)
	must(f.t, err)
	return r
}

// lines gives a text of n different lines: long enough for rename detection to be sure.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(string(rune('a'+i%26)), 20+i) + "\n")
	}
	return b.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func bounds(t *testing.T, include, exclude []string) boundary.Boundary {
	t.Helper()
	b, err := boundary.Parse(include, exclude)
	must(t, err)
	return b
}
