package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

var (
	// ErrNotRepository reports a folder that lies in no git repository.
	ErrNotRepository = errors.New("not a git repository")
	// ErrBareRepository reports a repository without a worktree.
	ErrBareRepository = errors.New("bare repository has no worktree")
	// ErrNoWorktree reports a folder outside the worktree that its repository names,
	// such as a folder inside .git or a worktree redirected by core.worktree.
	ErrNoWorktree = errors.New("folder is not inside a worktree of its repository")
	// ErrForeignOwner reports a repository that git refuses since another user owns it.
	ErrForeignOwner = errors.New("repository is owned by another user")
)

// Repo is one worktree of a git repository. It holds no open files and is safe for
// concurrent use.
type Repo struct {
	top          string
	gitDir       string
	commonDir    string
	objectFormat string
	shallow      bool
}

// Open finds the repository and the worktree around dir, which may be a subfolder or
// a linked worktree. GIT_DIR and its like are ignored.
//
// Errors: [ErrNotRepository], [ErrBareRepository], [ErrNoWorktree],
// [ErrForeignOwner], a *[GitError], or the file system's.
func Open(ctx context.Context, dir string) (*Repo, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, fmt.Errorf("open repository: %w", err)
	}
	ask := func(args ...string) (string, error) {
		return gitCall{dir: abs, args: append([]string{"rev-parse", "--path-format=absolute"}, args...)}.line(ctx)
	}
	r := &Repo{}
	if !r.openQuickly(ask) {
		if err := r.openSlowly(ask); err != nil {
			return nil, err
		}
	}
	if err := r.checkTop(abs); err != nil {
		return nil, err
	}
	return r, nil
}

// openQuickly asks for everything at once. It gives up on anything unusual, such as a name
// that holds a newline, or a folder that is in no worktree.
func (r *Repo) openQuickly(ask func(...string) (string, error)) bool {
	out, err := ask("--is-bare-repository", "--is-inside-work-tree", "--is-shallow-repository", "--show-object-format",
		"--show-toplevel", "--absolute-git-dir", "--git-common-dir")
	answers := strings.Split(out, "\n")
	if err != nil || len(answers) != 7 || answers[0] != "false" || answers[1] != "true" {
		return false
	}
	r.shallow, r.objectFormat = answers[2] == "true", answers[3]
	r.top, r.gitDir, r.commonDir = answers[4], answers[5], answers[6]
	return true
}

// openSlowly asks one thing at a time, and says what is in the way.
func (r *Repo) openSlowly(ask func(...string) (string, error)) error {
	bare, err := ask("--is-bare-repository")
	if err != nil {
		return fmt.Errorf("open repository: %w", classifyOpen(err))
	}
	if bare == "true" {
		return ErrBareRepository
	}
	if inside, err := ask("--is-inside-work-tree"); err != nil || inside != "true" {
		return errors.Join(ErrNoWorktree, err)
	}
	var shallow string
	for _, fact := range []struct {
		flag string
		into *string
	}{
		{"--show-toplevel", &r.top}, {"--absolute-git-dir", &r.gitDir}, {"--git-common-dir", &r.commonDir},
		{"--show-object-format", &r.objectFormat}, {"--is-shallow-repository", &shallow},
	} {
		if *fact.into, err = ask(fact.flag); err != nil {
			return fmt.Errorf("open repository: %w", err)
		}
	}
	r.shallow = shallow == "true"
	return nil
}

// classifyOpen names the refusals that a caller can act on. LC_ALL=C fixes the words.
func classifyOpen(err error) error {
	g, ok := errors.AsType[*GitError](err)
	if !ok {
		return err
	}
	switch {
	case strings.Contains(g.Stderr, "dubious ownership"):
		return ErrForeignOwner
	case strings.Contains(g.Stderr, "not a git repository"):
		return ErrNotRepository
	}
	return err
}

// checkTop holds the worktree against the file system: core.worktree could name a
// clean folder elsewhere, and every later answer would be about that one.
func (r *Repo) checkTop(dir string) error {
	rel, err := filepath.Rel(r.top, dir)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return ErrNoWorktree
	}
	named := filepath.Join(r.top, ".git")
	info, err := os.Stat(named)
	if err != nil {
		return errors.Join(ErrNoWorktree, err)
	}
	if !info.IsDir() {
		text, err := os.ReadFile(named)
		if err != nil {
			return errors.Join(ErrNoWorktree, err)
		}
		target, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
		if !ok {
			return ErrNoWorktree
		}
		if named = target; !filepath.IsAbs(named) {
			named = filepath.Join(r.top, named)
		}
	}
	a, errA := os.Stat(named)
	b, errB := os.Stat(r.gitDir)
	if errA != nil || errB != nil || !os.SameFile(a, b) {
		return errors.Join(ErrNoWorktree, errA, errB)
	}
	return nil
}

// Top is the absolute path of the worktree's root folder.
func (r *Repo) Top() string { return r.top }

// GitDir is the absolute path of this worktree's own git folder: two worktrees of one
// repository have two.
func (r *Repo) GitDir() string { return r.gitDir }

// CommonDir is the absolute path of the git folder that all worktrees share. Two Repos
// belong to one repository if and only if it is equal.
func (r *Repo) CommonDir() string { return r.commonDir }

// Shallow tells whether history was cut when the repository was cloned or fetched.
func (r *Repo) Shallow() bool { return r.shallow }

// ObjectFormat is the hash of object ids: "sha1" or "sha256".
func (r *Repo) ObjectFormat() string { return r.objectFormat }

func (r *Repo) git(args ...string) gitCall { return gitCall{dir: r.top, args: args} }
