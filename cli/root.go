// Package cli is the command line of deed: one file per subcommand.
//
// Every command prints its result to stdout, as text or with -o json as one
// versioned object, and everything else to stderr. It never prompts off a
// terminal. An error ends with what to do next and an exit code of the table
// in exit.go. Every command that writes takes --dry-run.
package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deedledger/deed/ledger"
	"github.com/spf13/cobra"
)

// New returns the root command.
func New(e *Env) *cobra.Command {
	f := &flags{}
	root := &cobra.Command{
		Use: "deed", Short: "A signed, append-only ledger for work that coding agents deliver",
		Long: `Deed records what was agreed, what was done and what was proven, so that somebody else
can take over safely, nothing is deployed twice, and anyone can check it all later.

Start with deed key new, deed ledger create and deed up; deed why TASK says what may
happen next. Every command takes -o json; every command that writes takes --dry-run.
deed completion SHELL prints completion for bash, zsh, fish and powershell.`,
		SilenceUsage: true, SilenceErrors: true, Version: e.Version,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if f.output != "text" && f.output != "json" {
				return fmt.Errorf("%w: -o %q, want text or json", errUsage, f.output)
			}
			if f.atLeast >= 1<<53 {
				return fmt.Errorf("%w: --at-least %d is no position", errUsage, f.atLeast)
			}
			if f.patience <= 0 {
				return fmt.Errorf("%w: --patience %v, want more than nothing", errUsage, f.patience)
			}
			return nil
		},
	}
	root.SetIn(e.Stdin)
	root.SetOut(e.Stdout)
	root.SetErr(e.Stderr)
	p := root.PersistentFlags()
	p.StringVar(&f.demoStop, "demo-stop", "", "PLACE=FILE: stop there; see reach in demo_stop.go")
	p.Lookup("demo-stop").Hidden = true
	p.StringVarP(&f.output, "output", "o", "text", "output form: text or json")
	p.StringVar(&f.context, "context", "", "context to use (DEED_CONTEXT)")
	p.StringVar(&f.dir, "dir", "", "ledger folder (DEED_DIR)")
	p.StringVar(&f.as, "as", "", "actor whose key signs (DEED_AS); default: the context's, who is the admin that created the ledger")
	p.StringVar(&f.keyFile, "key", "", "private key file that signs (DEED_KEY), instead of the one named like the actor")
	p.StringVar(&f.passphrase, "passphrase-file", "", "file with the key's passphrase (DEED_PASSPHRASE_FILE)")
	p.Uint64Var(&f.atLeast, "at-least", 0, "wait until the answer reflects this position")
	p.DurationVar(&f.patience, "patience", 30*time.Second, "how long --at-least waits")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelpCommand())
	for _, build := range commands() {
		root.AddCommand(build(e, f))
	}
	root.InitDefaultCompletionCmd()
	grouped(root)
	illustrate(root)
	return root
}

// commands lists the subcommands in the order of the help.
func commands() []func(*Env, *flags) *cobra.Command {
	return []func(*Env, *flags) *cobra.Command{
		newKeyCommand, newLedgerCommand, newServeCommand, newUpCommand, newDownCommand, newStatusCommand, newActorCommand, newPolicyCommand,
		newTaskCommand, newWhyCommand, newWaitCommand, newPacketCommand,
		newLogCommand, newWatchCommand, newEventCommand, newAuditCommand, newReplayCommand,
		newContextCommand, newVersionCommand, newDoctorCommand,
		newEffectCommand, newRecoverCommand, newDemoCommand, newDemoWorldCommand, newConfineCommand,
		newContractCommand, newAttemptCommand, newLeaseCommand, newHandoffCommand, newResumeCommand, newPauseCommand, newUnpauseCommand, newResultCommand, newReceiptCommand,
		newRepairCommand, newApproveCommand, newRejectCommand, newDeliverCommand, newEscalateCommand, newEscalationCommand, newFindingCommand, newCancelCommand,
		newPlanCommand, newStepCommand, newProgressCommand, newDecisionCommand, newApproachCommand, newCostCommand, newDefectCommand, newArtifactCommand, newBoundaryCommand, newExecCommand, newCaptureCommand,
		newSecretCommand, newInitCommand, newSyncCommand, newWorkflowCommand, newGuardCommand, newGateCommand, newHookCommand,
	}
}

// writes adds --dry-run to a command that writes.
func writes(cmd *cobra.Command, f *flags) *cobra.Command {
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "check everything, name the rule, write nothing")
	return cmd
}

// Report prints a command's error and returns its exit code: to stderr, and in
// JSON mode also as one object on stdout.
func Report(e *Env, root *cobra.Command, err error) int {
	o := classify(err)
	if err == nil {
		return o.exit
	}
	_, shown := errors.AsType[told](err)
	if wantsJSON(root, e.Args) && !shown {
		refusal, _ := errors.AsType[*ledger.Refusal](err)
		p := &printer{out: e.Stdout, err: e.Stderr, json: true}
		_ = p.encode("error", failure{Exit: o.exit, Error: message(err, o.exit), Hint: o.hint, Refusal: refusal})
	}
	fmt.Fprintln(e.Stderr, "deed: "+plain(message(err, o.exit)))
	if o.hint != "" {
		fmt.Fprintln(e.Stderr, "hint: "+plain(o.hint))
	}
	return o.exit
}

// newVersionCommand builds "deed version".
func newVersionCommand(e *Env, f *flags) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: e.action(f, func(_ context.Context, s *session, _ []string) error {
			return s.result("version", map[string]string{"version": e.Version}, func(w *textWriter) { w.line("deed %s", e.Version) })
		}),
	}
}
