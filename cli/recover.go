package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace"
	"github.com/spf13/cobra"
)

// newRecoverCommand builds "deed recover".
func newRecoverCommand(e *Env, f *flags) *cobra.Command {
	var o recovery
	cmd := &cobra.Command{
		Use: "recover [TASK]", Short: "Decide how an interrupted task goes on", Args: cobra.MaximumNArgs(1),
		Long: `Claims a recover lease, asks the probes of effects whose outcome is open,
measures the world, and records the decision of the recovery table. A conclusive
probe is recorded as the effect's outcome before the decision; what no probe can
tell stays open, and a person decides.

A probe is a command that another actor recorded. It is run without a shell,
with a small environment and a time limit, and only where the contract's scope
lists its program or its whole line under commands, or with --allow-probe.

When nothing has happened to the task since the last decision, and the world is
the same, that decision is shown again and nothing is written (exit 0).`,
	}
	cmd.RunE = e.action(f, func(ctx context.Context, s *session, args []string) error {
		task, err := s.taskArg(ctx, args)
		if err != nil {
			return err
		}
		return s.recover(ctx, task, o)
	})
	cmd.Flags().BoolVar(&o.noProbe, "no-probe", false, "ask no probe: what is open stays open")
	cmd.Flags().DurationVar(&o.term, "term", time.Minute, "term of the recover lease")
	probeFlags(cmd, &o.probes)
	return writes(cmd, f)
}

// recovery is what "deed recover" was asked for.
type recovery struct {
	noProbe bool
	term    time.Duration
	probes  probeOptions
}

// recovered is the result of "deed recover".
type recovered struct {
	Task     string   `json:"task"`
	Decision string   `json:"decision"`
	Matches  []string `json:"matches"`
	// From is the state in which the command found the task.
	From projections.State `json:"from"`
	To   projections.State `json:"to"`
	// Existing says that the decision was there already.
	Existing bool                `json:"existing,omitzero"`
	Probes   []probeAnswer       `json:"probes"`
	Waiting  projections.Waiting `json:"waiting_on"`
	Next     string              `json:"next,omitzero"` // what a person can do, when escalated
	Moves    []move              `json:"moves"`         // commands that lead on
}

// errDecided says that the task has a decision that still holds.
var errDecided = errors.New("decided already")

// recover takes a task from interruption to decision.
func (s *session) recover(ctx context.Context, task string, o recovery) error {
	if o.term < time.Second || o.term > events.MaxTerm*time.Second {
		return fmt.Errorf("%w: --term %s, want 1s to 24h", errUsage, o.term)
	}
	if s.flags.dryRun {
		return s.claimRecovery(ctx, task, o)
	}
	r, err := s.decide(ctx, task, o)
	if err != nil {
		return err
	}
	return s.result("recovery", r, r.print)
}

// decide claims a recover lease, asks the probes and records the decision. A
// decision that still holds is returned again.
func (s *session) decide(ctx context.Context, task string, o recovery) (recovered, error) {
	seen, err := s.existing(ctx, task)
	if err != nil {
		return recovered{}, err
	}
	var answers []probeAnswer
	if err = s.claimRecovery(ctx, task, o); err == nil {
		answers, err = s.decideUnder(ctx, task, o)
	}
	existing := errors.Is(err, errDecided)
	if err != nil && !existing {
		return recovered{}, err
	}
	return s.lastDecision(ctx, recovered{Task: task, From: seen.Task.State, Existing: existing, Probes: slices.Concat([]probeAnswer{}, answers)})
}

// claimRecovery claims a recover lease with a measured world, unless this
// actor holds one. errDecided when the last decision still holds.
func (s *session) claimRecovery(ctx context.Context, task string, o recovery) error {
	held := errors.New("a recover lease is held")
	ack, err := s.append(ctx, task, func(state protocol.TaskState, a author) (draft, error) {
		t := state.Task
		if l := t.Lease; l != nil && l.Purpose == events.PurposeRecover && l.Actor == a.actor.Name {
			return draft{}, held
		}
		if t.Sequence == 0 {
			return draft{}, fmt.Errorf("%w: there is no task %q", errMissing, task)
		}
		if t.Attempt() == nil || t.State == projections.Escalated {
			if decided(t) {
				return draft{}, errDecided
			}
			return draft{}, refuseState("lease.claimed recover", "task %s is %s: there is nothing to recover", task, t.State)
		}
		world, err := s.measure(ctx, state)
		if err != nil {
			return draft{}, err
		}
		// A queued repair is decided upon: whatever the world is now, its
		// attempt or its run looks at it again.
		if decided(t) && (t.State == projections.RepairQueued || s.holds(t, a, world)) {
			return draft{}, errDecided
		}
		c := &events.Claim{Purpose: events.PurposeRecover, TermSeconds: int64(o.term / time.Second), World: world}
		return draft{payload: c, fence: t.Fence + 1}, nil
	})
	switch {
	case errors.Is(err, held):
		return nil
	case err != nil:
		return err
	case s.flags.dryRun:
		return s.acked(ack, "lease claimed")
	}
	return nil
}

// decided reports whether the task's newest event is a recovery decision.
func decided(t *projections.Task) bool {
	n := len(t.Decisions)
	return n > 0 && t.Decisions[n-1].Position == t.Position
}

// holds reports whether the task's last decision is still what history and
// this world give.
func (s *session) holds(t *projections.Task, a author, world events.World) bool {
	last := t.Decisions[len(t.Decisions)-1]
	x, errX := events.DigestOf(last.World)
	y, errY := events.DigestOf(world)
	return errX == nil && errY == nil && x == y && s.matches(t, a, world)[0] == last.Decision
}

// matches computes the recovery table as the ledger will.
func (s *session) matches(t *projections.Task, a author, world events.World) []string {
	l := projections.NewLedger(t.Ledger)
	l.Registry = a.registry
	return ledger.Matches(l, t, world, s.env.Now().UnixNano())
}

// decideUnder asks the probes and records the decision while the lease is
// renewed.
func (s *session) decideUnder(ctx context.Context, task string, o recovery) ([]probeAnswer, error) {
	state, err := s.existing(ctx, task)
	if err != nil {
		return nil, err
	}
	if state.Task.Lease == nil && decided(state.Task) {
		return nil, errDecided
	}
	a, err := s.author(ctx)
	if err != nil {
		return nil, err
	}
	l, err := lease(state.Task, a)
	if err != nil {
		return nil, err
	}
	held, stop, err := s.hold(ctx, task, l)
	if err != nil {
		return nil, err
	}
	defer stop()
	answers, err := s.probeAll(held, state.Task, o)
	if err != nil {
		return nil, err
	}
	return answers, s.recordDecision(held, task, l.Fence)
}

// probeAll asks about every effect whose outcome is open, and records what is
// conclusive.
func (s *session) probeAll(ctx context.Context, t *projections.Task, o recovery) ([]probeAnswer, error) {
	var answers []probeAnswer
	if o.noProbe {
		return answers, nil
	}
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return nil, err
	}
	o.probes.record = true
	for i := range t.Effects {
		e := &t.Effects[i]
		if !e.Ambiguous() {
			continue
		}
		found, err := s.probeEffect(ctx, repo, t, e, o.probes)
		if err != nil {
			return nil, err
		}
		answers = append(answers, found...)
	}
	if err := s.recordUndone(ctx, t.ID, events.BasisProbe); err != nil {
		return nil, fmt.Errorf("record what was undone: %w", err)
	}
	return answers, nil
}

// recordDecision appends what history and world decide.
func (s *session) recordDecision(ctx context.Context, task string, fence uint64) error {
	_, err := s.append(ctx, task, func(state protocol.TaskState, a author) (draft, error) {
		t := state.Task
		switch {
		case t.Lease == nil && decided(t):
			return draft{}, errDecided
		case t.Lease == nil || t.Lease.Fence != fence:
			return draft{}, refuse(ledger.CodeFence, "lease", "the recover lease with fence %d is gone", fence)
		}
		world, err := s.measure(ctx, state)
		if err != nil {
			return draft{}, err
		}
		matches := s.matches(t, a, world)
		return draft{payload: &events.Recovery{Decision: matches[0], Matches: matches, World: world}, fence: fence}, nil
	})
	return err
}

// lastDecision fills in the newest decision and who acts next.
func (s *session) lastDecision(ctx context.Context, r recovered) (recovered, error) {
	state, err := s.existing(ctx, r.Task)
	if err != nil {
		return r, err
	}
	n := len(state.Task.Decisions)
	if n == 0 {
		return r, refuseState("recovery.decided", "task %s has no decision", r.Task)
	}
	d := state.Task.Decisions[n-1]
	r.Decision, r.Matches, r.To, r.Waiting, r.Moves = d.Decision, d.Matches, d.To, state.Waiting, movesOf(state)
	if e := state.Task.Escalation; e != nil {
		r.Next = e.NextStep
	}
	return r, nil
}

// print writes a recovery for people.
func (r recovered) print(w *textWriter) {
	for _, a := range r.Probes {
		w.line("probe of effect %s%s: %s, %s", shortKey(a.Key), prefixedBy(" part ", a.Part), string(a.Status), a.fate(true))
		w.line("  %s", a.Evidence)
	}
	if r.Existing {
		w.line("decided already, nothing was written")
	}
	w.line("decision: %s", r.Decision)
	for _, m := range r.Matches[1:] {
		w.line("  also applies: %s", m)
	}
	if !r.Existing {
		w.line("%s -> %s", r.From, r.To)
	}
	if r.Next != "" {
		w.line("to do: %s", r.Next)
	}
	for _, m := range r.Moves {
		w.line("next: %s", m.String())
	}
}
