package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace"
	"github.com/spf13/cobra"
)

// newHandoffCommand builds "deed handoff".
func newHandoffCommand(e *Env, f *flags) *cobra.Command {
	var r events.Release
	var out string
	cmd := &cobra.Command{
		Use: "handoff [TASK] --to ACTOR --reason " + strings.Join(releaseReasons(), "|"), Short: "Hand a task over to another actor", Args: cobra.MaximumNArgs(1),
		Long: `Hand a task over: measure the world, build the resume packet that the next actor gets,
release the lease to it, and print that packet. For one lease term only that actor may
claim; after it anybody may.

The lease is released last, when all that could go wrong has not. A run that was cut off
before that still holds the lease; one that was cut off after it has handed over. The
same command again finishes both. With --out it writes the hand-over for people and
programs, too: what was measured, what is said, and what does not match. An open effect is settled first, a fatal finding is
closed first; uncommitted changes are named, for only commits reach another worktree.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			if err := choose("--reason", r.Reason, releaseReasons()); err != nil {
				return err
			}
			if !events.ValidActor(r.To) {
				return fmt.Errorf("%w: --to %q, want the name of an actor", errUsage, r.To)
			}
			return s.handoff(ctx, task, &r, out)
		}),
	}
	cmd.Flags().StringVar(&r.To, "to", "", "actor who goes on, and alone may claim for one lease term")
	cmd.Flags().StringVar(&r.Reason, "reason", "", "why the run ends: "+either(releaseReasons()))
	cmd.Flags().StringVar(&r.Note, "note", "", "what the next one should know")
	cmd.Flags().StringVar(&out, "out", "", "folder to write the hand-over to: HANDOFF.md, .resume/handoff.json and .resume/report.md")
	return writes(cmd, f)
}

// handedOver is the result of "deed handoff".
type handedOver struct {
	ledger.Ack
	Task   string `json:"task"`
	To     string `json:"to"`
	Reason string `json:"reason"`
	Fence  uint64 `json:"fence"` // of the run that ended
	// World is what was measured before the lease was released, and Recovery
	// the decision that it would give; Uncommitted are changed paths, encoded.
	World       *events.World            `json:"world,omitempty"`
	Recovery    string                   `json:"recovery,omitzero"`
	Uncommitted []string                 `json:"uncommitted"`
	Reserved    *projections.Reservation `json:"reserved,omitempty"`
	Packet      packetData               `json:"packet"`
	// Out is the folder that the hand-over was written to.
	Out string `json:"out,omitzero"`
}

func (s *session) handoff(ctx context.Context, task string, r *events.Release, out string) error {
	a, err := s.author(ctx)
	if err != nil {
		return err
	}
	state, err := s.existing(ctx, task)
	if err != nil {
		return err
	}
	done := handedOver{Task: task, To: r.To, Reason: r.Reason, Uncommitted: []string{}, Out: out}
	if fence, ok := handed(state.Task, a.actor.Name, r.To); ok {
		done.Existing, done.Fence = true, fence
		return s.showHandoff(ctx, done)
	}
	l, err := lease(state.Task, a)
	if err != nil {
		return err
	}
	done.Fence = l.Fence
	if err := checkHandoff(state, &a.registry, l, r.To); err != nil {
		return err
	}
	if err := s.capture(ctx, state, a, &done); err != nil {
		return err
	}
	// What the next one needs can be built: known before the lease is gone.
	if _, _, err := s.readPacket(ctx, handoffPacket(task, r.To, l.Purpose)); err != nil {
		return err
	}
	if done.Ack, err = s.releaseTo(ctx, task, l, r); err != nil {
		return err
	}
	if s.flags.dryRun {
		return s.acked(done.Ack, "handed over")
	}
	return s.showHandoff(ctx, done)
}

// handed reports whether the author's last run was released to an actor
// already, and its fence: by an earlier run of the same command.
func handed(t *projections.Task, from, to string) (uint64, bool) {
	last := len(t.Runs) - 1
	if t.Lease != nil { // by now it may have been claimed
		if t.Lease.Actor != to || t.Lease.Purpose == events.PurposeRecover {
			return 0, false
		}
		last--
	} else if t.Reserved == nil || t.Reserved.To != to {
		return 0, false
	}
	if last < 0 || t.Runs[last].Actor != from || t.Runs[last].Ended != events.LeaseReleased.Short() {
		return 0, false
	}
	if t.Lease != nil && from == to { // a lease of one's own is not a hand-over
		return 0, false
	}
	return t.Runs[last].Fence, true
}

// checkHandoff refuses a hand-over that would leave the task with nobody who
// may go on.
func checkHandoff(state protocol.TaskState, g *projections.Registry, l *projections.Lease, to string) error {
	t, next, role := state.Task, g.Actor(to), l.Purpose.Claimant()
	switch {
	case l.Purpose == events.PurposeRecover:
		return withHint(refuseState("handoff", "the lease is for a recovery, which ends with its decision"), "decide: deed recover %s", t.ID)
	case next == nil:
		return withHint(fmt.Errorf("%w: there is no actor %q", errMissing, to), "deed actor list shows who is there")
	case next.Revoked != 0:
		return refuse(ledger.CodeRule, "handoff/to", "%s is revoked since position %d", to, next.Revoked)
	case !next.Has(role):
		return refuse(ledger.CodeRule, "handoff/to", "%s has roles %s: who goes on needs the role %s", to, joined(next.Roles), string(role))
	case len(next.Keys) == 0:
		return refuse(ledger.CodeRule, "handoff/to", "%s was invited and has not claimed a key yet", to)
	case !next.Signs():
		return refuse(ledger.CodeRule, "handoff/to", "%s has no key that signs: the last one is compromised", to)
	}
	if open := t.OpenEffects(); len(open) > 0 {
		err := refuse(ledger.CodeEffect, "handoff/effects", "settle first what is open: %s", strings.Join(openEffects(t), ", "))
		if moves := effectMoves(state); len(moves) > 0 {
			err = withHint(err, "%s", moves[0].String())
		}
		return err
	}
	if finding := t.FatalFinding(); finding != nil {
		err := fmt.Errorf("%w: fatal finding %s is open: %s", errStart, finding.EventID, finding.Data.Text)
		return withHint(err, "mend it, then let an owner or reviewer close it: deed finding acknowledge %s --finding %s --reason TEXT", t.ID, finding.EventID)
	}
	return nil
}

// openEffects names the open effects of a task in a few words each.
func openEffects(t *projections.Task) []string {
	var names []string
	for _, key := range t.OpenEffects() {
		e := t.Effect(key)
		names = append(names, fmt.Sprintf("%s %s (%s) is %s", string(e.Intent.Kind), e.Intent.Target, shortKey(key), string(e.Status())))
	}
	return names
}

// capture measures the world and says what of it does not reach the next one.
func (s *session) capture(ctx context.Context, state protocol.TaskState, a author, done *handedOver) error {
	world, err := s.measure(ctx, state)
	if err != nil {
		return err
	}
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return err
	}
	dirty, err := repo.Dirty(ctx)
	if err != nil {
		return err
	}
	for _, path := range dirty.Paths() {
		done.Uncommitted = append(done.Uncommitted, boundary.EncodePath(path))
	}
	done.World, done.Recovery = &world, s.matches(state.Task, a, world)[0]
	if n := len(done.Uncommitted); n > 0 {
		s.note("not committed, so only this worktree has it: %s", strings.Join(done.Uncommitted[:min(n, 10)], ", "))
	}
	if done.Recovery != projections.ResumeBoundedStep && state.Task.Result == nil {
		s.note("as it is here, the next one has to recover first: %s", done.Recovery)
	}
	return nil
}

// releaseTo gives the lease back for an actor.
func (s *session) releaseTo(ctx context.Context, task string, l *projections.Lease, r *events.Release) (ledger.Ack, error) {
	return s.append(ctx, task, func(state protocol.TaskState, a author) (draft, error) {
		now, err := lease(state.Task, a)
		if err != nil {
			return draft{}, err
		}
		if now.Fence != l.Fence {
			return draft{}, refuseStale("decided-again", "the lease changed while this was being written: look again and decide again")
		}
		return draft{payload: r, fence: l.Fence}, checkHandoff(state, &a.registry, now, r.To)
	})
}

// handoffPacket asks for the packet of whoever goes on.
func handoffPacket(task, to string, purpose events.Purpose) protocol.Ask {
	return protocol.Ask{Task: task, Packet: "resume", Actor: to, Role: purpose.Claimant()}
}

// showHandoff prints the packet that the next actor gets.
func (s *session) showHandoff(ctx context.Context, done handedOver) error {
	state, err := s.existing(ctx, done.Task)
	if err != nil {
		return fmt.Errorf("the task is handed over, its packet is not printed: %w", err)
	}
	t := state.Task
	purpose := events.PurposeWork
	if i := slices.IndexFunc(t.Runs, func(r projections.Run) bool { return r.Fence == done.Fence }); i >= 0 {
		purpose = t.Runs[i].Purpose
	}
	p, seal, err := s.readPacket(ctx, handoffPacket(t.ID, done.To, purpose))
	if err != nil {
		return fmt.Errorf("the task is handed over, its packet is not printed: %w", err)
	}
	done.Packet, done.Reserved = packetOf(p), t.Reserved
	if err := s.writeHandover(ctx, state, p, done.Out); err != nil {
		return fmt.Errorf("the task is handed over, its hand-over is not written: %w", err)
	}
	if s.json {
		return s.answer(p.Position, "handoff", done, nil)
	}
	w := &textWriter{out: s.out}
	w.block(p.Markdown)
	w.line("")
	w.line("%s", seal)
	if done.Existing {
		w.line("handed over %s to %s before; nothing was written", t.ID, done.To)
	} else {
		w.acked(done.Ack, "handed over %s to %s", t.ID, done.To)
	}
	if t.Reserved != nil {
		w.line("until %s only %s may claim: deed resume %s --as %s", when(t.Reserved.Until), done.To, t.ID, done.To)
	}
	return w.err
}
