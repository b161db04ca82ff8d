package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/spf13/cobra"
)

// newStepCommand builds "deed step".
func newStepCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "step", Short: "Say which bounded step a run works on, and how it ended",
		Long: `A step is one bounded piece of a run. Who takes over reads in the resume packet which
steps are done, with their evidence, and which one was under way.`,
	}
	cmd.AddCommand(newStepIssueCommand(e, f), newStepCompleteCommand(e, f), newStepFailCommand(e, f))
	return cmd
}

func newStepIssueCommand(e *Env, f *flags) *cobra.Command {
	var d events.StepIssue
	cmd := newStatementCommand(e, f, statement{
		use: "issue TASK --id ID --title TEXT --success TEXT", short: "Begin a step", did: "began a step of", held: true,
		payload: func(context.Context, *session, author) (events.Payload, error) {
			return &d, needs("--id", d.Step, "--title", d.Title, "--success", d.Success)
		},
	})
	fs := cmd.Flags()
	fs.StringVar(&d.Step, "id", "", "the step's name, unique in the attempt")
	fs.StringVar(&d.Unit, "unit", "", "the unit of the plan that it belongs to")
	fs.StringVar(&d.Title, "title", "", "what is to be done, one line")
	fs.StringVar(&d.Success, "success", "", "how anybody can tell that it is done, one line")
	fs.StringArrayVar(&d.Files, "file", nil, "pattern of files that it is about; may be repeated")
	return cmd
}

func newStepCompleteCommand(e *Env, f *flags) *cobra.Command {
	var d events.StepCompletion
	var evidence []string
	var revision string
	cmd := newStatementCommand(e, f, statement{
		use: "complete TASK --id ID --summary TEXT --evidence KIND:VALUE", short: "End a step with its evidence", did: "completed a step of", held: true,
		payload: func(ctx context.Context, s *session, _ author) (events.Payload, error) {
			if err := needs("--id", d.Step, "--summary", d.Summary); err != nil {
				return nil, err
			}
			d := d
			var err error
			if revision != "" {
				if d.Commit, err = s.commit(ctx, revision); err != nil {
					return nil, err
				}
			}
			d.Evidence, err = s.evidence(ctx, evidence)
			return &d, err
		},
	})
	fs := cmd.Flags()
	fs.StringVar(&d.Step, "id", "", "the step's name")
	fs.StringVar(&d.Summary, "summary", "", "what was done")
	fs.StringArrayVar(&evidence, "evidence", nil, evidenceHelp)
	fs.StringVar(&revision, "commit", "", "commit that holds the step's changes")
	return cmd
}

func newStepFailCommand(e *Env, f *flags) *cobra.Command {
	var d events.StepFailure
	var evidence []string
	cmd := newStatementCommand(e, f, statement{
		use: "fail TASK --id ID --reason TEXT", short: "Give a step up", did: "gave up a step of", held: true,
		payload: func(ctx context.Context, s *session, _ author) (events.Payload, error) {
			if err := needs("--id", d.Step, "--reason", d.Reason); err != nil {
				return nil, err
			}
			d := d
			var err error
			d.Evidence, err = s.evidence(ctx, evidence)
			return &d, err
		},
	})
	fs := cmd.Flags()
	fs.StringVar(&d.Step, "id", "", "the step's name")
	fs.StringVar(&d.Reason, "reason", "", "why it is given up")
	fs.StringArrayVar(&evidence, "evidence", nil, evidenceHelp)
	return cmd
}

// newProgressCommand builds "deed progress".
func newProgressCommand(e *Env, f *flags) *cobra.Command {
	var d events.Progress
	var count string
	cmd := newStatementCommand(e, f, statement{
		use: "progress TASK --note TEXT", short: "Say how far a run has come", did: "noted progress of", held: true,
		long: "Say how far a run has come. It proves nothing; it shows that the run is not stuck.",
		payload: func(context.Context, *session, author) (events.Payload, error) {
			d := d
			if count != "" {
				var err error
				if d.Done, d.Total, err = parseCount("--count", count); err != nil {
					return nil, err
				}
			}
			return &d, needs("--note", d.Note)
		},
	})
	fs := cmd.Flags()
	fs.StringVar(&d.Note, "note", "", "how far it has come")
	fs.StringVar(&d.Step, "step", "", "the step that it is about")
	fs.StringVar(&count, "count", "", "DONE/TOTAL of what the note names")
	return cmd
}

// parseCount reads two numbers, "DONE/TOTAL".
func parseCount(flag, text string) (done, total int64, err error) {
	a, b, _ := strings.Cut(text, "/")
	done, err = strconv.ParseInt(a, 10, 64)
	if err == nil {
		total, err = strconv.ParseInt(b, 10, 64)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %s %q, want two numbers such as 3/10", errUsage, flag, text)
	}
	return done, total, nil
}
