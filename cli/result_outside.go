package cli

import (
	"errors"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/workspace"
)

// trespassing returns the result that says itself what it changed outside the
// boundary. The ledger refuses it, and its service records boundary.violated:
// what was tried is in the history, and that tree can be handed over no more. A
// tree of which that is recorded already is refused here.
func trespassing(t *projections.Task, c content) (draft, error) {
	if v := t.Violation(c.result.Tree); v != nil {
		return draft{}, refuse(ledger.CodeBoundary, "boundary-violated", "tree %s is outside the boundary, says event %s", c.result.Tree, v.EventID)
	}
	r := c.result
	for _, change := range c.changes[:min(len(c.changes), events.MaxChanges)] {
		r.Changes = append(r.Changes, events.ChangedPath{Path: boundary.EncodePath(change.Path), Status: string(change.Status)})
	}
	sortChanges(r.Changes)
	r.Outside = trespassesOf(c.outside, c.changes)
	return fitting(&r), nil
}

// outsideError adds to the refusal of a result every path that is outside, and
// what to do about it.
func outsideError(err error, lines []string) error {
	r, ok := errors.AsType[*ledger.Refusal](err)
	if !ok || r.Code != ledger.CodeBoundary {
		return err
	}
	if len(lines) > 0 {
		told := *r
		told.Text = enumerate(lines) + "; " + r.Text
		err = &told
	}
	return withHint(err, "keep the change inside the boundary: hand over a commit without it, or ask for a wider contract; deed boundary explain PATH names the rule")
}

// fitting cuts a list of trespasses until one event holds it.
func fitting(r *events.Result) draft {
	for len(r.Outside) > 1 {
		if _, err := events.EncodeData(r); err == nil {
			break
		}
		r.Outside = r.Outside[:len(r.Outside)/2]
		r.Changes = r.Changes[:max(1, len(r.Changes)/2)]
	}
	return draft{payload: r}
}

// trespassesOf returns violations as events name them, at most as many as one
// event holds.
func trespassesOf(violations []workspace.Violation, changes []workspace.Change) []events.Trespass {
	removed := map[string]bool{}
	for _, change := range changes {
		removed[change.Path] = change.NewMode == workspace.ModeNone
	}
	list := []events.Trespass{}
	for _, v := range violations[:min(len(violations), events.MaxList)] {
		side := "new"
		if removed[v.Path] {
			side = "old"
		}
		list = append(list, events.Trespass{Path: boundary.EncodePath(v.Path), Side: side, Rule: string(v.Rule)})
	}
	return list
}

// violationOf returns what is recorded of a check: as many paths as one event
// holds.
func violationOf(found outside) *events.Violation {
	v := &events.Violation{Tree: found.Tree, Commit: found.Head, Paths: found.Paths}
	for len(v.Paths) > 1 {
		if _, err := events.EncodeData(v); !errors.Is(err, events.ErrTooLarge) {
			break
		}
		v.Paths = v.Paths[:len(v.Paths)/2]
	}
	return v
}
