package workspace

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTrailer(t *testing.T) {
	for message, want := range map[string]string{
		"a\n\nDeed-Token: 1\n":                "1",
		"a\n\nDeed-Token: 1\nDeed-Token: 2\n": "2",
		"a\n\nDeed-Token: 1\n\nmore\n":        "",
		"a\n\n Deed-Token: 1\n":               "",
		"a\n\ndeed-token: 1\n":                "",
		"a\n\nDeed-Token:1\n":                 "",
		"a\n":                                 "",
		"":                                    "",
	} {
		if got := (Commit{Message: message}).Trailer("Deed-Token"); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}

// TestMakeCommit: the same draft is the same commit, no branch names it, and
// its place is found by its parent.
func TestMakeCommit(t *testing.T) {
	f := newFixture(t)
	f.write("a", "1")
	parent := f.commit("one")
	r := f.open()
	f.write("a", "2")
	f.git("add", "a")
	tree, err := r.StagedTree(t.Context())
	must(t, err)
	draft := Draft{Tree: tree, Parents: []string{parent}, Message: "two\n", Author: Identity{"Ann", "ann@example.org"}, Date: time.Unix(1_700_000_000, 0)}
	id, err := r.MakeCommit(t.Context(), draft)
	must(t, err)
	again, err := r.MakeCommit(t.Context(), draft)
	must(t, err)
	head, err := r.Head(t.Context())
	must(t, err)
	if id != again || head != parent {
		t.Fatalf("commits %s and %s, head %s", id, again, head)
	}
	if none, err := r.Children(t.Context(), parent, parent); err != nil || len(none) != 0 {
		t.Errorf("children %v, %v", none, err)
	}
	found, err := r.Children(t.Context(), parent, id)
	must(t, err)
	if len(found) != 1 || found[0].ID != id || found[0].Tree != tree || found[0].Message != "two\n" || len(found[0].Parents) != 1 {
		t.Errorf("children %+v", found)
	}
	draft.Tree = strings.Repeat("0", len(tree))
	if _, err := r.MakeCommit(t.Context(), draft); !errors.Is(err, ErrMissingObject) {
		t.Errorf("a tree that is not there: %v", err)
	}
	if _, err := r.RemoteTip(t.Context(), "nowhere", "refs/heads/main", nil); err == nil {
		t.Error("a remote that is not there has a tip")
	}
}

// TestStagedTree reads what is staged beside a git process that holds the
// index, also a split one, and changes no byte of it.
func TestStagedTree(t *testing.T) {
	f := newFixture(t)
	r := f.open()
	empty, err := r.StagedTree(t.Context())
	must(t, err)
	f.write("a", "1")
	f.git("add", "a")
	for _, split := range []string{"--no-split-index", "--split-index"} {
		f.git("update-index", split)
		want := f.git("write-tree")
		lock := filepath.Join(r.GitDir(), "index.lock")
		must(t, os.WriteFile(lock, nil, 0o600))
		before, err := os.ReadFile(filepath.Join(r.GitDir(), "index"))
		must(t, err)
		if got, err := r.StagedTree(t.Context()); err != nil || got != strings.TrimSpace(want) || got == empty {
			t.Errorf("%s: %s, %v, want %s", split, got, err, want)
		}
		after, err := os.ReadFile(filepath.Join(r.GitDir(), "index"))
		must(t, err)
		if !bytes.Equal(before, after) {
			t.Errorf("%s: the index changed", split)
		}
		must(t, os.Remove(lock))
	}
	f.commit("one")
	f.git("switch", "-qc", "side")
	f.write("a", "2")
	f.commit("two")
	f.git("switch", "-q", "-")
	f.write("a", "3")
	f.commit("three")
	merge := exec.Command("git", "-C", r.Top(), "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "merge", "-q", "side")
	if out, err := merge.CombinedOutput(); err == nil {
		t.Fatalf("no conflict: %s", out)
	}
	if _, err := r.StagedTree(t.Context()); !errors.Is(err, ErrMergeConflict) {
		t.Errorf("an unmerged index: %v", err)
	}
}

// TestMove: a branch moves from the commit that is named, or not at all.
func TestMove(t *testing.T) {
	f := newFixture(t)
	f.write("a", "1")
	one := f.commit("one")
	f.write("a", "2")
	two := f.commit("two")
	f.git("branch", "side", one)
	run := func(m Move) error {
		argv, err := m.Command()
		must(t, err)
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Dir = f.dir
		return cmd.Run()
	}
	if err := run(Move{Ref: "refs/heads/side", From: two, To: two}); err == nil {
		t.Error("a branch moved from where it was not")
	}
	must(t, run(Move{Ref: "refs/heads/side", From: one, To: two}))
	if err := run(Move{Ref: "refs/heads/side", From: one, To: two}); err == nil {
		t.Error("a branch moved twice")
	}
	r := f.open()
	if tip, err := r.ResolveCommit(t.Context(), "refs/heads/side"); err != nil || tip != two {
		t.Errorf("tip %s, %v", tip, err)
	}
	if dir, err := r.CheckedOut(t.Context(), "refs/heads/side"); err != nil || dir != "" {
		t.Errorf("checked out in %q, %v", dir, err)
	}
}
