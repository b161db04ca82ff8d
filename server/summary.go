package server

import (
	"slices"

	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
)

func (s *Service) tasks(protocol.Ask) (out protocol.Tasks, err error) {
	out.Clock, out.Tasks = s.writer.Clock(), []protocol.Summary{}
	s.writer.View(func(b *ledger.Book) {
		out.Position = b.State.Position
		for _, id := range b.State.TaskIDs() {
			out.Tasks = append(out.Tasks, s.summary(b.State.Tasks[id], out.Clock))
		}
	})
	return out, nil
}

// summary is a task in few words at an instant of the admission clock. It shares nothing with the task's state,
// which may change before the summary is sent.
func (s *Service) summary(t *projections.Task, now int64) protocol.Summary {
	d := protocol.Summary{
		Task: t.ID, State: t.State, Waiting: t.Waiting(), Position: t.Position, Since: t.Since, Admitted: t.Admitted, Heard: t.Heard(),
		Overdue: t.Overdue(now), Actors: slices.Clone(t.Contributors), Claims: s.rules.Claims(t),
	}
	d.Waiting.Actors = slices.Clone(d.Waiting.Actors)
	if n := len(t.Contracts); n > 0 {
		d.Goal, d.Risk = t.Contracts[n-1].Contract.Goal, t.Contracts[n-1].Contract.RiskTier
	}
	if c := t.Contract(); c != nil {
		d.Risk = c.Contract.RiskTier
	}
	if a := t.Attempt(); a != nil {
		d.Attempt, d.Commits = a.ID, append(d.Commits, a.Snapshot.BaseCommit)
	}
	if t.Result != nil {
		d.Commits = append(d.Commits, t.Result.Data.Head)
	}
	if t.Delivery != nil {
		d.Commits = append(d.Commits, t.Delivery.Data.Commit)
	}
	if t.Lease != nil {
		d.Actor = t.Lease.Actor
	}
	if r := t.Reserved; r != nil {
		reserved := *r
		d.Reserved = &reserved
	}
	return d
}
