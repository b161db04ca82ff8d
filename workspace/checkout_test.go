package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCleanCheckout(t *testing.T) {
	f := newFixture(t)
	f.write(".gitattributes", "*.txt text eol=crlf ident filter=lfs\n*.u working-tree-encoding=UTF-16LE\n")
	f.write("a.txt", "one\n$Id$\n")
	f.write("b.u", "x\x00\n\x00")
	f.link("l", "a.txt")
	f.git("config", "core.autocrlf", "false")
	commit := f.commit("first")
	f.write("a.txt", "later")
	f.commit("later")
	f.write("dirt", "x")
	before := snapshot(t, filepath.Join(f.dir, ".git"))
	dir := filepath.Join(t.TempDir(), `odd "name`+"\n\\é")
	clean, err := f.open().CleanCheckout(t.Context(), commit, dir)
	must(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "a.txt"))
	if err != nil || string(text) != "one\n$Id$\n" {
		t.Errorf("a.txt holds %q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "b.u")); err != nil || string(text) != "x\n" {
		t.Errorf("b.u holds %q, %v", text, err)
	}
	if d, err := clean.Dirty(t.Context()); err != nil || !d.Clean() {
		t.Errorf("not clean: %+v, %v", d, err)
	}
	want, err := f.open().Tree(t.Context(), commit)
	must(t, err)
	if tree, err := clean.Tree(t.Context(), "HEAD"); err != nil || tree != want {
		t.Errorf("tree %s, %v, want %s", tree, err, want)
	}
	if !slices.Equal(before, snapshot(t, filepath.Join(f.dir, ".git"))) {
		t.Error("the original repository changed")
	}
	if _, err := f.open().CleanCheckout(t.Context(), commit, dir); !errors.Is(err, ErrFolderInUse) {
		t.Errorf("second checkout: %v", err)
	}
}

func TestUnchanged(t *testing.T) {
	f := newFixture(t)
	f.write("a", "one")
	f.write("b", "two")
	commit := f.commit("first")
	r := f.open()
	must(t, r.Unchanged(t.Context(), commit))
	for name, change := range map[string]func(){
		"edit, same size":  func() { f.write("a", "eno") },
		"deleted":          func() { f.remove("b") },
		"mode":             func() { must(t, os.Chmod(filepath.Join(f.dir, "a"), 0o755)) },
		"flagged and edit": func() { f.git("update-index", "--assume-unchanged", "a"); f.write("a", "two") },
		"committed":        func() { f.write("a", "x"); f.commit("more") },
		"staged and gone":  func() { f.git("rm", "--quiet", "b") },
	} {
		change()
		if err := r.Unchanged(t.Context(), commit); !errors.Is(err, ErrCheckoutDiffers) {
			t.Errorf("%s: %v", name, err)
		}
		f.git("update-index", "--no-assume-unchanged", "a")
		f.git("reset", "--quiet", "--hard", commit)
	}
	f.write("untracked", "x")
	must(t, r.Unchanged(t.Context(), commit))
}

func TestTrialMerge(t *testing.T) {
	f := newFixture(t)
	f.write("a", lines(20))
	base := f.commit("base")
	f.git("checkout", "--quiet", "-b", "task")
	f.write("b", "task")
	task := f.commit("task")
	f.git("checkout", "--quiet", "-b", "clash", base)
	f.write("b", "clash")
	clash := f.commit("clash")
	f.git("checkout", "--quiet", "main")
	f.write("c", "main")
	main := f.commit("main")
	r := f.open()
	before := snapshot(t, filepath.Join(f.dir, ".git"))
	got, err := r.TrialMerge(t.Context(), main, task)
	must(t, err)
	if _, err := r.TrialMerge(t.Context(), task, clash); !errors.Is(err, ErrMergeConflict) {
		t.Errorf("conflict: %v", err)
	}
	if !slices.Equal(before, snapshot(t, filepath.Join(f.dir, ".git"))) {
		t.Error("a trial merge wrote to the repository")
	}
	if tree, err := r.TrialMerge(t.Context(), base, task); err != nil || tree != f.git("rev-parse", "task^{tree}") {
		t.Errorf("fast-forward gives %s, %v", tree, err)
	}
	f.git("merge", "--quiet", "--no-edit", "task")
	if want := f.git("rev-parse", "HEAD^{tree}"); got != want {
		t.Errorf("trial merge gives %s, the merge %s", got, want)
	}
	f.git("checkout", "--quiet", "--orphan", "alone")
	f.commit("alone")
	if _, err := r.TrialMerge(t.Context(), main, "alone"); !errors.Is(err, ErrNoMergeBase) {
		t.Errorf("unrelated: %v", err)
	}
}

func TestLockfileDigests(t *testing.T) {
	f := newFixture(t)
	f.write("go.sum", "sum\n")
	f.write("web/package-lock.json", "{}")
	f.write("web/not-package-lock.json", "{}")
	f.write("big/yarn.lock", strings.Repeat("y", 300_000))
	commit := f.commit("first")
	f.write("go.sum", "changed on disk")
	r := f.open()
	got, err := r.LockfileDigests(t.Context(), commit)
	must(t, err)
	hash := func(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) }
	want := []FileDigest{
		{"big/yarn.lock", hash(strings.Repeat("y", 300_000))}, {"go.sum", hash("sum\n")}, {"web/package-lock.json", hash("{}")},
	}
	combined := ""
	for _, file := range want {
		combined += file.Path + "\x00" + file.SHA256 + "\n"
	}
	if !slices.Equal(got.Files, want) || got.Combined != hash(combined) {
		t.Errorf("lockfiles %+v, want %+v and %s", got, want, hash(combined))
	}
	if digest, err := r.BlobDigest(t.Context(), commit, "go.sum"); err != nil || digest != hash("sum\n") {
		t.Errorf("blob digest %s, %v", digest, err)
	}
	for _, path := range []string{"none", "web", "", "./go.sum", "go.sum/", "*"} {
		if digest, err := r.BlobDigest(t.Context(), commit, path); !errors.Is(err, ErrNoSuchFile) || digest != "" {
			t.Errorf("BlobDigest(%q) = %q, %v", path, digest, err)
		}
	}
	empty := newFixture(t)
	if got, err := empty.open().LockfileDigests(t.Context(), empty.commit("none")); err != nil || len(got.Files) != 0 || got.Combined != hash("") {
		t.Errorf("no lockfiles: %+v, %v", got, err)
	}
	if !slices.IsSorted(LockfileNames()) {
		t.Error("LockfileNames is not sorted")
	}
}

// snapshot lists every file below dir with the digest of its content.
func snapshot(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	must(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		sum := sha256.Sum256(text)
		list = append(list, path+" "+hex.EncodeToString(sum[:]))
		return err
	}))
	return list
}
