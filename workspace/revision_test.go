package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// history makes main m1..m6 and a branch task with two commits from m4, and gives m4.
func history(f fixture) (m4 string) {
	for i := 1; i <= 6; i++ {
		f.write("main.txt", fmt.Sprint(i))
		id := f.commit(fmt.Sprintf("m%d", i))
		if i == 4 {
			m4 = id
		}
	}
	f.git("checkout", "--quiet", "-b", "task", m4)
	for i := 1; i <= 2; i++ {
		f.write("task.txt", fmt.Sprint(i))
		f.commit(fmt.Sprintf("t%d", i))
	}
	return m4
}

func TestMergeBaseShallow(t *testing.T) {
	f := newFixture(t)
	m4 := history(f)
	for depth, want := range map[int]error{1: ErrHistoryIncomplete, 2: ErrHistoryIncomplete, 3: nil, 0: nil} {
		clone := filepath.Join(t.TempDir(), "clone")
		args := []string{"clone", "--quiet", "--no-single-branch", "file://" + f.dir, clone}
		if depth > 0 {
			args = append(args, fmt.Sprintf("--depth=%d", depth))
		}
		f.git(args...)
		r, err := Open(t.Context(), clone)
		must(t, err)
		if r.Shallow() != (depth > 0) {
			t.Errorf("depth %d: shallow %v", depth, r.Shallow())
		}
		base, err := r.MergeBase(t.Context(), "origin/main", "origin/task")
		if !errors.Is(err, want) || (want == nil && base != m4) {
			t.Errorf("depth %d: base %q, %v; want %s, %v", depth, base, err, m4, want)
		}
		ok, err := r.IsAncestor(t.Context(), "origin/main", "origin/task")
		if ok || (depth > 0) != errors.Is(err, ErrHistoryIncomplete) {
			t.Errorf("depth %d: ancestor %v, %v", depth, ok, err)
		}
		if ok, err := r.IsAncestor(t.Context(), "origin/task", "origin/task"); !ok || err != nil {
			t.Errorf("depth %d: a commit is not its own ancestor: %v", depth, err)
		}
		if _, err := r.Authors(t.Context(), "origin/main", "origin/task"); (depth == 1 || depth == 2) != errors.Is(err, ErrHistoryIncomplete) {
			t.Errorf("depth %d: authors: %v", depth, err)
		}
	}
}

// TestMergeBaseShallowOlder cuts the near link only, so that git itself answers with an
// older base than the true one.
func TestMergeBaseShallowOlder(t *testing.T) {
	f := newFixture(t)
	old := f.commit("old")
	f.write("a", "1")
	near := f.commit("near")
	f.git("checkout", "--quiet", "-b", "task")
	f.write("b", "1")
	tip := f.commit("tip")
	f.git("checkout", "--quiet", "-b", "side", old)
	f.write("c", "1")
	f.commit("side")
	f.git("checkout", "--quiet", "task")
	f.git("merge", "--quiet", "--no-edit", "side")
	if base, err := f.open().MergeBase(t.Context(), "main", "task"); err != nil || base != near {
		t.Fatalf("full: base %s, %v, want %s", base, err, near)
	}
	must(t, os.WriteFile(filepath.Join(f.dir, ".git/shallow"), []byte(tip+"\n"), 0o600))
	if got := f.git("merge-base", "main", "task"); got != old {
		t.Fatalf("git alone gives %s; the case needs the older base %s", got, old)
	}
	if base, err := f.open().MergeBase(t.Context(), "main", "task"); !errors.Is(err, ErrHistoryIncomplete) {
		t.Errorf("base %s, %v", base, err)
	}
}

func TestMergeBaseErrors(t *testing.T) {
	f := newFixture(t)
	history(f)
	f.git("checkout", "--quiet", "--orphan", "alone")
	f.commit("alone")
	f.git("branch", "gone", "main")
	f.git("branch", "-D", "gone")
	r := f.open()
	for name, c := range map[string]struct {
		a    string
		want error
	}{
		"unrelated":       {"alone", ErrNoMergeBase},
		"deleted":         {"gone", ErrUnknownRevision},
		"missing":         {strings.Repeat("ab", 20), ErrMissingObject},
		"option":          {"--all", ErrUnknownRevision},
		"short option":    {"-h", ErrUnknownRevision},
		"empty":           {"", ErrUnknownRevision},
		"range":           {"main..task", ErrUnknownRevision},
		"tree":            {"main:", ErrUnknownRevision},
		"newline":         {"main\n", ErrUnknownRevision},
		"two":             {"main task", ErrUnknownRevision},
		"tree by its id":  {f.git("rev-parse", "main^{tree}"), ErrMissingObject},
		"end of options":  {"--end-of-options", ErrUnknownRevision},
		"negated":         {"^main", ErrUnknownRevision},
		"abbreviated bad": {"abababab", ErrUnknownRevision},
	} {
		if base, err := r.MergeBase(t.Context(), c.a, "task"); !errors.Is(err, c.want) || base != "" {
			t.Errorf("%s: %q, %v, want %v", name, base, err, c.want)
		}
		if got, err := r.Changes(t.Context(), c.a, "task"); name != "unrelated" && (!errors.Is(err, c.want) || got != nil) {
			t.Errorf("%s: changes %v, %v", name, got, err)
		}
	}
}

func TestHistoryIgnoresReplaceAndGrafts(t *testing.T) {
	f := newFixture(t)
	m4 := history(f)
	r := f.open()
	want, err := r.Changes(t.Context(), m4, "task")
	must(t, err)
	f.git("replace", f.git("rev-parse", "task"), m4)
	must(t, os.WriteFile(filepath.Join(f.dir, ".git/info/grafts"), []byte(f.git("rev-parse", "main")+"\n"), 0o600))
	got, err := r.Changes(t.Context(), m4, "task")
	if err != nil || len(got) != len(want) || len(want) == 0 {
		t.Errorf("changes %v, %v, want %v", got, err, want)
	}
	if base, err := r.MergeBase(t.Context(), "main", "task"); err != nil || base != m4 {
		t.Errorf("base %s, %v, want %s", base, err, m4)
	}
}

func TestHeadUnborn(t *testing.T) {
	f := newFixture(t)
	r := f.open()
	if head, err := r.Head(t.Context()); !errors.Is(err, ErrUnborn) {
		t.Errorf("head %q, %v", head, err)
	}
	want := f.commit("first")
	if head, err := r.Head(t.Context()); err != nil || head != want {
		t.Errorf("head %q, %v", head, err)
	}
	if tree, err := r.Tree(t.Context(), "HEAD"); err != nil || tree != "4b825dc642cb6eb9a060e54bf8d69288fbee4904" {
		t.Errorf("tree %q, %v", tree, err)
	}
}

func TestAuthors(t *testing.T) {
	f := newFixture(t)
	base := f.commit("first")
	f.commit("second")
	f.git("-c", "user.name=x", "commit", "--quiet", "--allow-empty", "--message", "author Eve <eve@example.org>", "--author", "Zoé <z@example.org>")
	f.write(".mailmap", "Nobody <nobody@example.org> <z@example.org>\n")
	got, err := f.open().Authors(t.Context(), base, "HEAD")
	must(t, err)
	want := []Identity{{"Ada", "ada@example.org"}, {"Bob", "bob@example.org"}, {"Zoé", "z@example.org"}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("authors %v, want %v", got, want)
	}
	if got, err := f.open().Authors(t.Context(), "HEAD", "HEAD"); err != nil || len(got) != 0 {
		t.Errorf("empty range: %v, %v", got, err)
	}
}

func TestSHA256Repository(t *testing.T) {
	f := fixture{t: t, dir: t.TempDir()}
	f.git("init", "--quiet", "--initial-branch=main", "--object-format=sha256")
	f.write("a", "1")
	base := f.commit("first")
	f.write("a", "2")
	head := f.commit("second")
	r := f.open()
	if changes, err := r.Changes(t.Context(), base, head); err != nil || len(changes) != 1 {
		t.Errorf("changes %v, %v", changes, err)
	}
	if _, err := r.CleanCheckout(t.Context(), head, filepath.Join(t.TempDir(), "c")); err != nil {
		t.Error(err)
	}
	if tree, err := r.TrialMerge(t.Context(), base, head); err != nil || len(tree) != 64 {
		t.Errorf("trial merge %q, %v", tree, err)
	}
}
