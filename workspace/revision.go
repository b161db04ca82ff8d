package workspace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedledger/deed/boundary"
)

var (
	// ErrUnborn reports a HEAD that names a branch without a commit.
	ErrUnborn = errors.New("head has no commit yet")
	// ErrUnknownRevision reports a name that means no commit here, such as a deleted branch.
	ErrUnknownRevision = errors.New("unknown revision")
	// ErrMissingObject reports an object id whose object is not in the store.
	ErrMissingObject = errors.New("object is missing from the repository")
	// ErrHistoryIncomplete reports that a shallow clone cannot give the answer.
	ErrHistoryIncomplete = errors.New("history is incomplete in this shallow clone")
	// ErrNoMergeBase reports two commits with no common ancestor.
	ErrNoMergeBase = errors.New("commits have no common ancestor")
)

// Head gives the commit that is checked out. Error: [ErrUnborn].
func (r *Repo) Head(ctx context.Context) (string, error) {
	commit, err := r.git("rev-parse", "--verify", "--quiet", "HEAD^{commit}").line(ctx)
	if exitCode(err) == 1 {
		return "", ErrUnborn
	}
	if err != nil {
		return "", fmt.Errorf("read head: %w", err)
	}
	return commit, nil
}

// Branch gives the full name of the branch that is checked out, such as
// "refs/heads/main", or "" when HEAD is detached.
func (r *Repo) Branch(ctx context.Context) (string, error) {
	name, err := r.git("symbolic-ref", "--quiet", "HEAD").line(ctx)
	if exitCode(err) == 1 {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read branch: %w", err)
	}
	return name, nil
}

// ResolveCommit gives the id of the commit that rev means.
//
// Errors: [ErrUnknownRevision] for a name, [ErrMissingObject] for a full object id.
func (r *Repo) ResolveCommit(ctx context.Context, rev string) (string, error) {
	ids, err := r.resolveAll(ctx, rev)
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// resolveAll is ResolveCommit for several revisions, with one process.
func (r *Repo) resolveAll(ctx context.Context, revs ...string) ([]string, error) {
	var asked strings.Builder
	for _, rev := range revs {
		if rev == "" || strings.HasPrefix(rev, "-") || strings.ContainsAny(rev, "\x00\n\r") {
			return nil, fmt.Errorf("resolve %q: %w", boundary.DisplayPath(rev), ErrUnknownRevision)
		}
		asked.WriteString(rev + "^{commit}\n")
	}
	call := r.git("cat-file", "--batch-check=%(objecttype) %(objectname)")
	call.stdin = strings.NewReader(asked.String())
	out, err := call.line(ctx)
	if err != nil && exitCode(err) != 128 { // 128: an object is damaged; what came before counts
		return nil, fmt.Errorf("resolve %q: %w", boundary.DisplayPath(strings.Join(revs, ", ")), err)
	}
	answers := strings.Split(out, "\n")
	ids := make([]string, len(revs))
	for i, rev := range revs {
		id, ok := "", false
		if i < len(answers) {
			id, ok = strings.CutPrefix(answers[i], "commit ")
		}
		switch {
		case ok && r.isObjectID(id):
			ids[i] = id
		case r.isObjectID(rev):
			return nil, fmt.Errorf("resolve %s: %w", rev, ErrMissingObject)
		default:
			return nil, fmt.Errorf("resolve %q: %w", boundary.DisplayPath(rev), ErrUnknownRevision)
		}
	}
	return ids, nil
}

// Tree gives the id of the tree of a commit. Errors as for ResolveCommit.
func (r *Repo) Tree(ctx context.Context, commit string) (string, error) {
	id, err := r.ResolveCommit(ctx, commit)
	if err != nil {
		return "", err
	}
	tree, err := r.git("rev-parse", "--verify", "--quiet", "--end-of-options", id+"^{tree}").line(ctx)
	if err != nil {
		return "", fmt.Errorf("read tree of %s: %w", id, err)
	}
	return tree, nil
}

// MergeBase gives the best common ancestor of two commits. Of several that are equally
// good it gives the one with the smallest id, so that the order of a and b is no matter.
// In a shallow clone it answers only if the cut cannot hide a nearer one.
//
// Errors: [ErrHistoryIncomplete], [ErrNoMergeBase], [ErrMissingObject],
// [ErrUnknownRevision].
func (r *Repo) MergeBase(ctx context.Context, a, b string) (string, error) {
	ids, err := r.resolveAll(ctx, a, b)
	if err != nil {
		return "", err
	}
	out, err := r.git("merge-base", "--all", ids[0], ids[1]).line(ctx)
	switch exitCode(err) {
	case 1:
		if r.shallow {
			return "", ErrHistoryIncomplete
		}
		return "", ErrNoMergeBase
	case 128:
		return "", errors.Join(ErrMissingObject, err)
	}
	if err != nil {
		return "", fmt.Errorf("find merge base: %w", err)
	}
	bases := strings.Split(out, "\n")
	slices.Sort(bases)
	// A cut commit that is no ancestor of a base could have parents which both sides share.
	args := []string{ids[0], ids[1], "--not"}
	if err := r.refuseCut(ctx, append(args, bases...)); err != nil {
		return "", err
	}
	return bases[0], nil
}

// IsAncestor tells whether old is new or an ancestor of it.
//
// Errors: [ErrHistoryIncomplete] when the answer would be no and a shallow clone's cut
// might hide the link; [ErrMissingObject], [ErrUnknownRevision].
func (r *Repo) IsAncestor(ctx context.Context, old, new string) (bool, error) {
	ids, err := r.resolveAll(ctx, old, new)
	if err != nil {
		return false, err
	}
	_, err = r.git("merge-base", "--is-ancestor", ids[0], ids[1]).run(ctx)
	switch exitCode(err) {
	case 1:
		return false, r.refuseCut(ctx, []string{ids[1]})
	case 128:
		return false, errors.Join(ErrMissingObject, err)
	}
	if err != nil {
		return false, fmt.Errorf("compare ancestry: %w", err)
	}
	return true, nil
}

// revList gives the commits that the arguments of rev-list select.
func (r *Repo) revList(ctx context.Context, args []string) ([]string, error) {
	out, err := r.git(append([]string{"rev-list"}, args...)...).run(ctx)
	if exitCode(err) == 128 {
		return nil, errors.Join(ErrMissingObject, err)
	}
	if err != nil {
		return nil, fmt.Errorf("list commits: %w", err)
	}
	return strings.Fields(string(out)), nil
}

// refuseCut fails if the selected range holds a commit whose parents were cut away.
func (r *Repo) refuseCut(ctx context.Context, args []string) error {
	cut, err := r.cutCommits()
	if err != nil || len(cut) == 0 {
		return err
	}
	commits, err := r.revList(ctx, args)
	if err != nil {
		return err
	}
	for _, commit := range commits {
		if cut[commit] {
			return ErrHistoryIncomplete
		}
	}
	return nil
}

// cutCommits reads which commits stand at the edge of a shallow clone.
func (r *Repo) cutCommits() (map[string]bool, error) {
	file, err := os.Open(filepath.Join(r.commonDir, "shallow"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read shallow commits: %w", err)
	}
	defer func() { _ = file.Close() }()
	cut := map[string]bool{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		cut[strings.TrimSpace(lines.Text())] = true
	}
	return cut, lines.Err()
}

// isObjectID tells whether s is a full object id of this repository's hash.
func (r *Repo) isObjectID(s string) bool {
	digits := 40
	if r.objectFormat == "sha256" {
		digits = 64
	}
	return len(s) == digits && strings.Trim(s, "0123456789abcdef") == ""
}
