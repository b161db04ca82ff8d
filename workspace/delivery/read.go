package delivery

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrDraft reports a contract or a result that cannot be read; the text names the file and the place.
var ErrDraft = errors.New("invalid draft")

// Text returns the bytes of an entry as they are on the disk.
func (e Entry) Text() []byte { return e.text }

// File returns what the ledger says of an entry, nil for a draft or a foreign file.
func (e Entry) File() *File { return e.file }

// Contract returns whether an entry is a contract.
func (e Entry) Contract() bool { return strings.HasPrefix(e.Path, Dir+"/"+contractsDir+"/") }

// ReadContract reads the next contract of a task, as a person wrote it, and returns it as a draft in the members that deed contract
// propose takes, JSON. Error: [ErrDraft].
func ReadContract(task string, e Entry) ([]byte, error) {
	var c Contract
	if err := decode(e, &c); err != nil {
		return nil, err
	}
	version, _ := contractVersion(task, trimContracts(e.Path))
	switch {
	case c.Deed != nil || c.Accepted || c.Digest != "":
		return nil, fmt.Errorf("%w: %s: leave digest, accepted and deed out: they are the ledger's to say", ErrDraft, e.Path)
	case c.TaskID != task || c.Version != version:
		return nil, fmt.Errorf("%w: %s: it says version %d of %q", ErrDraft, e.Path, c.Version, clip(c.TaskID))
	}
	draft := map[string]any{"version": c.Version, "goal": c.Goal, "scope": c.Scope}
	set := func(name string, v any, given bool) {
		if given {
			draft[name] = v
		}
	}
	var items []map[string]any
	for _, item := range c.Acceptance {
		m := map[string]any{"id": item.ID, "text": item.Text, "checks": item.Checks}
		if item.Required != nil {
			m["required"] = *item.Required
		}
		if evidence := c.RequiredEvidence[item.ID]; evidence != "" {
			m["evidence"] = evidence
		}
		items = append(items, m)
	}
	for id := range c.RequiredEvidence {
		if !slices.ContainsFunc(c.Acceptance, func(i ContractItem) bool { return i.ID == id }) {
			return nil, fmt.Errorf("%w: %s: requiredEvidence names %q, which is no acceptance item", ErrDraft, e.Path, clip(id))
		}
	}
	set("acceptance", items, items != nil)
	set("nonGoals", c.NonGoals, c.NonGoals != nil)
	set("riskTier", c.RiskTier, c.RiskTier != "")
	set("owners", c.Owners, c.Owners != nil)
	set("expires", c.Expiry, c.Expiry != "")
	set("target", c.Target, c.Target != "")
	set("reviewers", c.Reviewers, c.Reviewers != nil)
	set("quorum", c.Quorum, c.Quorum != 0)
	set("maxRepairs", c.MaxRepairs, c.MaxRepairs != nil)
	set("maxStalls", c.MaxStalls, c.MaxStalls != nil)
	set("parent", c.Parent, c.Parent != "")
	set("services", c.Services, c.Services != nil)
	text, err := json.Marshal(draft, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDraft, e.Path, err)
	}
	return text, nil
}

// ReadResult reads the next result of a task's attempt, as an implementer wrote it. Error: [ErrDraft].
func ReadResult(task string, e Entry) (Result, error) {
	var r Result
	if err := decode(e, &r); err != nil {
		return Result{}, err
	}
	attempt, _, _ := resultNumber(task, e.Path)
	switch {
	case r.Deed != nil || r.Base != "" || r.Tree != "":
		return Result{}, fmt.Errorf("%w: %s: leave base, tree and deed out: git and the ledger say them", ErrDraft, e.Path)
	case r.TaskID != task || r.AttemptID != attempt:
		return Result{}, fmt.Errorf("%w: %s: it says attempt %q of %q", ErrDraft, e.Path, clip(r.AttemptID), clip(r.TaskID))
	case r.Commit == "":
		return Result{}, fmt.Errorf("%w: %s: commit is missing", ErrDraft, e.Path)
	}
	for _, c := range r.Changes {
		if c.Path == "" {
			return Result{}, fmt.Errorf("%w: %s: a change has no path", ErrDraft, e.Path)
		}
	}
	return r, nil
}

func decode(e Entry, v any) error {
	err := json.Unmarshal(e.text, v, json.RejectUnknownMembers(true), jsontext.AllowDuplicateNames(false))
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDraft, e.Path, err)
	}
	return nil
}

// clip bounds a text that is quoted in an error.
func clip(s string) string {
	const limit = 60
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
