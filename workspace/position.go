package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/deedledger/deed/boundary"
)

// headFacts says what is checked out and how it stands to where it was pushed.
func (r *Repo) headFacts(ctx context.Context) (*HeadFacts, error) {
	branch, err := r.Branch(ctx)
	if err != nil {
		return nil, err
	}
	h := &HeadFacts{State: "branch", Branch: boundary.EncodePath(branch), Pushed: No}
	if branch == "" {
		h.State = "detached"
	}
	if h.Commit, err = r.Head(ctx); errors.Is(err, ErrUnborn) {
		h.State = "unborn"
		return h, nil
	} else if err != nil {
		return nil, err
	}
	if h.Tree, err = r.Tree(ctx, h.Commit); err != nil {
		return nil, err
	}
	if h.Upstream, err = r.upstream(ctx, branch, h.Commit); err != nil {
		return nil, err
	}
	if h.Pushed, err = r.pushed(ctx, h); err != nil {
		return nil, err
	}
	info, err := os.Stat(filepath.Join(r.gitDir, "FETCH_HEAD"))
	if err == nil {
		h.Fetched = info.ModTime().UTC().Format(time.RFC3339)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read time of last fetch: %w", err)
	}
	return h, nil
}

// upstream gives the branch that another follows, nil for none.
func (r *Repo) upstream(ctx context.Context, branch, head string) (*Upstream, error) {
	if branch == "" {
		return nil, nil
	}
	ref, err := r.git("for-each-ref", "--format=%(upstream)", branch).line(ctx)
	if err != nil || ref == "" {
		return nil, err
	}
	up := &Upstream{Ref: boundary.EncodePath(ref)}
	up.Commit, err = r.ResolveCommit(ctx, ref)
	if errors.Is(err, ErrUnknownRevision) {
		return up, nil
	}
	if err != nil {
		return nil, err
	}
	counts, err := r.git("rev-list", "--left-right", "--count", head+"..."+up.Commit).line(ctx)
	if err != nil {
		return nil, fmt.Errorf("compare with upstream: %w", err)
	}
	ahead, behind, _ := strings.Cut(counts, "\t")
	var bad, worse error
	up.Ahead, bad = strconv.Atoi(ahead)
	up.Behind, worse = strconv.Atoi(behind)
	if bad != nil || worse != nil {
		return nil, fmt.Errorf("compare with upstream: %w", ErrGitOutput)
	}
	up.MergeBase, err = r.MergeBase(ctx, head, up.Commit)
	if errors.Is(err, ErrNoMergeBase) || errors.Is(err, ErrHistoryIncomplete) {
		err = nil
	}
	return up, err
}

// pushed tells whether a remote-tracking ref contains the head. Where history is cut, no
// ref that contains it proves nothing.
func (r *Repo) pushed(ctx context.Context, h *HeadFacts) (string, error) {
	ref, err := r.git("for-each-ref", "--count=1", "--format=%(refname)", "--contains="+h.Commit, "refs/remotes/").line(ctx)
	switch {
	case err != nil && r.shallow:
		return Unknown, nil
	case err != nil:
		return "", fmt.Errorf("look for pushed refs: %w", err)
	case ref != "":
		return Yes, nil
	case r.shallow:
		return Unknown, nil
	}
	return No, nil
}

// targetFacts says where the target of the work is. A target that is not there has no
// commit; a note says why there is no merge base.
func (r *Repo) targetFacts(ctx context.Context, ref, head string, n *notes) (*Target, error) {
	t := &Target{Ref: boundary.EncodePath(ref)}
	var err error
	t.Commit, err = r.ResolveCommit(ctx, ref)
	if errors.Is(err, ErrUnknownRevision) || errors.Is(err, ErrMissingObject) {
		n.add("no-target", "the target is not in this repository: "+boundary.DisplayPath(ref))
		return t, nil
	}
	if err != nil || head == "" {
		return t, err
	}
	t.MergeBase, err = r.MergeBase(ctx, t.Commit, head)
	switch {
	case errors.Is(err, ErrNoMergeBase):
		n.add("no-merge-base", "head and target have no common ancestor")
	case errors.Is(err, ErrHistoryIncomplete):
		n.add("no-merge-base", "history is cut: the merge base of head and target is not known")
	case errors.Is(err, ErrMissingObject):
		n.add("no-merge-base", "objects of the history are missing: the merge base of head and target is not known")
	default:
		return t, err
	}
	return t, nil
}

// baseFacts relates the stored base of an attempt to head and target; either may be "".
func (r *Repo) baseFacts(ctx context.Context, base, head, target string, n *notes) (*BaseFacts, error) {
	b := &BaseFacts{Commit: base, Present: Yes, InHead: Unknown, OnTarget: Unknown}
	if _, err := r.ResolveCommit(ctx, base); errors.Is(err, ErrMissingObject) || errors.Is(err, ErrUnknownRevision) {
		b.Present = No
		n.add("base-missing", "the stored base commit is not in this repository")
	} else if err != nil {
		return nil, err
	}
	var err error
	if b.InHead, err = r.contains(ctx, base, head, b.Present); err != nil {
		return nil, err
	}
	if b.OnTarget, err = r.contains(ctx, base, target, b.Present); err != nil {
		return nil, err
	}
	if b.OnTarget == No {
		n.add("base-rewritten", "the stored base is no ancestor of the target: the target was rewritten")
	}
	return b, nil
}

// contains tells whether old is in the history of a commit. What is not in a store with
// its whole history is in no history there.
func (r *Repo) contains(ctx context.Context, old, commit, present string) (string, error) {
	switch {
	case commit == "", present == No && r.shallow:
		return Unknown, nil
	case present == No:
		return No, nil
	}
	inside, err := r.IsAncestor(ctx, old, commit)
	if errors.Is(err, ErrHistoryIncomplete) || errors.Is(err, ErrMissingObject) {
		return Unknown, nil
	}
	if err != nil {
		return "", err
	}
	if inside {
		return Yes, nil
	}
	return No, nil
}
