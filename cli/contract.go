package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

// newContractCommand builds "deed contract".
func newContractCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "contract", Short: "Agree on what is to be delivered"}
	cmd.AddCommand(newContractTemplateCommand(e, f), newContractDraftCommand(e, f), newContractProposeCommand(e, f), newContractAcceptCommand(e, f),
		newContractShowCommand(e, f), newContractDiffCommand(e, f), newContractWithdrawCommand(e, f))
	return cmd
}

func newContractTemplateCommand(e *Env, f *flags) *cobra.Command {
	return &cobra.Command{
		Use: "template", Short: "Print a draft with comments", Args: cobra.NoArgs,
		RunE: e.action(f, func(_ context.Context, s *session, _ []string) error {
			return s.result("template", map[string]string{"text": contractTemplate}, func(w *textWriter) { w.block(contractTemplate) })
		}),
	}
}

func newContractProposeCommand(e *Env, f *flags) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "propose TASK -f FILE", Short: "Propose a contract, or its next version", Args: cobra.MaximumNArgs(1),
		Long: "Propose a contract from a draft in YAML or JSON; deed contract template prints one.\n\n" +
			"A check's files may be given by path alone: they are pinned to the bytes that they have in the commit that is checked out. " +
			"A file with uncommitted changes is refused.",
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			if file == "" {
				return withHint(fmt.Errorf("%w: --file is missing: contract propose TASK -f FILE", errUsage), "deed contract template > contract.yaml makes a draft")
			}
			return s.propose(ctx, task, file)
		}),
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "the draft; - reads standard input")
	return writes(cmd, f)
}

// readInput reads a file that the command line names, relative to the working
// directory; "-" is standard input. At most limit bytes.
func (s *session) readInput(name string, limit int64) ([]byte, error) {
	in := s.env.Stdin
	if name != "-" {
		if !filepath.IsAbs(name) {
			name = filepath.Join(s.env.Dir, name)
		}
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read input: %w", err)
		}
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read input: %w", err)
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%w: input is larger than %d bytes", errUsage, limit)
	}
	return text, nil
}

// proposed is the result of contract propose.
type proposed struct {
	ledger.Ack
	Version int64  `json:"version"`
	Digest  string `json:"digest"`
}

func (s *session) propose(ctx context.Context, task, file string) error {
	text, err := s.readInput(file, maxDraft)
	if err != nil {
		return err
	}
	done, err := s.proposeDraft(ctx, task, text)
	if err != nil {
		return draftHint(err)
	}
	return s.result("contract-proposed", done, func(w *textWriter) {
		w.acked(done.Ack, "proposed version %d of the contract of %s, digest %s", done.Version, task, done.Digest)
	})
}

// proposeDraft proposes a contract as people write it.
func (s *session) proposeDraft(ctx context.Context, task string, text []byte) (proposed, error) {
	d, err := parseDraft(text)
	if err == nil {
		err = d.refuseVague()
	}
	if err != nil {
		return proposed{}, err
	}
	var done proposed
	done.Ack, err = s.append(ctx, task, func(state protocol.TaskState, a author) (draft, error) {
		c, err := d.contract(ctx, s.env.Dir, a.actor.Name)
		if err != nil {
			return draft{}, err
		}
		if c.Version == 0 {
			c.Version = int64(len(state.Task.Contracts)) + 1
		}
		digest, err := c.Digest()
		done.Version, done.Digest = c.Version, digest.String()
		return draft{payload: &c}, err
	})
	return done, err
}

// draftHint names what says how a draft has to look.
func draftHint(err error) error {
	if r, ok := errors.AsType[*ledger.Refusal](err); errors.Is(err, events.ErrData) || ok && r.Code == ledger.CodeForm {
		return withHint(err, "deed contract template prints a draft that says what belongs where")
	}
	return err
}

func newContractAcceptCommand(e *Env, f *flags) *cobra.Command {
	var version int64
	var digest string
	cmd := &cobra.Command{
		Use: "accept TASK", Short: "Accept a proposed contract as its owner", Args: cobra.MaximumNArgs(1),
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			return s.accept(ctx, task, version, digest)
		}),
	}
	cmd.Flags().Int64Var(&version, "version", 0, "version to accept; default the newest")
	cmd.Flags().StringVar(&digest, "digest", "", "digest that was read: another one is refused as stale")
	return writes(cmd, f)
}

func (s *session) accept(ctx context.Context, task string, version int64, digest string) error {
	var same steady
	var done proposed
	var err error
	done.Ack, err = s.append(ctx, task, func(state protocol.TaskState, _ author) (draft, error) {
		if err := exists(state); err != nil {
			return draft{}, err
		}
		n := version
		if n == 0 {
			n = int64(len(state.Task.Contracts))
		}
		v := state.Task.Version(n)
		if v == nil {
			return draft{}, withHint(fmt.Errorf("%w: task %s has no contract version %d", errMissing, task, n), "deed contract show %s shows the newest", task)
		}
		if digest != "" && digest != v.Digest {
			return draft{}, withHint(refuseStale("contract.accepted/digest", "version %d has digest %s, not the one given", n, v.Digest), "read it again, then accept it: deed contract show %s --version %d", task, n)
		}
		if err := same.hold("the contract", v.Digest); err != nil {
			return draft{}, err
		}
		done.Version, done.Digest = n, v.Digest
		return draft{payload: &events.Acceptance{Version: n, Digest: v.Digest}}, nil
	})
	if err != nil {
		return err
	}
	return s.result("contract-accepted", done, func(w *textWriter) {
		w.acked(done.Ack, "accepted version %d of the contract of %s", done.Version, task)
	})
}

func newContractShowCommand(e *Env, f *flags) *cobra.Command {
	var version int64
	cmd := &cobra.Command{
		Use: "show TASK", Short: "Show a contract", Args: cobra.MaximumNArgs(1),
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			state, err := s.existing(ctx, task)
			if err != nil {
				return err
			}
			v := state.Task.Contract()
			if version != 0 {
				v = state.Task.Version(version)
			} else if v == nil {
				v = state.Task.Version(int64(len(state.Task.Contracts)))
			}
			if v == nil {
				return fmt.Errorf("%w: task %s has no such contract version", errMissing, task)
			}
			return s.answer(state.Position, "contract", v, func(w *textWriter) { showContract(w, task, v, len(state.Task.Contracts)) })
		}),
	}
	cmd.Flags().Int64Var(&version, "version", 0, "version to show; default the accepted one, else the newest")
	return cmd
}

// showContract writes a contract version for people.
func showContract(w *textWriter, task string, v *projections.ContractVersion, versions int) {
	c := v.Contract
	status := "proposed by " + v.Actor
	if v.Accepted {
		status = "accepted"
	}
	w.line("%s, contract version %d of %d, %s", task, c.Version, versions, status)
	w.line("  digest %s", v.Digest)
	w.line("  goal: %s", c.Goal)
	for _, n := range c.NonGoals {
		w.line("  not: %s", n)
	}
	for _, item := range c.Acceptance {
		need := "required"
		if !item.Required {
			need = "optional"
		}
		w.line("  %s (%s, %s): %s", item.ID, need, item.Evidence, item.Text)
		for _, check := range item.Checks {
			w.line("    %s: %s", check.ID, strings.Join(check.Command, " "))
			for _, file := range check.Files {
				w.line("      pinned %s %s", file.Path, file.Digest)
			}
			if check.Report != nil {
				w.line("      report %s %s", check.Report.Format, check.Report.Path)
			}
			if len(check.Skips) > 0 {
				w.line("      may skip %s", strings.Join(check.Skips, ", "))
			}
		}
	}
	for _, service := range c.Services {
		w.line("  needs %s, healthy while this exits with 0: %s", service.Name, strings.Join(service.Command, " "))
	}
	w.line("  scope: %s", strings.Join(c.Scope.Include, ", "))
	if len(c.Scope.Exclude) > 0 {
		w.line("  but not: %s", strings.Join(c.Scope.Exclude, ", "))
	}
	w.line("  risk %s, target %s, quorum %d, repairs %d", c.RiskTier, c.Target, c.Quorum, c.MaxRepairs)
	if len(c.Reviewers) > 0 {
		w.line("  reviewers: %s", strings.Join(c.Reviewers, ", "))
	}
	if c.Expires != "" {
		w.line("  expires %s", c.Expires)
	}
}

func newContractWithdrawCommand(e *Env, f *flags) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "withdraw TASK --reason TEXT", Short: "Withdraw a contract: ends the task", Args: cobra.MaximumNArgs(1),
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			return s.end(ctx, args, closing{"withdrew the contract of", reason, &events.Withdrawal{Reason: reason}})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	return writes(cmd, f)
}
