package cli

import (
	"context"

	"github.com/deedledger/deed/events"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newDecisionCommand builds "deed decision".
func newDecisionCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "decision", Short: "Record, freeze and withdraw decisions",
		Long: `A decision is a small, disputable record of a choice: what was chosen, what else there
was, and the evidence that it rests on. The owner may freeze it with a guard: what a
change is held against from then on. A decision that was withdrawn, superseded or has
expired guards nothing.`,
	}
	cmd.AddCommand(newDecisionRecordCommand(e, f), newDecisionFreezeCommand(e, f),
		newDecisionEndCommand(e, f, decisionEnd{
			use: "unfreeze", short: "End a decision's guard; the decision stays", did: "unfroze a decision of",
			payload: func(id, reason string) events.Payload { return &events.Thaw{Decision: id, Reason: reason} },
		}),
		newDecisionEndCommand(e, f, decisionEnd{
			use: "withdraw", short: "Withdraw a decision and its guard", did: "withdrew a decision of",
			payload: func(id, reason string) events.Payload { return &events.Retraction{Decision: id, Reason: reason} },
		}))
	return cmd
}

func newDecisionRecordCommand(e *Env, f *flags) *cobra.Command {
	var d events.Decision
	var evidence []string
	cmd := newStatementCommand(e, f, statement{
		use: "record TASK --id ID --title TEXT --choice TEXT --evidence KIND:VALUE", short: "Record a decision with its evidence", did: "recorded a decision of",
		payload: func(ctx context.Context, s *session, a author) (events.Payload, error) {
			if err := needs("--id", d.Decision, "--title", d.Title, "--choice", d.Choice); err != nil {
				return nil, err
			}
			d := d
			if d.Owner == "" {
				d.Owner = a.actor.Name
			}
			var err error
			d.Evidence, err = s.evidence(ctx, evidence)
			return &d, err
		},
	})
	fs := cmd.Flags()
	fs.StringVar(&d.Decision, "id", "", "the decision's name, unique in the task")
	fs.StringVar(&d.Title, "title", "", "what it is about, one line")
	fs.StringVar(&d.Choice, "choice", "", "what was chosen")
	fs.StringArrayVar(&d.Alternatives, "alternative", nil, "what else there was; may be repeated")
	fs.StringArrayVar(&evidence, "evidence", nil, evidenceHelp)
	fs.StringVar(&d.Owner, "owner", "", "who answers for it; default: who records it")
	fs.StringVar(&d.Expires, "expires", "", "until when it holds, such as 2030-01-31T00:00:00Z; default: for ever")
	fs.StringVar(&d.Supersedes, "supersedes", "", "the decision that this one takes the place of")
	return cmd
}

// guardFlags binds the lists of a guard.
func guardFlags(fs *pflag.FlagSet, g *events.Guard) {
	fs.StringArrayVar(&g.Forbids, "forbid", nil, "a text that must not occur in the guarded files; may be repeated")
	fs.StringArrayVar(&g.Keywords, "keyword", nil, "a word by which work on the matter is recognised; may be repeated")
	fs.StringArrayVar(&g.Paths, "path", nil, "pattern of the guarded files; default: every file; may be repeated")
}

func newDecisionFreezeCommand(e *Env, f *flags) *cobra.Command {
	var d events.Freeze
	cmd := newStatementCommand(e, f, statement{
		use: "freeze TASK --id ID --reason TEXT --contain|--forbid|--keyword|--path …", short: "Guard a decision as the owner", did: "froze a decision of",
		payload: func(context.Context, *session, author) (events.Payload, error) {
			return &d, needs("--id", d.Decision, "--reason", d.Reason)
		},
	})
	fs := cmd.Flags()
	fs.StringVar(&d.Decision, "id", "", "the decision's name")
	fs.StringVar(&d.Reason, "reason", "", "why")
	fs.StringArrayVar(&d.Guard.Contains, "contain", nil, "a text that must occur in the guarded files; may be repeated")
	fs.StringVar(&d.Expires, "expires", "", "until when the guard holds, such as 2030-01-31T00:00:00Z; default: as long as the decision")
	guardFlags(fs, &d.Guard)
	return cmd
}

// decisionEnd is a command that ends something of a decision.
type decisionEnd struct {
	use, short, did string
	payload         func(id, reason string) events.Payload
}

func newDecisionEndCommand(e *Env, f *flags, c decisionEnd) *cobra.Command {
	var id, reason string
	cmd := newStatementCommand(e, f, statement{
		use: c.use + " TASK --id ID --reason TEXT", short: c.short, did: c.did,
		payload: func(context.Context, *session, author) (events.Payload, error) {
			return c.payload(id, reason), needs("--id", id, "--reason", reason)
		},
	})
	cmd.Flags().StringVar(&id, "id", "", "the name of what ends")
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	return cmd
}
