package cli

import (
	"context"

	"github.com/deedledger/deed/events"
	"github.com/spf13/cobra"
)

// newApproachCommand builds "deed approach".
func newApproachCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "approach", Short: "Ban ways that must not be taken again, and lift a ban",
		Long: `A ban names a way that was tried or judged and must not come back after a hand-over.
It stands in every resume packet with its reason, until the owner lifts it or it expires.`,
	}
	cmd.AddCommand(newApproachBanCommand(e, f), newDecisionEndCommand(e, f, decisionEnd{
		use: "unban", short: "Lift a ban", did: "lifted a ban of",
		payload: func(id, reason string) events.Payload { return &events.Unban{Approach: id, Reason: reason} },
	}))
	return cmd
}

func newApproachBanCommand(e *Env, f *flags) *cobra.Command {
	var d events.Ban
	var evidence []string
	cmd := newStatementCommand(e, f, statement{
		use: "ban TASK --id ID --title TEXT --reason TEXT --forbid|--keyword|--path …", short: "Ban an approach as the owner", did: "banned an approach for",
		payload: func(ctx context.Context, s *session, _ author) (events.Payload, error) {
			if err := needs("--id", d.Approach, "--title", d.Title, "--reason", d.Reason); err != nil {
				return nil, err
			}
			d := d
			var err error
			d.Evidence, err = s.evidence(ctx, evidence)
			return &d, err
		},
	})
	fs := cmd.Flags()
	fs.StringVar(&d.Approach, "id", "", "the approach's name, unique in the task")
	fs.StringVar(&d.Title, "title", "", "what it is, one line")
	fs.StringVar(&d.Reason, "reason", "", "why it must not be taken")
	fs.StringArrayVar(&evidence, "evidence", nil, evidenceHelp)
	fs.StringVar(&d.Expires, "expires", "", "until when it is banned, such as 2030-01-31T00:00:00Z; default: for ever")
	guardFlags(fs, &d.Guard)
	return cmd
}
