package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/runner"
	"github.com/deedledger/deed/workspace"
	"github.com/spf13/cobra"
)

// The hook, and where one that was there before is kept and still run.
const (
	hookName   = "commit-msg"
	hookBefore = "commit-msg.before-deed"
	hookMark   = "# Made by deed hook install.\n"
)

// hookPatience bounds what a commit waits for the service.
const hookPatience = 2 * time.Second

// newHookCommand builds "deed hook".
func newHookCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "hook", Short: "Name the task in the commits of a worktree",
		Long: `A hook, on request, that adds the trailers Deed-Task and Deed-Attempt to the message of each
commit in a worktree that is bound to a task. A commit never fails because of it: without a
service there is no Deed-Attempt, without a bound task there is nothing to add. A hook that
was there before is kept and runs first.`,
	}
	install := &cobra.Command{
		Use: "install", Short: "Add the hook to this repository", Args: cobra.NoArgs,
		RunE: e.action(f, func(ctx context.Context, s *session, _ []string) error { return s.installHook(ctx) }),
	}
	remove := &cobra.Command{
		Use: "remove", Short: "Take the hook away, and put back what was there before", Args: cobra.NoArgs,
		RunE: e.action(f, func(ctx context.Context, s *session, _ []string) error { return s.removeHook(ctx) }),
	}
	trailers := &cobra.Command{
		Use: "trailers FILE", Short: "Add the trailers to a message; the hook calls this", Args: cobra.ExactArgs(1), Hidden: true,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error { return s.addTrailers(ctx, args[0]) }),
	}
	cmd.AddCommand(install, remove, trailers)
	return cmd
}

// hookFolder returns where git looks for the hooks of the repository around
// the working directory. A folder outside it serves other repositories, too,
// and is left alone.
func (s *session) hookFolder(ctx context.Context) (string, error) {
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return "", err
	}
	env := s.childEnv()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"} { // where hooksPath may be set
		if value := s.env.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	out := runner.Run(ctx, repo.Top(), runner.Check{ID: "hooks", Command: []string{"git", "rev-parse", "--git-path", "hooks"}, Timeout: toolLimit}, env)
	if out.Result != runner.ResultPass {
		return "", fmt.Errorf("find hooks: git says: %s", plain(out.Output.Window()))
	}
	dir := strings.TrimSuffix(out.Output.Window(), "\n")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(repo.Top(), dir)
	}
	for _, own := range []string{repo.CommonDir(), repo.Top()} {
		if rel, err := filepath.Rel(own, dir); err == nil && filepath.IsLocal(rel) {
			return dir, nil
		}
	}
	return "", withHint(refuse(ledger.CodeRule, "hook/path", "core.hooksPath is %s, which other repositories use, too", plain(dir)), "call deed hook trailers from the hook there")
}

// hookText is the hook. It always lets the commit go on, unless the hook that
// was there before does not.
func (s *session) hookText() []byte {
	program := "'" + strings.ReplaceAll(s.env.Executable, "'", `'\''`) + "'"
	return []byte("#!/bin/sh\n" + hookMark + "deed=" + program + `
[ -x "$deed" ] || deed=deed
before="$(dirname -- "$0")/` + hookBefore + `"
if [ -x "$before" ]; then "$before" "$@" || exit $?; fi
"$deed" hook trailers "$1" || :
exit 0
`)
}

func (s *session) installHook(ctx context.Context) error {
	dir, err := s.hookFolder(ctx)
	if err != nil {
		return err
	}
	path, kept := filepath.Join(dir, hookName), ""
	there, err := os.ReadFile(path)
	switch {
	case err == nil && bytes.Equal(there, s.hookText()):
		return s.hookResult(path, "", "it is there already: %s", path)
	case err == nil && !bytes.Contains(there, []byte(hookMark)):
		kept = filepath.Join(dir, hookBefore)
		if _, err := os.Lstat(kept); err == nil {
			return withHint(fmt.Errorf("keep the hook that is there: %s: %w", kept, fs.ErrExist), "move one of the two away")
		}
		if err := os.Link(path, kept); err != nil { // the old hook is under one of the names at every instant
			return fmt.Errorf("keep the hook that is there: %w", err)
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("install hook: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("install hook: %w", err)
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, s.hookText(), 0o755); err != nil {
		return fmt.Errorf("install hook: %w", err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("install hook: %w", errors.Join(err, os.Remove(temporary)))
	}
	return s.hookResult(path, kept, "installed %s: commits in worktrees that are bound to a task name it", path)
}

func (s *session) removeHook(ctx context.Context) error {
	dir, err := s.hookFolder(ctx)
	if err != nil {
		return err
	}
	path, kept := filepath.Join(dir, hookName), filepath.Join(dir, hookBefore)
	there, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Contains(there, []byte(hookMark)) {
		return fmt.Errorf("%w: there is no hook of deed in %s", errMissing, plain(dir))
	}
	if err != nil {
		return fmt.Errorf("remove hook: %w", err)
	}
	if err := os.Rename(kept, path); err == nil {
		return s.hookResult(path, "", "put back the hook that was there before: %s", path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("put back the hook that was there before: %w", err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove hook: %w", err)
	}
	return s.hookResult(path, "", "removed %s", path)
}

func (s *session) hookResult(path, kept, format string, args ...any) error {
	data := map[string]string{"path": path}
	if kept != "" {
		data["before"] = kept
	}
	return s.result("hook", data, func(w *textWriter) { w.line(format, args...) })
}

// addTrailers names the bound task and its open attempt in a commit message.
func (s *session) addTrailers(ctx context.Context, name string) error {
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return err
	}
	task, err := repo.BoundTask()
	if errors.Is(err, workspace.ErrNoTaskBound) {
		return nil
	}
	if err != nil {
		return err
	}
	argv := []string{"git", "interpret-trailers", "--in-place", "--if-exists", "replace", "--trailer", "Deed-Task: " + task}
	asked, cancel := context.WithTimeout(ctx, hookPatience)
	defer cancel()
	if state, err := s.existing(asked, task); err == nil && state.Task.Attempt() != nil {
		argv = append(argv, "--trailer", "Deed-Attempt: "+state.Task.Attempt().ID)
	}
	out := runner.Run(ctx, repo.Top(), runner.Check{ID: "trailers", Command: append(argv, s.abs(name)), Timeout: toolLimit}, s.childEnv())
	if out.Result != runner.ResultPass {
		return fmt.Errorf("add trailers: git says: %s", plain(out.Output.Window()))
	}
	return nil
}
