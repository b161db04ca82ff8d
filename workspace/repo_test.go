package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestOpenLayouts(t *testing.T) {
	f := newFixture(t)
	f.write("src/deep/a.go", "a")
	f.commit("first")
	main := f.open()
	below, err := Open(t.Context(), filepath.Join(f.dir, "src/deep"))
	must(t, err)
	if below.Top() != main.Top() || below.GitDir() != main.GitDir() {
		t.Errorf("subfolder gives %s, root gives %s", below.Top(), main.Top())
	}

	outer := t.TempDir()
	bare, tree := filepath.Join(outer, ".bare"), filepath.Join(outer, "task-12")
	f.git("clone", "--quiet", "--bare", f.dir, bare)
	f.git("--git-dir="+bare, "worktree", "add", "--quiet", "--detach", tree, "main")
	f.git("--git-dir="+bare, "worktree", "add", "--quiet", filepath.Join(outer, "main"), "main")
	a, err := Open(t.Context(), tree)
	must(t, err)
	b, err := Open(t.Context(), filepath.Join(outer, "main"))
	must(t, err)
	if a.CommonDir() != b.CommonDir() || a.GitDir() == b.GitDir() || a.CommonDir() == main.CommonDir() {
		t.Errorf("worktrees %s %s share %s %s", a.GitDir(), b.GitDir(), a.CommonDir(), b.CommonDir())
	}
	if branch, err := a.Branch(t.Context()); err != nil || branch != "" {
		t.Errorf("detached branch %q, %v", branch, err)
	}
	if branch, err := b.Branch(t.Context()); err != nil || branch != "refs/heads/main" {
		t.Errorf("branch %q, %v", branch, err)
	}
	if _, err := Open(t.Context(), bare); !errors.Is(err, ErrBareRepository) {
		t.Errorf("bare: %v", err)
	}
	f.git("submodule", "add", "--quiet", bare, "sub")
	sub, err := Open(t.Context(), filepath.Join(f.dir, "sub"))
	must(t, err)
	if sub.CommonDir() == main.CommonDir() {
		t.Error("a submodule passes for its parent")
	}
}

func TestOpenRefuses(t *testing.T) {
	f := newFixture(t)
	f.write("a/b", "x")
	f.commit("first")
	elsewhere := newFixture(t)
	elsewhere.write("clean", "x")
	elsewhere.commit("other")
	for name, c := range map[string]struct {
		dir  string
		want error
	}{
		"no repository": {t.TempDir(), ErrNotRepository},
		"git folder":    {filepath.Join(f.dir, ".git"), ErrNoWorktree},
		"missing":       {filepath.Join(f.dir, "none"), os.ErrNotExist},
	} {
		if _, err := Open(t.Context(), c.dir); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	for name, worktree := range map[string]string{"other repository": elsewhere.dir, "subfolder": filepath.Join(f.dir, "a"), "parent": filepath.Dir(f.dir)} {
		f.git("config", "core.worktree", worktree)
		for _, dir := range []string{f.dir, filepath.Join(f.dir, "a")} {
			if r, err := Open(t.Context(), dir); !errors.Is(err, ErrNoWorktree) {
				t.Errorf("core.worktree to %s from %s: %v, %v", name, dir, r, err)
			}
		}
	}
}

// TestOpenNested has a repository inside another and claims the outer worktree for it.
func TestOpenNested(t *testing.T) {
	outer := newFixture(t)
	outer.commit("outer")
	inner := fixture{t: t, dir: filepath.Join(outer.dir, "inner")}
	must(t, os.Mkdir(inner.dir, 0o755))
	inner.git("init", "--quiet", "--initial-branch=main")
	inner.commit("inner")
	if inner.open().CommonDir() == outer.open().CommonDir() {
		t.Error("inner repository passes for the outer")
	}
	inner.git("config", "core.worktree", outer.dir)
	if r, err := Open(t.Context(), inner.dir); !errors.Is(err, ErrNoWorktree) {
		t.Errorf("worktree of the outer repository: %v, %v", r, err)
	}
}

// TestOddFolderName keeps a repository in a folder whose name needs quoting everywhere.
func TestOddFolderName(t *testing.T) {
	f := fixture{t: t, dir: filepath.Join(t.TempDir(), "\"#odd:\n\\é ")}
	must(t, os.Mkdir(f.dir, 0o755))
	f.git("init", "--quiet", "--initial-branch=main")
	f.write("a", "1")
	base := f.commit("first")
	f.write("a", "2")
	head := f.commit("second")
	r := f.open()
	if _, err := r.CleanCheckout(t.Context(), base, filepath.Join(t.TempDir(), "c")); err != nil {
		t.Error(err)
	}
	if tree, err := r.TrialMerge(t.Context(), base, head); err != nil || tree != f.git("rev-parse", "HEAD^{tree}") {
		t.Errorf("trial merge %s, %v", tree, err)
	}
}

func TestOpenIgnoresEnvironment(t *testing.T) {
	f, other := newFixture(t), newFixture(t)
	want := f.commit("first")
	other.write("x", "y")
	other.commit("other")
	t.Setenv("GIT_DIR", filepath.Join(other.dir, ".git"))
	t.Setenv("GIT_WORK_TREE", other.dir)
	t.Setenv("GIT_INDEX_FILE", filepath.Join(other.dir, "none"))
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "core.worktree")
	t.Setenv("GIT_CONFIG_VALUE_0", other.dir)
	head, err := f.open().Head(t.Context())
	if err != nil || head != want {
		t.Errorf("head %s, %v, want %s", head, err, want)
	}
}

func TestBinding(t *testing.T) {
	f := newFixture(t)
	f.commit("first")
	r := f.open()
	f.git("worktree", "add", "--quiet", "--detach", filepath.Join(t.TempDir(), "w"))
	if _, err := r.BoundTask(); !errors.Is(err, ErrNoTaskBound) {
		t.Errorf("unbound: %v", err)
	}
	for _, name := range []string{"", "-a", "a b", "a/b", "../x", "a\n", "é"} {
		if err := r.BindTask(name); !errors.Is(err, ErrTaskName) {
			t.Errorf("BindTask(%q) = %v", name, err)
		}
	}
	for _, name := range []string{"TASK-481", "TASK-482"} {
		must(t, r.BindTask(name))
		if task, err := r.BoundTask(); err != nil || task != name {
			t.Errorf("bound %q, %v", task, err)
		}
	}
	if d, err := r.Dirty(t.Context()); err != nil || !d.Clean() {
		t.Errorf("binding makes the worktree dirty: %+v, %v", d, err)
	}
	for _, text := range []string{"", "TASK-1", "TASK-1\n\n", "a b\n", "\x1b[2J\n"} {
		must(t, os.WriteFile(filepath.Join(r.GitDir(), bindingFile), []byte(text), 0o600))
		if task, err := r.BoundTask(); !errors.Is(err, ErrTaskName) {
			t.Errorf("damaged binding %q: %q, %v", text, task, err)
		}
	}
	must(t, r.UnbindTask())
	must(t, r.UnbindTask())
	if _, err := r.BoundTask(); !errors.Is(err, ErrNoTaskBound) {
		t.Errorf("after unbind: %v", err)
	}
}
