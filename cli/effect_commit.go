package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace"
	"github.com/spf13/cobra"
)

// commitMessageLimit bounds the file of a commit message, in bytes.
const commitMessageLimit = events.MaxText

// commitFlags are the flags of "deed effect commit".
type commitFlags struct {
	message, messageFile string
	branch, occurrence   string
}

// newEffectCommitCommand builds "deed effect commit".
func newEffectCommitCommand(e *Env, f *flags) *cobra.Command {
	var cf commitFlags
	cmd := &cobra.Command{
		Use: "commit [TASK] -m MESSAGE", Short: "Commit what is staged, exactly once", Args: cobra.MaximumNArgs(1),
		Long: `Commits the staged tree as an effect of kind commit, under a work lease. The
intent names the tree, the parent and the message before anything changes; the
branch is moved in one step, and only from that parent. No hook runs. The commit
names task, effect and try in trailers; its author is the signing actor, with the
first git identity that the registry has of it.

After a crash nothing is lost or made twice: deed recover asks git. Where the
commit was not made, the same command makes it from the same tree; where it was
made, it is recorded; where another one stands in its place, a person decides.
Neither changes the index or the files.

Exit codes: 0 committed, or committed before · 8 waits for approval · 21 another
commit stands in its place, or nobody knows.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			c, err := s.commitCall(ctx, task, cf)
			if err != nil {
				return err
			}
			return s.runEffect(ctx, c)
		}),
	}
	p := cmd.Flags()
	p.StringVarP(&cf.message, "message", "m", "", "the commit's message")
	p.StringVar(&cf.messageFile, "message-file", "", "file with the message; - reads standard input")
	p.StringVar(&cf.branch, "branch", "", "branch to commit to (default the one that is checked out)")
	p.StringVar(&cf.occurrence, "occurrence", "", "tells wanted repetitions apart")
	return writes(cmd, f)
}

// commitCall returns the effect that commits what is staged, or the one with
// the same tree that was begun before.
func (s *session) commitCall(ctx context.Context, task string, cf commitFlags) (*call, error) {
	message, err := s.commitMessage(cf)
	if err != nil {
		return nil, err
	}
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return nil, err
	}
	ref, err := commitBranch(ctx, repo, cf.branch)
	if err != nil {
		return nil, err
	}
	g := &events.GitChange{Ref: ref, Message: message}
	if g.Parent, err = repo.ResolveCommit(ctx, ref); err != nil {
		return nil, errNoBranch(err, ref)
	}
	if g.Tree, err = repo.StagedTree(ctx); err != nil {
		return nil, err
	}
	// Read last: whoever committed this tree meanwhile has said so before.
	state, err := s.existing(ctx, task)
	if err != nil {
		return nil, err
	}
	if e := begun(state.Task, g); e != nil {
		if message != "" && message != e.Intent.Git.Message && e.Status() != projections.StatusConfirmed {
			err := refuse(ledger.CodeRule, "effect.intended/key", "effect %s commits this tree with another message", shortKey(e.Intent.Key))
			return nil, withHint(err, "leave the message out, or give that one up: deed effect withdraw %s %s --reason TEXT", task, keyWord(e))
		}
		return againCall(state.Task, e, repo), nil
	}
	return s.newCommit(ctx, repo, state, events.Intent{Kind: events.EffectCommit, Occurrence: cf.occurrence, Git: g})
}

// commitMessage reads the message, "" where none was given.
func (s *session) commitMessage(cf commitFlags) (string, error) {
	text := cf.message
	if cf.messageFile != "" {
		if text != "" {
			return "", fmt.Errorf("%w: --message and --message-file exclude each other", errUsage)
		}
		read, err := s.readInput(cf.messageFile, commitMessageLimit)
		if err != nil {
			return "", err
		}
		text = string(read)
	}
	return strings.TrimSpace(text), nil
}

// commitBranch returns the full name of the branch to commit to.
func commitBranch(ctx context.Context, repo *workspace.Repo, name string) (string, error) {
	if name != "" {
		return "refs/heads/" + strings.TrimPrefix(name, "refs/heads/"), nil
	}
	ref, err := repo.Branch(ctx)
	if err == nil && ref == "" {
		err = fmt.Errorf("%w: no branch is checked out: git switch to one, or name it with --branch", errUsage)
	}
	return ref, err
}

// begun returns the effect that commits the same tree to the same branch and
// is not given up: the one whose outcome is open or that may be tried again,
// or the one that made the branch's tip.
func begun(t *projections.Task, g *events.GitChange) *projections.Effect {
	for i := len(t.Effects) - 1; i >= 0; i-- {
		e := &t.Effects[i]
		old := e.Intent.Git
		if e.Intent.Kind != events.EffectCommit || old == nil || old.Ref != g.Ref || old.Tree != g.Tree {
			continue
		}
		switch e.Status() {
		case projections.StatusWithdrawn, projections.StatusCompensated:
		case projections.StatusConfirmed:
			if e.Parts[0].ExternalID == g.Parent {
				return e
			}
		default:
			return e
		}
	}
	return nil
}

// newCommit completes the intent of a commit and holds it against the boundary.
func (s *session) newCommit(ctx context.Context, repo *workspace.Repo, state protocol.TaskState, d events.Intent) (*call, error) {
	t, g := state.Task, d.Git
	contract := t.Contract()
	if contract == nil || t.Attempt() == nil {
		return nil, refuseState("effect.intended", "task %s has no open attempt", t.ID)
	}
	a, err := s.author(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := lease(t, a); err != nil {
		return nil, err
	}
	tree, err := repo.Tree(ctx, g.Parent)
	switch {
	case err != nil:
		return nil, err
	case tree == g.Tree:
		return nil, withHint(refuseState("effect.intended", "nothing is staged"), "stage what belongs to the commit: git add")
	case g.Message == "":
		return nil, fmt.Errorf("%w: --message is missing", errUsage)
	}
	if err := underNobody(ctx, repo, g); err != nil {
		return nil, err
	}
	s.sign(g, a)
	d.Commit, d.Target = g.Parent, strings.TrimPrefix(g.Ref, "refs/heads/")
	// The draft says what the commit will hold; no branch ever names it.
	draft, err := newTip(ctx, repo, t.ID, &d, "draft")
	if err != nil {
		return nil, err
	}
	l, err := s.attemptLimits(ctx, repo, t)
	if err == nil {
		err = l.pinned(t)
	}
	if err != nil {
		return nil, err
	}
	changes, err := repo.Changes(ctx, g.Parent, draft)
	if err != nil {
		return nil, err
	}
	if err := checkBoundary(ctx, repo, boundaryCheck{l.Paths, changes, contract.Contract, g.Parent, draft}); err != nil {
		return nil, err
	}
	return branchCall(t, d, repo)
}
