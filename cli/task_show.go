package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

// newTaskShowCommand builds "deed task show".
func newTaskShowCommand(e *Env, f *flags) *cobra.Command {
	var at uint64
	cmd := &cobra.Command{
		Use: "show [TASK]", Short: "Show where a task stands", Args: cobra.MaximumNArgs(1),
		Long: `Show where a task stands: contract, attempt, lease, acceptance items, effects and
findings. -o json has all of it.

--at shows where it stood at a position: the log is replayed and verified up to
there, by the rules and the policy of that time. Where no service runs the stopped
folder is read.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			state, err := s.taskAt(ctx, task, events.Position(at))
			if err != nil {
				return err
			}
			return s.answer(state.Position, "task", state, func(w *textWriter) { w.task(state) })
		}),
	}
	cmd.Flags().Uint64Var(&at, "at", 0, "as of this position; 0 for now")
	return cmd
}

// taskAt returns a task's state as of a position, 0 for now.
func (s *session) taskAt(ctx context.Context, task string, at events.Position) (protocol.TaskState, error) {
	if at == 0 {
		return s.existing(ctx, task)
	}
	if !events.ValidTask(task) || at >= 1<<53 {
		return protocol.TaskState{}, fmt.Errorf("%w: task %q at position %d", errUsage, task, at)
	}
	book, audit, _, err := s.verified(ctx, nil, at)
	if err != nil {
		return protocol.TaskState{}, err
	}
	if fault, ok := errors.AsType[told](faulty(audit)); ok {
		return protocol.TaskState{}, fault.error // nothing was printed yet
	}
	if at > book.State.Position {
		return protocol.TaskState{}, fmt.Errorf("%w: position %d: the log ends at %d", errMissing, at, book.State.Position)
	}
	t := book.State.Tasks[task]
	if t == nil {
		return protocol.TaskState{}, fmt.Errorf("%w: there was no task %q at position %d", errMissing, task, at)
	}
	return protocol.TaskState{
		Position: book.State.Position, Task: t, Policy: book.State.Registry.Policy,
		Next: ledger.NewRules().Next(t), Waiting: t.Waiting(), Items: t.Items(),
	}, nil
}
