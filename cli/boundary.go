package cli

import (
	"context"
	"fmt"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace"
	"github.com/spf13/cobra"
)

// newBoundaryCommand builds "deed boundary".
func newBoundaryCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "boundary", Short: "Hold changes against what a task may touch"}
	var head string
	var record bool
	check := &cobra.Command{
		Use: "check [TASK]", Short: "List the changes of an attempt that are outside the boundary", Args: cobra.MaximumNArgs(1),
		Long: "List the changes between the attempt's base and a commit that are outside the boundary, from the\n" +
			"content of both: names on both sides of a move, modes, where links lead. Exit code 22 says that\n" +
			"there are some. With --record a verifier puts them into the ledger: they block that tree, and no\n" +
			"other, from being handed over, reviewed, approved and delivered.",
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			return s.checkedBoundary(ctx, task, head, record)
		}),
	}
	check.Flags().StringVar(&head, "head", "HEAD", "commit to look at")
	check.Flags().BoolVar(&record, "record", false, "record what is outside, as a verifier")
	cmd.AddCommand(writes(check, f))
	return cmd
}

// outside is the result of "deed boundary check".
type outside struct {
	Task  string            `json:"task"`
	Base  string            `json:"base"`
	Head  string            `json:"head"`
	Tree  string            `json:"tree"`
	Paths []events.Trespass `json:"paths"` // not allowed
	Ack   *ledger.Ack       `json:"recorded,omitempty"`
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
	if record && len(found.Paths) > 0 {
		ack, err := s.append(ctx, task, func(state protocol.TaskState, _ author) (draft, error) {
			found, lines, err = s.outside(ctx, repo, state, head)
			return draft{payload: &events.Violation{Tree: found.Tree, Commit: head, Paths: found.Paths}}, err
		})
		if err != nil {
			return err
		}
		found.Ack = &ack
	}
	err = s.result("boundary", found, func(w *textWriter) {
		w.line("%s, %s..%s", task, found.Base, found.Head)
		if found.Ack != nil {
			w.acked(*found.Ack, "recorded: tree %s is outside the boundary", found.Tree)
		}
		for _, line := range lines {
			w.line("  %s", line)
		}
		if len(lines) == 0 {
			w.line("  everything is inside the boundary")
		}
	})
	if err != nil || len(found.Paths) == 0 {
		return err
	}
	return told{refuse(ledger.CodeBoundary, "boundary", "%s outside the boundary", counted(len(found.Paths), "change"))}
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
	c, err := readRange(ctx, repo, t.Attempt().Snapshot.BaseCommit, head)
	if err != nil {
		return outside{}, nil, err
	}
	violations, err := trespasses(ctx, repo, boundaryCheck{l.Paths, c.changes, contract, head})
	if err != nil {
		return outside{}, nil, err
	}
	if len(violations) > events.MaxList {
		return outside{}, nil, fmt.Errorf("%w: %d changes are outside the boundary, limit %d", events.ErrTooLarge, len(violations), events.MaxList)
	}
	found := outside{Task: t.ID, Base: c.result.Base, Head: head, Tree: c.result.Tree, Paths: []events.Trespass{}}
	for _, v := range violations {
		side := "new"
		for _, change := range c.changes {
			if change.Path == v.Path && change.NewMode == workspace.ModeNone {
				side = "old"
			}
		}
		found.Paths = append(found.Paths, events.Trespass{Path: boundary.EncodePath(v.Path), Side: side, Rule: string(v.Rule)})
	}
	return found, violationLines(violations), nil
}
