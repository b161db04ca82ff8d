package cli

import (
	"context"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace"
	"github.com/spf13/cobra"
)

// newBoundaryCommand builds "deed boundary".
func newBoundaryCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "boundary", Short: "Hold changes against what a task may touch"}
	cmd.AddCommand(writes(newBoundaryCheckCommand(e, f), f), newBoundaryExplainCommand(e, f), newBoundaryLintCommand(e, f))
	return cmd
}

// rangeFlags say what is checked without a ledger.
type rangeFlags struct {
	base, head, contract string
	record               bool
}

func newBoundaryCheckCommand(e *Env, f *flags) *cobra.Command {
	var o rangeFlags
	check := &cobra.Command{
		Use: "check [TASK]", Short: "List the changes of an attempt that are outside the boundary", Args: cobra.MaximumNArgs(1),
		Long: "List the changes between the attempt's base and a commit that are outside the boundary, from the\n" +
			"content of both: names on both sides of a move, modes, where links lead. Exit code 22 says that\n" +
			"there are some. With --record a verifier puts them into the ledger: they block that tree, and no\n" +
			"other, from being handed over, reviewed, approved and delivered.\n\n" +
			"With --base no ledger is asked: what --head changed since it left that commit is held against the\n" +
			"policy that the commit --base has, and against the scope of the contract draft --contract.",
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			if o.base != "" || o.contract != "" {
				return s.checkedRange(ctx, o, args)
			}
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return withHint(err, "name the commit that the change left, and no ledger is asked: deed boundary check --base REV")
			}
			return s.checkedBoundary(ctx, task, o.head, o.record)
		}),
	}
	check.Flags().StringVar(&o.head, "head", "HEAD", "commit to look at")
	check.Flags().StringVar(&o.base, "base", "", "commit whose policy counts and from which head went off; no ledger is asked")
	check.Flags().StringVar(&o.contract, "contract", "", "contract draft whose scope counts too, with --base")
	check.Flags().BoolVar(&o.record, "record", false, "record what is outside, as a verifier")
	return check
}

// outside is the result of "deed boundary check".
type outside struct {
	Task  string            `json:"task,omitzero"`
	Base  string            `json:"base"`
	Head  string            `json:"head"`
	Tree  string            `json:"tree"`
	Paths []events.Trespass `json:"paths"` // not allowed
	// More is how many paths are left off.
	More int `json:"more,omitzero"`
	// Event is what says so in the ledger already.
	Event string      `json:"event,omitzero"`
	Ack   *ledger.Ack `json:"recorded,omitempty"`
}

func (s *session) checkedBoundary(ctx context.Context, task, revision string, record bool) error {
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return err
	}
	head, err := repo.ResolveCommit(ctx, revision)
	if err != nil {
		return err
	}
	state, err := s.existing(ctx, task)
	if err != nil {
		return err
	}
	found, lines, err := s.outside(ctx, repo, state, head)
	if err != nil {
		return err
	}
	if v := state.Task.Violation(found.Tree); v != nil {
		found.Event = v.EventID
	}
	if record && found.Event == "" && len(found.Paths) > 0 {
		ack, err := s.append(ctx, task, func(state protocol.TaskState, _ author) (draft, error) {
			found, lines, err = s.outside(ctx, repo, state, head)
			return draft{payload: violationOf(found)}, err
		})
		if err != nil {
			return err
		}
		found.Ack = &ack
	}
	return s.showOutside(found, lines)
}

// escaped is text that boundary.DisplayPath has made plain already.
type escaped string

// showOutside prints what is outside, and fails when something is.
func (s *session) showOutside(found outside, lines []string) error {
	err := s.result("boundary", found, func(w *textWriter) {
		w.line("%s, %s..%s", first(found.Task, "without a task"), found.Base, found.Head)
		if found.Ack != nil {
			w.acked(*found.Ack, "recorded: tree %s is outside the boundary", found.Tree)
		}
		if found.Event != "" {
			w.line("  event %s says already that this tree is outside the boundary", found.Event)
		}
		for _, line := range lines {
			w.line("  %s", escaped(line))
		}
		if len(lines) == 0 {
			w.line("  everything is inside the boundary")
		}
	})
	if err != nil || len(lines) == 0 {
		return err
	}
	return told{refuse(ledger.CodeBoundary, "boundary", "%s outside the boundary", counted(len(lines), "change"))}
}

// outside reads what an open attempt changed outside the boundary up to a
// commit, as data and as lines for people.
func (s *session) outside(ctx context.Context, repo *workspace.Repo, state protocol.TaskState, head string) (outside, []string, error) {
	t := state.Task
	if t.Attempt() == nil || t.Contract() == nil {
		return outside{}, nil, refuseState("attempt", "task %s has no open attempt", t.ID)
	}
	contract := t.Contract().Contract
	l, err := s.attemptLimits(ctx, repo, t)
	if err == nil {
		err = l.fault
	}
	if err != nil {
		return outside{}, nil, err
	}
	if changed := l.pinned(t); changed != nil {
		s.note("note: %v", changed)
	}
	return measured(ctx, repo, boundaryCheck{bounds: l.Paths, contract: contract, base: t.Attempt().Snapshot.BaseCommit, head: head}, t.ID)
}

// measured reads the range of a check and lists what is outside.
func measured(ctx context.Context, repo *workspace.Repo, check boundaryCheck, task string) (outside, []string, error) {
	c, err := readRange(ctx, repo, check.base, check.head)
	if err != nil {
		return outside{}, nil, err
	}
	check.changes = c.changes
	found, lines, err := listOutside(ctx, repo, c, check)
	found.Task = task
	return found, lines, err
}

// listOutside lists what of a range is outside, as data and as lines for people.
func listOutside(ctx context.Context, repo *workspace.Repo, c content, check boundaryCheck) (outside, []string, error) {
	violations, err := trespasses(ctx, repo, check)
	if err != nil {
		return outside{}, nil, err
	}
	found := outside{
		Base: c.result.Base, Head: check.head, Tree: c.result.Tree,
		Paths: trespassesOf(violations, c.changes), More: len(violations) - min(len(violations), events.MaxList),
	}
	return found, violationLines(violations), nil
}
