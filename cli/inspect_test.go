package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deedledger/deed/events"
)

// TestLyingResults hands over results that are not what git says. The ledger
// cannot see it; the verifier does, before any check runs.
func TestLyingResults(t *testing.T) {
	cases := map[string]func(s *stage, r *events.Result){
		"a path left out":      func(_ *stage, r *events.Result) { r.Changes = r.Changes[:1] },
		"a status of its own":  func(_ *stage, r *events.Result) { r.Changes[0].Status = "D" },
		"a path made up":       func(_ *stage, r *events.Result) { r.Changes[1].Path = "z.txt" },
		"another author":       func(_ *stage, r *events.Result) { r.Authors = []string{"bob@example.org"} },
		"another tree":         func(s *stage, r *events.Result) { r.Tree = s.git("rev-parse", "HEAD~1^{tree}") },
		"a head without bases": func(s *stage, r *events.Result) { r.Head = s.git("commit-tree", "-m", "orphan", "HEAD^{tree}") },
	}
	for name, lie := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.invite("ver", events.RoleVerifier)
			s.work("impl-a")
			for _, file := range []string{"b.txt", "c.txt"} {
				must(t, os.WriteFile(filepath.Join(s.repo, file), []byte("new\n"), 0o600))
			}
			s.git("add", ".")
			s.git("commit", "-qm", "two files")
			r := &events.Result{
				Base: s.state().Attempt().Snapshot.BaseCommit, Head: s.git("rev-parse", "HEAD"), Tree: s.git("rev-parse", "HEAD^{tree}"),
				Changes: []events.ChangedPath{{Path: "b.txt", Status: "A"}, {Path: "c.txt", Status: "A"}}, Authors: []string{"ann@example.org"},
			}
			lie(s, r)
			s.say("impl-a", r, "a1", 1)
			s.cmd("ver", "receipt", "run", task).exits(22)
			if f := s.state().FatalFinding(); f == nil || f.Actor != "ver" || len(s.state().Receipts) != 0 {
				t.Fatalf("finding %+v, receipts %+v", f, s.state().Receipts)
			}
			s.cmd("ver", "receipt", "run", task).exits(22)
			if n := len(s.state().Findings); n != 1 {
				t.Fatalf("%d findings, want the same one", n)
			}
		})
	}
}

// TestOneClaimWins lets implementers race for one lease.
func TestOneClaimWins(t *testing.T) {
	s := newStage(t)
	codes := make([]int, 6)
	var claims []func()
	for i := range codes {
		actor := []string{"impl-a", "impl-b"}[i%2]
		claims = append(claims, func() { codes[i] = s.cmd(actor, "lease", "claim", task, "--purpose", "work").code })
	}
	together(claims...)
	slices.Sort(codes)
	if codes[0] != 0 || codes[1] == 0 || s.state().Fence != 1 || len(s.state().Runs) != 1 {
		t.Fatalf("exit codes %v, fence %d", codes, s.state().Fence)
	}
	for _, code := range codes[1:] {
		if !slices.Contains([]int{4, 6, 7, 20}, code) {
			t.Errorf("a loser ended with %d", code)
		}
	}
}

// TestForeignBase hands over a result whose base is not on the target: what
// lies before it would escape the boundary and the list of authors.
func TestForeignBase(t *testing.T) {
	for name, c := range map[string]struct {
		target func(s *stage)
		code   int
	}{
		"on the target": {func(*stage) {}, 0},
		"of its author's making": {func(s *stage) {
			s.git("update-ref", "refs/heads/main", s.git("commit-tree", "-m", "other", "HEAD~1^{tree}"))
		}, 20},
		"without a target":       {func(s *stage) { s.git("branch", "-D", "main") }, 5},
		"on the remote's target": {func(s *stage) { s.git("update-ref", "refs/remotes/origin/main", "main"); s.git("branch", "-D", "main") }, 0},
		"off the remote's target": {func(s *stage) {
			s.git("update-ref", "refs/remotes/origin/main", s.git("commit-tree", "-m", "other", "HEAD~1^{tree}"))
			s.git("branch", "-D", "main")
		}, 20},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.invite("ver", events.RoleVerifier)
			s.work("impl-a")
			s.git("checkout", "-q", "-b", "work")
			must(t, os.WriteFile(filepath.Join(s.repo, "b.txt"), []byte("new\n"), 0o600))
			s.git("add", ".")
			s.git("commit", "-qm", "a file")
			s.cmd("impl-a", "result", "record", task, "--map", "*=A1").succeeds()
			c.target(s)
			s.cmd("ver", "receipt", "run", task).exits(c.code)
			if n := len(s.state().Findings); n != 0 {
				t.Errorf("%d findings: the verifier's repository may only be behind", n)
			}
			if n := len(s.state().Receipts); (n == 1) != (c.code == 0) {
				t.Errorf("%d receipts", n)
			}
		})
	}
}
