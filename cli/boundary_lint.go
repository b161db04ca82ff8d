package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/deedledger/deed/boundary"
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
	if file == "" {
		l, _, err = s.writtenLimits(ctx, repo, o.base, o.contract)
	} else {
		l, err = s.limitsOfFile(ctx, repo, o, file)
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
	found := lint(l, paths)
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
func (s *session) limitsOfFile(ctx context.Context, repo *workspace.Repo, o rangeFlags, name string) (limits, error) {
	file, err := os.Open(s.abs(name))
	if err != nil {
		return limits{}, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, boundary.MaxPolicyBytes+1))
	if err != nil {
		return limits{}, err
	}
	p, err := boundary.ReadPolicy(text)
	if err != nil {
		return limits{}, err
	}
	l := limits{policy: &repoPolicy{Policy: p}}
	if l.commit, err = repo.ResolveCommit(ctx, o.base); err != nil || o.contract == "" {
		return l, err
	}
	contract, err := s.scopeFile(o.contract)
	if err != nil {
		return limits{}, err
	}
	scope, err := scopeLimits(contract.Scope)
	l.scope = &scope
	return l, err
}

// lint lists the rules that match none of the paths, and a policy that lets
// nothing change.
func lint(l limits, paths []string) []lintWarning {
	found := []lintWarning{}
	if l.scope != nil {
		for _, pattern := range l.scope.Paths.Unmatched(paths) {
			found = append(found, lintWarning{Layer: "contract", Pattern: pattern, Text: pattern + " matches no path of the commit"})
		}
	}
	if l.policy == nil {
		return found
	}
	if len(l.policy.Include) == 0 {
		found = append(found, lintWarning{Layer: "policy", Text: "write.include is empty: no path may change"})
	}
	for _, pattern := range l.policy.Bounds().Unmatched(paths) {
		line := max(l.policy.Line("include", pattern), l.policy.Line("exclude", pattern))
		found = append(found, lintWarning{Layer: "policy", Pattern: pattern, Line: line, Text: pattern + " matches no path of the commit"})
	}
	return found
}
