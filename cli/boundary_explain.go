package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/workspace"
	"github.com/spf13/cobra"
)

func newBoundaryExplainCommand(e *Env, f *flags) *cobra.Command {
	var task, base, contract string
	cmd := &cobra.Command{
		Use: "explain PATH…", Short: "Say which rule lets a path change, or does not", Args: cobra.MinimumNArgs(1),
		Long: `Say for each path whether it may change, and which rule of which layer decides: the protected
paths, the scope of the task's contract, the repository's policy. Each layer has to allow it.
Paths are from the root of the repository. Nothing has to be there.

With --base or --contract no ledger is asked: the policy is the one that the commit --base
has (default HEAD).`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			repo, err := workspace.Open(ctx, s.env.Dir)
			if err != nil {
				return err
			}
			l, pinned, err := s.explained(ctx, repo, task, rangeFlags{base: base, contract: contract})
			if err != nil {
				return err
			}
			return s.explainPaths(l, pinned, args)
		}),
	}
	cmd.Flags().StringVar(&task, "task", "", "task whose contract counts (default: the one bound to this worktree)")
	cmd.Flags().StringVar(&base, "base", "", "commit whose policy counts; no ledger is asked")
	cmd.Flags().StringVar(&contract, "contract", "", "contract draft whose scope counts; no ledger is asked")
	return cmd
}

// explained returns the limits that explain is about, and the pinned files.
func (s *session) explained(ctx context.Context, repo *workspace.Repo, task string, o rangeFlags) (limits, []string, error) {
	if o.base != "" || o.contract != "" {
		if task != "" {
			return limits{}, nil, fmt.Errorf("%w: either --task or --base and --contract", errUsage)
		}
		l, contract, err := s.writtenLimits(ctx, repo, first(o.base, "HEAD"), o.contract)
		if err != nil {
			return limits{}, nil, err
		}
		pinned, err := pinnedFiles(contract)
		return l, pinned, err
	}
	var args []string
	if task != "" {
		args = []string{task}
	}
	id, err := s.taskArg(ctx, args)
	if err != nil {
		return limits{}, nil, withHint(err, "name the commit whose policy counts, and no ledger is asked: deed boundary explain PATH --base HEAD")
	}
	state, err := s.existing(ctx, id)
	if err != nil {
		return limits{}, nil, err
	}
	contract := state.Task.Contract()
	if contract == nil {
		return limits{}, nil, refuseState("contract", "task %s has no accepted contract", id)
	}
	base := ""
	if a := state.Task.Attempt(); a != nil {
		base = a.Snapshot.BaseCommit
	}
	l, err := s.limitsOf(ctx, repo, contract.Contract, first(base, "HEAD"))
	if err != nil {
		return limits{}, nil, err
	}
	pinned, err := pinnedFiles(contract.Contract)
	return l, pinned, err
}

// pathAnswer is what one path meets.
type pathAnswer struct {
	Path    string        `json:"path"` // encoded
	Allowed bool          `json:"allowed"`
	Layers  []layerAnswer `json:"layers"`
}

// layerAnswer is what one layer says of a path.
type layerAnswer struct {
	Layer   string `json:"layer"` // protected, pinned, contract or policy
	Allowed bool   `json:"allowed"`
	Rule    string `json:"rule,omitzero"`    // by which it is refused
	Pattern string `json:"pattern,omitzero"` // that decides
	Line    int    `json:"line,omitzero"`    // of the policy's file
}

func (s *session) explainPaths(l limits, pinned, paths []string) error {
	list := []pathAnswer{}
	for _, typed := range paths {
		path, err := boundary.CleanPath(typed)
		if err != nil {
			return fmt.Errorf("%w: %w", errUsage, err)
		}
		list = append(list, explainPath(l, pinned, path))
	}
	return s.result("boundary-explanation", list, func(w *textWriter) {
		for _, x := range list {
			w.line("%s: %s", x.Path, allowance(x.Allowed))
			for _, a := range x.Layers {
				w.line("  %-9s %s", a.Layer, a.text())
			}
		}
		switch {
		case l.fault != nil:
			w.line("the policy of %s is malformed and allows nothing: %s", l.commit, l.fault.Error())
		case l.policy == nil:
			w.line("commit %s has no policy: the contract's scope alone counts", l.commit)
		default:
			w.line("the policy is that of commit %s", l.commit)
		}
	})
}

func allowance(allowed bool) string {
	if allowed {
		return "may change"
	}
	return "must not change"
}

func (a layerAnswer) text() string {
	text := "allows it"
	if !a.Allowed {
		text = "refuses it: " + a.Rule
	}
	if a.Pattern != "" {
		text += ", by " + a.Pattern
	}
	if a.Line > 0 {
		text += fmt.Sprintf(" (line %d)", a.Line)
	}
	return text
}

// explainPath asks layer by layer.
func explainPath(l limits, pinned []string, path string) pathAnswer {
	x := pathAnswer{Path: boundary.EncodePath(path), Allowed: true}
	add := func(a layerAnswer) {
		x.Layers, x.Allowed = append(x.Layers, a), x.Allowed && a.Allowed
	}
	if rule, pattern := (boundary.Boundary{}).Refusal(path); rule == boundary.RuleProtected {
		add(layerAnswer{Layer: "protected", Rule: string(rule), Pattern: pattern})
	}
	if slices.ContainsFunc(pinned, func(p string) bool { return boundary.FoldPath(p) == boundary.FoldPath(path) }) {
		add(layerAnswer{Layer: "pinned", Rule: string(boundary.RulePinned)})
	}
	layer := func(name string, b boundary.Boundary) layerAnswer {
		rule, pattern := b.Refusal(path)
		if rule == boundary.RuleProtected { // said above: what would the layer itself say?
			rule, pattern = "", ""
			if b.Allowing(path)[0] == "" {
				rule = boundary.RuleOutside
			}
		}
		if rule == "" {
			pattern = b.Allowing(path)[0]
		}
		return layerAnswer{Layer: name, Allowed: rule == "", Rule: string(rule), Pattern: pattern}
	}
	if l.scope != nil {
		add(layer("contract", l.scope.Paths))
	}
	switch {
	case l.fault != nil:
		add(layerAnswer{Layer: "policy", Rule: "malformed"})
	case l.policy != nil:
		a := layer("policy", l.policy.Bounds())
		if a.Line = l.policy.Line("include", a.Pattern); !a.Allowed {
			a.Line = l.policy.Line("exclude", a.Pattern)
		}
		add(a)
	}
	return x
}
