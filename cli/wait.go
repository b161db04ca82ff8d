package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

// waited is the data of "deed wait".
type waited struct {
	Task     string            `json:"task"`
	State    projections.State `json:"state"`
	Position events.Position   `json:"position"`
	Reached  bool              `json:"reached"`
	Wanted   []string          `json:"for"`
	// Waiting, Unmet and Moves say what is missing, for whom, and which
	// commands lead on; empty once reached.
	Waiting *projections.Waiting `json:"waiting_on,omitempty"`
	Unmet   []string             `json:"unmet"`
	Moves   []move               `json:"moves"`
}

// newWaitCommand builds "deed wait".
func newWaitCommand(e *Env, f *flags) *cobra.Command {
	var wanted []string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "wait [TASK] --for STATE[,STATE]", Short: "Wait until a task is in a state", Args: cobra.MaximumNArgs(1),
		Long: `Follow a task until it is in one of the states. Exit code 0: it is. 124: it was not in
time, and the answer names what is unmet: the event, who may give it, and what stands
in the way. 7: the task has ended in another state, so it never will be.

The events are followed as they come; a service that stops and comes up again is
followed too. A task that does not exist yet is waited for.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			if len(wanted) == 0 {
				return choose("--for", projections.None, projections.States()[1:])
			}
			for _, state := range wanted {
				if err := choose("--for", projections.State(state), projections.States()[1:]); err != nil {
					return err
				}
			}
			if timeout < 0 {
				return fmt.Errorf("%w: --timeout %v, want 0 for no limit, or more", errUsage, timeout)
			}
			return s.wait(ctx, task, wanted, timeout)
		}),
	}
	cmd.Flags().StringSliceVar(&wanted, "for", nil, "states to wait for: "+either(projections.States()[1:]))
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait; 0 for no limit")
	return cmd
}

// awaiting is a wait under way: the task as it was read last.
type awaiting struct {
	wanted []string
	state  protocol.TaskState
}

// over reports whether the task is in a wanted state, or in a final one that
// it will never leave.
func (a *awaiting) over() bool {
	return slices.Contains(a.wanted, string(a.state.Task.State)) || a.state.Task.State.Final() || a.state.Task.Blocked != nil
}

// errAuthority says that the registry changed, which can move tasks too: the
// task is read again.
var errAuthority = errors.New("authority changed")

func (s *session) wait(ctx context.Context, task string, wanted []string, timeout time.Duration) error {
	whole := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	a := &awaiting{wanted: wanted}
	var err error
	if a.state, err = s.task(whole, task); err != nil {
		return err
	}
	if a.state.Task.Sequence == 0 {
		a.state.Position = 0 // it may have begun since it was looked for
		s.note("there is no task %s yet: waiting for it", task)
	}
	for !a.over() && ctx.Err() == nil {
		err := s.followHere(ctx, func(here context.Context, r journal.Reader) error { return a.follow(here, r) })
		if ctx.Err() == nil && !errors.Is(err, errEnough) && !errors.Is(err, errMoved) && !errors.Is(err, errAuthority) && classify(err).exit != ExitUnavailable {
			return err
		}
		if errors.Is(err, errAuthority) {
			var state protocol.TaskState
			if state, err = s.task(whole, task); err == nil {
				a.state = state
				continue
			}
			if classify(err).exit != ExitUnavailable { // else the service stopped just now
				return err
			}
		}
		if ctx.Err() == nil && !errors.Is(err, errEnough) {
			_ = s.redial(ctx) // fails only when the time is over
		}
	}
	if whole.Err() != nil {
		return whole.Err() // interrupted
	}
	return s.showWaited(a, timeout)
}

// follow folds what is appended to the task after the state that is known,
// until the wait is over: errEnough.
func (a *awaiting) follow(ctx context.Context, r journal.Reader) error {
	return r.Follow(ctx, a.state.Position+1, func(stored journal.Record) error {
		record, err := openRecord(stored)
		if err != nil {
			return err
		}
		if record.Event.Source.Task == "" && a.state.Task.Sequence > 0 {
			return errAuthority
		}
		if record.Event.Source.Task == a.state.Task.ID {
			if err := a.state.Task.Apply(record); err != nil {
				return fmt.Errorf("%w: position %d: %w", journal.ErrCorrupt, record.Position, err)
			}
		}
		a.state.Position = record.Position
		if a.over() {
			return errEnough
		}
		return nil
	})
}

// showWaited prints how a wait ended.
func (s *session) showWaited(a *awaiting, timeout time.Duration) error {
	t := a.state.Task
	a.state.Next, a.state.Waiting, a.state.Items = ledger.NewRules().Next(t), t.Waiting(), t.Items()
	d := waited{Task: t.ID, State: t.State, Position: a.state.Position, Wanted: a.wanted, Unmet: []string{}, Moves: []move{},
		Reached: slices.Contains(a.wanted, string(t.State))}
	if d.Reached {
		return s.answer(d.Position, "wait", d, func(w *textWriter) { w.line("task %s is %s", t.ID, t.State) })
	}
	d.Waiting, d.Unmet, d.Moves = &a.state.Waiting, unmet(a.state), movesOf(a.state)
	if err := s.answer(d.Position, "wait", d, func(w *textWriter) { w.waited(d) }); err != nil {
		return err
	}
	names := strings.Join(a.wanted, " or ")
	switch {
	case t.Blocked != nil:
		return told{refuse(ledger.CodeDamage, "wait", "task %s is blocked at position %d", t.ID, t.Blocked.Position)}
	case t.State.Final():
		return told{withHint(refuseState("wait", "task %s has ended: it is %s and will never be %s", t.ID, t.State, names), "deed log %s tells how it came to this", t.ID)}
	}
	err := fmt.Errorf("%w: task %s is %s and not %s after %v: it waits for %s", errWaited, t.ID, t.State, names, timeout, waitsFor(a.state.Waiting))
	return told{withHint(err, "deed why %s says what leads on; wait again with more time", t.ID)}
}

// unmet lists what stands between a task and whatever comes next.
func unmet(state protocol.TaskState) []string {
	d, list := whyOf(state), []string{}
	if waiting := waitsFor(state.Waiting); waiting != "" {
		list = append(list, waiting)
	}
	if p := state.Task.Pause; p != nil {
		list = append(list, "paused by "+p.Actor)
	}
	for _, key := range d.OpenEffects {
		list = append(list, "effect "+shortKey(key)+" is "+string(state.Task.Effect(key).Status()))
	}
	for _, f := range d.Findings {
		if f.Data.Severity == "fatal" {
			list = append(list, "fatal finding "+f.EventID+" is open")
		}
	}
	if d.Escalation != nil {
		list = append(list, "escalated: "+d.Escalation.Reason)
	}
	if d.Stale {
		list = append(list, "the attempt works on an older contract")
	}
	for _, item := range d.Unproven {
		if item.Required {
			list = append(list, "item "+item.ID+" is "+string(item.Status))
		}
	}
	return list
}

// waited writes for people what a task still waits for.
func (w *textWriter) waited(d waited) {
	w.line("task %s is %s", d.Task, d.State)
	for _, text := range d.Unmet {
		w.line("  unmet     %s", text)
	}
	for _, m := range d.Moves {
		w.line("next: %s", m.String())
	}
}
