package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedledger/deed/cli"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// runs is a command of a call's script that waits until its lock names its
// process, without which nothing proves later that it is dead.
const runs = `until grep -q '"state":"running"' /proc/self/fd/3; do sleep 0.01; done`

// stuckGit returns a folder with a git that stops before it moves a branch.
func (s *stage) stuckGit() string {
	s.t.Helper()
	real, err := exec.LookPath("git")
	must(s.t, err)
	dir := filepath.Join(s.world, "bin")
	must(s.t, os.MkdirAll(dir, 0o700))
	script := "#!/bin/sh\ncase \" $* \" in *' update-ref '*|*' push '*) " + runs + "; : > '" + filepath.Join(s.world, "reached") + "'; exec sleep 600;; esac\nexec '" + real + "' \"$@\"\n"
	must(s.t, os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700))
	return dir
}

// write stages a file of the repository.
func (s *stage) write(name, text string) {
	s.t.Helper()
	must(s.t, os.WriteFile(filepath.Join(s.repo, name), []byte(text), 0o600))
	s.git("add", name)
}

func (s *stage) commitArgs() []string { return []string{"effect", "commit", task, "-m", "say b"} }

// TestCommitKilled holds the window between deciding to commit and recording it: an implementer is killed by SIGKILL between the
// decision to commit and its record, in each world that this can leave. Two
// recoveries decide the same and write once; neither resets, deletes or makes
// anything. Whoever works next ends with one commit, or changes nothing.
func TestCommitKilled(t *testing.T) {
	for _, world := range []struct {
		name     string
		stop     process
		stuck    bool
		byHand   func(s *stage)
		status   projections.Status // after recovery
		decision string
		next     int // exit code of the same command by another implementer
		commits  int // on the branch in the end
	}{
		{"intended, not dispatched", process{StopToken: true}, false, nil, projections.StatusIntended, projections.ResumeBoundedStep, 0, 1},
		{"no commit", process{}, true, nil, projections.StatusFailed, projections.ResumeBoundedStep, 0, 1},
		{"commit without a record", process{StopID: 3}, false, nil, projections.StatusConfirmed, projections.ResumeBoundedStep, 0, 1},
		{"the same commit by hand", process{}, true, func(s *stage) { s.git("commit", "-qm", "by hand") },
			projections.StatusConfirmed, projections.ResumeBoundedStep, 0, 1},
		{"another tree in its place", process{}, true, func(s *stage) {
			s.write("a.txt", "c\n")
			s.git("commit", "-qm", "another")
		}, projections.StatusConflict, projections.EscalateEffectUnknown, cli.ExitEffect, 1},
		{"the branch was rewritten", process{}, true, func(s *stage) {
			s.git("update-ref", "refs/heads/work", s.git("commit-tree", "-m", "orphan", "HEAD^{tree}"))
		}, projections.StatusUnknown, projections.EscalateEffectUnknown, cli.ExitEffect, 1},
	} {
		t.Run(world.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.git("switch", "-qc", "work")
			parent := s.git("rev-parse", "HEAD")
			s.work("impl-a")
			s.write("a.txt", "b\n")
			tree := s.git("write-tree")
			if world.stuck {
				world.stop.Path = s.stuckGit()
			}
			s.killAt(s.spawn("impl-a", world.stop, s.commitArgs()...))
			s.interrupt()
			until(t, "the call is dead", s.dead)
			if world.byHand != nil {
				world.byHand(s)
			}
			s.recoversTwice(world.decision)
			if got := s.effectStatus(); got != world.status && (got != projections.StatusDispatched || world.status != projections.StatusUnknown) {
				t.Fatalf("status %s after recovery, want %s", got, world.status)
			}
			before := s.gitState()
			if world.decision == projections.ResumeBoundedStep {
				s.work("impl-b")
			}
			args := s.commitArgs()
			if world.next != 0 { // the intended tree is no longer staged: ask for it again
				s.git("read-tree", tree)
				before = s.gitState()
			}
			s.cmd("impl-b", args...).exits(world.next)
			if world.next != 0 && s.gitState() != before {
				t.Errorf("a refused commit changed the repository\n%s\nfrom\n%s", s.gitState(), before)
			}
			if world.next == 0 {
				s.oneCommit(parent, tree, world.commits)
			}
			if n := len(s.state().Effects); n != 1 {
				t.Errorf("%d effects", n)
			}
		})
	}
}

// recoversTwice recovers twice, by two controllers: the second decides the
// same and writes nothing. Neither changes the repository.
func (s *stage) recoversTwice(decision string) {
	s.t.Helper()
	before := s.gitState()
	if r := s.recovers("control-1"); r.Decision != decision {
		s.t.Fatalf("decision %s, want %s: %v", r.Decision, decision, r.Probes)
	}
	first := s.state()
	r := s.recovers("control-2")
	second := s.state()
	if r.Decision != decision || !r.Existing || second.Sequence != first.Sequence || second.State != first.State || second.Head != first.Head {
		s.t.Errorf("the second recovery decided %s, %s after %d events; the first %s after %d", r.Decision, second.State, second.Sequence, first.State, first.Sequence)
	}
	if after := s.gitState(); after != before {
		s.t.Errorf("recovery changed the repository\n%s\nfrom\n%s", after, before)
	}
}

// gitState returns everything that a recovery must leave alone: branches, what
// is staged, and the file.
func (s *stage) gitState() string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.repo, "a.txt"))
	must(s.t, err)
	return s.git("for-each-ref") + "\n" + s.git("ls-files", "--stage") + "\n" + s.git("symbolic-ref", "HEAD") + "\n" + string(text)
}

// oneCommit demands that the branch went from parent to one commit with tree,
// which the ledger names.
func (s *stage) oneCommit(parent, tree string, commits int) {
	s.t.Helper()
	got := strings.Fields(s.git("rev-list", parent+"..work"))
	if len(got) != commits || s.git("rev-parse", "work^{tree}") != tree {
		s.t.Fatalf("%d commits, tree %s, want %d and %s", len(got), s.git("rev-parse", "work^{tree}"), commits, tree)
	}
	e := s.state().Effects[0]
	if e.Status() != projections.StatusConfirmed || e.Parts[0].ExternalID != got[0] || e.Intent.Git.Parent != parent || e.Intent.Git.Tree != tree {
		s.t.Errorf("effect is %s as %s, the commit is %s", e.Status(), e.Parts[0].ExternalID, got[0])
	}
	if s.git("status", "--porcelain") != "" {
		s.t.Errorf("the worktree is not clean: %s", s.git("status", "--porcelain"))
	}
}

// TestTwoCommitsAtOnce: the same commit from several processes is one.
func TestTwoCommitsAtOnce(t *testing.T) {
	s := newStage(t)
	s.git("switch", "-qc", "work")
	parent := s.git("rev-parse", "HEAD")
	s.work("impl-a")
	s.write("a.txt", "b\n")
	tree := s.git("write-tree")
	var answers [3]command
	ctx := t.Context()
	var runs []func()
	for i := range answers {
		runs = append(runs, func() { answers[i] = runDeed(ctx, s, "impl-a", s.commitArgs()) })
	}
	together(runs...)
	s.cmd("impl-a", s.commitArgs()...).succeeds()
	s.oneCommit(parent, tree, 1)
	if n := len(s.state().Effects[0].Tries); n != 1 {
		t.Errorf("%d tries", n)
	}
	for _, a := range answers {
		if code := a.code; code != 0 && code != cli.ExitEffect && code != cli.ExitConflict && code != cli.ExitRefused {
			t.Errorf("exit code %d: %s", code, a.stderr)
		}
	}
}

// TestForgedToken: a commit in the place of ours that names another effect's
// token is nobody's of ours.
func TestForgedToken(t *testing.T) {
	s := newStage(t)
	s.git("switch", "-qc", "work")
	s.work("impl-a")
	s.write("a.txt", "b\n")
	s.killAt(s.spawn("impl-a", process{Path: s.stuckGit()}, s.commitArgs()...))
	s.interrupt()
	until(t, "the call is dead", s.dead)
	s.git("commit", "-qm", "b\n\nDeed-Token: 00000000000000000000000000000000")
	s.recoversTwice(projections.EscalateEffectUnknown)
	if e := s.state().Effects[0]; e.Status() != projections.StatusConflict || e.Intent.Kind != events.EffectCommit {
		t.Errorf("status %s", e.Status())
	}
}
