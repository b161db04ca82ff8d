package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// killedAt runs a command in a process that is killed at a place.
func (s *stage) killedAt(actor, place string, args ...string) {
	s.t.Helper()
	file := filepath.Join(s.world, "reached")
	s.killAt(s.spawn(actor, process{}, append([]string{"--demo-stop", place + "=" + file}, args...)...))
	must(s.t, os.Remove(file))
}

// barred demands that none of the actors can take the task, and that their
// tries write nothing.
func (s *stage) barred(actors ...string) {
	s.t.Helper()
	before := s.state().Head
	for _, actor := range actors {
		for _, args := range [][]string{{"lease", "claim", task, "--purpose", "work"}, {"resume", task}, {"lease", "claim", "--next"}} {
			if c := s.cmd(actor, args...); c.code == 0 {
				s.t.Fatalf("%s took the task: deed %v\n%s", actor, args, c.stdout)
			}
		}
	}
	if s.state().Head != before {
		s.t.Errorf("a refused claim was written: %s", s.state().State)
	}
}

// wantLease demands who holds the lease, for what and with which fence; "" for
// nobody.
func (s *stage) wantLease(actor string, purpose events.Purpose, fence uint64) {
	s.t.Helper()
	switch l := s.state().Lease; {
	case l == nil && actor != "":
		s.t.Fatalf("nobody holds the lease, want %s: the task is %s", actor, s.state().State)
	case l != nil && (l.Actor != actor || l.Purpose != purpose || l.Fence != fence):
		s.t.Fatalf("%s holds the lease for %s with fence %d, want %s, %s, %d", l.Actor, l.Purpose, l.Fence, actor, purpose, fence)
	}
}

// TestHandoffAndResumeKilled: the process of a hand-over, and of a resume, is
// killed by SIGKILL before and after each of its appends. Nobody else can take
// the task meanwhile; the same command again finishes what was begun, and
// writes nothing that is there already.
func TestHandoffAndResumeKilled(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.invite("impl-c", events.RoleImplementer)
	s.workFor("impl-a", "1h") // no lease and no reservation ends in this test
	handoff := []string{"handoff", task, "--to", "impl-b", "--reason", "context", "-o", "json"}
	resume := []string{"resume", task, "--term", "1h", "-o", "json"}

	s.killedAt("impl-a", "before:lease.released", handoff...)
	s.wantLease("impl-a", events.PurposeWork, 1)
	s.barred("impl-b", "impl-c")
	s.killedAt("impl-a", "after:lease.released", handoff...)
	s.wantLease("", "", 0)
	s.barred("impl-a", "impl-c")
	s.writesNothing("impl-a", handoff...)

	s.killedAt("impl-b", "before:lease.claimed", resume...)
	s.wantLease("", "", 0)
	s.barred("impl-a", "impl-c")
	s.killedAt("impl-b", "after:lease.claimed", resume...)
	s.wantLease("impl-b", events.PurposeWork, 2)
	s.barred("impl-a", "impl-c")
	s.writesNothing("impl-b", resume...)
	s.writesNothing("impl-a", handoff...)
	s.cmd("owner", "audit", "verify").succeeds()
}

// writesNothing runs a command that finds its work done.
func (s *stage) writesNothing(actor string, args ...string) {
	s.t.Helper()
	before := s.state()
	s.cmd(actor, args...).succeeds()
	if after := s.state(); after.Head != before.Head {
		s.t.Errorf("deed %v wrote again: %d events, before %d", args, after.Sequence, before.Sequence)
	}
}

// TestResumeKilledInItsRecovery: a resume that recovers first is killed around
// each of its appends. Whatever was reached, the same command goes on from
// there, with the recovery lease that the killed one left.
func TestResumeKilledInItsRecovery(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.workFor("impl-a", "1h")
	s.interrupt()
	resume := []string{"resume", task, "--term", "1h", "--controller", "control-1", "-o", "json"}
	for _, place := range []string{"before:lease.claimed", "after:lease.claimed", "before:recovery.decided", "after:recovery.decided"} {
		s.killedAt("impl-b", place, resume...)
		if place != "after:recovery.decided" {
			s.barred("impl-a")
		}
	}
	if got := s.state().State; got != projections.Snapshotted {
		t.Fatalf("the task is %s after its recovery", got)
	}
	var done struct {
		Claimed bool `json:"claimed"`
	}
	s.cmd("impl-b", resume...).succeeds().data(&done)
	if l := s.state().Lease; !done.Claimed || l == nil || l.Actor != "impl-b" || len(s.state().Decisions) != 1 {
		t.Errorf("claimed %t, lease %+v, %d decisions", done.Claimed, l, len(s.state().Decisions))
	}
	s.writesNothing("impl-b", resume...)
}
