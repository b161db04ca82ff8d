package cli

import (
	"context"
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

// newCancelCommand builds "deed cancel".
func newCancelCommand(e *Env, f *flags) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "cancel TASK --reason TEXT", Short: "Cancel a task as its owner", Args: cobra.MaximumNArgs(1),
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			return s.end(ctx, args, closing{"cancelled", reason, &events.Cancellation{Reason: reason}})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	return writes(cmd, f)
}

// closing is how a task is to end.
type closing struct {
	did     string // in the past tense
	reason  string
	payload events.Payload
}

// end appends an event that ends a task, or lets it wait for its effects.
func (s *session) end(ctx context.Context, args []string, c closing) error {
	task, err := s.taskArg(ctx, args)
	if err != nil {
		return err
	}
	if c.reason == "" {
		return fmt.Errorf("%w: say why with --reason", errUsage)
	}
	var open []string
	var same steady
	ack, err := s.append(ctx, task, func(state protocol.TaskState, _ author) (draft, error) {
		if err := exists(state); err != nil {
			return draft{}, err
		}
		// Who ends a task means the task as it looks now: a contract accepted
		// meanwhile is another one.
		open = state.Task.OpenEffects()
		return draft{payload: c.payload}, same.hold("the contract", contractDigest(state.Task))
	})
	if err != nil {
		return err
	}
	if len(open) > 0 {
		s.note("the task ends when what is open is settled, %s: deed effect list %s", counted(len(open), "effect"), task)
	}
	return s.acked(ack, "%s %s", c.did, task)
}

// contractDigest returns the digest of the accepted contract, "" before one.
func contractDigest(t *projections.Task) string {
	if c := t.Contract(); c != nil {
		return c.Digest
	}
	return ""
}
