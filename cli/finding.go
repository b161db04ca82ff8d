package cli

import (
	"context"
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

// newFindingCommand builds "deed finding".
func newFindingCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "finding", Short: "Record and close mismatches between claims and facts"}
	cmd.AddCommand(newFindingRecordCommand(e, f), newFindingAcknowledgeCommand(e, f))
	return cmd
}

func newFindingRecordCommand(e *Env, f *flags) *cobra.Command {
	var d events.Finding
	cmd := &cobra.Command{
		Use: "record TASK --severity fatal|check|hint --rule NAME --text TEXT", Short: "Record a finding; a fatal one stops every advance", Args: cobra.MaximumNArgs(1),
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			if err := choose("--severity", d.Severity, findingSeverities()); err != nil {
				return err
			}
			d := d
			if d.Path != "" {
				if d.Path, err = encodedPath(d.Path); err != nil {
					return err
				}
			}
			ack, err := s.append(ctx, task, func(state protocol.TaskState, _ author) (draft, error) {
				return draft{payload: &d}, exists(state)
			})
			if err != nil {
				return err
			}
			return s.acked(ack, "recorded a finding of severity %s on %s", d.Severity, task)
		}),
	}
	cmd.Flags().StringVar(&d.Severity, "severity", "check", "how bad it is: "+either(findingSeverities()))
	cmd.Flags().StringVar(&d.Rule, "rule", "", "short name of what is broken")
	cmd.Flags().StringVar(&d.Text, "text", "", "what was found")
	cmd.Flags().StringVar(&d.Path, "path", "", "the file that it is about")
	return writes(cmd, f)
}

func newFindingAcknowledgeCommand(e *Env, f *flags) *cobra.Command {
	var d events.Acknowledgement
	cmd := &cobra.Command{
		Use: "acknowledge TASK --finding ID --reason TEXT", Short: "Close a finding as owner or reviewer", Args: cobra.MaximumNArgs(1),
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			if d.Finding == "" || d.Reason == "" {
				return fmt.Errorf("%w: finding acknowledge TASK --finding ID --reason TEXT", errUsage)
			}
			ack, err := s.append(ctx, task, func(state protocol.TaskState, _ author) (draft, error) {
				return draft{payload: &d}, exists(state)
			})
			if err != nil {
				return err
			}
			return s.acked(ack, "closed finding %s of %s", d.Finding, task)
		}),
	}
	cmd.Flags().StringVar(&d.Finding, "finding", "", "event id of the finding")
	cmd.Flags().StringVar(&d.Reason, "reason", "", "why it may be closed")
	return writes(cmd, f)
}
