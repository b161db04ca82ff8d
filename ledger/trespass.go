package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
)

// This file is what becomes of a result outside the boundary: it is refused, and
// the service records boundary.violated for its tree. Only the holder of the
// lease can cause that, since everything else about the event was checked before.

// checkTrespass refuses a result with changes outside the contract's scope, or
// that its own author found outside a boundary that the ledger cannot read: the
// repository's policy, and where links and submodules lead.
func checkTrespass(s *scene, d *events.Result) *Refusal {
	rule := s.row.Name()
	c := s.task.Contract().Contract
	same := func(path string) string { return path }
	if s.ledger.Registry.RulesVersion() >= rulesBoundary {
		same = folded
	}
	pinned := map[string]bool{}
	for _, item := range c.Acceptance {
		for _, check := range item.Checks {
			for _, f := range check.Files {
				pinned[same(f.Path)] = true
			}
		}
	}
	bounds := scopeOf(&s.ledger.Registry, c)
	var first *Refusal
	outside := slices.Clone(d.Outside)
	for _, change := range d.Changes {
		broken, text, place := "", "", ""
		switch raw, err := boundary.DecodePath(change.Path); {
		case pinned[same(change.Path)]:
			broken, place, text = string(boundary.RulePinned), "/pinned", "belongs to a check"
		case err != nil:
			broken, place, text = string(boundary.RuleMalformedPath), "/boundary", "is outside the contract's scope"
		default:
			refused, _ := bounds.Refusal(raw)
			broken, place, text = string(refused), "/boundary", "is outside the contract's scope"
		}
		if broken == "" {
			continue
		}
		if first == nil {
			first = refuse(CodeBoundary, rule+place, "%s %s", change.Path, text)
		}
		if !slices.ContainsFunc(outside, func(t events.Trespass) bool { return t.Path == change.Path }) {
			outside = append(outside, events.Trespass{Path: change.Path, Side: side(change.Status), Rule: broken})
		}
	}
	if len(outside) == 0 {
		return nil
	}
	if first == nil {
		first = refuse(CodeBoundary, rule+"/outside", "%s is outside the boundary (%s), as its author found", outside[0].Path, outside[0].Rule)
	}
	first.violation = violationOf(d, outside)
	return first
}

// folded gives one text for all spellings of an encoded path.
func folded(path string) string {
	raw, err := boundary.DecodePath(path)
	if err != nil {
		return path
	}
	return boundary.FoldPath(raw)
}

// side says which side of a change a path is on.
func side(status string) string {
	if status == "D" {
		return "old"
	}
	return "new"
}

// violationOf returns what is recorded of a result: its paths sorted, as many as
// one event holds.
func violationOf(d *events.Result, outside []events.Trespass) *events.Violation {
	slices.SortFunc(outside, func(a, b events.Trespass) int { return strings.Compare(a.Path, b.Path) })
	v := &events.Violation{Tree: d.Tree, Commit: d.Head, Paths: outside[:min(len(outside), events.MaxList)]}
	for len(v.Paths) > 1 {
		if _, err := events.EncodeData(v); !errors.Is(err, events.ErrTooLarge) {
			break
		}
		v.Paths = v.Paths[:len(v.Paths)/2]
	}
	return v
}

// trespassed records what a refused result broke, and returns the refusal. What
// could not be recorded does not make the result any better.
func (w *Writer) trespassed(a Admitted, refused error) error {
	r, ok := errors.AsType[*Refusal](refused)
	if !ok || r.violation == nil {
		return refused
	}
	told := *r
	if err := w.speak(w.book.State.Task(a.Event.Source.Task), r.violation); err != nil {
		w.cfg.Log.Error("record what a result broke", "task", a.Event.Source.Task, "err", err)
		told.Text = fmt.Sprintf("%s; that could not be recorded: %v", r.Text, err)
		return &told
	}
	told.Text = fmt.Sprintf("%s; boundary.violated is recorded for tree %s: another tree is needed", r.Text, r.violation.Tree)
	return &told
}
