package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestDirty(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{"staged", "unstaged", "both", "mode", "moved", "assumed", "kept"} {
		f.write(path, lines(30)+path)
	}
	f.write(".gitignore", "*.log\n")
	f.commit("base")
	r := f.open()
	if d, err := r.Dirty(t.Context()); err != nil || !d.Clean() || len(d.Hidden) != 0 {
		t.Fatalf("fresh: %+v, %v", d, err)
	}
	f.git("config", "core.fileMode", "false")
	f.git("config", "status.showUntrackedFiles", "no")
	f.git("update-index", "--assume-unchanged", "assumed")
	f.write("assumed", "secretly other")
	f.write("staged", "s")
	f.write("both", "1")
	f.git("add", "staged", "both")
	f.write("both", "2")
	f.write("unstaged", "u")
	f.git("mv", "moved", "there")
	must(t, os.Chmod(filepath.Join(f.dir, "mode"), 0o755))
	f.write("new/deep", "n")
	f.write("x.log", "ignored")
	d, err := r.Dirty(t.Context())
	must(t, err)
	for name, c := range map[string]struct{ got, want []string }{
		"staged":    {d.Staged, []string{"both", "moved", "staged", "there"}},
		"unstaged":  {d.Unstaged, []string{"both", "mode", "unstaged"}},
		"untracked": {d.Untracked, []string{"new/deep"}},
		"hidden":    {d.Hidden, []string{"assumed"}},
		"conflict":  {d.Conflicted, nil},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s %q, want %q", name, c.got, c.want)
		}
	}
}

func TestDirtyConflict(t *testing.T) {
	f := newFixture(t)
	f.write("a b", "1")
	f.commit("base")
	f.git("checkout", "--quiet", "-b", "other")
	f.write("a b", "2")
	other := f.commit("other")
	f.git("checkout", "--quiet", "main")
	f.write("a b", "3")
	f.commit("mine")
	f.git("read-tree", "-m", f.git("merge-base", "main", "other"), "main", other)
	if d, err := f.open().Dirty(t.Context()); err != nil || !slices.Equal(d.Conflicted, []string{"a b"}) || d.Clean() {
		t.Errorf("conflict: %+v, %v", d, err)
	}
}

// TestConfigurationRunsNothing sets every hook by which a repository could run code on
// the commands that this package uses.
func TestConfigurationRunsNothing(t *testing.T) {
	f := newFixture(t)
	f.write("a.txt", "1")
	f.write("b.txt", "1")
	base := f.commit("base")
	f.git("checkout", "--quiet", "-b", "side")
	f.write("a.txt", "2")
	side := f.commit("side")
	f.git("checkout", "--quiet", "main")
	f.write("a.txt", "3")
	head := f.commit("head")

	mark := filepath.Join(t.TempDir(), "ran")
	script := filepath.Join(t.TempDir(), "trap")
	must(t, os.WriteFile(script, []byte("#!/bin/sh\necho \"$0 $*\" >> '"+mark+"'\ncat\n"), 0o755))
	for _, key := range []string{
		"core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "diff.external", "diff.trap.command", "diff.trap.textconv",
		"filter.trap.clean", "filter.trap.smudge", "filter.tr=ap.x.clean", "filter.tr=ap.x.process", "merge.trap.driver", "gpg.program",
		"credential.helper", "core.alternateRefsCommand", "uploadpack.packObjectsHook", "remote.origin.uploadpack",
	} {
		f.git("config", key, script)
	}
	f.git("config", "filter.trap.required", "true")
	hooks := filepath.Join(f.dir, ".git/hooks")
	must(t, os.MkdirAll(hooks, 0o755))
	for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction", "pre-commit"} {
		must(t, os.Symlink(script, filepath.Join(hooks, hook)))
	}
	must(t, os.WriteFile(filepath.Join(f.dir, ".git/info/attributes"), []byte("a.txt filter=trap diff=trap merge=trap\nb.txt filter=tr=ap.x\n"), 0o600))
	f.write("a.txt", "4")
	f.write("b.txt", "4")

	r := f.open()
	d, err := r.Dirty(t.Context())
	if err != nil || !slices.Equal(d.Unstaged, []string{"a.txt", "b.txt"}) {
		t.Errorf("dirty %+v, %v", d, err)
	}
	if _, err := r.Changes(t.Context(), base, head); err != nil {
		t.Error(err)
	}
	if _, err := r.LockfileDigests(t.Context(), head); err != nil {
		t.Error(err)
	}
	if _, err := r.TrialMerge(t.Context(), head, side); !errors.Is(err, ErrMergeConflict) {
		t.Errorf("trial merge: %v", err)
	}
	if _, err := r.CleanCheckout(t.Context(), head, filepath.Join(t.TempDir(), "c")); err != nil {
		t.Error(err)
	}
	if err := r.Unchanged(t.Context(), head); !errors.Is(err, ErrCheckoutDiffers) {
		t.Errorf("unchanged: %v", err)
	}
	if text, err := os.ReadFile(mark); !os.IsNotExist(err) {
		t.Errorf("the repository ran: %s %v", text, err)
	}
}

func TestParseStatusRefuses(t *testing.T) {
	for _, text := range []string{
		"? a", "x a\x00", "?\x00", "? \x00", "1 .M N... 1 2 3 4 5\x00", "1 M N... 1 2 3 4 5 p\x00", "2 R. N... 1 2 3 4 5 R100 a\x00b\x00", "\x00",
	} {
		if d, err := parseStatus([]byte(text)); !errors.Is(err, ErrGitOutput) {
			t.Errorf("parseStatus(%q) = %+v, %v", text, d, err)
		}
	}
}
