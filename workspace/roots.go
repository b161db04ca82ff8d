package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// RootNames lists the names in the root folder of a commit's tree, as raw bytes, sorted.
// Errors as for ResolveCommit.
func (r *Repo) RootNames(ctx context.Context, commit string) ([]string, error) {
	id, err := r.ResolveCommit(ctx, commit)
	if err != nil {
		return nil, err
	}
	out, err := r.git("ls-tree", "-z", "--full-tree", "--name-only", "--end-of-options", id).run(ctx)
	if exitCode(err) == 128 {
		return nil, errors.Join(ErrMissingObject, err)
	}
	if err != nil {
		return nil, fmt.Errorf("list root folder: %w", err)
	}
	names, err := splitNUL(out)
	if err != nil {
		return nil, fmt.Errorf("list root folder: %w", err)
	}
	slices.Sort(names)
	return names, nil
}
