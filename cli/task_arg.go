package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/workspace"
)

// taskArg returns the task that a command is about: its first argument, else
// the one that is bound to the worktree around the working directory.
func (s *session) taskArg(ctx context.Context, args []string) (string, error) {
	if len(args) > 0 {
		s.about(args[0])
		return args[0], nil
	}
	repo, err := workspace.Open(ctx, s.env.Dir)
	if errors.Is(err, workspace.ErrNotRepository) {
		return "", fmt.Errorf("%w: name a TASK: this folder lies in no git worktree that a task could be bound to", errUsage)
	}
	if err != nil {
		return "", err
	}
	task, err := repo.BoundTask()
	if errors.Is(err, workspace.ErrNoTaskBound) {
		return "", fmt.Errorf("%w: name a TASK: none is bound to this worktree", errUsage)
	}
	s.about(task)
	return task, err
}

// about keeps a task for the hints, when it is one.
func (s *session) about(task string) {
	if events.ValidTask(task) {
		s.topic.task = task
	}
}

// bind makes task the one that commands in this worktree mean. A dry run binds
// nothing.
func (s *session) bind(ctx context.Context, task string) error {
	if s.flags.dryRun {
		return nil
	}
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return err
	}
	return repo.BindTask(task)
}
