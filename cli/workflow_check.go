package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/runner"
	"github.com/deedledger/deed/workspace/workflow"
	"github.com/spf13/cobra"
)

// errUnproven says that a check of a task's folder proved nothing.
var errUnproven = errors.New("nothing is proven")

// workflowCheckOptions say what is run.
type workflowCheckOptions struct {
	items   []string
	pass    []string // names of variables
	failing int
}

func newWorkflowCheckCommand(e *Env, f *flags) *cobra.Command {
	var o workflowCheckOptions
	cmd := &cobra.Command{
		Use: "check TASK", Short: "Run the checks of a task; their exit status decides", Args: cobra.ExactArgs(1),
		Long: `Run the checks of a task one after the other, with the task's folder as working directory, and
write what they gave to state.yaml, whose comments stay. What stood there as passed and is
refuted is named and overwritten. Exit code 0: every item passed; 1: one failed; 8: one has
no check, or its check proved nothing. After --max-failures rounds in which an item did not
pass, a person decides: exit code 4.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			folder, err := s.openWorkflow(ctx, args[0])
			if err != nil {
				return err
			}
			return errors.Join(s.checkWorkflow(ctx, folder, o), folder.Close())
		}),
	}
	cmd.Flags().StringArrayVar(&o.items, "item", nil, "run the checks of this item only, such as A2 (repeat)")
	cmd.Flags().StringArrayVar(&o.pass, "env", nil, "environment variable to pass on to the checks, by name (repeat)")
	cmd.Flags().IntVar(&o.failing, "max-failures", workflow.MaxFailures, "rounds that an item may not pass before a person decides")
	return cmd
}

func (s *session) checkWorkflow(ctx context.Context, f *taskFolder, o workflowCheckOptions) error {
	if f.Archived {
		return refuseState("archived", "task %s is archived", f.Task)
	}
	for _, id := range o.items {
		if !slices.ContainsFunc(f.spec.Items, func(i workflow.Item) bool { return i.ID == id }) {
			return fmt.Errorf("%w: --item %q: spec.md has no such item", errUsage, plain(id))
		}
	}
	if tired := f.state.Exhausted(o.failing); len(tired) > 0 {
		err := refuse(ledger.CodeRule, "max-failures", "%s did not pass in %d rounds", strings.Join(tired, ", "), o.failing)
		return withHint(err, "a person decides: change spec.md or the check, or go on with --max-failures %d", o.failing+workflow.MaxFailures)
	}
	env, err := s.passed(o.pass)
	if err != nil {
		return err
	}
	var proofs []workflow.Proof
	for _, c := range f.commands {
		if len(o.items) > 0 && !slices.Contains(o.items, c.Item) {
			continue
		}
		proofs = append(proofs, s.proofOf(ctx, f, c, env))
		if ctx.Err() != nil {
			return fmt.Errorf("check: %w", context.Cause(ctx)) // what was cut short proves nothing
		}
	}
	if err := f.load(); err != nil { // what was written while the checks ran stays
		return err
	}
	state, over := workflow.Judged(f.state, proofs, len(o.items) == 0)
	if err := f.save(state); err != nil {
		return err
	}
	d := f.shown()
	d.Proofs, d.Overwritten = proofs, over
	err = s.result("workflow", d, func(w *textWriter) {
		for _, p := range proofs {
			w.line("%-4s %-14s %-8s %s", p.Item, p.ID, p.Status, p.Rule)
			if p.Status != workflow.Passed {
				w.output(p.Output)
			}
		}
		for _, x := range over {
			w.line("%s was called passed: the checks say %s", x.Item, x.Now)
		}
		w.workflow(d)
	})
	if err != nil {
		return err
	}
	return verdictOf(f, o.items)
}

// verdictOf is the end of a round: nil where every item passed.
func verdictOf(f *taskFolder, items []string) error {
	var failed, open []string
	for _, c := range f.state.Checks {
		switch {
		case len(items) > 0 && !slices.Contains(items, c.ID):
		case c.Status == workflow.Failed:
			failed = append(failed, c.ID)
		case c.Status == workflow.Pending:
			open = append(open, c.ID)
		}
	}
	switch {
	case len(failed) > 0:
		return told{fmt.Errorf("%w: %s", errCheckFailed, strings.Join(failed, ", "))}
	case len(open) > 0:
		return told{withHint(fmt.Errorf("%w: %s: %w", errPending, strings.Join(open, ", "), errUnproven), "give each item a check in %s/checks", f.Path())}
	}
	return nil
}

// errCheckFailed says that a check of a task's folder failed.
var errCheckFailed = errors.New("checks failed")

// proofOf runs one check.
func (s *session) proofOf(ctx context.Context, f *taskFolder, c workflow.Command, env []string) workflow.Proof {
	out := runner.Run(ctx, filepath.Join(f.dir, filepath.FromSlash(f.Path())), runner.Check{
		ID: c.ID, Command: c.Argv, Timeout: time.Duration(c.Seconds) * time.Second,
	}, append(s.childEnv(), env...))
	p := workflow.Proof{Item: c.Item, ID: c.ID, Argv: c.Argv, Exit: out.ExitCode, Rule: out.Rule, Output: printable(s.clean(out.Output.Window()), checkWindow)}
	switch out.Result {
	case runner.ResultPass:
		p.Status = workflow.Passed
	case runner.ResultFail:
		p.Status = workflow.Failed
	default:
		p.Status = workflow.Pending
	}
	if p.Status != workflow.Passed {
		p.Error = first(workflow.LastLine(s.clean(out.Output.Window())), plain(out.Reason), out.Rule)
	}
	return p
}
