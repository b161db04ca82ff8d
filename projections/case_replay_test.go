package projections_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

var noise = flag.Int("noise", 1000, "progress notes of the long attempt in TestLongAttempt; 60000 is the heavy form")

// twelve tells a story of a task, with another beside it.
func twelve() *projectionstest.Story {
	story, task := begin()
	other := story.Task("TASK-2")
	for _, line := range []string{"propose", "accept", "open", "claim impl-a work", "hand", "verify"} {
		task.Script(line)
		other.Script(line)
	}
	return story
}

// TestDeliveryInAnyOrder hands the same records to two machines in orders of
// their own, some of them twice. Each takes only the next one; in the end both
// have the very same states.
func TestDeliveryInAnyOrder(t *testing.T) {
	story := twelve()
	want := digests(t, story.Ledger)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		l := projections.NewLedger("acme")
		for l.Position < story.Records[len(story.Records)-1].Position {
			for _, i := range r.Perm(len(story.Records)) {
				record, before := story.Records[i], l.Position
				err := l.Apply(record)
				switch {
				case record.Position == before+1 && err == nil:
				case record.Position <= before && errors.Is(err, projections.ErrDuplicate) && l.Position == before:
				case record.Position > before+1 && errors.Is(err, projections.ErrGap) && l.Position == before:
				default:
					t.Fatalf("seed %d: position %d after %d: %v", seed, record.Position, before, err)
				}
			}
		}
		if got := digests(t, l); got != want {
			t.Fatalf("seed %d: states\n%s, want\n%s", seed, got, want)
		}
	}
}

// TestCheckpointNeverPassesAnEvent fails to read one event twice, at every
// place, and delivers every event twice. The state stays before that event
// until it is applied, and ends as a rebuild does.
func TestCheckpointNeverPassesAnEvent(t *testing.T) {
	story := twelve()
	want := digests(t, story.Ledger)
	away := errors.New("not visible yet")
	for bad := range story.Records {
		l, fails := projections.NewLedger("acme"), 2
		deliver := func(i int) error {
			if i == bad && fails > 0 {
				fails--
				return away
			}
			return l.Apply(story.Records[i])
		}
		// A reader starts at the state's own position, and is killed and
		// started again by every error.
		for int(l.Position) < len(story.Records) {
			at := int(l.Position)
			err := deliver(at)
			if errors.Is(err, away) {
				if int(l.Position) != bad {
					t.Fatalf("event %d was not applied, the state is at %d", bad+1, l.Position)
				}
				if later := at + 1; later < len(story.Records) && !errors.Is(l.Apply(story.Records[later]), projections.ErrGap) {
					t.Fatalf("event %d was taken before %d", later+1, bad+1)
				}
				continue
			}
			if err != nil {
				t.Fatalf("event %d: %v", at+1, err)
			}
			if err := deliver(at); !errors.Is(err, projections.ErrDuplicate) {
				t.Fatalf("event %d again: %v", at+1, err)
			}
		}
		if got := digests(t, l); got != want {
			t.Fatalf("event %d late: states\n%s, want\n%s", bad+1, got, want)
		}
	}
}

// TestLongAttempt holds that what a run notes while it works, and other tasks,
// do not grow the packet from which the next one resumes, nor what it takes to
// make it.
func TestLongAttempt(t *testing.T) {
	packet := func(notes, others int) ([]byte, uint64) {
		story, task := begin()
		for i := range others {
			story.Task(fmt.Sprintf("OTHER-%d", i)).Propose()
		}
		task.Propose()
		task.Accept()
		task.Open()
		task.Claim("impl-a", events.PurposeWork)
		task.Do("impl-a", projectionstest.Plan())
		for i := range 30 {
			step := fmt.Sprintf("s%d", i)
			task.Do("impl-a", projectionstest.IssueStep(step, ""))
			for range notes / 30 {
				task.Do("impl-a", &events.Progress{Step: step, Note: "still compiling"})
			}
			if i < 29 {
				task.Do("impl-a", projectionstest.CompleteStep(step))
			}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		text, _, err := resume(task, events.RoleImplementer).Encode(0)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		return text, after.TotalAlloc - before.TotalAlloc
	}
	short, _ := packet(30, 0)
	for _, c := range []struct{ notes, others int }{{*noise, 0}, {30, min(*noise, 2000)}} {
		text, allocated := packet(c.notes, c.others)
		t.Logf("%d notes, %d other tasks: packet of %d bytes, %d bytes allocated", c.notes, c.others, len(text), allocated)
		// Positions and hashes differ, their number does not.
		if limit := len(short) + 1000; len(text) > limit {
			t.Errorf("%d notes, %d other tasks: packet of %d bytes, without them %d", c.notes, c.others, len(text), len(short))
		}
		if allocated > 64<<20 {
			t.Errorf("%d notes, %d other tasks: %d bytes allocated", c.notes, c.others, allocated)
		}
	}
}

// TestSkippedStep: of four units two are proven, the third is under way, and
// the newest plan leaves the fourth out. Whoever resumes goes on with the
// third, does not do the first two again, and is not offered the fourth.
func TestSkippedStep(t *testing.T) {
	k := working()
	unit := func(name string) events.Unit {
		return events.Unit{Name: name, Title: "do " + name, Success: name + " is done"}
	}
	k.Do("impl-a", &events.Plan{Summary: "four", Units: []events.Unit{unit("u1"), unit("u2"), unit("u3"), unit("u4")}})
	for _, n := range []string{"1", "2"} {
		k.Do("impl-a", projectionstest.IssueStep("s"+n, "u"+n))
		k.Do("impl-a", projectionstest.CompleteStep("s"+n))
	}
	k.Do("impl-a", projectionstest.IssueStep("s3", "u3"))
	k.Do("impl-a", &events.Plan{Summary: "skip the fourth", Units: []events.Unit{unit("u1"), unit("u2"), unit("u3")}})
	k.Interrupt()
	k.Recover(projections.ResumeBoundedStep)
	for range 2 { // the same answer to everybody who asks
		p := resume(k, events.RoleImplementer)
		if p.Next.Step != "s3" || p.Next.Unit != "u3" {
			t.Fatalf("next step %q, unit %q", p.Next.Step, p.Next.Unit)
		}
		var done []string
		for _, s := range p.Steps {
			if s.Proven && len(s.Evidence) > 0 {
				done = append(done, s.Unit)
			}
		}
		if !slices.Equal(done, []string{"u1", "u2"}) {
			t.Errorf("proven units %v of %+v", done, p.Steps)
		}
	}
	k.Claim("impl-b", events.PurposeWork)
	k.Do("impl-b", projectionstest.CompleteStep("s3"))
	if p := resume(k, events.RoleImplementer); p.Next.Step != "" || p.Next.Unit != "" {
		t.Errorf("after the third: step %q, unit %q", p.Next.Step, p.Next.Unit)
	}
}
