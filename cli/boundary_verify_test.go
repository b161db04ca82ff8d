package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// TestVerifierFindsTrespass hands over results whose client did not look where links and
// submodules lead. The ledger cannot see it; the verifier records it once, for that tree
// alone, before any check runs.
func TestVerifierFindsTrespass(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *stage)
		want   events.Trespass
	}{
		"a link that leads out": {
			func(s *stage) { must(s.t, os.Symlink("/etc/passwd", filepath.Join(s.repo, "b"))); s.git("add", "b") },
			events.Trespass{Path: "b", Side: "new", Rule: "link-leaves-boundary"},
		},
		"a link to git's folder": {
			func(s *stage) { must(s.t, os.Symlink(".git/hooks", filepath.Join(s.repo, "b"))); s.git("add", "b") },
			events.Trespass{Path: "b", Side: "new", Rule: "link-leaves-boundary"},
		},
		"a submodule": {
			func(s *stage) {
				s.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",b")
				must(s.t, os.Mkdir(filepath.Join(s.repo, "b"), 0o700))
			},
			events.Trespass{Path: "b", Side: "new", Rule: "submodule"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.invite("ver", events.RoleVerifier)
			s.work("impl-a")
			c.change(s)
			s.git("commit", "-qm", "a change")
			r := &events.Result{
				Base: s.state().Attempt().Snapshot.BaseCommit, Head: s.git("rev-parse", "HEAD"), Tree: s.git("rev-parse", "HEAD^{tree}"),
				Changes: []events.ChangedPath{{Path: "b", Status: "A"}}, Authors: []string{"ann@example.org"},
			}
			s.say("impl-a", r, "a1", 1)
			for range 2 {
				if got := s.cmd("ver", "receipt", "run", task).exits(22); !strings.Contains(got.stderr, "boundary.violated is recorded") {
					t.Errorf("it says %s", got.stderr)
				}
			}
			now := s.state()
			if len(now.Violations) != 1 || len(now.Violations[0].Data.Paths) != 1 || now.Violations[0].Data.Paths[0] != c.want || now.Violations[0].Actor != "ver" {
				t.Fatalf("recorded %+v, want %+v", now.Violations, c.want)
			}
			if len(now.Findings) != 0 || len(now.Receipts) != 0 || now.State != projections.AwaitingVerification {
				t.Errorf("%d findings, %d receipts, %s", len(now.Findings), len(now.Receipts), now.State)
			}
			// Another tree is asked for, and goes on.
			s.cmd("ver", "repair", "request", task, "--item", "A1", "--reason", "keep inside").succeeds()
			s.cmd("owner", "repair", "accept", task).succeeds()
			s.work("impl-a")
			must(t, os.RemoveAll(filepath.Join(s.repo, "b")))
			must(t, os.WriteFile(filepath.Join(s.repo, "b"), []byte("new\n"), 0o600))
			s.git("rm", "-q", "--cached", "b")
			s.git("add", "b")
			s.git("commit", "-qm", "inside")
			s.cmd("impl-a", "result", "record", task, "--map", "*=A1").succeeds()
			s.cmd("ver", "receipt", "run", task).succeeds()
		})
	}
}
