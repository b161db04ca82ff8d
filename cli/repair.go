package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

// newRepairCommand builds "deed repair".
func newRepairCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "repair", Short: "Ask for and accept a bounded new try"}
	cmd.AddCommand(newRepairAcceptCommand(e, f), newRepairRequestCommand(e, f))
	return cmd
}

func newRepairAcceptCommand(e *Env, f *flags) *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use: "accept TASK", Short: "Let the queued repair be worked on", Args: cobra.MaximumNArgs(1),
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			kind := ""
			var same steady
			ack, err := s.append(ctx, task, func(state protocol.TaskState, _ author) (draft, error) {
				if err := exists(state); err != nil {
					return draft{}, err
				}
				r := state.Task.Repair
				if r == nil {
					return draft{}, refuseState("repair.accepted", "no repair of task %s is queued", task)
				}
				kind = r.Kind
				return draft{payload: &events.RepairAcceptance{Kind: kind, Note: note}},
					same.hold("the queued repair", append([]string{r.Kind, r.Compensate, r.Reason}, r.Items...)...)
			})
			if err != nil {
				return err
			}
			return s.acked(ack, "accepted the repair of %s, kind %s", task, kind)
		}),
	}
	cmd.Flags().StringVar(&note, "note", "", "what the one who repairs should know")
	return writes(cmd, f)
}

func newRepairRequestCommand(e *Env, f *flags) *cobra.Command {
	var r events.RepairRequest
	cmd := &cobra.Command{
		Use: "request TASK --item A1 --reason TEXT", Short: "Ask for a repair after a failure or a rejection", Args: cobra.MaximumNArgs(1),
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			if len(r.Items) == 0 || r.Reason == "" {
				return fmt.Errorf("%w: repair request TASK --item A1 --reason TEXT", errUsage)
			}
			slices.Sort(r.Items)
			r.Items = slices.Compact(r.Items)
			var same steady
			ack, err := s.append(ctx, task, func(state protocol.TaskState, _ author) (draft, error) {
				if err := exists(state); err != nil {
					return draft{}, err
				}
				binding, _ := state.Task.Binding()
				return draft{payload: &r}, same.hold("the result", binding.Result, binding.Contract)
			})
			if err != nil {
				return err
			}
			return s.acked(ack, "asked for a repair of %s", task)
		}),
	}
	cmd.Flags().StringSliceVar(&r.Items, "item", nil, "acceptance item to mend")
	cmd.Flags().StringVar(&r.Reason, "reason", "", "why")
	return writes(cmd, f)
}
