package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/workspace"
	"github.com/spf13/cobra"
)

func newBoundaryLintCommand(e *Env, f *flags) *cobra.Command {
	var o rangeFlags
	var file string
	cmd := &cobra.Command{
		Use: "lint", Short: "Find rules of a policy or a scope that are malformed, or match nothing", Args: cobra.NoArgs,
		Long: `Read the policy that a commit has, or a file that is to become one, and the scope of a contract
draft, and hold them against the paths of that commit. A rule that matches no path is a
warning: it guards a folder that was renamed, or opens one that is yet to be made. A
malformed rule is an error, exit code 22: it makes the whole policy allow nothing. No ledger
is asked.`,
		RunE: e.action(f, func(ctx context.Context, s *session, _ []string) error { return s.lintBoundary(ctx, o, file) }),
	}
	cmd.Flags().StringVar(&o.base, "base", "HEAD", "commit whose policy and paths count")
	cmd.Flags().StringVar(&file, "file", "", "policy file to look at instead of the commit's")
	cmd.Flags().StringVar(&o.contract, "contract", "", "contract draft whose scope is looked at too")
	return cmd
}

// lintWarning is a rule that does nothing in a tree.
type lintWarning struct {
	Layer   string `json:"layer"` // contract or policy
	Pattern string `json:"pattern,omitzero"`
	Line    int    `json:"line,omitzero"` // of the policy
	Text    string `json:"text"`
}

func (s *session) lintBoundary(ctx context.Context, o rangeFlags, file string) error {
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return err
	}
	var l limits
	var contract events.Contract
	if file == "" {
		l, contract, err = s.writtenLimits(ctx, repo, o.base, o.contract)
	} else {
		l, contract, err = s.limitsOfFile(ctx, repo, o, file)
	}
	if err == nil {
		err = l.fault
	}
	if err != nil {
		return err
	}
	paths, err := repo.TreePaths(ctx, l.commit)
	if err != nil {
		return err
	}
	found := lint(l, checksOf(contract), paths)
	return s.result("boundary-lint", found, func(w *textWriter) {
		for _, x := range found {
			place := x.Layer
			if x.Line > 0 {
				place += fmt.Sprintf(" line %d", x.Line)
			}
			w.line("warning: %s: %s", place, x.Text)
		}
		w.line("%s; the rules are well formed", counted(len(found), "warning"))
	})
}

// limitsOfFile is writtenLimits with a policy that is not committed yet.
func (s *session) limitsOfFile(ctx context.Context, repo *workspace.Repo, o rangeFlags, name string) (limits, events.Contract, error) {
	var contract events.Contract
	text, err := s.readInput(name, maxDraft)
	if err != nil {
		return limits{}, contract, err
	}
	p, err := boundary.ReadPolicy(text)
	if err != nil {
		return limits{}, contract, err
	}
	l := limits{policy: &repoPolicy{Policy: p}}
	if l.commit, err = repo.ResolveCommit(ctx, o.base); err != nil || o.contract == "" {
		return l, contract, err
	}
	if contract, err = s.scopeFile(o.contract); err != nil {
		return limits{}, contract, err
	}
	scope, err := scopeLimits(contract.Scope)
	l.scope = &scope
	return l, contract, err
}

// checksOf returns all checks of a contract.
func checksOf(c events.Contract) []events.Check {
	var list []events.Check
	for _, item := range c.Acceptance {
		list = append(list, item.Checks...)
	}
	return list
}

// lint lists the rules that do nothing among the paths of a commit, and those
// that other rules leave nothing of.
func lint(l limits, checks []events.Check, paths []string) []lintWarning {
	found := []lintWarning{}
	warn := func(layer, pattern, text string, line int) {
		found = append(found, lintWarning{Layer: layer, Pattern: pattern, Line: line, Text: text})
	}
	idle := func(layer string, b boundary.Boundary, line func(string) int) {
		for _, pattern := range b.Unmatched(paths) {
			warn(layer, pattern, pattern+" matches no path of the commit", line(pattern))
		}
		for _, pattern := range b.Shadowed(paths) {
			warn(layer, pattern, pattern+" opens nothing: what it matches is protected or excluded", line(pattern))
		}
	}
	if l.scope != nil {
		idle("contract", l.scope.Paths, func(string) int { return 0 })
	}
	p := l.policy
	if p == nil {
		return found
	}
	if len(p.Include) == 0 {
		warn("policy", "", "write.include is empty: no path may change", 0)
	}
	idle("policy", p.Bounds(), func(pattern string) int { return max(p.Line("include", pattern), p.Line("exclude", pattern)) })
	for _, kind := range p.Effects {
		switch {
		case events.EffectKind(kind).ReleaseOnly():
			warn("policy", "", kind+" needs an approval always: to list it opens nothing", p.Line("effects", kind))
		case !p.FreeEffect(kind):
			warn("policy", "", kind+" is in requireHumanApproval too: it is never free", p.Line("effects", kind))
		}
	}
	for _, check := range checks {
		if len(p.Commands) > 0 && !p.Runs().Allows(check.Command) {
			text := fmt.Sprintf("check %s calls %s, which the policy does not list: a run must not call it through deed exec", check.ID, strings.Join(check.Command, " "))
			warn("policy", "", text, 0)
		}
	}
	return found
}
