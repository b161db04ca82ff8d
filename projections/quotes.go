package projections

import (
	"strconv"
	"strings"

	"github.com/deedledger/deed/events"
)

// untrusted gathers the texts of agents that a view shows.
func (t *Task) untrusted(v view) Untrusted {
	u := Untrusted{Notice: notice, Findings: t.quoteFindings(), Defects: t.quoteDefects(), Reasons: t.quoteReasons()}
	if c := t.newest(); c != nil && t.Contract() == nil {
		u.Proposal = c.Contract.Goal
	}
	if v.outputs {
		u.Outputs = t.quoteOutputs()
	}
	if v.claims {
		t.quoteClaims(&u)
	}
	if v.environment {
		u.Environment = t.quoteEnvironment()
	}
	u.Effects, u.Notes = t.quoteEffects(v.evidence), t.quoteHandover()
	return u
}

// quoteHandover quotes what the last holder of the open attempt that let go
// with a note wanted the next one to know.
func (t *Task) quoteHandover() []Quote {
	a := t.Attempt()
	for i := len(t.Runs) - 1; i >= 0 && a != nil; i-- {
		if r := &t.Runs[i]; r.Attempt == a.ID && r.Note != "" {
			return []Quote{{"handover, reason " + r.Reason, r.Actor, r.Note}}
		}
	}
	return nil
}

func (t *Task) quoteFindings() []Quote {
	var list []Quote
	for _, f := range t.Findings {
		if f.Open {
			list = append(list, Quote{f.EventID, f.Actor, f.Data.Rule + ": " + f.Data.Text})
		}
	}
	return list
}

// quoteDefects quotes the last rejection, while it is what a repair is about.
func (t *Task) quoteDefects() []Quote {
	n := len(t.Approvals)
	if n == 0 || t.Result == nil || t.Approvals[n-1].Data.Verdict != "reject" || t.Approvals[n-1].Data.Result != t.Result.Hash {
		return nil
	}
	var list []Quote
	for _, d := range t.Approvals[n-1].Data.Defects {
		of := strings.TrimSpace(d.Severity + " " + d.Acceptance + " " + d.Path)
		list = append(list, Quote{of, t.Approvals[n-1].Actor, d.Text})
	}
	return list
}

func (t *Task) quoteReasons() []Quote {
	var list []Quote
	if t.Escalation != nil {
		list = append(list, Quote{"escalation", "", t.Escalation.Reason}, Quote{"escalation next step", "", t.Escalation.NextStep})
	}
	if t.Repair != nil {
		list = append(list, Quote{"repair", "", t.Repair.Reason})
	}
	if t.Pause != nil {
		list = append(list, Quote{"pause", t.Pause.Actor, t.Pause.Reason})
	}
	if t.Blocked != nil {
		list = append(list, Quote{"blocked", "", t.Blocked.Reason})
	}
	return list
}

func (t *Task) quoteOutputs() []Quote {
	var list []Quote
	for _, item := range t.Items() {
		for _, c := range item.Failing {
			if c.Output != "" && !t.Quarantined(c.Artifact) {
				list = append(list, Quote{c.ID, "", c.Output})
			}
		}
	}
	return list
}

func (t *Task) quoteClaims(u *Untrusted) {
	if t.Result == nil {
		return
	}
	d := t.Result.Data
	u.Summary = d.Summary
	for _, c := range d.Claims {
		u.Claims = append(u.Claims, Quote{c.Acceptance, t.Result.Actor, c.Text})
		for _, e := range c.Evidence {
			u.Claims = append(u.Claims, Quote{c.Acceptance + " evidence", t.Result.Actor, e})
		}
	}
	for _, text := range d.Uncovered {
		u.Uncovered = append(u.Uncovered, Quote{"result", t.Result.Actor, text})
	}
}

// quoteEnvironment quotes the names and versions of the snapshot.
func (t *Task) quoteEnvironment() []Quote {
	a := t.Attempt()
	if a == nil {
		return nil
	}
	var list []Quote
	add := func(of, text string) {
		if text != "" {
			list = append(list, Quote{Of: of, Text: text})
		}
	}
	in := a.Snapshot.Inputs
	add("runtime image", in.RuntimeImage)
	add("model", a.Snapshot.Model)
	add("schema", in.Schema)
	for _, tool := range in.Tools {
		add("tool", tool.Name+" "+tool.Version)
	}
	for _, skill := range in.Skills {
		add("skill", skill.Name+" "+skill.Version)
	}
	for _, flag := range in.Flags {
		add("flag", flag)
	}
	return list
}

// quoteEffects quotes targets and outside ids, and the evidence of outcomes
// where asked for.
func (t *Task) quoteEffects(evidence bool) []Quote {
	var list []Quote
	for i := range t.Effects {
		e := &t.Effects[i]
		list = append(list, Quote{"target of " + e.Intent.Key, e.Actor, e.Intent.Target})
		for _, p := range e.Parts {
			of := strings.TrimSuffix(" of "+e.Intent.Key+" "+p.Name, " ")
			if p.ExternalID != "" {
				list = append(list, Quote{"outside id" + of, p.By, p.ExternalID})
			}
			if evidence && p.Evidence != "" {
				list = append(list, Quote{"evidence" + of, p.By, p.Evidence})
			}
		}
	}
	return list
}

// quoteReceipts quotes what a verifier wrote beside its outcomes.
func (t *Task) quoteReceipts() []Quote {
	var list []Quote
	current := t.current()
	for i := range t.Receipts {
		r := &t.Receipts[i]
		if !current(r) {
			continue
		}
		list = append(list, Quote{"verifier of " + r.EventID, r.Actor, r.Data.Verifier.Version})
		if r.Data.RunURL != "" {
			list = append(list, Quote{"run of " + r.EventID, r.Actor, r.Data.RunURL})
		}
		for _, c := range r.Data.Checks {
			if c.Outcome != events.OutcomePass {
				list = append(list, Quote{"rule of " + c.ID, r.Actor, c.Rule + " (exit " + strconv.FormatInt(c.Exit, 10) + ")"})
			}
		}
	}
	return list
}
