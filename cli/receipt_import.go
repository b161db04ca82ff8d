package cli

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/runner"
	"github.com/deedledger/deed/runner/testreport"
	"github.com/deedledger/deed/workspace"
	"github.com/spf13/cobra"
)

// importOptions are the flags of receipt import.
type importOptions struct {
	report, format, check, status string
	evidence                      []string
	attestation                   string
	source                        events.ReceiptSource
}

// newReceiptImportCommand builds "deed receipt import".
func newReceiptImportCommand(e *Env, f *flags) *cobra.Command {
	o := importOptions{source: events.ReceiptSource{Kind: "import"}}
	cmd := &cobra.Command{
		Use:   "import TASK --check ID --status STATUS --report FILE --format FORMAT --commit SHA --provider NAME --workflow FILE --run-id ID --run-url URL",
		Short: "Record what a CI run proved, as a verifier that stands for it", Args: cobra.MaximumNArgs(1),
		Long: `Record the outcome of one check from a run of a CI provider. It counts only as what it
is: of exactly the result's commit, by the workflow file as it stood at the base of the
change, from a run that was not used for another commit, attempt or try. The job's status
and the report must agree; success without a case that ran, and every status but success
and failure, prove nothing. So do two workflows that report one check, and a page or API
item without its --evidence. A report with the bytes of an earlier attempt's is refused.
The item's other checks are taken over from receipts of the same run by the same actor.

Exit code 0: the checks passed; 1: one failed; 8: one proved nothing. The receipt is
recorded in these three cases.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			return s.importReceipt(ctx, task, o)
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&o.check, "check", "", "id of the contract's check")
	fs.StringVar(&o.status, "status", "", "the job's status as the provider gives it, such as success, failure, skipped, cancelled")
	fs.StringVar(&o.report, "report", "", "the test report; may be left out where --evidence is given")
	fs.StringVar(&o.format, "format", "", "what the report is: "+either(testreport.Formats()))
	fs.StringVar(&o.source.Commit, "commit", "", "full id of the commit that the run tested")
	fs.StringVar(&o.source.Provider, "provider", "", "such as github-actions")
	fs.StringVar(&o.source.Workflow, "workflow", "", "path of the workflow file in the repository")
	fs.StringVar(&o.source.RunID, "run-id", "", "the provider's id of the run")
	fs.Int64Var(&o.source.RunAttempt, "run-attempt", 1, "the provider's number of the try of this run")
	fs.StringVar(&o.source.URL, "run-url", "", "where the run can be looked at")
	fs.StringArrayVar(&o.evidence, "evidence", nil, webHelp)
	fs.StringVar(&o.attestation, "attestation", "", attestationHelp)
	return writes(cmd, f)
}

// validate refuses flags that are missing or make no sense.
func (o *importOptions) validate() error {
	src := &o.source
	if err := needs("--check", o.check, "--status", o.status, "--commit", src.Commit, "--provider", src.Provider,
		"--workflow", src.Workflow, "--run-id", src.RunID, "--run-url", src.URL); err != nil {
		return err
	}
	switch {
	case src.RunAttempt < 1:
		return fmt.Errorf("%w: --run-attempt %d, want 1 or more", errUsage, src.RunAttempt)
	case o.report == "" && len(o.evidence) == 0:
		return fmt.Errorf("%w: --report or --evidence must be given", errUsage)
	case o.report != "":
		return choose("--format", o.format, testreport.Formats())
	}
	return nil
}

func (s *session) importReceipt(ctx context.Context, task string, o importOptions) error {
	if err := o.validate(); err != nil {
		return err
	}
	i := &receiptImport{check: o.check, status: o.status, source: o.source, clean: s.clean}
	var err error
	if i.source.Workflow, err = encodedPath(o.source.Workflow); err != nil {
		return err
	}
	if err := i.read(s, o); err != nil {
		return err
	}
	b := &receiptBuilder{session: s, url: o.source.URL, imported: i, confinement: "none: the run of a CI provider"}
	if b.web, err = parseWebs(o.evidence, o.check); err != nil {
		return err
	}
	i.shown = len(b.web) > 0
	ack, err := s.askReceipt(ctx, task, b)
	if err != nil || s.flags.dryRun {
		if err == nil {
			err = s.acked(ack, "")
		}
		return err
	}
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return err
	}
	if err := s.inspect(ctx, repo, b.task); err != nil {
		return err
	}
	result := b.task.Result.Data
	if err := i.bindWorkflow(ctx, repo, result.Base, result.Head); err != nil {
		return err
	}
	if err := b.markSelfmade(ctx, repo); err != nil {
		return err
	}
	if ack, err = s.append(ctx, task, b.decide(ctx)); err != nil {
		return err
	}
	return s.finishReceipt(ctx, b, ack, o.attestation)
}

// read reads the report, if there is one.
func (i *receiptImport) read(s *session, o importOptions) error {
	if o.report == "" {
		return nil
	}
	file, err := os.Open(s.abs(o.report))
	if err != nil {
		return fmt.Errorf("read report: %w", err)
	}
	defer func() { _ = file.Close() }()
	report, err := testreport.Read(o.format, file, testreport.Limits{})
	if err != nil {
		return err
	}
	if report.SHA256 == "" {
		return refuse(ledger.CodeLimit, "receipt.recorded/source", "the report has more than %d bytes", report.Bytes)
	}
	i.report = &report
	return nil
}

// outcome judges the run: the job's status first, then the report by it, or
// without a report the evidence.
func (i *receiptImport) outcome(check events.Check) runner.Outcome {
	got := runner.Outcome{ID: check.ID, ExitCode: -1, Class: runner.ClassInconclusive, Output: runner.Output{Digest: events.Sum(nil).String()}}
	if i.report != nil {
		got.Output.Digest = i.report.SHA256
		got.Report, got.Flaky = i.report, i.report.Counts.Flaky > 0
	}
	switch i.status {
	case "success":
		got.ExitCode = 0
	case "failure":
		got.ExitCode = 1
	default:
		got.Rule, got.Reason = "job-not-concluded", fmt.Sprintf("the job's status is %q", i.status)
	}
	switch {
	case got.ExitCode < 0:
	case i.report != nil:
		class, rule, reason := i.report.Verdict(got.ExitCode, check.Skips)
		got.Class, got.Rule, got.Reason = runner.Class(class), rule, reason
	case got.ExitCode == 0 && i.shown:
		got.Class, got.Rule = runner.ClassPass, "evidence-shown" // its outcomes are looked at after this
	default:
		got.Rule, got.Reason = "report-missing", "the job failed, and no report says what did"
	}
	got.Result = got.Class.Result()
	return got
}

// sameRun reports whether a receipt comes from the very run.
func (i *receiptImport) sameRun(source *events.ReceiptSource) bool {
	return source != nil && source.Kind == "import" && source.Provider == i.source.Provider && source.RunID == i.source.RunID
}

// unproven is the outcome of a check of which nothing is known.
func unproven(item events.Item, c events.Check) events.CheckOutcome {
	return events.CheckOutcome{
		ID: c.ID, Acceptance: item.ID, Command: c.Command, Outcome: events.OutcomeInconclusive, Class: events.ClassInconclusive,
		Rule: ruleNotRun, Exit: -1, Artifact: events.Sum(nil).String(),
	}
}

// ruleNotRun is the rule of a check that did not run.
const ruleNotRun = "not-run"

// find returns the check to import and its item.
func (i *receiptImport) find(c events.Contract) (events.Item, error) {
	for _, item := range c.Acceptance {
		if slices.ContainsFunc(item.Checks, func(k events.Check) bool { return k.ID == i.check }) {
			return item, nil
		}
	}
	return events.Item{}, fmt.Errorf("%w: the contract has no check %q", errMissing, i.check)
}
