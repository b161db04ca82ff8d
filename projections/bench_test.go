package projections_test

import (
	"fmt"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// long returns a story with n events of one task: repairs without end, a
// finding for every fourth event.
func long(n int) (*projectionstest.Story, *projectionstest.Task) {
	story, task := begin()
	task.ToResult(func(c *events.Contract) { c.MaxRepairs, c.MaxStalls = 100, 100 })
	for i := 0; task.State().Sequence < uint64(n); i++ {
		switch task.State().State {
		case projections.AwaitingVerification:
			task.Verify(projectionstest.Outcomes{fmt.Sprintf("C%d", 1+i%2): events.ClassCodeFailure})
		case projections.RepairQueued:
			if !task.State().Repair.Accepted {
				task.AcceptRepair()
			} else {
				task.Claim("impl-a", events.PurposeWork)
			}
		case projections.Executing:
			task.Hand()
		case projections.Escalated:
			task.Resolve("repair", func(r *events.Resolution) { r.Allowance = 100 })
		}
	}
	return story, task
}

func BenchmarkFold(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			story, _ := long(n)
			b.ReportAllocs()
			for b.Loop() {
				l := projections.NewLedger("acme")
				for _, r := range story.Records {
					if err := l.Apply(r); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(len(story.Records)*b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

func BenchmarkPacket(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			_, task := long(n)
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := resume(task, events.RoleImplementer).Encode(0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPacketAmongTasks: other tasks do not slow a packet down, nor
// does their number slow the fold of an event.
func BenchmarkPacketAmongTasks(b *testing.B) {
	for _, n := range []int{1, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			story, task := begin()
			task.ToResult()
			for i := range n - 1 {
				story.Task(fmt.Sprintf("OTHER-%d", i)).ToResult()
			}
			for b.Loop() {
				if _, _, err := resume(task, events.RoleImplementer).Encode(0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
