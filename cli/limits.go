package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/workspace"
)

// repoPolicy is the policy of a repository, as a commit has it.
type repoPolicy struct {
	boundary.Policy
	Commit string
	Digest string // of the file
}

// policyAt reads the policy that a commit has, nil where it has none. The
// worktree is never asked: whoever works in it would write their own policy.
//
// Errors: those of reading git; boundary.ErrPolicy for a malformed policy, or
// something that is no file in its place. Such a policy allows nothing.
func (s *session) policyAt(ctx context.Context, repo *workspace.Repo, commit string) (*repoPolicy, error) {
	text, err := repo.ReadFile(ctx, commit, boundary.PolicyPath, boundary.MaxPolicyBytes)
	switch {
	case errors.Is(err, workspace.ErrNoSuchFile):
		return nil, misnamed(ctx, repo, commit)
	case errors.Is(err, workspace.ErrNotFile), errors.Is(err, workspace.ErrFileTooLarge):
		return nil, fmt.Errorf("%w: %w", boundary.ErrPolicy, err)
	case err != nil:
		return nil, fmt.Errorf("read policy: %w", err)
	}
	p, err := boundary.ReadPolicy(text)
	if err != nil {
		return nil, fmt.Errorf("%s in %s: %w", boundary.PolicyPath, commit, err)
	}
	sum := sha256.Sum256(text)
	return &repoPolicy{Policy: p, Commit: commit, Digest: hex.EncodeToString(sum[:])}, nil
}

// misnamed refuses a policy under another spelling of its name: whoever wrote it
// thinks that it bounds something.
func misnamed(ctx context.Context, repo *workspace.Repo, commit string) error {
	folder, _, _ := strings.Cut(boundary.PolicyPath, "/")
	paths, err := repo.TreePaths(ctx, commit, folder)
	if err != nil {
		return fmt.Errorf("read policy: %w", err)
	}
	short := strings.TrimSuffix(boundary.PolicyPath, ".yaml")
	for _, path := range paths {
		if name := boundary.FoldPath(path); strings.HasPrefix(name, short) && slices.Contains([]string{"", ".yaml", ".yml", ".json"}, name[len(short):]) {
			return fmt.Errorf("%w: %s in %s has to be named %s", boundary.ErrPolicy, boundary.DisplayPath(path), commit, boundary.PolicyPath)
		}
	}
	return nil
}

// limits are what a run may do now, and where that comes from.
type limits struct {
	boundary.Limits
	scope  *boundary.Limits // nil without a contract
	policy *repoPolicy      // nil where the repository has none, or a malformed one
	commit string           // where the policy was looked for
	// fault says why the policy allows nothing: it is malformed. The limits are
	// the zero ones then.
	fault error
}

// limitsOf returns what a run of a contract may do: the contract's scope under
// the repository's policy. The policy is the one at the tip of the contract's
// target; where there is no target here, the one of base.
func (s *session) limitsOf(ctx context.Context, repo *workspace.Repo, contract events.Contract, base string) (limits, error) {
	scope, err := scopeLimits(contract.Scope)
	if err != nil {
		return limits{}, err
	}
	l := limits{scope: &scope}
	if l.commit, err = targetTip(ctx, repo, contract.Target); errors.Is(err, workspace.ErrUnknownRevision) {
		l.commit, err = base, nil
	}
	if err != nil {
		return limits{}, err
	}
	l.policy, err = s.policyAt(ctx, repo, l.commit)
	if errors.Is(err, boundary.ErrPolicy) {
		l.fault, err = err, nil
	}
	l.combine()
	return l, err
}

// combine sets what is allowed by what scope and policy say.
func (l *limits) combine() {
	switch {
	case l.fault != nil:
		l.Limits = boundary.Limits{}
	case l.policy == nil:
		l.Limits = *l.scope
	case l.scope == nil:
		l.Limits = l.policy.Limits()
	default:
		l.Limits = l.scope.Under(l.policy.Policy)
	}
}

// attemptLimits is limitsOf for a task with an open attempt.
func (s *session) attemptLimits(ctx context.Context, repo *workspace.Repo, t *projections.Task) (limits, error) {
	if t.Attempt() == nil || t.Contract() == nil {
		return limits{}, refuseState("attempt", "task %s has no open attempt", t.ID)
	}
	return s.limitsOf(ctx, repo, t.Contract().Contract, t.Attempt().Snapshot.BaseCommit)
}

// pinned refuses to go on under limits that are not those that the attempt
// pinned: a person has to say that the work may go on under the new ones.
func (l limits) pinned(t *projections.Task) error {
	if l.fault != nil {
		return l.fault
	}
	if l.Digest() == t.Attempt().Snapshot.Inputs.Boundary {
		return nil
	}
	return withHint(refuseStale("boundary/pinned", "the boundary is not the one that attempt %s pinned: the policy at %s changed", t.Attempt().ID, l.commit),
		"stop the work; a controller decides: deed recover %s; the owner lets it go on with: deed escalation resolve %s --action resume --repin", t.ID, t.ID)
}

// kinds turns names of effects into kinds.
func kinds(names []string) []events.EffectKind {
	var list []events.EffectKind
	for _, name := range names {
		list = append(list, events.EffectKind(name))
	}
	return list
}

// scopeLimits returns what a contract's scope allows. Merge and deploy need an
// approval always.
func scopeLimits(scope events.Scope) (boundary.Limits, error) {
	paths, err := boundary.Parse(scope.Include, scope.Exclude)
	if err != nil {
		return boundary.Limits{}, fmt.Errorf("read contract's scope: %w", err)
	}
	// A line of an older contract that cannot be read allows nothing.
	var lines []string
	for _, line := range scope.Commands {
		if _, err := boundary.SplitCommand(line); err == nil {
			lines = append(lines, line)
		}
	}
	commands, err := boundary.ParseCommands(lines)
	if err != nil {
		return boundary.Limits{}, fmt.Errorf("read contract's scope: %w", err)
	}
	l := boundary.Limits{Paths: paths, Commands: commands}
	for _, kind := range scope.Effects {
		l.Effects = append(l.Effects, string(kind))
	}
	for _, kind := range approvalKinds(scope.Effects) {
		l.Approvals = append(l.Approvals, string(kind))
	}
	return l, nil
}

// checkScope refuses a scope with a pattern or a command that cannot be read.
func checkScope(scope events.Scope) error {
	if _, err := boundary.ParseCommands(scope.Commands); err != nil {
		return err
	}
	_, err := scopeLimits(scope)
	return err
}
