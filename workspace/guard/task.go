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

// HandoverClaims returns what a ledger holds of a task for whoever goes on: as
// [TaskClaims], with everything that decisions demand, the steps of the open
// attempt that are done, and what of its plan is left.
func HandoverClaims(t *projections.Task, stamp int64) Claims {
	c := TaskClaims(t, stamp)
	c.Frozen = nil
	for _, g := range t.Guards(stamp) {
		if g.Approach == "" {
			c.Frozen = append(c.Frozen, Rule{Title: g.Title, Reason: g.Reason, Contains: g.Guard.Contains, Forbids: g.Guard.Forbids, Paths: g.Guard.Paths})
		}
	}
	for _, s := range t.CurrentSteps() {
		switch s.Status {
		case projections.StepDone:
			c.Done = append(c.Done, Done{What: s.Data.Title + ": " + s.Text, Evidence: shows(s.Evidence)})
		case projections.StepFailed:
			c.Todo = append(c.Todo, Todo{What: s.Data.Title + ", which failed: " + s.Text})
		default:
			c.Todo = append(c.Todo, Todo{What: s.Data.Title, Next: "done when " + s.Data.Success})
		}
	}
	if next := t.NextUnit(); next != nil {
		c.Todo = append(c.Todo, Todo{What: next.Title, Next: "done when " + next.Success})
	}
	if p := t.Progress; p != nil {
		c.Todo = append(c.Todo, Todo{What: "the last note of a run: " + p.Data.Note})
	}
	return c
}

// shows names the first evidence of a step in a few words.
func shows(list []events.Evidence) string {
	for _, e := range list {
		switch {
		case e.Commit != "" && e.Path != "":
			return e.Path + " in commit " + e.Commit
		case e.Commit != "":
			return "commit " + e.Commit
		case e.Receipt != "":
			return "receipt " + e.Receipt
		case e.Artifact != "":
			return "artifact " + e.Artifact
		case e.Ran != nil:
			return "what its author says it ran: " + strings.Join(e.Ran.Command, " ")
		}
	}
	return ""
}

// Ledger is what a ledger says of the task that is handed over.
type Ledger struct {
	Task     string          `json:"task"`
	State    string          `json:"state"`
	Position events.Position `json:"position"`
	// Packet is the digest of the resume packet.
	Packet string       `json:"packet"`
	Result string       `json:"result,omitzero"` // its commit
	Items  []LedgerItem `json:"items"`
}

// LedgerItem is an acceptance item: the receipt, where there is one, gave the
// status.
type LedgerItem struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Receipt string `json:"receipt,omitzero"`
}

func (p *page) ledger(l *Ledger) {
	if l == nil {
		return
	}
	p.heading("### In the ledger")
	p.printf("- task %s is %s, as of position %s", l.Task, l.State, l.Position)
	p.printf("- result: %s", or(l.Result, "none yet"))
	for _, item := range l.Items {
		p.printf("- %s: %s%s", item.ID, item.Status, clause(", by receipt ", item.receipts()))
	}
	p.printf("- resume packet: digest %s", l.Packet)
}

func (i LedgerItem) receipts() []string {
	if i.Receipt == "" {
		return nil
	}
	return []string{i.Receipt}
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
