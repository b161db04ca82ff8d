package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/deedledger/deed/boundary"
)

var (
	// ErrFileTooLarge reports a file of more bytes than its reader takes.
	ErrFileTooLarge = errors.New("file is too large")
	// ErrNotFile reports something at a path that is no regular file.
	ErrNotFile = errors.New("not a regular file")
)

// ReadFile reads a regular file of a commit, of at most limit bytes, and never from the
// worktree. The path starts with a letter, a digit or a dot. Errors: [ErrNoSuchFile] when nothing is at the path, [ErrNotFile] for a link,
// a folder or a submodule there or above it, [ErrFileTooLarge], those of ResolveCommit.
func (r *Repo) ReadFile(ctx context.Context, commit, path string, limit int64) ([]byte, error) {
	fail := func(err error) ([]byte, error) {
		return nil, fmt.Errorf("read %q in %s: %w", boundary.DisplayPath(path), commit, err)
	}
	top, _, _ := strings.Cut(path, "/")
	list, err := r.entries(ctx, commit, top)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(e treeEntry) bool { return e.path == path || within(e.path, path) || within(path, e.path) })
	if i < 0 {
		return fail(ErrNoSuchFile)
	}
	if entry := list[i]; entry.path != path || entry.mode != ModeFile && entry.mode != ModeExecutable {
		return fail(ErrNotFile)
	}
	var text []byte
	err = r.eachObject(ctx, list[i:i+1], func(_ treeEntry, content io.Reader) (err error) {
		if text, err = io.ReadAll(io.LimitReader(content, limit+1)); err == nil && int64(len(text)) > limit {
			err = ErrFileTooLarge
		}
		return err
	})
	if err != nil {
		return fail(err)
	}
	return text, nil
}

// within tells whether a path lies below a folder.
func within(path, folder string) bool {
	return len(path) > len(folder) && path[:len(folder)] == folder && path[len(folder)] == '/'
}
