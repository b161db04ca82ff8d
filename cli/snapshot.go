package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace"
)

// snapshotOptions are what a new attempt pins beyond what can be measured.
type snapshotOptions struct {
	base         string // revision; "" for where HEAD left the target
	identity     string // actor that answers for the work; "" for the author
	capabilities []string
	model        string
	promptDigest string
}

// snapshot measures what a new attempt on a contract starts from, in the git
// worktree around the working directory. It pins what [session.measure]
// measures again later, by the same functions.
//
// A base that is not on the contract's target, a capability that is not there,
// and a command of the capture policy that does not answer, are refused.
func (s *session) snapshot(ctx context.Context, state protocol.TaskState, contract events.Contract, o snapshotOptions) (events.Snapshot, error) {
	fail := func(err error) (events.Snapshot, error) {
		return events.Snapshot{}, fmt.Errorf("take snapshot: %w", err)
	}
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return fail(err)
	}
	base, mergeBase, err := findBase(ctx, repo, contract.Target, o.base)
	if err != nil {
		return fail(err)
	}
	l, err := s.limitsOf(ctx, repo, contract, base)
	if err == nil {
		err = l.fault
	}
	if err != nil {
		return fail(err)
	}
	tools, err := neededTools(ctx, repo, base)
	if err != nil {
		return fail(err)
	}
	q, err := s.questionsAt(ctx, repo, l.commit)
	if err == nil {
		err = q.fault
	}
	if err != nil {
		return fail(err)
	}
	in, err := s.inputs(ctx, place{repo, base, l.Digest(), state.Policy, q}, tools)
	if err != nil {
		return fail(err)
	}
	capabilities, err := q.capabilities(ctx, s, o.capabilities)
	if err != nil {
		return fail(err)
	}
	return events.Snapshot{
		BaseCommit: base, MergeBase: mergeBase, Target: contract.Target, Inputs: in, Model: o.model, PromptDigest: o.promptDigest,
		Rights: events.Rights{
			Identity: o.identity, Capabilities: capabilities, Paths: contract.Scope.Include,
			Effects: kinds(l.Effects), Approvals: kinds(l.Approvals),
		},
	}, nil
}

// findBase returns the base commit of a new attempt and its merge base with
// the target. Without a revision that is where HEAD left the target.
func findBase(ctx context.Context, repo *workspace.Repo, target, rev string) (base, mergeBase string, err error) {
	tip, err := targetTip(ctx, repo, target)
	if errors.Is(err, workspace.ErrUnknownRevision) {
		return "", "", refuse(ledger.CodeNotFound, "attempt.opened/target", "there is no branch %s here, nor at origin: fetch or make it", target)
	}
	if err != nil {
		return "", "", err
	}
	if rev == "" {
		if rev, err = repo.Head(ctx); err != nil {
			return "", "", err
		}
		base, err = repo.MergeBase(ctx, tip, rev)
		return base, base, err
	}
	if base, err = repo.ResolveCommit(ctx, rev); err != nil {
		return "", "", err
	}
	if mergeBase, err = repo.MergeBase(ctx, tip, base); err != nil {
		return "", "", err
	}
	if mergeBase != base {
		return "", "", refuse(ledger.CodeRule, "attempt.opened/base", "commit %s is not on %s: an attempt starts from what is", base, target)
	}
	return base, mergeBase, nil
}

// approvalKinds returns the listed kinds of effect that need an approval
// although the contract lists them.
func approvalKinds(listed []events.EffectKind) []events.EffectKind {
	var kinds []events.EffectKind
	for _, k := range listed {
		if k.ReleaseOnly() {
			kinds = append(kinds, k)
		}
	}
	return kinds
}
