package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
	"github.com/deedledger/deed/server/protocol"
)

// BenchmarkPacket asks a running service for the resume packet of a task with
// so many events.
func BenchmarkPacket(b *testing.B) {
	l := servicetest.New(b)
	local := l.Run(b)
	c := servicetest.Dial(b, l.Config(b, local.URL(), ""))
	for _, actor := range []string{"carl", "ci", "impl-a"} {
		l.Story.Enroll(actor)
	}
	submit(b, l.Story, c)
	for _, n := range []int{10, 100, 1000} {
		id := fmt.Sprintf("TASK-%d", n)
		b.Run(fmt.Sprintf("events=%d", n), func(b *testing.B) {
			for _, err := c.Task(b.Context(), id); err != nil; _, err = c.Task(b.Context(), id) {
				tell(l.Story, id, n)
				submit(b, l.Story, c)
			}
			var latencies []time.Duration
			ask := protocol.Ask{Task: id, Packet: "resume", Actor: "impl-a", Role: events.RoleImplementer}
			for b.Loop() {
				begun := time.Now()
				if _, err := c.Packet(b.Context(), ask); err != nil {
					b.Fatal(err)
				}
				latencies = append(latencies, time.Since(begun))
			}
			slices.Sort(latencies)
			b.ReportMetric(latencies[len(latencies)/2].Seconds()*1000, "p50-ms")
			b.ReportMetric(latencies[(len(latencies)-1)*99/100].Seconds()*1000, "p99-ms")
		})
	}
}

// submit sends what the story has said since the last time.
func submit(b *testing.B, s *servicetest.Story, c *client.Client) {
	b.Helper()
	for _, e := range s.Said {
		if _, err := c.Submit(b.Context(), e, false); err != nil {
			b.Fatalf("submit %s of %s: %v", e.Type, e.Source, err)
		}
	}
	s.Said = nil
}

// tell tells the story of one task with n events: a check that keeps failing,
// and repair after repair.
func tell(s *servicetest.Story, id string, n int) {
	task := s.Task(id)
	policy := task.Policy()
	state := task.State
	for i := 0; state().Sequence < uint64(n); i++ {
		switch t := state(); t.State {
		case projections.None:
			s.Do(id, projectionstest.Founder, projectionstest.Contract(1, func(c *events.Contract) { c.MaxRepairs, c.MaxStalls = 100, 100 }))
		case projections.Proposed:
			s.Do(id, projectionstest.Founder, &events.Acceptance{Version: 1, Digest: t.Contracts[0].Digest})
		case projections.Contracted:
			s.Do(id, "carl", projectionstest.Snapshot(t, policy))
		case projections.Snapshotted:
			s.Do(id, "impl-a", claim(t, policy))
		case projections.Executing:
			s.Do(id, "impl-a", projectionstest.Result(fmt.Sprint(i)))
		case projections.AwaitingVerification:
			s.Do(id, "ci", projectionstest.Receipt(t, fmt.Sprintf("nonce-%016d", i), projectionstest.Outcomes{fmt.Sprintf("C%d", 1+i%2): events.ClassCodeFailure}))
		case projections.RepairQueued:
			if t.Repair.Accepted {
				s.Do(id, "impl-a", claim(t, policy))
			} else {
				s.Do(id, "carl", &events.RepairAcceptance{Kind: t.Repair.Kind})
			}
		case projections.Escalated:
			s.Do(id, projectionstest.Founder, &events.Resolution{Action: "repair", Reason: "decided", Allowance: 100})
		default:
			panic(fmt.Sprintf("the story of %s ends in %s", id, t.State))
		}
	}
}

// claim asks for a work lease that outlives the run, in a world that has not
// moved.
func claim(t *projections.Task, policy string) *events.Claim {
	w := projectionstest.World(policy)
	if t.Result != nil {
		w.MergeTree = t.Result.Data.Tree
	}
	return &events.Claim{Purpose: events.PurposeWork, TermSeconds: 3600, World: w}
}
