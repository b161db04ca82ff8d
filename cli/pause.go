package cli

import (
	"context"
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

// newPauseCommand builds "deed pause".
func newPauseCommand(e *Env, f *flags) *cobra.Command {
	return newHoldCommand(e, f, hold{
		cobra.Command{
			Use: "pause [TASK] --reason TEXT", Short: "Let nothing advance on a task",
			Long: `Let nothing advance on a task until it is unpaused. What ends safely still may: a lease
can be released or interrupted, what became of effects, receipts and findings are taken,
and the task can be escalated or cancelled. Whoever works on it is told at its next
write, and by deed resume and deed why.`,
		},
		"paused", func(reason string) events.Payload { return &events.Pause{Reason: reason} },
	})
}

// newUnpauseCommand builds "deed unpause".
func newUnpauseCommand(e *Env, f *flags) *cobra.Command {
	return newHoldCommand(e, f, hold{
		cobra.Command{
			Use: "unpause [TASK] --reason TEXT", Short: "Let a paused task go on",
			Long: `Let a paused task go on. What was recorded meanwhile takes its effect now: a receipt
that failed leads to a repair, one that passed to the review.`,
		},
		"unpaused", func(reason string) events.Payload { return &events.Unpause{Reason: reason} },
	})
}

// hold is a command that stops a task or lets it go on.
type hold struct {
	cmd     cobra.Command
	did     string // in the past tense
	payload func(reason string) events.Payload
}

func newHoldCommand(e *Env, f *flags, h hold) *cobra.Command {
	var reason string
	cmd := &h.cmd
	cmd.Args = cobra.MaximumNArgs(1)
	cmd.RunE = e.action(f, func(ctx context.Context, s *session, args []string) error {
		task, err := s.taskArg(ctx, args)
		if err != nil {
			return err
		}
		if reason == "" {
			return fmt.Errorf("%w: say why with --reason", errUsage)
		}
		ack, err := s.append(ctx, task, func(state protocol.TaskState, _ author) (draft, error) {
			return draft{payload: h.payload(reason)}, exists(state)
		})
		if err != nil {
			return err
		}
		return s.acked(ack, "%s %s", h.did, task)
	})
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	return writes(cmd, f)
}
