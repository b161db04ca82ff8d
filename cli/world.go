package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace"
	"github.com/deedledger/deed/workspace/delivery"
	"github.com/deedledger/deed/workspace/workflow"
)

// measure returns the world of a task with an open attempt: facts of the git
// worktree around the working directory, and the inputs that the attempt
// pinned, measured again in the same way.
//
// Errors: those of workspace.Open and of reading git; a refusal with CodeState
// when the task has no open attempt.
func (s *session) measure(ctx context.Context, state protocol.TaskState) (events.World, error) {
	t := state.Task
	attempt, contract := t.Attempt(), t.Contract()
	if attempt == nil || contract == nil {
		return events.World{}, refuseState("world", "task %s has no open attempt: deed attempt open %s", t.ID, t.ID)
	}
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return events.World{}, fmt.Errorf("measure world: %w", err)
	}
	l, err := s.limitsOf(ctx, repo, contract.Contract, attempt.Snapshot.BaseCommit)
	if err != nil {
		return events.World{}, fmt.Errorf("measure world: %w", err)
	}
	w := events.World{}
	if w.Head, err = repo.Head(ctx); err != nil {
		return events.World{}, fmt.Errorf("measure world: %w", err)
	}
	if w.Tree, err = repo.Tree(ctx, w.Head); err != nil {
		return events.World{}, fmt.Errorf("measure world: %w", err)
	}
	if err := measureBase(ctx, repo, t, &w); err != nil {
		return events.World{}, fmt.Errorf("measure world: %w", err)
	}
	if w.Foreign, err = foreign(ctx, repo, l.Paths); err != nil {
		return events.World{}, fmt.Errorf("measure world: %w", err)
	}
	q, err := s.questionsAt(ctx, repo, l.commit)
	if err != nil {
		return events.World{}, fmt.Errorf("measure world: %w", err)
	}
	if q.fault != nil {
		s.note("%s: no skill is allowed and nothing is asked", q.fault)
	}
	for _, name := range attempt.Snapshot.Rights.Capabilities {
		if !q.has(ctx, s, name) {
			w.Missing = append(w.Missing, name)
		}
	}
	w.Inputs, err = s.inputs(ctx, place{repo, w.Head, l.Digest(), state.Policy, q}, toolNames(attempt.Snapshot.Inputs.Tools))
	if errors.Is(err, errProbe) { // no answer is another one than what was pinned
		s.note("%s", err)
		err = nil
	}
	return w, err
}

// measureBase fills what relates the pinned base, the target and the result.
func measureBase(ctx context.Context, repo *workspace.Repo, t *projections.Task, w *events.World) error {
	base := t.Attempt().Snapshot.BaseCommit
	var err error
	if w.BaseKept, err = contains(ctx, repo, w.Head, base); err != nil {
		return err
	}
	w.TargetTip, err = targetTip(ctx, repo, t.Attempt().Snapshot.Target)
	if errors.Is(err, workspace.ErrUnknownRevision) {
		return nil // no target here: the base is not on it, and nothing merges
	}
	if err != nil {
		return err
	}
	if w.BaseOnTarget, err = contains(ctx, repo, w.TargetTip, base); err != nil {
		return err
	}
	head := w.Head
	if t.Result != nil {
		head = t.Result.Data.Head
	}
	w.MergeTree, err = repo.TrialMerge(ctx, w.TargetTip, head)
	if errors.Is(err, workspace.ErrMergeConflict) || errors.Is(err, workspace.ErrNoMergeBase) {
		w.MergeTree = ""
		return nil
	}
	return err
}

// contains reports whether old is head or an ancestor of it. In a repository
// with whole history a commit that is not there is no ancestor.
func contains(ctx context.Context, repo *workspace.Repo, head, old string) (bool, error) {
	ok, err := repo.IsAncestor(ctx, old, head)
	if errors.Is(err, workspace.ErrMissingObject) && !repo.Shallow() {
		return false, nil
	}
	return ok, err
}

// targetTip returns the commit at the tip of a target branch: the local
// branch, else that of the remote "origin" as it was last fetched.
func targetTip(ctx context.Context, repo *workspace.Repo, target string) (string, error) {
	tip, err := repo.ResolveCommit(ctx, "refs/heads/"+target)
	if errors.Is(err, workspace.ErrUnknownRevision) {
		return repo.ResolveCommit(ctx, "refs/remotes/origin/"+target)
	}
	return tip, err
}

// foreign returns the uncommitted paths outside a boundary, encoded and sorted:
// changes that no run of the task may have made. Prints of a ledger change no
// input of the work.
func foreign(ctx context.Context, repo *workspace.Repo, bounds boundary.Boundary) ([]string, error) {
	dirty, err := repo.Dirty(ctx)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, path := range dirty.Paths() {
		// A nested repository ends with a slash and may change nothing.
		if !bounds.Allows(path) && !delivery.Printed(path) && !workflow.Printed(path) {
			paths = append(paths, boundary.EncodePath(path))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths[:min(len(paths), events.MaxList)]), nil
}

// place is where inputs are read: a commit of a repository, under a boundary
// and a policy.
type place struct {
	repo   *workspace.Repo
	commit string
	limits string // digest of what a run may do
	policy string // digest of the ledger's policy in force
	questions
}

// inputs measures what an attempt depends on, with the versions of the named
// tools. A snapshot and a world come from here, so they compare. Error: errProbe
// when a command of the repository's capture policy did not answer, with
// everything else measured.
func (s *session) inputs(ctx context.Context, at place, tools []string) (events.Inputs, error) {
	locks, err := at.repo.LockfileDigests(ctx, at.commit)
	if err != nil {
		return events.Inputs{}, fmt.Errorf("read lockfiles: %w", err)
	}
	in := events.Inputs{
		LockDigest: locks.Combined, Policy: at.policy, Boundary: at.limits, Tools: s.toolVersions(ctx, tools),
	}
	for _, f := range locks.Files {
		in.Lockfiles = append(in.Lockfiles, events.PinnedFile{Path: boundary.EncodePath(f.Path), Digest: f.SHA256})
	}
	slices.SortFunc(in.Lockfiles, func(a, b events.PinnedFile) int { return strings.Compare(a.Path, b.Path) })
	err = at.fill(ctx, s, at, &in)
	return in, err
}
