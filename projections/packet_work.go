package projections

import (
	"slices"
	"strconv"
	"strings"

	"github.com/deedledger/deed/events"
)

// WorkView is the part of a packet that says how the work goes. It holds ids,
// digests and numbers alone; what was written about them is in Untrusted.
type WorkView struct {
	Paused *PausedView `json:"paused,omitempty"`
	// Steps are those of the open attempt.
	Steps []StepView `json:"steps,omitempty"`
	// Decisions and Bans are those that count; see [ResumePacket] and [Review].
	Decisions []DecisionView `json:"decisions,omitempty"`
	Bans      []BanView      `json:"bans,omitempty"`
	// Violations are trees that are outside the boundary in force.
	Violations []ViolationView `json:"violations,omitempty"`
	Defects    []DefectView    `json:"defects,omitempty"`
	// Quarantined are digests of artifacts that prove nothing any more.
	Quarantined []string    `json:"quarantined,omitempty"`
	Costs       []CostTotal `json:"costs,omitempty"`
}

// PausedView says who paused the task, and when.
type PausedView struct {
	ID    string `json:"id"` // event id
	Actor string `json:"actor"`
	Since int64  `json:"since,string"` // admission stamp, ns
}

// StepView is a step and its proof.
type StepView struct {
	Step   string     `json:"step"`
	Unit   string     `json:"unit,omitzero"`
	Actor  string     `json:"actor"`
	Fence  uint64     `json:"fence"`
	Status StepStatus `json:"status"`
	// Proven says that a done step still has evidence that counts.
	Proven   bool     `json:"proven"`
	Commit   string   `json:"commit,omitzero"`
	Evidence []string `json:"evidence,omitempty"`
}

// DecisionView is a decision that counts.
type DecisionView struct {
	Decision string `json:"decision"`
	ID       string `json:"id"` // event id
	Owner    string `json:"owner"`
	Frozen   bool   `json:"frozen"`
	Expires  string `json:"expires,omitzero"`
	// Grounded says that some evidence of the decision is not quarantined.
	Grounded bool `json:"grounded"`
}

// BanView is an approach that must not be taken.
type BanView struct {
	Approach string `json:"approach"`
	ID       string `json:"id"` // event id
	Actor    string `json:"actor"`
	Expires  string `json:"expires,omitzero"`
}

// ViolationView is a tree outside the boundary.
type ViolationView struct {
	ID    string   `json:"id"` // event id
	Tree  string   `json:"tree"`
	Paths []string `json:"paths"`
}

// DefectView is a reported defect.
type DefectView struct {
	ID         string `json:"id"` // event id
	Severity   string `json:"severity"`
	Actor      string `json:"actor"`
	Acceptance string `json:"acceptance,omitzero"`
	Path       string `json:"path,omitzero"`
	Commit     string `json:"commit,omitzero"`
}

// workView returns the view of a resume packet: what counts at the task's
// head.
func (t *Task) workView() WorkView {
	w := t.standingWork(func(d *Decision) bool { return d.Active(t.Admitted) }, func(b *Ban) bool { return b.Holds(t.Admitted) })
	for i := range w.Decisions {
		w.Decisions[i].Frozen = t.Choice(w.Decisions[i].Decision).Guards(t.Admitted)
	}
	if p := t.Pause; p != nil {
		w.Paused = &PausedView{ID: p.EventID, Actor: p.Actor, Since: p.Admitted}
	}
	for _, s := range t.CurrentSteps() {
		w.Steps = append(w.Steps, StepView{
			Step: s.Data.Step, Unit: s.Data.Unit, Actor: s.Actor, Fence: s.Fence, Status: s.Status, Proven: t.Proven(&s),
			Commit: s.Commit, Evidence: t.evidenceNames(s.Evidence),
		})
	}
	return w
}

// reviewWork returns the view of a review packet. It depends on no time: what
// has an end says so. Reviewers' own minutes are not in it, so that recording
// them leaves the digest that the next reviewer names as it is.
func (t *Task) reviewWork() WorkView {
	w := t.standingWork((*Decision).Standing, func(b *Ban) bool { return b.Lifted == "" })
	w.Costs = slices.DeleteFunc(slices.Clone(t.Costs), func(c CostTotal) bool { return c.Kind == "review" })
	return w
}

// standingWork returns what both packets show.
func (t *Task) standingWork(decision func(*Decision) bool, ban func(*Ban) bool) WorkView {
	var w WorkView
	for i := range t.Choices {
		if d := &t.Choices[i]; decision(d) {
			w.Decisions = append(w.Decisions, DecisionView{
				Decision: d.Data.Decision, ID: d.EventID, Owner: d.Data.Owner, Frozen: d.Frozen != nil, Expires: d.Data.Expires,
				Grounded: t.counts(d.Data.Evidence),
			})
		}
	}
	for i := range t.Bans {
		if b := &t.Bans[i]; ban(b) {
			w.Bans = append(w.Bans, BanView{Approach: b.Data.Approach, ID: b.EventID, Actor: b.Actor, Expires: b.Data.Expires})
		}
	}
	for _, v := range t.Violations {
		if t.Violation(v.Data.Tree) == nil {
			continue
		}
		view := ViolationView{ID: v.EventID, Tree: v.Data.Tree}
		for _, p := range v.Data.Paths {
			view.Paths = append(view.Paths, p.Path)
		}
		w.Violations = append(w.Violations, view)
	}
	for _, d := range t.Defects {
		w.Defects = append(w.Defects, DefectView{
			ID: d.EventID, Severity: d.Data.Severity, Actor: d.Actor, Acceptance: d.Data.Acceptance, Path: d.Data.Path, Commit: d.Data.Commit,
		})
	}
	for _, q := range t.Quarantine {
		w.Quarantined = append(w.Quarantined, q.Data.Digest)
	}
	return w
}

// evidenceNames names evidence without a word of its author.
func (t *Task) evidenceNames(list []events.Evidence) []string {
	var names []string
	for _, e := range list {
		switch {
		case e.Artifact != "" && t.Quarantined(e.Artifact):
			names = append(names, "quarantined artifact "+e.Artifact)
		case e.Artifact != "":
			names = append(names, "artifact "+e.Artifact)
		case e.Commit != "":
			names = append(names, "commit "+e.Commit)
		case e.Receipt != "":
			names = append(names, "receipt "+e.Receipt)
		default:
			names = append(names, "command, exit "+strconv.FormatInt(e.Ran.Exit, 10))
		}
	}
	return names
}

// shrinks is the order in which a view gets shorter: what holds work back goes
// last.
func (w *WorkView) shrinks() []shrink {
	return []shrink{
		shrinkList("costs", &w.Costs),
		shrinkOldest("steps", &w.Steps),
		shrinkList("quarantined", &w.Quarantined),
		shrinkOldest("defects", &w.Defects),
		shrinkOldest("decisions", &w.Decisions),
		shrinkOldest("bans", &w.Bans),
		shrinkList("violations", &w.Violations),
	}
}

// quoteWork quotes plan, steps and progress of the open attempt.
func (t *Task) quoteWork() []Quote {
	var list []Quote
	for _, s := range t.CurrentSteps() {
		of, text := "step "+s.Data.Step+" "+string(s.Status), s.Data.Title
		if s.Status == StepOpen {
			text += "; done when: " + s.Data.Success + clause("; files: ", s.Data.Files)
		} else {
			text += ": " + s.Text
		}
		list = append(list, Quote{of, s.Actor, text})
	}
	if p := t.CurrentPlan(); p != nil {
		list = append(list, Quote{"plan", p.Actor, p.Data.Summary})
		if u := t.NextUnit(); u != nil {
			text := u.Title + "; done when: " + u.Success + clause("; files: ", u.Files) + clause("; verified by: ", u.Verification)
			list = append(list, Quote{"next unit " + u.Name, p.Actor, text})
		}
	}
	if p := t.Progress; p != nil && p.Attempt == t.attemptID() {
		list = append(list, Quote{"progress", p.Actor, p.Data.Note})
	}
	return list
}

// clause joins a list after a label, or is empty.
func clause(label string, list []string) string {
	if len(list) == 0 {
		return ""
	}
	return label + strings.Join(list, ", ")
}

// quoteDecisions quotes the decisions and bans that a view shows.
func (t *Task) quoteDecisions(w *WorkView) []Quote {
	var list []Quote
	for _, v := range w.Decisions {
		d := t.Choice(v.Decision)
		text := d.Data.Title + ": " + d.Data.Choice + clause("; instead of: ", d.Data.Alternatives)
		of := "decision " + v.Decision
		if v.Frozen {
			of, text = "frozen "+of, text+"; frozen because: "+d.Frozen.Data.Reason+guardText(d.Frozen.Data.Guard)
		}
		list = append(list, Quote{of, d.Actor, text})
	}
	for _, v := range w.Bans {
		b := t.Ban(v.Approach)
		list = append(list, Quote{"banned approach " + v.Approach, b.Actor, b.Data.Title + ": " + b.Data.Reason + guardText(b.Data.Guard)})
	}
	return list
}

// guardText says what a guard holds.
func guardText(g events.Guard) string {
	return clause("; must contain: ", g.Contains) + clause("; must not contain: ", g.Forbids) + clause("; keywords: ", g.Keywords) + clause("; paths: ", g.Paths)
}

// quoteReports quotes the reported defects.
func (t *Task) quoteReports() []Quote {
	var list []Quote
	for _, d := range t.Defects {
		list = append(list, Quote{"reported " + d.EventID, d.Actor, d.Data.Text})
	}
	return list
}

// work writes what a view holds; nothing of it where it is empty.
func (p *page) work(w WorkView) {
	section(p, "Steps", w.Steps, func(s StepView) {
		p.printf("%s %s by %s, proven: %s; %s", s.Step, s.Status, s.Actor, s.Proven, or(strings.Join(s.Evidence, ", "), "no evidence"))
	})
	section(p, "Decisions", w.Decisions, func(d DecisionView) {
		p.printf("%s of %s, frozen: %s, evidence counts: %s, expires: %s", d.Decision, d.Owner, d.Frozen, d.Grounded, or(d.Expires, "never"))
	})
	section(p, "Banned approaches", w.Bans, func(b BanView) { p.printf("%s by %s, expires: %s", b.Approach, b.Actor, or(b.Expires, "never")) })
	section(p, "Trees outside the boundary", w.Violations, func(v ViolationView) { p.printf("%s: %s", v.Tree, strings.Join(v.Paths, ", ")) })
	section(p, "Reported defects", w.Defects, func(d DefectView) {
		p.printf("%s %s by %s: %s %s", d.Severity, d.ID, d.Actor, d.Acceptance, d.Path)
	})
	section(p, "Quarantined artifacts", w.Quarantined, p.plain)
	section(p, "Costs", w.Costs, func(c CostTotal) {
		p.printf("%s: %s millionths of %s in %s events; minutes %s, tokens in %s, out %s", c.Kind, c.Rounded(), c.Currency, c.Events, c.Minutes, c.TokensIn, c.TokensOut)
	})
}

// section writes a heading and its entries, or nothing.
func section[T any](p *page, heading string, entries []T, write func(T)) {
	if len(entries) > 0 {
		p.heading(heading)
		list(p, entries, write)
	}
}
