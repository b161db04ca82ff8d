package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deedledger/deed/boundary"
)

func (f fixture) capture(o CaptureOptions) Facts {
	f.t.Helper()
	facts, err := f.open().Capture(f.t.Context(), o)
	must(f.t, err)
	return facts
}

// shown writes changes as "status mode>mode path", with where a moved one came from.
func shown(list []FileChange) []string {
	var out []string
	for _, c := range list {
		line := c.Status + " " + c.OldMode + ">" + c.NewMode + " " + c.Path
		if c.From != "" {
			line += " < " + c.From
		}
		if c.Flag != "" {
			line += " " + c.Flag
		}
		out = append(out, line)
	}
	return out
}

func codes(f Facts) []string {
	var list []string
	for _, n := range f.Notes {
		list = append(list, n.Code)
	}
	return list
}

// notePaths gives the paths of a note, nil where there is none.
func notePaths(f Facts, code string) []string {
	for _, n := range f.Notes {
		if n.Code == code {
			return append([]string{}, n.Paths...)
		}
	}
	return nil
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s\n got %q\nwant %q", what, got, want)
	}
}

func TestCaptureChanges(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{"staged", "unstaged", "both", "mode", "moved", "gone", "staged-gone", "to-link", "to-folder", "dir/inside", "touched"} {
		f.write(path, lines(30)+path)
	}
	f.link("link", "staged")
	f.write("empty", "")
	f.commit("base")
	f.write("staged", "s")
	f.write("both", "1")
	f.git("add", "staged", "both")
	f.write("both", "2")
	f.write("unstaged", "u")
	must(t, os.Chmod(filepath.Join(f.dir, "mode"), 0o755))
	f.git("mv", "moved", "there")
	f.remove("gone")
	f.git("rm", "--quiet", "staged-gone")
	f.remove("to-link")
	f.link("to-link", "staged")
	f.remove("to-folder")
	f.write("to-folder/x", "x")
	f.remove("dir")
	f.link("dir", "elsewhere") // dir/inside is not there, whatever the link leads to
	f.write("elsewhere/inside", lines(30)+"dir/inside")
	f.remove("link")
	f.link("link", "unstaged")
	must(t, os.Chtimes(filepath.Join(f.dir, "touched"), time.Unix(1, 0), time.Unix(1, 0)))
	f.write("new", "n")
	f.write("intended", "")
	f.git("add", "--intent-to-add", "intended")
	got := f.capture(CaptureOptions{}).Worktree
	same(t, "staged", shown(got.Staged), []string{
		"M 100644>100644 both", "A 000000>100644 intended", "D 100644>000000 moved", "M 100644>100644 staged",
		"D 100644>000000 staged-gone", "A 000000>100644 there < moved",
	})
	same(t, "unstaged", shown(got.Unstaged), []string{
		"M 100644>100644 both", "D 100644>000000 dir/inside", "D 100644>000000 gone", "M 120000>120000 link",
		"M 100644>100755 mode", "D 100644>000000 to-folder", "T 100644>120000 to-link", "M 100644>100644 unstaged",
	})
	var untracked []string
	for _, u := range got.Untracked {
		untracked = append(untracked, u.Mode+" "+u.Path)
	}
	same(t, "untracked", untracked, []string{"120000 dir", "100644 elsewhere/inside", "100644 new", "100644 to-folder/x"})
	if id := f.git("hash-object", "new"); got.Untracked[2].ID != id {
		t.Errorf("id of new: %s, want %s", got.Untracked[2].ID, id)
	}
}

// TestCaptureReadsContent changes files behind the back of git's index.
func TestCaptureReadsContent(t *testing.T) {
	f := newFixture(t)
	for _, path := range []string{"assumed", "assumed-same", "forged", "sparse", "absent"} {
		f.write(path, "1234\n")
	}
	f.commit("base")
	f.git("update-index", "--assume-unchanged", "assumed", "assumed-same")
	f.write("assumed", "other\n")
	// The index gets the times and the size of the new bytes, and keeps the old id.
	old := f.git("rev-parse", ":forged")
	f.write("forged", "4321\n")
	f.age("forged")
	f.git("update-index", "forged")
	forge(t, filepath.Join(f.dir, ".git/index"), f.git("rev-parse", ":forged"), old)
	f.git("update-index", "--skip-worktree", "sparse", "absent")
	f.write("sparse", "here")
	f.remove("absent")
	if out := f.git("status", "--porcelain"); out != "" {
		t.Fatalf("git sees %q: the case needs it blind", out)
	}
	facts := f.capture(CaptureOptions{})
	same(t, "unstaged", shown(facts.Worktree.Unstaged), []string{
		"M 100644>100644 assumed assume-unchanged", "M 100644>100644 forged", "M 100644>100644 sparse skip-worktree",
	})
	same(t, "assumed", notePaths(facts, "assume-unchanged"), []string{"assumed", "assumed-same"})
	same(t, "skipped", notePaths(facts, "skip-worktree"), []string{"absent", "sparse"})
}

// age lets files be from before the index: git reads younger ones again.
func (f *fixture) age(paths ...string) {
	f.t.Helper()
	for _, path := range paths {
		old := time.Unix(1e9, 0)
		must(f.t, os.Chtimes(filepath.Join(f.dir, path), old, old))
	}
}

// forge replaces an object id in an index and mends the index's checksum.
func forge(t *testing.T, name, from, to string) {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	a, err := hex.DecodeString(from)
	must(t, err)
	b, err := hex.DecodeString(to)
	must(t, err)
	body := strings.Replace(string(text[:len(text)-20]), string(a), string(b), 1)
	if body == string(text[:len(text)-20]) {
		t.Fatal("the index does not hold the id")
	}
	h := newHasher("", "sha1", 0).hash
	h.Write([]byte(body))
	must(t, os.WriteFile(name, h.Sum([]byte(body)), 0o600))
}

// TestCaptureConverted: what only .gitattributes tells apart is no change; what a filter
// makes is named.
func TestCaptureConverted(t *testing.T) {
	f := newFixture(t)
	f.write(".gitattributes", "*.txt text eol=crlf\n*.u16 working-tree-encoding=UTF-16LE\n*.big filter=big\n*.id ident\n")
	f.write("a.txt", "1\r\n2\r\n")
	f.write("b.txt", "1\r\n2\r\n")
	f.write("quote\".txt", "1\r\n")
	f.write("c.u16", "h\x00i\x00")
	f.write("d.id", "$Id: 0 $\n")
	f.git("config", "filter.big.clean", "printf pointer")
	f.write("e.big", "huge")
	f.write("f.big", "huge")
	f.age("e.big", "f.big")
	f.commit("base")
	if got := f.git("cat-file", "-p", ":a.txt"); got != "1\n2" {
		t.Fatalf("stored %q: the case needs a conversion", got)
	}
	f.write("b.txt", "1\r\n3\r\n")
	f.write("f.big", "other")
	facts := f.capture(CaptureOptions{})
	same(t, "unstaged", shown(facts.Worktree.Unstaged), []string{"M 100644>100644 b.txt", "M 100644>100644 f.big"})
	same(t, "filtered", notePaths(facts, "filtered"), []string{"e.big", "f.big"})
}

func TestCaptureConflict(t *testing.T) {
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
	got := f.capture(CaptureOptions{}).Worktree
	same(t, "conflicted", got.Conflicted, []string{"a%20b"})
	same(t, "staged", shown(got.Staged), nil)
	same(t, "unstaged", shown(got.Unstaged), nil)
}

// TestCaptureOddNames is the second half of TestChangesOddNames: untracked, staged and
// deleted files with names that git quotes.
func TestCaptureOddNames(t *testing.T) {
	f := newFixture(t)
	f.commit("base")
	want := []string{}
	for _, name := range oddNames() {
		f.write(name, "x\n")
		want = append(want, boundary.EncodePath(name))
	}
	slices.Sort(want)
	paths := func(list []FileChange, status string) []string {
		got := []string{}
		for _, c := range list {
			if c.Status == status {
				got = append(got, c.Path)
			}
		}
		return got
	}
	untracked := []string{}
	for _, u := range f.capture(CaptureOptions{}).Worktree.Untracked {
		untracked = append(untracked, u.Path)
	}
	same(t, "untracked", untracked, want)
	f.git("add", "--all")
	facts := f.capture(CaptureOptions{})
	same(t, "staged", paths(facts.Worktree.Staged, "A"), want)
	if odd := notePaths(facts, "odd-name"); len(odd) != 4 { // tab, newline, quotes, byte FF
		t.Errorf("odd names %q", odd)
	}
	f.commit("add")
	for _, name := range oddNames() {
		f.write(name, "y\n")
	}
	same(t, "changed", paths(f.capture(CaptureOptions{}).Worktree.Unstaged, "M"), want)
	for _, name := range oddNames() {
		f.remove(name)
	}
	same(t, "deleted", paths(f.capture(CaptureOptions{}).Worktree.Unstaged, "D"), want)
}

// TestCaptureCaseOnly: a rename in case only, and two names that differ in case only.
func TestCaptureCaseOnly(t *testing.T) {
	f := newFixture(t)
	f.write("Readme", lines(30))
	f.write("src/a", "1")
	f.write("src/A", "2")
	f.commit("base")
	f.git("config", "core.ignoreCase", "true")
	f.git("rm", "--quiet", "--cached", "Readme")
	must(t, os.Rename(filepath.Join(f.dir, "Readme"), filepath.Join(f.dir, "README")))
	f.git("-c", "core.ignoreCase=false", "add", "README")
	facts := f.capture(CaptureOptions{})
	same(t, "staged", shown(facts.Worktree.Staged), []string{"A 000000>100644 README < Readme", "D 100644>000000 Readme"})
	same(t, "collision", notePaths(facts, "case-collision"), []string{"src/A", "src/a"})
}

// snapshotOf digests names, modes, sizes, times and contents below a folder.
func snapshotOf(t *testing.T, dir string) string {
	t.Helper()
	hash := sha256.New()
	must(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(hash, path, info.Mode(), info.Size(), info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			hash.Write(text)
		}
		return nil
	}))
	return hex.EncodeToString(hash.Sum(nil))
}

// TestCaptureWritesNothing holds everything below the worktree and its git folder against
// what it was, where git status would refresh the index.
func TestCaptureWritesNothing(t *testing.T) {
	f := newFixture(t)
	for i := range 20 {
		f.write(fmt.Sprintf("src/%d.go", i), "x\n")
	}
	base := f.commit("base")
	f.git("branch", "--set-upstream-to=main", "main")
	f.write("src/1.go", "staged\n")
	f.git("add", "--all")
	f.write("src/2.go", "unstaged\n")
	f.write("new", "n")
	f.git("stash", "push", "--quiet", "--include-untracked")
	f.git("stash", "apply", "--quiet")
	for i := range 20 {
		must(t, os.Chtimes(filepath.Join(f.dir, fmt.Sprintf("src/%d.go", i)), time.Unix(1e9, 0), time.Unix(1e9, 0)))
	}
	before := snapshotOf(t, f.dir)
	facts := f.capture(CaptureOptions{Target: "main", Base: base, PolicyCommit: base})
	if after := snapshotOf(t, f.dir); after != before {
		t.Error("capture changed something")
	}
	if facts.Repository.Stashes != 1 || len(facts.Worktree.Unstaged) == 0 {
		t.Errorf("facts %+v", facts)
	}
	// A lock of another process does not stand in the way, and stays.
	f.write(".git/index.lock", "")
	again := f.capture(CaptureOptions{Target: "main", Base: base, PolicyCommit: base})
	if len(again.Worktree.Unstaged) != len(facts.Worktree.Unstaged) || !slices.Contains(codes(again), "index-lock") {
		t.Errorf("beside a lock: %+v", again)
	}
	f.remove(".git/index.lock")
	f.git("status", "--short") // and git itself would have written
	if snapshotOf(t, f.dir) == before {
		t.Error("git status changed nothing: the case proves nothing")
	}
}

// TestCaptureReadOnly captures where nothing can be written.
func TestCaptureReadOnly(t *testing.T) {
	f := newFixture(t)
	f.write("a/b", "1")
	f.commit("base")
	f.write("a/b", "2")
	var folders []string
	must(t, filepath.WalkDir(f.dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		return err
	}))
	for _, dir := range folders {
		must(t, os.Chmod(dir, 0o555))
	}
	t.Cleanup(func() {
		for _, dir := range folders {
			must(t, os.Chmod(dir, 0o755)) //nolint:gosec // so that the test's folder can be removed
		}
	})
	same(t, "unstaged", shown(f.capture(CaptureOptions{}).Worktree.Unstaged), []string{"M 100644>100644 a/b"})
}
