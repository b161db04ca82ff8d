package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace"
)

// The rules of findings that a verifier records on a result that is not what
// git says.
const (
	ruleBoundary = "result-out-of-boundary"
	ruleDiffers  = "result-differs-from-git"
)

// inspect holds a recorded result against git before its checks run. The
// ledger has only its author's word for the changed paths and for who wrote
// them, and judges boundary and separation by them. What is outside the boundary is
// recorded as boundary.violated for its tree, another difference as a fatal finding;
// both return a refusal with CodeBoundary.
func (s *session) inspect(ctx context.Context, repo *workspace.Repo, t *projections.Task) error {
	d, err := s.examine(ctx, repo, t)
	switch {
	case errors.Is(err, workspace.ErrMissingObject) || errors.Is(err, workspace.ErrUnknownRevision):
		return fmt.Errorf("%w: commit %s is not in this repository: fetch it first", errMissing, t.Result.Data.Head)
	case err != nil:
		return err
	case d.outside != nil:
		return s.recordOutside(ctx, t, d)
	case d.finding == nil:
		return errors.Join(s.inspectCommands(ctx, repo, t), s.inspectClaims(ctx, repo, t))
	}
	if _, err := s.recordFinding(ctx, t, d.finding); err != nil {
		return err
	}
	return refuse(ledger.CodeBoundary, "receipt.recorded/"+d.finding.Rule, "%s; a fatal finding is recorded", d.finding.Text)
}

// recordOutside records what of a result is outside the boundary, once for its
// tree, and returns the refusal.
func (s *session) recordOutside(ctx context.Context, t *projections.Task, d difference) error {
	var same steady
	known := false
	_, err := s.append(ctx, t.ID, func(state protocol.TaskState, _ author) (draft, error) {
		binding, _ := state.Task.Binding()
		if known = state.Task.Violation(d.outside.Tree) != nil; known {
			return draft{}, errFindingKnown
		}
		return draft{payload: d.outside}, same.hold("the result", binding.Result)
	})
	if err != nil && !known {
		return fmt.Errorf("record what is outside the boundary: %w", err)
	}
	err = refuse(ledger.CodeBoundary, "receipt.recorded/"+ruleBoundary, "%s; boundary.violated is recorded for tree %s", d.text, d.outside.Tree)
	return withHint(err, "nothing was run; ask for a repair: deed repair request %s --item ITEM --reason TEXT", t.ID)
}

// errFindingKnown stops a finding that is recorded already.
var errFindingKnown = errors.New("finding is recorded already")

// difference is what git says of a result otherwise than its author, as what is
// recorded of it; the zero difference when they agree.
type difference struct {
	finding *events.Finding
	outside *events.Violation
	text    string // the paths outside
}

// examine compares the recorded result with git.
func (s *session) examine(ctx context.Context, repo *workspace.Repo, t *projections.Task) (difference, error) {
	contract, said := t.Contract().Contract, t.Result.Data
	if _, err := repo.ResolveCommit(ctx, said.Head); err != nil {
		return difference{}, err
	}
	if err := checkBase(ctx, repo, contract.Target, said.Base); err != nil {
		return difference{}, err
	}
	kept, err := contains(ctx, repo, said.Head, said.Base)
	if err != nil {
		return difference{}, err
	}
	c, err := readRange(ctx, repo, said.Base, said.Head)
	if err != nil {
		return difference{}, err
	}
	if what := differs(said, c, kept); what != "" {
		return difference{finding: &events.Finding{Severity: "fatal", Rule: ruleDiffers, Text: what}}, nil
	}
	l, err := s.limitsOf(ctx, repo, contract, said.Base)
	if err == nil {
		err = l.pinned(t)
	}
	if err != nil {
		return difference{}, err
	}
	found, lines, err := listOutside(ctx, repo, c, boundaryCheck{l.Paths, c.changes, contract, said.Base, said.Head})
	if err != nil || len(lines) == 0 {
		return difference{}, err
	}
	text := enumerate(lines)
	if t.State != projections.AwaitingVerification && t.State != projections.Executing {
		return difference{finding: &events.Finding{Severity: "fatal", Rule: ruleBoundary, Text: printable(text, events.MaxText)}}, nil
	}
	return difference{outside: violationOf(found), text: text}, nil
}

// checkBase refuses a base that is not on the target. Who opens an attempt
// says where it begins: a base of their own making would hide whatever they
// committed before it from the boundary and from the list of authors. It is no
// finding, since this repository may only be behind the target.
func checkBase(ctx context.Context, repo *workspace.Repo, target, base string) error {
	tip, err := targetTip(ctx, repo, target)
	if errors.Is(err, workspace.ErrUnknownRevision) {
		return fmt.Errorf("%w: target %s is not in this repository: fetch it first", errMissing, plain(target))
	}
	if err != nil {
		return err
	}
	if on, err := contains(ctx, repo, tip, base); on || err != nil {
		return err
	}
	return refuseStale("receipt.recorded/base", "the result's base %s is not on %s here: fetch it; when it stays so, deed recover", base, plain(target))
}

// differs names the first thing in which a recorded result and git differ, ""
// when they agree.
func differs(said events.Result, c content, kept bool) string {
	paths := func(list []events.ChangedPath) []string {
		out := make([]string, len(list))
		for i, p := range list {
			out[i] = p.Status + " " + p.Path
		}
		slices.Sort(out)
		return out
	}
	actual := make([]events.ChangedPath, len(c.changes))
	for i, change := range c.changes {
		actual[i] = events.ChangedPath{Path: boundary.EncodePath(change.Path), Status: string(change.Status)}
	}
	switch {
	case !kept:
		return "the result's head does not contain its base"
	case said.Tree != c.result.Tree:
		return fmt.Sprintf("the head's tree is %s, the result says %s", c.result.Tree, said.Tree)
	case !slices.Equal(paths(said.Changes), paths(actual)):
		return "the changed paths are not those that the result names"
	case !slices.Equal(said.Authors, c.result.Authors):
		return "the authors of the commits are not those that the result names"
	}
	return ""
}
