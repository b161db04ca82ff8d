package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/workspace"
	"github.com/spf13/cobra"
)

// mergeFlags are the flags of "deed effect merge".
type mergeFlags struct {
	remote, message, occurrence string
	noFastForward               bool
	env                         []string
}

// newEffectMergeCommand builds "deed effect merge".
func newEffectMergeCommand(e *Env, f *flags) *cobra.Command {
	var mf mergeFlags
	cmd := &cobra.Command{
		Use: "merge [TASK]", Short: "Merge the approved commit into the target, exactly once", Args: cobra.MaximumNArgs(1),
		Long: `Merges the approved commit into the contract's target branch as an effect of
kind merge, in a release run: deed lease claim TASK --purpose release. It always
waits for an approval of its own.

The target is moved in one step, and only from the commit that the intent names:
as a fast-forward where that is possible, else by a merge commit that names task,
effect and try in trailers. The merged tree must be the approved one; where the
target moved so that it would be another, nothing is merged, and deed recover asks
for a rebase. With --remote the branch is the remote's, and is pushed to.

Exit codes: 0 merged, or merged before · 3 proven not to be merged, try again ·
8 waits for approval · 20 the merged tree would not be the approved one · 21 nobody
knows.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			c, err := s.mergeCall(ctx, task, mf)
			if err != nil {
				return err
			}
			if c.env, err = s.passed(mf.env); err != nil {
				return err
			}
			return s.runEffect(ctx, c)
		}),
	}
	p := cmd.Flags()
	p.StringVar(&mf.remote, "remote", "", "remote that has the target (default this repository)")
	p.BoolVar(&mf.noFastForward, "no-ff", false, "make a merge commit, also where a fast-forward is possible")
	p.StringVarP(&mf.message, "message", "m", "", "message of a merge commit")
	p.StringVar(&mf.occurrence, "occurrence", "", "tells wanted repetitions apart")
	p.StringArrayVar(&mf.env, "env", nil, "environment variable to pass on to git push, by name (repeat)")
	return writes(cmd, f)
}

// mergeCall returns the effect that merges the approved commit, or the one
// that was begun before.
func (s *session) mergeCall(ctx context.Context, task string, mf mergeFlags) (*call, error) {
	state, err := s.existing(ctx, task)
	if err != nil {
		return nil, err
	}
	t := state.Task
	if t.Contract() == nil || t.Result == nil {
		return nil, refuseState("effect.intended", "task %s has no result to merge", task)
	}
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return nil, err
	}
	if err := knownRemote(ctx, repo, mf.remote); err != nil {
		return nil, err
	}
	target := t.Contract().Contract.Target
	g := &events.GitChange{Remote: mf.remote, Ref: "refs/heads/" + target, Tree: t.Result.Data.Tree, Merged: t.Result.Data.Head}
	if g.Parent, err = s.branchTip(ctx, repo, g.Remote, g.Ref); err != nil {
		return nil, errNoBranch(err, g.Ref)
	}
	if e := mergeBegun(t, g, mf.occurrence); e != nil {
		return againCall(t, e, repo), nil
	}
	a, err := s.author(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := lease(t, a); err != nil {
		return nil, err
	}
	if err := mergeable(ctx, repo, t, g); err != nil {
		return nil, err
	}
	if !mf.noFastForward {
		if g.FastForward, err = contains(ctx, repo, g.Merged, g.Parent); err != nil {
			return nil, err
		}
	}
	if !g.FastForward {
		s.sign(g, a)
		g.Message = first(strings.TrimSpace(mf.message), "Merge task "+task)
	}
	d := events.Intent{Kind: events.EffectMerge, Target: prefixed(mf.remote, ":") + target, Occurrence: mf.occurrence, Commit: g.Merged, Git: g}
	return branchCall(t, d, repo)
}

// knownRemote refuses a remote that the repository does not have: a URL would
// go where nobody looked.
func knownRemote(ctx context.Context, repo *workspace.Repo, name string) error {
	if name == "" {
		return nil
	}
	names, err := repo.Remotes(ctx)
	if err == nil && !slices.Contains(names, name) {
		err = fmt.Errorf("%w: the repository has no remote %q", errMissing, name)
	}
	return err
}

// mergeBegun returns the effect that merged the result, or may still: one
// whose outcome is open, or one that starts from the target's tip.
func mergeBegun(t *projections.Task, g *events.GitChange, occurrence string) *projections.Effect {
	for i := len(t.Effects) - 1; i >= 0; i-- {
		e := &t.Effects[i]
		old := e.Intent.Git
		if e.Intent.Kind != events.EffectMerge || old == nil || old.Merged != g.Merged || old.Remote != g.Remote || e.Intent.Occurrence != occurrence {
			continue
		}
		switch e.Status() {
		case projections.StatusWithdrawn, projections.StatusCompensated:
		case projections.StatusIntended, projections.StatusFailed:
			if old.Parent == g.Parent {
				return e
			}
		default:
			return e
		}
	}
	return nil
}

// mergeable refuses a merge that would change nothing, whose tree would not be
// the approved one, or which would move a branch under somebody's files.
func mergeable(ctx context.Context, repo *workspace.Repo, t *projections.Task, g *events.GitChange) error {
	target := strings.TrimPrefix(g.Ref, "refs/heads/")
	on, err := contains(ctx, repo, g.Parent, g.Merged)
	switch {
	case err != nil:
		return err
	case on:
		return withHint(refuseState("effect.intended", "commit %s is on %s already", short(g.Merged), target), "record the delivery: deed deliver %s", t.ID)
	}
	tree, err := repo.TrialMerge(ctx, g.Parent, g.Merged)
	if err != nil && !errors.Is(err, workspace.ErrMergeConflict) {
		return err
	}
	if err != nil || tree != g.Tree {
		said := first(tree, "conflicts")
		err := refuse(ledger.CodeStale, "effect.intended/tree", "merging %s into %s at %s gives %s, the approved tree is %s", short(g.Merged), target, short(g.Parent), said, g.Tree)
		return withHint(err, "the target moved: deed lease release %s --reason other; then deed recover %s asks for a rebase", t.ID, t.ID)
	}
	return underNobody(ctx, repo, g)
}
