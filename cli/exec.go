package cli

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/workspace"
	"github.com/spf13/cobra"
)

// newExecCommand builds "deed exec".
func newExecCommand(e *Env, f *flags) *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use: "exec [TASK] -- COMMAND [ARG…]", Short: "Run a command that the boundary allows, and no other",
		Long: `Run a command in place of this one, if the scope of the task's contract and the repository's
policy list it; else refuse it before anything starts, with exit code 22. What runs has this
process: its exit code, its signals and its output are the command's. Nothing is recorded.

A listed line of several words allows exactly that command, word for word. A line of one word
allows that program with any arguments; of a shell, or of another program that starts what
its arguments name, it allows the program without arguments alone. The program is compared as
it is typed and then looked up in PATH: a path to another program of the same name is
another command, and one that lies in this worktree, where the run could write it, is
refused unless it is listed by its path and the run must not change it. No shell reads the
line, here or in the lists.

This keeps a run to what was agreed where it calls its commands through here. It is no
sandbox: a program that is allowed does what it does.`,
	}
	cmd.SetHelpFunc(flagsFirst)
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say whether it would run, and by which lines; run nothing")
	cmd.RunE = e.action(f, func(ctx context.Context, s *session, args []string) error {
		dash := cmd.ArgsLenAtDash()
		if dash < 0 || dash == len(args) || dash > 1 {
			return withHint(fmt.Errorf("%w: no command to run: exec [TASK] -- COMMAND [ARG…]", errUsage), "all flags stand before --, the command after it")
		}
		task, err := s.taskArg(ctx, args[:dash])
		if err != nil {
			return err
		}
		return s.execute(ctx, task, args[dash:], dry)
	})
	return cmd
}

// allowedProgram is the result of "deed exec --dry-run".
type allowedProgram struct {
	Program string   `json:"program"` // the file that would run
	Lines   []string `json:"lines"`   // by which contract and policy allow it
}

// execute replaces this process by the command, when it is allowed.
func (s *session) execute(ctx context.Context, task string, argv []string, dry bool) error {
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return err
	}
	state, err := s.existing(ctx, task)
	if err != nil {
		return err
	}
	l, err := s.attemptLimits(ctx, repo, state.Task)
	if err == nil {
		err = l.pinned(state.Task)
	}
	if err != nil {
		return err
	}
	lines, err := l.allowsCommand(argv)
	if err != nil {
		return withHint(err, "deed contract show %s lists the commands; a wider list is the owner's to give", task)
	}
	program, err := s.program(repo, l, argv[0])
	if err != nil {
		return err
	}
	if dry {
		return s.result("exec", allowedProgram{Program: boundary.DisplayPath(program), Lines: lines}, func(w *textWriter) {
			w.line("allowed, nothing was run: %s, by %s", program, strings.Join(lines, ", and "))
		})
	}
	s.close()
	s.client = nil
	if err := syscall.Exec(program, argv, s.env.Environ()); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	return nil
}

// allowsCommand refuses a command that the contract or the policy does not
// list, and names which of them.
func (l limits) allowsCommand(argv []string) ([]string, error) {
	if lines, refusing := l.Commands.Rules(argv); refusing < 0 {
		return lines, nil
	}
	return nil, refuse(ledger.CodeBoundary, "boundary/command", "%s lists no line for this command: %q", l.refusing(argv), argv)
}

// refusing names what does not list a command.
func (l limits) refusing(argv []string) string {
	layers := []string{"the contract's scope"}
	if l.policy != nil {
		layers = append(layers, "the repository's policy")
	}
	_, refusing := l.Commands.Rules(argv)
	return layers[min(max(refusing, 0), len(layers)-1)]
}

// program finds the file that a command's first word names, and refuses one
// that the run could have put there.
func (s *session) program(repo *workspace.Repo, l limits, word string) (string, error) {
	refused := func(format string, args ...any) (string, error) {
		return "", refuse(ledger.CodeBoundary, "boundary/program", "%s", fmt.Sprintf(format, args...))
	}
	found, err := exec.LookPath(word)
	if errors.Is(err, exec.ErrDot) {
		return refused("%q is found in the working directory, by a PATH with a relative folder", word)
	}
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(found) {
		found = filepath.Join(s.env.Dir, found)
	}
	real, err := filepath.EvalSymlinks(found)
	if err != nil {
		return "", err
	}
	top, err := filepath.EvalSymlinks(repo.Top())
	if err != nil {
		return "", err
	}
	for _, place := range []string{filepath.Clean(found), real} {
		inside, err := filepath.Rel(top, place)
		if err != nil || !filepath.IsLocal(inside) {
			continue
		}
		typed := filepath.ToSlash(filepath.Clean(word))
		switch {
		case typed != filepath.ToSlash(inside) && word != place:
			return refused("%q lies in this worktree at %q: list it by its path from the top, and call it there", word, inside)
		case l.Paths.Allows(filepath.ToSlash(inside)):
			return refused("%q may be changed by this run, so that listing it bounds nothing", inside)
		}
	}
	return found, nil
}
