package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

var (
	// ErrCheckoutDiffers reports that files on disk do not equal the commit's tree.
	ErrCheckoutDiffers = errors.New("checkout differs from its commit")
	// ErrFolderInUse reports a folder that is not empty.
	ErrFolderInUse = errors.New("folder is not empty")
	// ErrMergeConflict reports that a trial merge has conflicts.
	ErrMergeConflict = errors.New("merge has conflicts")
)

// rawAttributes switch off everything that makes a file on disk differ from its blob.
// They stand in info/attributes, which wins over the commit's own .gitattributes.
const rawAttributes = "* -text -ident -filter -working-tree-encoding\n"

// CleanCheckout writes the files of exactly one commit into dir, which must be empty or
// not exist: a new repository with a detached HEAD, no configuration of the original,
// no hooks, no filters, no line-end conversion. It borrows the original's objects, so it
// must not outlive them. Submodules are left as empty folders. It proves that HEAD has the
// commit's tree and that no file differs, before it returns a Repo.
//
// Errors: [ErrFolderInUse], [ErrCheckoutDiffers], those of ResolveCommit.
func (r *Repo) CleanCheckout(ctx context.Context, commit, dir string) (*Repo, error) {
	id, err := r.ResolveCommit(ctx, commit)
	if err != nil {
		return nil, err
	}
	if err := r.borrow(ctx, dir, false); err != nil {
		return nil, fmt.Errorf("prepare checkout: %w", err)
	}
	if _, err := (gitCall{dir: dir, args: []string{"checkout", "--quiet", "--detach", id}}).run(ctx); err != nil {
		return nil, fmt.Errorf("check out %s: %w", id, err)
	}
	clean, err := Open(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("open checkout: %w", err)
	}
	if err := clean.Unchanged(ctx, id); err != nil {
		return nil, err
	}
	return clean, nil
}

// Unchanged proves that HEAD is the commit and that every tracked file on disk has the
// content and mode of its tree. Untracked files are allowed. The worktree's own index is
// not asked: it can hold flags and times that hide a change. Error: [ErrCheckoutDiffers].
func (r *Repo) Unchanged(ctx context.Context, commit string) error {
	head, err := r.Head(ctx)
	if err != nil {
		return errors.Join(ErrCheckoutDiffers, err)
	}
	if head != commit {
		return fmt.Errorf("compare head %s: %w", head, ErrCheckoutDiffers)
	}
	dir, err := os.MkdirTemp("", "deed-index-")
	if err != nil {
		return fmt.Errorf("compare checkout: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	env, err := quietFilters(ctx, r.top)
	if err != nil {
		return err
	}
	env = append(env, "GIT_INDEX_FILE="+filepath.Join(dir, "index"))
	ask := func(args ...string) ([]byte, error) { return gitCall{dir: r.top, args: args, env: env}.run(ctx) }
	if _, err := ask("read-tree", commit); err != nil {
		return fmt.Errorf("compare checkout: %w", err)
	}
	// Reads every file, since a fresh index knows no times; 1 says that some differ.
	if _, err := ask("update-index", "-q", "--refresh"); err != nil && exitCode(err) != 1 {
		return fmt.Errorf("compare checkout: %w", err)
	}
	out, err := ask("diff-files", "--raw", "-z", "--no-renames", "--ignore-submodules=dirty")
	if err != nil {
		return fmt.Errorf("compare checkout: %w", err)
	}
	if len(out) > 0 {
		return ErrCheckoutDiffers
	}
	return nil
}

// TrialMerge gives the tree that merging head into target would have, without writing
// to the repository: new objects go to a temporary store and are dropped. Attributes
// and merge drivers of the repository are not used.
//
// Errors: [ErrMergeConflict]; those of MergeBase, so that cut history never passes for a
// clean merge.
func (r *Repo) TrialMerge(ctx context.Context, target, head string) (string, error) {
	ids, err := r.resolveAll(ctx, target, head)
	if err != nil {
		return "", err
	}
	if _, err := r.MergeBase(ctx, ids[0], ids[1]); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "deed-merge-")
	if err != nil {
		return "", fmt.Errorf("prepare trial merge: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := r.borrow(ctx, dir, true); err != nil {
		return "", fmt.Errorf("prepare trial merge: %w", err)
	}
	out, err := gitCall{dir: dir, args: []string{"merge-tree", "--write-tree", "-z", "--no-messages", ids[0], ids[1]}}.run(ctx)
	if exitCode(err) == 1 {
		return "", ErrMergeConflict
	}
	if err != nil {
		return "", fmt.Errorf("merge %s into %s: %w", ids[1], ids[0], err)
	}
	fields, err := splitNUL(out)
	if err != nil || len(fields) != 1 || !r.isObjectID(fields[0]) {
		return "", fmt.Errorf("merge %s into %s: %w", ids[1], ids[0], ErrGitOutput)
	}
	return fields[0], nil
}

// borrow makes a new repository in dir that reads this one's objects and nothing else.
func (r *Repo) borrow(ctx context.Context, dir string, bare bool) error {
	if list, err := os.ReadDir(dir); err == nil && len(list) > 0 {
		return ErrFolderInUse
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	args := []string{"init", "--quiet", "--template=", "--initial-branch=deed", "--object-format=" + r.objectFormat}
	gitDir := filepath.Join(dir, ".git")
	if bare {
		args, gitDir = append(args, "--bare"), dir
	}
	if _, err := (gitCall{dir: dir, args: args}).run(ctx); err != nil {
		return err
	}
	for _, sub := range []string{"info", "objects/info"} {
		if err := os.MkdirAll(filepath.Join(gitDir, sub), 0o700); err != nil {
			return err
		}
	}
	if r.shallow {
		cut, err := os.ReadFile(filepath.Join(r.commonDir, "shallow"))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(gitDir, "shallow"), cut, 0o600); err != nil {
			return err
		}
	}
	store := cQuote(filepath.Join(r.commonDir, "objects")) + "\n"
	return errors.Join(
		os.WriteFile(filepath.Join(gitDir, "info", "attributes"), []byte(rawAttributes), 0o600),
		os.WriteFile(filepath.Join(gitDir, "objects", "info", "alternates"), []byte(store), 0o600),
	)
}

// cQuote writes a path as git's alternates file takes any name: quoted, in octal.
func cQuote(path string) string {
	quoted := []byte{'"'}
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '"' || c == '\\':
			quoted = append(quoted, '\\', c)
		case c < 0x20 || c >= 0x7f:
			quoted = fmt.Appendf(quoted, `\%03o`, c)
		default:
			quoted = append(quoted, c)
		}
	}
	return string(append(quoted, '"'))
}
