package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deedledger/deed/cli"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// The outside world of a release: what deploys and undoes part by part, and
// what tells whether a part is there or gone. Each stops after the part that
// the file "stop" names.
const (
	deployScript = `#!/bin/sh
cd "$(dirname "$0")" || exit 1
for part in $DEED_EFFECT_PARTS; do
  echo "$part" >> deploys
  echo "$DEED_TOKEN" > "live-$part"
  [ "$(cat stop)" = "$part" ] && { ` + runs + `; : > reached; exec sleep 600; }
done
exit 0
`
	undoScript = `#!/bin/sh
cd "$(dirname "$0")" || exit 1
for part in $DEED_EFFECT_PARTS; do
  echo "$part $DEED_COMPENSATES" >> undos
  rm "live-$part"
  echo "$DEED_TOKEN" > "gone-$part"
  [ "$(cat stop)" = "$part" ] && { ` + runs + `; : > reached; exec sleep 600; }
done
exit 0
`
	partProbeScript = `#!/bin/sh
cd "$(dirname "$0")" || exit 1
mark=$1-$DEED_EFFECT_PART
[ -e "$mark" ] || { echo '{"status":"absent","complete":true}'; exit; }
printf '{"status":"found","externalId":"%s-%s","token":"%s"}' "$mark" "$(cat "$mark")" "$(cat "$mark")"
`
)

// newRelease returns a stage whose task is approved: the result is one commit
// on the branch work, the repository is at no branch.
func newRelease(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	for name, text := range map[string]string{"deploy": deployScript, "undo": undoScript, "part": partProbeScript} {
		must(t, os.WriteFile(filepath.Join(s.world, name), []byte(text), 0o700))
	}
	s.stopAfter("")
	s.invite("op-2", events.RoleOperator)
	s.invite("ver-1", events.RoleVerifier)
	s.invite("review-1", events.RoleReviewer)
	s.git("switch", "-qc", "work")
	s.work("impl-a")
	s.write("a.txt", "b\n")
	s.cmd("impl-a", s.commitArgs()...).succeeds()
	s.cmd("impl-a", "result", "record", task).succeeds()
	s.cmd("ver-1", "receipt", "run", task).succeeds()
	s.cmd("review-1", "approve", task).succeeds()
	s.git("switch", "-q", "--detach")
	return s
}

// stopAfter says after which part the next call stops.
func (s *stage) stopAfter(part string) {
	must(s.t, os.WriteFile(filepath.Join(s.world, "stop"), []byte(part), 0o600))
	_ = os.Remove(filepath.Join(s.world, "reached"))
}

// releases claims a release lease.
func (s *stage) releases(actor string) {
	s.t.Helper()
	s.cmd(actor, "lease", "claim", task, "--purpose", "release", "--term", "10m").succeeds()
}

// approves runs an effect until it waits, and lets a reviewer allow it.
func (s *stage) approves(actor string, args []string) {
	s.t.Helper()
	s.cmd(actor, args...).exits(cli.ExitPending)
	effects := s.state().Effects
	s.cmd("review-1", "effect", "approve", task, effects[len(effects)-1].Intent.Key).succeeds()
}

func (s *stage) deployArgs(flags ...string) []string {
	args := append([]string{"effect", "run", task, "--kind", "production-deploy", "--target", "shop", "--part", "eu", "--part", "us",
		"--probe", filepath.Join(s.world, "part") + " live"}, flags...)
	return append(args, "--", filepath.Join(s.world, "deploy"))
}

func (s *stage) undoArgs(key string) []string {
	return []string{"effect", "compensate", task, key, "--probe", filepath.Join(s.world, "part") + " gone", "--", filepath.Join(s.world, "undo")}
}

// newest returns the task's newest effect.
func (s *stage) newest() *projections.Effect {
	effects := s.state().Effects
	return &effects[len(effects)-1]
}

// TestMergeKilled kills an operator by SIGKILL while it merges, in each world
// that this can leave.
func TestMergeKilled(t *testing.T) {
	mergeArgs := []string{"effect", "merge", task, "--no-ff"}
	for _, world := range []struct {
		name     string
		recorded bool // killed after the merge, before its record
		moved    bool // somebody moves the target meanwhile
		status   projections.Status
		decision string
	}{
		{"not merged", false, false, projections.StatusFailed, projections.ResumeBoundedStep},
		{"merged without a record", true, false, projections.StatusConfirmed, projections.ResumeBoundedStep},
		{"the target moved", false, true, projections.StatusFailed, projections.CreateRebaseRepair},
		{"merged, then the target moved", true, true, projections.StatusConfirmed, projections.ResumeBoundedStep},
	} {
		t.Run(world.name, func(t *testing.T) {
			t.Parallel()
			s := newRelease(t)
			s.releases("op-1")
			s.approves("op-1", mergeArgs)
			stop := process{Path: s.stuckGit()}
			if world.recorded {
				stop = process{StopID: 2} // the dispatch has the first id
			}
			s.killAt(s.spawn("op-1", stop, mergeArgs...))
			s.interrupt()
			until(t, "the call is dead", s.dead)
			if world.moved {
				s.git("update-ref", "refs/heads/main", s.git("commit-tree", "-m", "other", "-p", "main", s.git("mktree", "--missing")))
			}
			main := s.git("rev-parse", "main")
			s.decidesTwice(world.decision)
			if got := s.newest().Status(); got != world.status {
				t.Fatalf("status %s, want %s", got, world.status)
			}
			if s.git("rev-parse", "main") != main {
				t.Error("recovery moved the target")
			}
			if world.decision == projections.CreateRebaseRepair {
				s.cmd("op-1", "lease", "claim", task, "--purpose", "release").exits(cli.ExitState)
				return
			}
			s.releases("op-2")
			s.cmd("op-2", mergeArgs...).succeeds()
			if n := s.git("rev-list", "--count", "--merges", "main"); n != "1" {
				t.Errorf("%s merges", n)
			}
			s.cmd("op-2", "deliver", task).succeeds()
			if d := s.state(); d.State != projections.Delivered || d.Delivery.Data.Commit != s.newest().Parts[0].ExternalID {
				t.Errorf("%s, delivery %+v", d.State, d.Delivery)
			}
		})
	}
}

// decidesTwice recovers twice, by two controllers: the second decides the same
// and writes nothing.
func (s *stage) decidesTwice(decision string) {
	s.t.Helper()
	if r := s.recovers("control-1", "--allow-probe"); r.Decision != decision {
		s.t.Fatalf("decision %s, want %s: %v", r.Decision, decision, r.Probes)
	}
	first := s.state()
	r := s.recovers("control-2", "--allow-probe")
	if second := s.state(); r.Decision != decision || second.Sequence != first.Sequence || second.State != first.State {
		s.t.Errorf("the second recovery decided %s, %s after %d events; the first %s after %d", r.Decision, second.State, second.Sequence, first.State, first.Sequence)
	}
}

// TestTwoOperators: of two operators at the same instant one runs the release.
func TestTwoOperators(t *testing.T) {
	s := newRelease(t)
	var codes [2]int
	ctx := t.Context()
	claim := []string{"lease", "claim", task, "--purpose", "release", "--term", "10m"}
	together(
		func() { codes[0] = runDeed(ctx, s, "op-1", claim).code },
		func() { codes[1] = runDeed(ctx, s, "op-2", claim).code },
	)
	winner := slices.Index(codes[:], 0)
	if winner < 0 || codes[1-winner] == 0 {
		t.Fatalf("exit codes %v, want one winner", codes)
	}
	ops := []string{"op-1", "op-2"}
	s.cmd(ops[1-winner], "effect", "merge", task).exits(cli.ExitRefused)
	s.approves(ops[winner], []string{"effect", "merge", task})
	s.cmd(ops[1-winner], "effect", "merge", task).exits(cli.ExitRefused)
	var merges [3]int
	var runs []func()
	for i := range merges {
		runs = append(runs, func() { merges[i] = runDeed(ctx, s, ops[winner], []string{"effect", "merge", task}).code })
	}
	together(runs...)
	s.cmd(ops[winner], "effect", "merge", task).succeeds()
	if e := s.newest(); len(e.Tries) != 1 || e.Status() != projections.StatusConfirmed || s.git("rev-parse", "main") != s.git("rev-parse", "work") {
		t.Errorf("%d tries, %s; exit codes %v", len(e.Tries), e.Status(), merges)
	}
}

// TestDeployKilledInTheMiddle kills a deployment after its first part, and the
// undoing after it acted: the recovery table asks for the compensation, the
// owner accepts it, an operator performs it once, and the release goes on.
func TestDeployKilledInTheMiddle(t *testing.T) {
	s := newRelease(t)
	s.releases("op-1")
	s.approves("op-1", s.deployArgs())
	s.stopAfter("eu")
	s.killAt(s.spawn("op-1", process{}, s.deployArgs()...))
	s.interrupt()
	until(t, "the call is dead", s.dead)
	s.decidesTwice(projections.CompensateEffect)
	first := s.newest()
	if w := s.state().Waiting(); first.Status() != projections.StatusPartial || !slices.Equal(w.Roles, []events.Role{events.RoleOwner}) {
		t.Fatalf("status %s, waiting for %v", first.Status(), w.Roles)
	}
	s.cmd("op-1", "lease", "claim", task, "--purpose", "release").exits(cli.ExitState)
	s.cmd("control-1", "repair", "accept", task).exits(cli.ExitRefused)
	s.cmd("owner", "repair", "accept", task).succeeds()
	s.cmd("impl-a", "lease", "claim", task, "--purpose", "work").exits(cli.ExitState)
	s.releases("op-2")

	undo := s.undoArgs(first.Intent.Key)
	s.cmd("op-1", undo...).exits(cli.ExitRefused)
	s.approves("op-2", undo)
	s.cmd("op-2", "effect", "compensate", task, first.Intent.Key, "--", "true").exits(cli.ExitRefused) // another way to undo the same
	s.stopAfter("eu")
	s.killAt(s.spawn("op-2", process{}, undo...))
	s.interrupt()
	until(t, "the call is dead", s.dead)
	s.decidesTwice(projections.ResumeBoundedStep)
	e := s.state().Effect(first.Intent.Key)
	if e.Status() != projections.StatusCompensated || e.Part("eu").Basis != events.BasisProbe || s.count("undos") != 1 {
		t.Fatalf("status %s, %d undone", e.Status(), s.count("undos"))
	}

	s.stopAfter("")
	s.releases("op-1")
	s.cmd("op-1", undo...).succeeds()
	s.cmd("op-1", s.deployArgs()...).exits(cli.ExitState) // what was undone is not done again
	again := s.deployArgs("--occurrence", "2")
	s.approves("op-1", again)
	s.cmd("op-1", again...).succeeds()
	s.cmd("op-1", again...).succeeds()
	if s.count("undos") != 1 || s.count("deploys") != 3 {
		t.Errorf("%d undone, %d deployed, want 1 and 3", s.count("undos"), s.count("deploys"))
	}
	s.approves("op-1", []string{"effect", "merge", task})
	s.cmd("op-1", "effect", "merge", task).succeeds()
	s.cmd("op-1", "deliver", task).succeeds()
}

// TestUndoneByReply: a compensation whose own record was cut off is finished
// by the same command, without undoing anything again.
func TestUndoneByReply(t *testing.T) {
	s := newRelease(t)
	s.releases("op-1")
	s.approves("op-1", s.deployArgs())
	s.cmd("op-1", s.deployArgs()...).succeeds()
	first := s.newest()
	undo := s.undoArgs(first.Intent.Key)
	s.approves("op-1", undo)
	s.killAt(s.spawn("op-1", process{StopID: 4}, undo...)) // dispatch, two confirmations, and the first record
	if e := s.state().Effect(first.Intent.Key); e.Status() != projections.StatusConfirmed || s.newest().Status() != projections.StatusConfirmed {
		t.Fatalf("the deployment is %s, its undoing %s", e.Status(), s.newest().Status())
	}
	s.cmd("op-1", undo...).succeeds()
	if e := s.state().Effect(first.Intent.Key); e.Status() != projections.StatusCompensated || s.count("undos") != 2 {
		t.Errorf("status %s, %d undone, want 2", e.Status(), s.count("undos"))
	}
	n := s.state().Sequence
	s.cmd("op-1", undo...).succeeds()
	s.cmd("op-1", s.undoArgs(s.newest().Intent.Key)...).exits(cli.ExitRefused) // nobody undoes an undoing
	if s.state().Sequence != n {
		t.Error("something was written for nothing")
	}
}
