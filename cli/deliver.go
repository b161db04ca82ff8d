package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace"
	"github.com/spf13/cobra"
)

// newDeliverCommand builds "deed deliver".
func newDeliverCommand(e *Env, f *flags) *cobra.Command {
	var rev string
	cmd := &cobra.Command{
		Use: "deliver TASK", Short: "Record that the approved tree is on the target", Args: cobra.MaximumNArgs(1),
		Long: "Record that the approved tree is on the contract's target branch, as git in this worktree shows it.\n\n" +
			"After deed effect merge, commit and tree are those of the effect, and must be on the branch that it moved. Without it " +
			"the tip of the branch counts, or --commit, which must be in the branch's history. Its tree must be the approved one. " +
			"The branch is the one of this repository; where it has none, origin's as it was last fetched.",
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			return s.deliver(ctx, task, rev)
		}),
	}
	cmd.Flags().StringVar(&rev, "commit", "", "commit on the target that has the approved tree; default its tip")
	return writes(cmd, f)
}

// delivered is the result of deliver.
type delivered struct {
	ledger.Ack
	Target string `json:"target"`
	Commit string `json:"commit"`
	Tree   string `json:"tree"`
	// Degraded are those who proved or approved their principal's own work.
	Degraded []string `json:"degraded,omitempty"`
}

func (s *session) deliver(ctx context.Context, task, rev string) error {
	var same steady
	var done delivered
	var err error
	done.Ack, err = s.append(ctx, task, func(state protocol.TaskState, a author) (draft, error) {
		if err := exists(state); err != nil {
			return draft{}, err
		}
		c, r := state.Task.Contract(), state.Task.Result
		if c == nil || r == nil {
			return draft{}, refuseState("delivery.recorded", "task %s has no result to deliver", task)
		}
		if err := mayWrite("delivery.recorded", a); err != nil { // before trees are compared, which others cannot help
			return draft{}, err
		}
		done.Target, done.Degraded = c.Contract.Target, degradedBy(state.Task)
		if e := state.Task.MergedBy(); e != nil && rev == "" {
			done.Commit, done.Tree, err = s.mergedBy(ctx, e)
		} else {
			done.Commit, done.Tree, err = s.onTarget(ctx, done.Target, rev)
		}
		if err != nil {
			return draft{}, err
		}
		if done.Tree != r.Data.Tree {
			err := refuse(ledger.CodeRule, "delivery.recorded/tree", "commit %s on %s has tree %s, the result's is %s", done.Commit, done.Target, done.Tree, r.Data.Tree)
			return draft{}, withHint(err, "merge the approved commit %s into %s first, with deed effect merge or git, or name the commit there that has its tree with --commit", short(r.Data.Head), done.Target)
		}
		return draft{payload: &events.Delivery{Contract: c.Digest, Result: r.Hash, Target: done.Target, Commit: done.Commit, Tree: done.Tree}},
			same.hold("the result or the target", c.Digest, r.Hash, done.Commit)
	})
	if err != nil {
		return err
	}
	return s.result("delivery", done, func(w *textWriter) {
		w.acked(done.Ack, "delivered %s: commit %s on %s", task, done.Commit, done.Target)
		w.degraded(done.Degraded)
	})
}

// mergedBy returns the commit that a merge effect brought to the target, and
// its tree, after git showed that it is there.
func (s *session) mergedBy(ctx context.Context, e *projections.Effect) (commit, tree string, err error) {
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return "", "", err
	}
	g := e.Intent.Git
	tip, err := s.branchTip(ctx, repo, g.Remote, g.Ref)
	if err != nil {
		return "", "", errNoBranch(err, g.Ref)
	}
	commit = e.Parts[0].ExternalID
	on, err := contains(ctx, repo, tip, commit)
	if err == nil && !on {
		err = refuse(ledger.CodeRule, "delivery.recorded/target", "commit %s of effect %s is not on %s any more", commit, shortKey(e.Intent.Key), e.Intent.Target)
	}
	if err != nil {
		return "", "", err
	}
	tree, err = repo.Tree(ctx, commit)
	return commit, tree, err
}

// onTarget returns the commit that a delivery names, and its tree, after git
// showed that it is on the target branch.
func (s *session) onTarget(ctx context.Context, target, rev string) (commit, tree string, err error) {
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return "", "", err
	}
	tip, err := targetTip(ctx, repo, target)
	if errors.Is(err, workspace.ErrUnknownRevision) {
		return "", "", fmt.Errorf("%w: there is no branch %s here, nor at origin", errMissing, target)
	}
	if err != nil {
		return "", "", err
	}
	commit = tip
	if rev != "" {
		if commit, err = repo.ResolveCommit(ctx, rev); err != nil {
			return "", "", err
		}
		on, err := contains(ctx, repo, tip, commit)
		if err != nil {
			return "", "", err
		}
		if !on {
			err := refuse(ledger.CodeRule, "delivery.recorded/target", "commit %s is not on %s", commit, target)
			return "", "", withHint(err, "merge it into %s first, with git merge --no-ff %s, then run this again", target, short(commit))
		}
	}
	tree, err = repo.Tree(ctx, commit)
	return commit, tree, err
}
