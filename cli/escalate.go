package cli

import (
	"context"
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace"
	"github.com/spf13/cobra"
)

// newEscalateCommand builds "deed escalate".
func newEscalateCommand(e *Env, f *flags) *cobra.Command {
	var x events.Escalation
	cmd := &cobra.Command{
		Use: "escalate TASK --reason TEXT --next TEXT", Short: "Stop and ask a person", Args: cobra.MaximumNArgs(1),
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			if x.Reason == "" || x.NextStep == "" {
				return fmt.Errorf("%w: say why with --reason and what a person can do with --next", errUsage)
			}
			var same steady
			ack, err := s.append(ctx, task, func(state protocol.TaskState, a author) (draft, error) {
				if err := exists(state); err != nil {
					return draft{}, err
				}
				d := draft{payload: &x}
				if l := state.Task.Lease; l != nil && l.Actor == a.actor.Name {
					d.fence = l.Fence
				}
				return d, same.hold("the task's state", state.Task.State.String(), events.FormatFence(state.Task.Fence))
			})
			if err != nil {
				return err
			}
			return s.acked(ack, "escalated %s", task)
		}),
	}
	cmd.Flags().StringVar(&x.Reason, "reason", "", "why a person is needed")
	cmd.Flags().StringVar(&x.NextStep, "next", "", "what a person can do")
	return writes(cmd, f)
}

// newEscalationCommand builds "deed escalation".
func newEscalationCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "escalation", Short: "Settle what was escalated"}
	var r events.Resolution
	var repin bool
	resolve := &cobra.Command{
		Use: "resolve TASK --action ACTION --reason TEXT", Short: "Decide as the owner how an escalated task goes on", Args: cobra.MaximumNArgs(1),
		Long: "Decide how an escalated task goes on: resume, reverify, repair (--allowance grants further repairs), new-attempt or cancel.\n\n" +
			"--repin pins the policy in force and the boundary of the accepted contract to the open attempt.",
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			if r.Action == "" || r.Reason == "" {
				return fmt.Errorf("%w: escalation resolve TASK --action resume|reverify|repair|new-attempt|cancel --reason TEXT", errUsage)
			}
			if err := choose("--action", r.Action, resolutions()); err != nil {
				return err
			}
			return s.resolve(ctx, task, r, repin)
		}),
	}
	resolve.Flags().StringVar(&r.Action, "action", "", "how the task goes on: "+either(resolutions()))
	resolve.Flags().StringVar(&r.Reason, "reason", "", "why")
	resolve.Flags().Int64Var(&r.Allowance, "allowance", 0, "further repairs, with action repair")
	resolve.Flags().BoolVar(&repin, "repin", false, "pin the policy and the boundary of now")
	cmd.AddCommand(writes(resolve, f))
	return cmd
}

func (s *session) resolve(ctx context.Context, task string, r events.Resolution, repin bool) error {
	var same steady
	ack, err := s.append(ctx, task, func(state protocol.TaskState, _ author) (draft, error) {
		if err := exists(state); err != nil {
			return draft{}, err
		}
		x := state.Task.Escalation
		if x == nil {
			return draft{}, refuseState("escalation.resolved", "task %s is not escalated", task)
		}
		d := r
		if repin {
			c := state.Task.Contract()
			if c == nil {
				return draft{}, refuseState("escalation.resolved/repin", "task %s has no accepted contract", task)
			}
			if err := s.repin(ctx, state, &d); err != nil {
				return draft{}, err
			}
		}
		return draft{payload: &d}, same.hold("the escalation", x.Reason, x.NextStep, contractDigest(state.Task), d.Policy, d.Boundary)
	})
	if err != nil {
		return err
	}
	return s.acked(ack, "resolved the escalation of %s: %s", task, r.Action)
}

// repin fills what a resolution pins anew: the policy in force, and what the
// contract and the repository's policy let a run do now. Without an attempt, or
// for a new one, the next attempt pins them itself.
func (s *session) repin(ctx context.Context, state protocol.TaskState, d *events.Resolution) error {
	t := state.Task
	d.Policy = state.Policy
	if t.Attempt() == nil {
		return nil
	}
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return err
	}
	l, err := s.attemptLimits(ctx, repo, t)
	if err == nil {
		err = l.fault
	}
	d.Boundary = l.Digest()
	d.Rights = &events.EffectRights{Effects: kinds(l.Effects), Approvals: kinds(l.Approvals)}
	return err
}
