package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// bindingFile holds "<task>\n" in the worktree's git folder.
const bindingFile = "deed-task"

var (
	// ErrNoTaskBound reports a worktree that no task was bound to.
	ErrNoTaskBound = errors.New("no task is bound to this worktree")
	// ErrTaskName reports a name, given or stored, that cannot be a task's.
	ErrTaskName = errors.New("invalid task name")
)

// BindTask makes task the one that commands in this worktree mean. It replaces an
// earlier binding in one step; a crash leaves the old or the new one.
//
// Errors: [ErrTaskName], or the file system's.
func (r *Repo) BindTask(task string) error {
	if !isTaskName(task) {
		return fmt.Errorf("bind task: %w", ErrTaskName)
	}
	temp, err := os.CreateTemp(r.gitDir, bindingFile+"-")
	if err != nil {
		return fmt.Errorf("bind task: %w", err)
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	_, err = temp.WriteString(task + "\n")
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), filepath.Join(r.gitDir, bindingFile))
	}
	if err != nil {
		return fmt.Errorf("bind task: %w", err)
	}
	return nil
}

// BoundTask gives the task that was bound to this worktree.
//
// Errors: [ErrNoTaskBound], [ErrTaskName] for a damaged binding, or the file system's.
func (r *Repo) BoundTask() (string, error) {
	text, err := os.ReadFile(filepath.Join(r.gitDir, bindingFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrNoTaskBound
	}
	if err != nil {
		return "", fmt.Errorf("read bound task: %w", err)
	}
	task, ok := strings.CutSuffix(string(text), "\n")
	if !ok || !isTaskName(task) {
		return "", fmt.Errorf("read bound task: %w", ErrTaskName)
	}
	return task, nil
}

// UnbindTask forgets the binding; without one it does nothing.
func (r *Repo) UnbindTask() error {
	err := os.Remove(filepath.Join(r.gitDir, bindingFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unbind task: %w", err)
	}
	return nil
}

func isTaskName(s string) bool {
	ok, err := regexp.MatchString(`\A[A-Za-z0-9][A-Za-z0-9_-]{0,63}\z`, s)
	return ok && err == nil
}
