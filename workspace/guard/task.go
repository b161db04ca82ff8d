package guard

import (
	"slices"
	"strings"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// The kinds of evidence of a result's claim that git can be asked about. A
// line of another kind is text for people.
const (
	EvidencePath   = "path:"   // a path below the repository, encoded
	EvidenceRemote = "remote:" // REMOTE/BRANCH, a branch that has the head
)

// Promises returns what of a result's claims git can be asked about.
func Promises(claims []events.Stated) []Promise {
	var list []Promise
	for _, c := range claims {
		p := Promise{Item: c.Acceptance, Text: c.Text}
		for _, line := range c.Evidence {
			if encoded, ok := strings.CutPrefix(line, EvidencePath); ok {
				if raw, err := boundary.DecodePath(encoded); err == nil {
					p.Paths = append(p.Paths, raw)
				}
			}
			if branch, ok := strings.CutPrefix(line, EvidenceRemote); ok {
				if remote, name, ok := strings.Cut(branch, "/"); ok && remote != "" && remote[0] != '-' && name != "" {
					p.Remotes = append(p.Remotes, Branch{Remote: remote, Name: name})
				}
			}
		}
		if len(p.Paths)+len(p.Remotes) > 0 {
			list = append(list, p)
		}
	}
	return list
}

// TaskClaims returns what a ledger holds of a task, as the rules take it: the
// contract's goal and acceptance, the guards that hold at a stamp (ns), and
// with a result what that claims. A decision that was withdrawn, superseded or
// unfrozen, or that has expired, guards nothing.
//
// Before there is a result nothing is said to be done, so that no decision has
// to have landed: no rule has a text that must occur.
func TaskClaims(t *projections.Task, stamp int64) Claims {
	c := Claims{Task: t.ID}
	if v := t.Contract(); v != nil {
		c.Goal = v.Contract.Goal
		for _, item := range v.Contract.Acceptance {
			c.Accept = append(c.Accept, criterion(item))
		}
	}
	for _, g := range t.Guards(stamp) {
		r := Rule{Title: g.Title, Reason: g.Reason, Forbids: g.Guard.Forbids, Paths: g.Guard.Paths}
		if g.Approach != "" {
			c.Banned = append(c.Banned, r)
			continue
		}
		if t.Result != nil {
			r.Contains = g.Guard.Contains
		}
		c.Frozen = append(c.Frozen, r)
	}
	if t.Result == nil {
		return c
	}
	for _, said := range t.Result.Data.Claims {
		what := said.Acceptance + ": " + said.Text
		promises := Promises([]events.Stated{said})
		if len(promises) == 0 || len(promises[0].Paths) == 0 {
			c.Done = append(c.Done, Done{What: what})
			continue
		}
		for _, path := range promises[0].Paths {
			c.Done = append(c.Done, Done{What: what, Evidence: path})
		}
	}
	return c
}

func criterion(item events.Item) Criterion {
	c := Criterion{Text: item.ID + ": " + item.Text}
	if len(item.Checks) > 0 {
		c.Check = strings.Join(item.Checks[0].Command, " ")
	}
	return c
}

// DoneStep is a step of the open attempt that is said to be done, and the path
// in a commit that shows it.
type DoneStep struct {
	Title  string
	Commit string
	Path   string // raw, "" for the commit alone
}

// DoneSteps returns the completed steps of a task's open attempt that name
// commits.
func DoneSteps(t *projections.Task) []DoneStep {
	attempt := t.Attempt()
	var list []DoneStep
	if attempt == nil {
		return nil
	}
	for _, s := range t.Steps {
		if s.Attempt != attempt.ID || s.Status != projections.StepDone {
			continue
		}
		for _, e := range s.Evidence {
			if path, err := boundary.DecodePath(e.Path); e.Commit != "" && (err == nil || e.Path == "") {
				list = append(list, DoneStep{s.Data.Title, e.Commit, path})
			}
		}
	}
	return slices.Clip(list)
}
