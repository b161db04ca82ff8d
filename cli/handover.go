package cli

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace"
	"github.com/deedledger/deed/workspace/guard"
)

// writeHandover writes the hand-over of a task into a folder: what the
// worktree at hand is, what the ledger has, what is claimed, and what of it
// does not match. The folder is made where it is not there; "" writes nothing.
func (s *session) writeHandover(ctx context.Context, state protocol.TaskState, p protocol.Packet, out string) error {
	if out == "" {
		return nil
	}
	t := state.Task
	g, err := s.lookAtTask(ctx, t)
	if err != nil {
		return err
	}
	now := s.env.Now()
	pack := guard.PackOf(guard.SnapshotOf(g.measured, events.FormatTime(now)), guard.HandoverClaims(t, max(t.Admitted, now.UnixNano())), g.found, g.Skipped)
	if n := len(g.dirty); n > 0 {
		pack.Objective.Notes = append(pack.Objective.Notes, counted(n, "path")+" of the changed ones not committed: only this worktree has that")
	}
	pack.Ledger = &guard.Ledger{Task: t.ID, State: string(t.State), Position: p.Position, Packet: p.Digest, Items: []guard.LedgerItem{}}
	if t.Result != nil {
		pack.Ledger.Result = t.Result.Data.Head
	}
	for _, item := range state.Items {
		pack.Ledger.Items = append(pack.Ledger.Items, guard.LedgerItem{ID: item.ID, Status: string(item.Status), Receipt: item.Receipt})
	}
	dir := s.abs(out)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write hand-over: %w", err)
	}
	if err := guard.WritePack(dir, pack); err != nil {
		return err
	}
	return s.noteStrays(ctx, out, g.dirty)
}

// noteStrays says that a hand-over which was written into the worktree, and is
// not ignored there, counts as somebody's uncommitted change.
func (s *session) noteStrays(ctx context.Context, out string, before []string) error {
	s.note("wrote HANDOFF.md and .resume/handoff.json to %s", out)
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return err
	}
	dirty, err := repo.Dirty(ctx)
	if err != nil {
		return err
	}
	if !slices.Equal(dirty.Paths(), before) {
		s.note("git does not ignore it there: it counts as an uncommitted change of this worktree")
	}
	return nil
}
