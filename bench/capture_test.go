package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/workspace"
)

// bulk is a repository with many files: main, and on it a branch "work" that is checked
// out and changes some of them; as many files are then changed on the disk.
type bulk struct {
	dir            string
	files, changes int
}

// newBulk makes the repository with one fast-import.
func newBulk(tb testing.TB, files, changes int) bulk {
	tb.Helper()
	r := bulk{tb.TempDir(), files, changes}
	r.git(tb, nil, "init", "--quiet", "--initial-branch=main")
	read, write := io.Pipe()
	go func() { _ = write.CloseWithError(r.history(write)) }()
	r.git(tb, read, "fast-import", "--quiet")
	r.git(tb, nil, "checkout", "--quiet", "work")
	for i := range changes {
		if err := os.WriteFile(filepath.Join(r.dir, r.name(i)), []byte(text(i, "disk")), 0o644); err != nil { //nolint:gosec // a test's file
			tb.Fatal(err)
		}
	}
	return r
}

func (r bulk) name(i int) string {
	return fmt.Sprintf("src/part%02d/unit%02d/file%05d.go", i%40, i/40%25, i)
}

func text(i int, version string) string {
	return strings.Repeat(fmt.Sprintf("// file %d, %s\n", i, version), 20)
}

// history writes two commits as fast-import reads them.
func (r bulk) history(out io.Writer) error {
	w := bufio.NewWriter(out)
	commit := func(branch, from, version string, files int) {
		fmt.Fprintf(w, "commit refs/heads/%s\ncommitter Ada <ada@example.org> 1767323045 +0000\ndata %d\n%s\n%s", branch, len(version), version, from)
		for i := range files {
			fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n%s\n", r.name(i), len(text(i, version)), text(i, version))
		}
		fmt.Fprintln(w)
	}
	commit("main", "", "base", r.files)
	commit("work", "from refs/heads/main\n", "head", r.changes)
	return w.Flush()
}

// git runs git as a person would, without the machine's configuration.
func (r bulk) git(tb testing.TB, stdin io.Reader, args ...string) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "git", args...)
	cmd.Dir, cmd.Stdin = r.dir, stdin
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_OPTIONAL_LOCKS=0", "GIT_INDEX_FILE="+r.index(args))
	cmd.Stdout = io.Discard
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		// update-index says with status 1 that files differ.
		if cmd.ProcessState.ExitCode() != 1 || args[0] != "update-index" {
			tb.Fatalf("git %q: %v\n%s", args, err, said.String())
		}
	}
}

// index returns the index of a command: a second one for those that compare content.
func (r bulk) index(args []string) string {
	if slices.Contains([]string{"read-tree", "update-index", "diff-files"}, args[0]) {
		return filepath.Join(r.dir, ".git", "index-fresh")
	}
	return filepath.Join(r.dir, ".git", "index")
}

// bareCapture runs the git commands whose answers a capture gives, one after the other:
// what HEAD, index and worktree hold, and the comparison by content, for which git needs an
// index that knows no times.
func (r bulk) bareCapture(tb testing.TB) {
	tb.Helper()
	if err := os.RemoveAll(filepath.Join(r.dir, ".git", "index-fresh")); err != nil {
		tb.Fatal(err)
	}
	for _, args := range [][]string{
		{"rev-parse", "HEAD", "HEAD^{tree}"}, {"symbolic-ref", "HEAD"}, {"merge-base", "main", "HEAD"}, {"rev-list", "--max-parents=0", "HEAD"},
		{"ls-tree", "-r", "-z", "HEAD"}, {"ls-files", "-z", "-v", "--stage"}, {"ls-files", "-z", "--others", "--exclude-standard"},
		{"read-tree", "HEAD"}, {"update-index", "-q", "--refresh"}, {"diff-files", "-z", "--raw"},
	} {
		r.git(tb, nil, args...)
	}
}

// bareStatus runs the commands that trust the times in git's index instead.
func (r bulk) bareStatus(tb testing.TB) {
	tb.Helper()
	for _, args := range [][]string{
		{"rev-parse", "HEAD", "HEAD^{tree}"}, {"symbolic-ref", "HEAD"}, {"merge-base", "main", "HEAD"}, {"rev-list", "--max-parents=0", "HEAD"},
		{"ls-tree", "-r", "-z", "HEAD"}, {"ls-files", "-z", "-v", "--stage"},
		{"status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"},
	} {
		r.git(tb, nil, args...)
	}
}

// bareBoundary runs the git commands that a boundary check needs.
func (r bulk) bareBoundary(tb testing.TB) {
	tb.Helper()
	r.git(tb, nil, "rev-parse", "main^{commit}", "work^{commit}")
	r.git(tb, nil, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "main", "work")
	r.git(tb, nil, "ls-tree", "-z", "work", ".agent-delivery/policy/")
}

func (r bulk) capture(ctx context.Context) (workspace.Facts, error) {
	repo, err := workspace.Open(ctx, r.dir)
	if err != nil {
		return workspace.Facts{}, err
	}
	return repo.Capture(ctx, workspace.CaptureOptions{Target: "refs/heads/main", Host: "bench"})
}

// check holds the branch against a boundary as "deed boundary check" does.
func (r bulk) check(ctx context.Context) (changes, outside int, err error) {
	repo, err := workspace.Open(ctx, r.dir)
	if err != nil {
		return 0, 0, err
	}
	bounds, err := boundary.Parse([]string{"src/**"}, []string{"src/part39/**", "infra/**", "**/.env*"})
	if err != nil {
		return 0, 0, err
	}
	list, err := repo.Changes(ctx, "main", "work")
	if err != nil {
		return 0, 0, err
	}
	if _, err := repo.ReadFile(ctx, "main", boundary.PolicyPath, boundary.MaxPolicyBytes); !errors.Is(err, workspace.ErrNoSuchFile) {
		return 0, 0, fmt.Errorf("a policy in a repository without one: %w", err)
	}
	links, err := repo.Links(ctx, "work")
	if err != nil {
		return 0, 0, err
	}
	before, err := repo.Links(ctx, "main")
	if err != nil {
		return 0, 0, err
	}
	turned, err := workspace.CheckUnchangedLinks(bounds, list, before, links)
	return len(list), len(workspace.Check(bounds, list, nil, links)) + len(turned), err
}

// timed gives how long a call takes.
func timed(call func()) time.Duration {
	begin := time.Now()
	call()
	return time.Since(begin)
}

// ratio measures ours and git's in turn, so that both see the same machine, and reports the
// ratio of the medians.
func ratio(b *testing.B, unit string, ours func(), git map[string]func()) {
	var own []time.Duration
	theirs := map[string][]time.Duration{}
	for b.Loop() {
		own = append(own, timed(ours))
		for name, call := range git {
			theirs[name] = append(theirs[name], timed(call))
		}
	}
	middle := func(list []time.Duration) float64 {
		slices.Sort(list)
		return list[len(list)/2].Seconds()
	}
	b.ReportMetric(middle(own)*1000, unit)
	for name, list := range theirs {
		b.ReportMetric(middle(own)/middle(list), name)
	}
}

// BenchmarkCapture captures a worktree of 50,000 files of which 2,000 are changed.
func BenchmarkCapture(b *testing.B) {
	r := newBulk(b, 50_000, 2000)
	ratio(b, "capture-ms", func() {
		if f, err := r.capture(b.Context()); err != nil || len(f.Worktree.Unstaged) != r.changes {
			b.Fatalf("%d changes, %v", len(f.Worktree.Unstaged), err)
		}
	}, map[string]func(){"of-git-content": func() { r.bareCapture(b) }, "of-git-status": func() { r.bareStatus(b) }})
}

// BenchmarkBoundary checks 2,000 changes in a tree of 50,000 files.
func BenchmarkBoundary(b *testing.B) {
	r := newBulk(b, 50_000, 2000)
	ratio(b, "check-ms", func() {
		if n, outside, err := r.check(b.Context()); err != nil || n != r.changes || outside != r.changes/40 {
			b.Fatalf("%d changes, %d outside, %v", n, outside, err)
		}
	}, map[string]func(){"of-git": func() { r.bareBoundary(b) }})
}

// TestBulk: what is measured gives the right answers, at a small size.
func TestBulk(t *testing.T) {
	r := newBulk(t, 400, 80)
	f, err := r.capture(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f.Files != 400 || len(f.Worktree.Unstaged) != 80 || len(f.Worktree.Staged)+len(f.Worktree.Untracked) != 0 {
		t.Errorf("%d files, %d unstaged, %d staged, %d untracked", f.Files, len(f.Worktree.Unstaged), len(f.Worktree.Staged), len(f.Worktree.Untracked))
	}
	if n, outside, err := r.check(t.Context()); err != nil || n != 80 || outside != 2 {
		t.Errorf("%d changes, %d outside, %v", n, outside, err)
	}
	r.bareCapture(t)
	r.bareStatus(t)
	r.bareBoundary(t)
}
