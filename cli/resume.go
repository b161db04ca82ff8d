package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

// resuming is what "deed resume" was asked for.
type resuming struct {
	term       time.Duration
	controller string // actor whose key recovers, "" for the caller
	recovery   recovery
}

// newResumeCommand builds "deed resume".
func newResumeCommand(e *Env, f *flags) *cobra.Command {
	var o resuming
	cmd := &cobra.Command{
		Use: "resume [TASK]", Short: "Go on with a task, where that is safe", Args: cobra.MaximumNArgs(1),
		Long: `Go on with a task: look at what was measured and decided, recover it where it was
interrupted, claim its lease, bind this worktree, and print the resume packet. Run again
while the lease is held, it prints the packet and writes nothing.

Before work goes on, the guard holds frozen decisions, banned approaches and what is said
to be done against this worktree: see deed guard --help. What is fatal there refuses; in
committed files it is recorded as a fatal finding, for a person to close.

A recovery is a controller's. It is done with your own key where you have that role, or
with the key of --controller; otherwise the answer says who has to run deed recover.

Exit codes: 0 go on. 1 do not start: the task is escalated or paused, a fatal finding is
open, the guard found something, nobody knows whether an effect happened. 8 not yet: it waits for somebody else.
20 this worktree is not what the attempt pinned.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			if err := checkTerm(o.term); err != nil {
				return err
			}
			if o.controller != "" && !events.ValidActor(o.controller) {
				return fmt.Errorf("%w: --controller %q is no actor name", errUsage, o.controller)
			}
			return s.resume(ctx, task, o)
		}),
	}
	fs := cmd.Flags()
	fs.DurationVar(&o.term, "term", termDefault, "how long the lease lives without a renewal")
	fs.StringVar(&o.controller, "controller", "", "actor whose key recovers the task where that is needed")
	fs.BoolVar(&o.recovery.noProbe, "no-probe", false, "a recovery asks no probe: what is open stays open")
	probeFlags(cmd, &o.recovery.probes)
	o.recovery.term = time.Minute
	return writes(cmd, f)
}

// resumed is the result of "deed resume".
type resumed struct {
	Task    string            `json:"task"`
	State   projections.State `json:"state"`
	Purpose events.Purpose    `json:"purpose"`
	Fence   uint64            `json:"fence"`
	// Claimed says that the lease was claimed now; it was held already if not.
	Claimed  bool          `json:"claimed"`
	DryRun   bool          `json:"dryRun,omitzero"`
	Recovery *recovered    `json:"recovery,omitempty"`
	World    *events.World `json:"world,omitempty"` // as the claim has it
	// Guard is what of the task did not match this worktree, for work alone.
	Guard  *taskGuard `json:"guard,omitempty"`
	Packet packetData `json:"packet"`
}

func (s *session) resume(ctx context.Context, task string, o resuming) error {
	a, err := s.author(ctx)
	if err != nil {
		return err
	}
	state, err := s.existing(ctx, task)
	if err != nil {
		return err
	}
	done, who := resumed{Task: task}, callers{a.actor.Name, o.controller}
	if err := mayStart(state, who); err != nil {
		return err
	}
	if needsRecovery(state.Task, who) {
		by, err := s.recoverer(state, a, o)
		if err != nil {
			return err
		}
		defer by.close()
		if s.flags.dryRun {
			return by.claimRecovery(ctx, task, o.recovery)
		}
		r, err := by.decide(ctx, task, o.recovery)
		if err != nil {
			return err
		}
		done.Recovery = &r
		if state, err = s.existing(ctx, task); err != nil {
			return err
		}
		if err := mayStart(state, who); err != nil {
			return fmt.Errorf("recovery decided %s: %w", r.Decision, err)
		}
	}
	if done.Guard, err = s.guardWork(ctx, state.Task, a); err != nil {
		return err
	}
	err = s.takeUp(ctx, state, a, o, &done)
	if err != nil && done.Recovery != nil {
		err = fmt.Errorf("recovery decided %s: %w", done.Recovery.Decision, err)
	}
	if err != nil {
		return err
	}
	return s.showResume(ctx, a, done)
}

// callers are who acts in "deed resume": the actor that goes on, and the named
// controller that recovers for it, "" for none.
type callers struct{ actor, controller string }

// holds reports whether a lease is theirs: a run that was cut off in the midst
// of a recovery left the controller's.
func (c callers) holds(l *projections.Lease) bool {
	return l.Actor == c.actor || l.Purpose == events.PurposeRecover && l.Actor == c.controller
}

// mayStart refuses a task that nobody may go on with now, whoever asks.
func mayStart(state protocol.TaskState, who callers) error {
	t := state.Task
	finding := t.FatalFinding()
	switch {
	case t.Blocked != nil:
		return refuse(ledger.CodeDamage, "resume", "task %s is blocked at position %d: %s", t.ID, t.Blocked.Position, t.Blocked.Reason)
	case t.State.Final():
		return withHint(refuseState("resume", "task %s has ended: it is %s", t.ID, t.State), "there is nothing left to do")
	case t.Pause != nil:
		err := fmt.Errorf("%w: %s paused task %s: %s", errStart, t.Pause.Actor, t.ID, t.Pause.Reason)
		return withHint(err, "an owner or a controller lets it go on: deed unpause %s --reason TEXT", t.ID)
	case t.Cancelling:
		return fmt.Errorf("%w: task %s is cancelled and waits for its open effects", errStart, t.ID)
	case t.State == projections.Escalated:
		err := fmt.Errorf("%w: task %s is escalated: %s", errStart, t.ID, t.Escalation.Reason)
		return withHint(err, "%s; then the owner resolves it: deed escalation resolve %s", t.Escalation.NextStep, t.ID)
	case t.Lease != nil && !who.holds(t.Lease):
		return fmt.Errorf("%w: %s holds the lease of task %s for %s, fence %d", errPending, t.Lease.Actor, t.ID, string(t.Lease.Purpose), t.Lease.Fence)
	case t.Lease != nil && t.Lease.Purpose != events.PurposeRecover && t.Stale():
		err := fmt.Errorf("%w: the run of task %s works on contract version %d, accepted is %d", errStart, t.ID, t.Attempt().Contract.Version, t.Contract().Contract.Version)
		return withHint(err, "nothing of it counts any more: a controller ends it: deed attempt interrupt %s; then deed recover %s", t.ID, t.ID)
	case finding != nil && !needsRecovery(t, who):
		err := fmt.Errorf("%w: fatal finding %s is open: %s", errStart, finding.EventID, finding.Data.Text)
		return withHint(err, "an owner or reviewer closes it: deed finding acknowledge %s --finding %s --reason TEXT", t.ID, finding.EventID)
	case ambiguous(t) && !needsRecovery(t, who):
		err := fmt.Errorf("%w: nobody knows what became of %s", errStart, strings.Join(openEffects(t), ", "))
		if moves := effectMoves(state); len(moves) > 0 {
			err = withHint(err, "%s", moves[0].String())
		}
		return err
	}
	return nil
}

// ambiguous reports whether nobody knows what became of an effect.
func ambiguous(t *projections.Task) bool {
	return slices.ContainsFunc(t.Effects, func(e projections.Effect) bool { return e.Ambiguous() })
}

// needsRecovery reports whether nothing but a recovery leads on.
func needsRecovery(t *projections.Task, who callers) bool {
	if l := t.Lease; l != nil {
		return who.holds(l) && l.Purpose == events.PurposeRecover
	}
	return t.State == projections.Interrupted || t.Stale() && t.State != projections.Escalated
}

// recoverer returns a session of who recovers: the named controller, or the
// caller with that role.
func (s *session) recoverer(state protocol.TaskState, a author, o resuming) (*session, error) {
	by := &session{env: s.env, flags: s.flags, printer: s.printer}
	if o.controller != "" {
		by.flags.as, by.flags.keyFile = o.controller, ""
		return by, nil
	}
	if a.actor.Has(events.RoleController) {
		return by, nil
	}
	var names []string
	for _, actor := range a.registry.Actors {
		if actor.Has(events.RoleController) && actor.Signs() {
			names = append(names, actor.Name)
		}
	}
	t := state.Task
	who := first(strings.Join(names, " or "), "a controller, of whom there is none yet")
	err := fmt.Errorf("%w: task %s is %s and waits for a recovery by %s", errPending, t.ID, t.State, who)
	return nil, withHint(err, "deed recover %s --as %s; then deed resume %s", t.ID, first(strings.Join(names, "|"), "CONTROLLER"), t.ID)
}

// takeUp claims the lease that the task waits for, unless the caller holds it.
func (s *session) takeUp(ctx context.Context, state protocol.TaskState, a author, o resuming, done *resumed) error {
	t := state.Task
	if l := t.Lease; l != nil {
		done.Purpose, done.Fence = l.Purpose, l.Fence
		return s.bind(ctx, t.ID)
	}
	i := slices.IndexFunc(ledger.NewRules().Claims(t), func(p events.Purpose) bool { return a.actor.Has(p.Claimant()) })
	if i < 0 {
		err := fmt.Errorf("%w: task %s is %s and waits for %s", errPending, t.ID, t.State, waitsFor(state.Waiting))
		if moves := movesOf(state); len(moves) > 0 {
			err = withHint(err, "%s; then deed resume %s", moves[0].String(), t.ID)
		}
		return err
	}
	if r := t.Reserved; r != nil && r.To != a.actor.Name && s.env.Now().UnixNano() < r.Until {
		return fmt.Errorf("%w: task %s is handed over to %s, who alone may claim until %s", errPending, t.ID, r.To, when(r.Until))
	}
	lease, err := s.claim(ctx, t.ID, ledger.NewRules().Claims(t)[i], o.term)
	if err != nil {
		return s.lostClaim(ctx, t.ID, a, err)
	}
	done.Purpose, done.Fence, done.Claimed, done.DryRun, done.World = lease.Purpose, lease.Fence, !lease.DryRun, lease.DryRun, &lease.World
	return nil
}

// lostClaim says why a claim was refused: somebody was faster, or something
// stops the task since it was looked at.
func (s *session) lostClaim(ctx context.Context, task string, a author, refused error) error {
	if !passedOver(refused) {
		return refused
	}
	state, err := s.existing(ctx, task)
	if err != nil {
		return refused
	}
	if err := mayStart(state, callers{actor: a.actor.Name}); err != nil {
		return err
	}
	return withCodeHint(refused, ledger.CodeStale, "is this the task's worktree? If it is, a controller decides how to go on: deed recover %s", task)
}

// showResume prints the packet of whoever goes on.
func (s *session) showResume(ctx context.Context, a author, done resumed) error {
	p, seal, err := s.readPacket(ctx, protocol.Ask{Task: done.Task, Packet: "resume", Actor: a.actor.Name, Role: done.Purpose.Claimant()})
	if err != nil {
		return fmt.Errorf("the lease is yours with fence %d, its packet is not printed: %w", done.Fence, err)
	}
	state, err := s.existing(ctx, done.Task)
	if err != nil {
		return err
	}
	done.State, done.Packet = state.Task.State, packetOf(p)
	if s.json {
		return s.answer(p.Position, "resume", done, nil)
	}
	w := &textWriter{out: s.out}
	w.block(p.Markdown)
	w.line("")
	w.line("%s", seal)
	if r := done.Recovery; r != nil {
		w.line("recovered %s: %s", done.Task, r.Decision)
	}
	switch {
	case done.DryRun:
		w.line("a claim of %s for %s would be accepted; nothing was written", done.Task, string(done.Purpose))
	case done.Claimed:
		w.line("claimed %s for %s: fence %d", done.Task, string(done.Purpose), done.Fence)
	default:
		w.line("the lease of %s for %s is yours already: fence %d", done.Task, string(done.Purpose), done.Fence)
	}
	return w.err
}
