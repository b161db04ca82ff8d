package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/workspace"
)

// checkedRange checks commits without a ledger: for CI, and before there is one.
func (s *session) checkedRange(ctx context.Context, o rangeFlags, args []string) error {
	if o.base == "" || o.record || len(args) > 0 {
		return fmt.Errorf("%w: boundary check --base REV [--head REV] [--contract FILE], without TASK and --record", errUsage)
	}
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return err
	}
	l, contract, err := s.writtenLimits(ctx, repo, o.base, o.contract)
	if err == nil {
		err = l.fault
	}
	if err != nil {
		return err
	}
	head, err := repo.ResolveCommit(ctx, o.head)
	if err != nil {
		return err
	}
	from, err := repo.MergeBase(ctx, l.commit, head)
	if err != nil {
		return err
	}
	found, lines, err := measured(ctx, repo, boundaryCheck{bounds: l.Paths, contract: contract, base: from, head: head}, "")
	if err != nil {
		return err
	}
	return s.showOutside(found, lines)
}

// writtenLimits returns what files say that a run may do: the policy that a
// revision has, and the scope of a contract draft where one is named. One of
// them has to be there.
func (s *session) writtenLimits(ctx context.Context, repo *workspace.Repo, rev, draftFile string) (limits, events.Contract, error) {
	var contract events.Contract
	l := limits{}
	var err error
	if l.commit, err = repo.ResolveCommit(ctx, rev); err != nil {
		return limits{}, contract, err
	}
	l.policy, err = s.policyAt(ctx, repo, l.commit)
	if errors.Is(err, boundary.ErrPolicy) {
		l.fault, err = err, nil
	}
	if err != nil {
		return limits{}, contract, err
	}
	if draftFile != "" {
		if contract, err = s.scopeFile(draftFile); err != nil {
			return limits{}, contract, err
		}
		scope, err := scopeLimits(contract.Scope)
		if err != nil {
			return limits{}, contract, err
		}
		l.scope = &scope
	}
	if l.policy == nil && l.scope == nil && l.fault == nil {
		return limits{}, contract, fmt.Errorf("%w: commit %s has no %s: name a contract draft with --contract", errMissing, l.commit, boundary.PolicyPath)
	}
	l.combine()
	return l, contract, nil
}

// scopeFile reads of a contract draft what bounds the work: its scope, and the
// commands and files of its checks.
func (s *session) scopeFile(name string) (events.Contract, error) {
	file, err := os.Open(s.abs(name))
	if err != nil {
		return events.Contract{}, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxDraft+1))
	if err != nil {
		return events.Contract{}, err
	}
	d, err := parseDraft(text)
	if err != nil {
		return events.Contract{}, err
	}
	c := events.Contract{Scope: events.Scope{Include: d.Scope.Include, Exclude: d.Scope.Exclude, Commands: d.Scope.Commands, Effects: d.Scope.Effects}}
	if err := checkScope(c.Scope); err != nil {
		return c, fmt.Errorf("%w: scope: %w", events.ErrData, err)
	}
	for _, item := range d.Acceptance {
		var checks []events.Check
		for n, check := range item.Checks {
			var files []events.PinnedFile
			for _, f := range check.Files {
				path, err := boundary.CleanPath(f.Path)
				if err != nil {
					return c, fmt.Errorf("%w: %w", events.ErrData, err)
				}
				files = append(files, events.PinnedFile{Path: boundary.EncodePath(path)})
			}
			checks = append(checks, events.Check{ID: first(check.ID, fmt.Sprintf("%s-%d", item.ID, n+1)), Command: check.Command, Files: files})
		}
		c.Acceptance = append(c.Acceptance, events.Item{ID: item.ID, Checks: checks})
	}
	return c, nil
}
