package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deedledger/deed/cli"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// TestForeignID: a reply or a probe that names the outside id of another
// effect leaves a conflict for a person, and never a recovery that cannot end.
// The world of the stage gives every call the same id.
func TestForeignID(t *testing.T) {
	again := func(s *stage) []string { return s.effectArgs("--occurrence", "2") }
	second := func(s *stage) *projections.Effect { return &s.state().Effects[1] }

	t.Run("by the reply", func(t *testing.T) {
		s := newStage(t)
		s.work("impl-a")
		s.cmd("impl-a", s.effectArgs()...).succeeds()
		s.cmd("impl-a", again(s)...).exits(cli.ExitEffect)
		if got := second(s).Status(); got != projections.StatusConflict {
			t.Fatalf("status %s, want conflict", got)
		}
		s.cmd("impl-a", again(s)...).exits(cli.ExitEffect)
		if got := s.count("calls"); got != 2 {
			t.Errorf("%d calls, want one of each effect", got)
		}
		// What a person says is not bent: the id is still another effect's.
		s.cmd("owner", "effect", "settle", task, second(s).Intent.Key, "--outcome", "confirmed", "--external-id", "id-1", "--evidence", "seen").exits(cli.ExitRefused)
		s.cmd("owner", "effect", "settle", task, second(s).Intent.Key, "--outcome", "confirmed", "--external-id", "id-2", "--evidence", "seen").succeeds()
	})
	t.Run("by the probe of a recovery", func(t *testing.T) {
		s := newStage(t)
		s.work("impl-a")
		s.cmd("impl-a", s.effectArgs()...).succeeds()
		must(t, os.WriteFile(filepath.Join(s.world, "blind"), nil, 0o600))
		s.mode("silent")
		s.cmd("impl-a", again(s)...).exits(cli.ExitEffect)
		must(t, os.Remove(filepath.Join(s.world, "blind")))
		s.interrupt()
		r := s.recovers("control-1")
		if r.Decision != projections.EscalateEffectUnknown || len(r.Probes) != 1 || r.Probes[0].Status != projections.StatusConflict {
			t.Errorf("decision %s, probes %+v", r.Decision, r.Probes)
		}
		e := second(s)
		if e.Status() != projections.StatusConflict || e.Parts[0].Basis == events.BasisPerson || s.state().State != projections.Escalated {
			t.Errorf("status %s in %s", e.Status(), s.state().State)
		}
	})
}
