package guard

import (
	"fmt"

	"github.com/deedledger/deed/boundary"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// PackSchema is the version of handoff.json; its JSON Schema is published as
// schemas/handoff.v1.json.
const PackSchema = "deed.guard.handoff/v1"

// Pack is what is handed over, for programs: what was measured, what is said,
// and what does not match.
type Pack struct {
	Schema    string      `json:"schema"`
	Objective Snapshot    `json:"objective"`
	Ledger    *Ledger     `json:"ledger,omitempty"` // nil without one
	Claimed   Claimed     `json:"claimed"`
	Check     PackedCheck `json:"check"`
}

// Claimed is [Claims] in its JSON form. Every text is untrusted.
type Claimed struct {
	Task   string          `json:"task"`
	Goal   string          `json:"goal"`
	Done   []ClaimedDone   `json:"done"`
	Todo   []ClaimedTodo   `json:"todo"`
	Frozen []ClaimedRule   `json:"frozen"`
	Banned []ClaimedRule   `json:"banned"`
	Accept []ClaimedAccept `json:"accept"`
}

// ClaimedDone is [Done].
type ClaimedDone struct {
	What     string `json:"what"`
	Evidence string `json:"evidence,omitzero"`
}

// ClaimedTodo is [Todo].
type ClaimedTodo struct {
	What string `json:"what"`
	Next string `json:"next,omitzero"`
}

// ClaimedRule is [Rule].
type ClaimedRule struct {
	Title    string   `json:"title"`
	Reason   string   `json:"reason,omitzero"`
	Contains []string `json:"contains,omitempty"`
	Forbids  []string `json:"forbids,omitempty"`
	Paths    []string `json:"paths,omitempty"`
}

// ClaimedAccept is [Criterion].
type ClaimedAccept struct {
	Criterion string `json:"criterion"`
	Check     string `json:"check,omitzero"`
}

// PackedCheck is the outcome of a check.
type PackedCheck struct {
	Fatal    int             `json:"fatal"`
	Pending  int             `json:"pending"`
	Hints    int             `json:"hints"`
	Findings []PackedFinding `json:"findings"`
	Skipped  Skipped         `json:"skipped"`
}

// PackedFinding is a [Finding] with its path encoded.
type PackedFinding struct {
	Finding
	Path string `json:"path,omitzero"`
}

// PackOf puts a hand-over together.
func PackOf(s Snapshot, c Claims, found []Finding, left Skipped) Pack {
	p := Pack{
		Schema: PackSchema, Objective: s,
		Claimed: Claimed{Task: c.Task, Goal: c.Goal, Done: []ClaimedDone{}, Todo: []ClaimedTodo{}, Frozen: rules(c.Frozen), Banned: rules(c.Banned), Accept: []ClaimedAccept{}},
		Check:   PackedCheck{Count(found, 'R'), Pending(found), Count(found, 'N'), Packed(found), left},
	}
	for _, d := range c.Done {
		p.Claimed.Done = append(p.Claimed.Done, ClaimedDone{d.What, d.Evidence})
	}
	for _, t := range c.Todo {
		p.Claimed.Todo = append(p.Claimed.Todo, ClaimedTodo{t.What, t.Next})
	}
	for _, a := range c.Accept {
		p.Claimed.Accept = append(p.Claimed.Accept, ClaimedAccept{a.Text, a.Check})
	}
	return p
}

func rules(list []Rule) []ClaimedRule {
	out := []ClaimedRule{}
	for _, r := range list {
		out = append(out, ClaimedRule{r.Title, r.Reason, r.Contains, r.Forbids, r.Paths})
	}
	return out
}

// Packed returns findings in their JSON form.
func Packed(found []Finding) []PackedFinding {
	out := []PackedFinding{}
	for _, f := range found {
		out = append(out, PackedFinding{f, boundary.EncodePath(f.Path)})
	}
	return out
}

// WritePack writes .resume/handoff.json, the report, and HANDOFF.md last: as
// long as that is the old one, the new one was not handed over.
func WritePack(dir string, p Pack) error {
	text, err := json.Marshal(p, jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("write %s: %w", packName, err)
	}
	if err := writeState(dir, packName, append(text, '\n')); err != nil {
		return err
	}
	if err := writeState(dir, reportName, []byte(p.Report())); err != nil {
		return err
	}
	return writeState(dir, handoffName, []byte(p.Markdown()))
}
