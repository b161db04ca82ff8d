package cli

import (
	"context"
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/runner"
	"github.com/deedledger/deed/workspace"
	"github.com/spf13/cobra"
)

// newReceiptCommand builds "deed receipt".
func newReceiptCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "receipt", Short: "Prove what was delivered"}
	var o receiptOptions
	run := &cobra.Command{
		Use: "run TASK", Short: "Run the contract's checks on the result and record the outcome", Args: cobra.MaximumNArgs(1),
		Long: `Run each pinned check on a clean checkout of exactly the result's commit, and record
what it proved. The ledger is asked first whether it would take a receipt from you;
--dry-run asks no more than that and runs nothing.

A check sees PATH, a fresh HOME and TMPDIR, and what --env passes on. Where the machine
can (deed doctor tells), it reads the system's programs and libraries, the folders of
PATH and what --readable adds, and writes below its checkout and HOME alone: never keys,
ledgers or your home. A variable of --env that holds a path makes it readable.

A check that fails is run again on a fresh checkout: it fails when it fails each time,
and is flaky, which proves nothing, when it passes then. While a service that the
contract names is not healthy, no failure is the code's. What changed during the run,
such as the contract or a tool, makes it stale: nothing is recorded.

Exit code 0: all checks passed; 1: one failed; 8: one proved nothing. The receipt is
recorded in these three cases. 20: stale.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			return s.runReceipt(ctx, task, o)
		}),
	}
	run.Flags().StringArrayVar(&o.pass, "env", nil, "environment variable to pass on to the checks, by name (repeat)")
	run.Flags().StringVar(&o.url, "run-url", "", "where the run can be looked at")
	run.Flags().IntVar(&o.retries, "retry-failing", 1, fmt.Sprintf("how often a failing check is run again, 0 to %d", runner.MaxRetries))
	run.Flags().StringArrayVar(&o.evidence, "evidence", nil, webHelp)
	run.Flags().StringVar(&o.attestation, "attestation", "", attestationHelp)
	o.confining.flags(run)
	cmd.AddCommand(writes(run, f), newReceiptImportCommand(e, f), newReceiptVerifyCommand(e, f))
	return cmd
}

// receiptOptions are the flags of receipt run.
type receiptOptions struct {
	url         string
	pass        []string
	retries     int
	evidence    []string
	attestation string
	confining
}

// receiptDone is the result of receipt run.
type receiptDone struct {
	ledger.Ack
	InputDigest string                `json:"inputDigest"`
	Assurance   string                `json:"assurance"`
	Confinement string                `json:"confinement"`
	Checks      []events.CheckOutcome `json:"checks"`
	State       projections.State     `json:"state"`                // of the task, afterwards
	Attestation string                `json:"attestation,omitzero"` // the file that it was written to
}

func (s *session) runReceipt(ctx context.Context, task string, o receiptOptions) error {
	if o.retries < 0 || o.retries > runner.MaxRetries {
		return fmt.Errorf("%w: --retry-failing %d, want 0 to %d", errUsage, o.retries, runner.MaxRetries)
	}
	env, err := s.passed(o.pass)
	if err != nil {
		return err
	}
	b := &receiptBuilder{session: s, url: o.url}
	if b.web, err = parseWebs(o.evidence, ""); err != nil {
		return err
	}
	plan := runner.Plan{Env: append(s.childEnv(), env...), Retries: o.retries}
	if plan.Confinement, b.confinement, err = s.confinement(o.confining, env); err != nil {
		return err
	}
	ack, err := s.askReceipt(ctx, task, b)
	if err != nil {
		return err
	}
	if s.flags.dryRun {
		return s.acked(ack, "")
	}
	if err := b.prove(ctx, plan); err != nil {
		return err
	}
	if ack, err = s.append(ctx, task, b.decide(ctx)); err != nil {
		return err
	}
	return s.finishReceipt(ctx, b, ack, o.attestation)
}

// prove runs the checks, makes sure that what they rest on is still the same,
// and records what a person should look at.
func (b *receiptBuilder) prove(ctx context.Context, plan runner.Plan) error {
	s := b.session
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return err
	}
	if err := b.plan(&plan); err != nil {
		return err
	}
	if err := s.inspect(ctx, repo, b.task); err != nil {
		return err
	}
	before, err := b.inputs(ctx, repo, b.env)
	if err != nil {
		return err
	}
	if b.report, err = runner.Verify(ctx, repo, b.task.Result.Data.Head, plan); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("verify: %w", context.Cause(ctx)) // what was cut short proves nothing
	}
	after, err := b.inputs(ctx, repo, s.environment(ctx, b.task))
	if err != nil {
		return err
	}
	if err := unchanged(before, after); err != nil {
		return err
	}
	if err := b.markSelfmade(ctx, repo); err != nil {
		return err
	}
	return b.reportFindings(ctx)
}

// askReceipt asks the ledger, without writing, whether it would take a
// receipt of this author on the current result, before checks take their time.
func (s *session) askReceipt(ctx context.Context, task string, b *receiptBuilder) (ledger.Ack, error) {
	dryRun := s.flags.dryRun
	s.flags.dryRun = true
	defer func() { s.flags.dryRun = dryRun }()
	return s.append(ctx, task, b.decide(ctx))
}

// showReceipt writes a receipt for people.
func showReceipt(w *textWriter, task string, done receiptDone) {
	rows := make([][]string, len(done.Checks))
	for i, c := range done.Checks {
		rows[i] = []string{c.Acceptance, c.ID, string(c.Outcome), string(c.Class), c.Rule, fmt.Sprintf("%d ms", c.DurationMS)}
	}
	w.table([]string{"ITEM", "CHECK", "OUTCOME", "CLASS", "RULE", "TOOK"}, rows)
	w.failures(done.Checks)
	w.acked(done.Ack, "recorded the receipt for %s (%s, confinement %s), input %s; now %s", task, done.Assurance, done.Confinement, done.InputDigest, done.State)
}

// failures writes the notes of each check, and of one that did not pass its
// rule and the last lines of its output.
func (w *textWriter) failures(checks []events.CheckOutcome) {
	for _, c := range checks {
		for _, n := range c.Notes {
			w.line("check %s of item %s: %s", c.ID, c.Acceptance, n)
		}
		if c.Outcome == events.OutcomePass {
			continue
		}
		w.line("check %s of item %s: %s by rule %s, exit code %d", c.ID, c.Acceptance, string(c.Outcome), c.Rule, c.Exit)
		w.output(c.Output)
	}
}

// receiptVerdict returns the error that gives a recorded receipt its exit
// code, nil when every check passed.
func receiptVerdict(task string, done receiptDone) error {
	open := false
	for _, c := range done.Checks {
		switch c.Outcome {
		case events.OutcomeFail:
			return told{withHint(fmt.Errorf("%w: check %s of item %s", errCheck, c.ID, c.Acceptance), "%s", afterFailure(task, done.State))}
		case events.OutcomePass:
		default:
			open = true
		}
	}
	if open {
		return told{withHint(fmt.Errorf("%w: a check proved nothing", errPending),
			"mend what it needs, such as a program, a variable (--env NAME) or more time, and run it again: deed receipt run %s", task)}
	}
	return nil
}

// afterFailure says who goes on after a failing check, and how.
func afterFailure(task string, state projections.State) string {
	switch state {
	case projections.RepairQueued:
		return fmt.Sprintf("a repair is queued: deed repair accept %s --as <controller|owner>, then deed lease claim %s --purpose work --as <implementer>", task, task)
	case projections.Escalated:
		return fmt.Sprintf("no repair is left: a person decides: deed escalation resolve %s --action repair --allowance 1 --reason TEXT --as <owner>", task)
	}
	return fmt.Sprintf("deed why %s says who goes on", task)
}
