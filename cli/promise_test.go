package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deedledger/deed/events"
)

// TestLyingClaims hands over a result whose claims are not what git says, past
// the command that would have refused it. The verifier records each as a
// finding of its own, and no receipt; a person may wave them through.
func TestLyingClaims(t *testing.T) {
	s := newStage(t)
	s.invite("ver", events.RoleVerifier)
	s.work("impl-a")
	must(t, os.WriteFile(filepath.Join(s.repo, "b.txt"), []byte("new\n"), 0o600))
	s.git("add", ".")
	s.git("commit", "-qm", "a file")
	claim := func(evidence ...string) events.Stated {
		return events.Stated{Acceptance: "A1", Text: "done", Evidence: evidence}
	}
	s.say("impl-a", &events.Result{
		Base: s.state().Attempt().Snapshot.BaseCommit, Head: s.git("rev-parse", "HEAD"), Tree: s.git("rev-parse", "HEAD^{tree}"),
		Changes: []events.ChangedPath{{Path: "b.txt", Status: "A"}}, Authors: []string{"ann@example.org"},
		Claims: []events.Stated{
			claim("path:c.txt", "path:a.txt", "a sentence for people"), claim("path:b.txt", "path:%zz"), claim("remote:nobody/main", "remote:-x/y", "remote:"),
		},
	}, "a1", 1)
	for range 2 {
		s.cmd("ver", "receipt", "run", task).exits(1)
	}
	var rules, ids []string
	for _, f := range s.state().Findings {
		rules, ids = append(rules, f.Data.Rule+" "+f.Data.Path), append(ids, f.EventID)
	}
	if want := []string{"claim-evidence-absent c.txt", "claim-unchanged a.txt"}; !slices.Equal(rules, want) {
		t.Fatalf("findings %q, want %q", rules, want)
	}
	if state := s.state(); len(state.Receipts) != 0 || state.State != "AwaitingVerification" {
		t.Fatalf("state %s with %d receipts", state.State, len(state.Receipts))
	}
	for _, id := range ids {
		s.cmd("owner", "finding", "acknowledge", task, "--finding", id, "--reason", "a slip of the pen").succeeds()
	}
	s.cmd("ver", "receipt", "run", task).succeeds()
	if n := len(s.state().Findings); n != 2 {
		t.Errorf("%d findings: one that was closed came again", n)
	}
}
