package projections_test

import (
	"encoding/json"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// TestHeard: only what the holder of the live lease signs under it is heard of
// it; what others say about the task is not.
func TestHeard(t *testing.T) {
	story := projectionstest.New("acme")
	story.Genesis()
	k := story.Task("TASK-1")
	silent := func(what string) {
		t.Helper()
		s := k.State()
		if s.Heard() != 0 || s.Stuck(1<<62, 0) {
			t.Errorf("%s: heard at %d, stuck %t", what, s.Heard(), s.Stuck(1<<62, 0))
		}
	}
	heard := func(what string, by bool) {
		t.Helper()
		s := k.State()
		if got := s.Heard() == s.Admitted; got != by || s.Heard() < s.Lease.Admitted {
			t.Errorf("%s: heard at %d, the event came at %d", what, s.Heard(), s.Admitted)
		}
	}
	silent("no event")
	k.Propose()
	k.Accept()
	k.Open()
	silent("no lease")
	k.Claim("impl-a", events.PurposeWork)
	heard("the claim", true)
	k.DoFenced("carl", 0, &events.Finding{Severity: "hint", Rule: "r", Text: "t"})
	heard("a finding by another", false)
	k.DoFenced("impl-a", 1, &events.Progress{Note: "half of it"})
	heard("a note of the holder", true)
	k.DoFenced("impl-a", 0, projectionstest.Money("model", 1, "EUR"))
	heard("the holder, not under its lease", false)
	k.DoFenced("impl-a", 1, projectionstest.Intent("one"))
	heard("an intent of the holder", true)
	k.Interrupt()
	silent("interrupted")
	k.Recover(projections.ResumeBoundedStep)
	silent("recovered")
	k.Claim("impl-b", events.PurposeWork)
	heard("the next claim", true)
	k.DoFenced("impl-a", 1, projectionstest.Outcome("one", "", 1, projections.StatusUnknown))
	heard("a late outcome of the run before", false)
}

// TestStuck: at the instant of the silence, not before; and a state that was
// read from its JSON form knows no more than when the lease was claimed.
func TestStuck(t *testing.T) {
	k := working()
	k.DoFenced("impl-a", 1, &events.Progress{Note: "half of it"})
	s := k.State()
	const silence = 1000
	for now, want := range map[int64]bool{0: false, s.Heard(): false, s.Heard() + silence - 1: false, s.Heard() + silence: true, 1 << 62: true} {
		if s.Stuck(now, silence) != want {
			t.Errorf("%d ns after it was heard: stuck %t", now-s.Heard(), !want)
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var read projections.Task
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if read.Heard() != read.Lease.Admitted || read.Heard() >= s.Heard() {
		t.Errorf("read from JSON: heard at %d, the claim came at %d, the note at %d", read.Heard(), read.Lease.Admitted, s.Heard())
	}
}
