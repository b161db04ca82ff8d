package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// sectionRows bounds the rows of one section of a task for people; -o json has
// all of them.
const sectionRows = 20

// section writes a table after an empty line, and nothing where it has no
// rows. The newest rows are kept.
func (w *textWriter) section(header []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	w.line("")
	left := len(rows) - sectionRows
	w.table(header, rows[max(0, left):])
	if left > 0 {
		w.line("… and %d before these: -o json has all", left)
	}
}

// work writes what is planned, decided, kept, spent and reported of a task.
// What has a time to end is judged at the task's newest event.
func (w *textWriter) work(t *projections.Task) {
	w.plan(t)
	w.decisions(t)
	w.artifacts(t)
	w.costs(t.Costs)
	var rows [][]string
	for _, v := range t.Violations {
		stands := "of another boundary"
		if t.Violation(v.Data.Tree) != nil {
			stands = "blocks this tree"
		}
		for _, p := range v.Data.Paths {
			rows = append(rows, []string{short(v.Data.Tree), clipped(p.Path), p.Rule, v.Actor, stands})
		}
	}
	w.section([]string{"OUTSIDE, TREE", "PATH", "RULE", "BY", ""}, rows)
	rows = nil
	for _, d := range t.Defects {
		rows = append(rows, []string{d.Data.Severity, dash(d.Data.Acceptance), dash(clipped(d.Data.Path)), d.Actor, clipped(d.Data.Text)})
	}
	w.section([]string{"DEFECT", "ITEM", "PATH", "BY", "TEXT"}, rows)
}

// plan writes the plan and the steps of the open attempt, or of the last one.
func (w *textWriter) plan(t *projections.Task) {
	var rows [][]string
	if p := t.Plan; p != nil {
		done := map[string]string{}
		for _, s := range t.Steps {
			if s.Attempt == p.Attempt && s.Data.Unit != "" && done[s.Data.Unit] != string(projections.StepDone) {
				done[s.Data.Unit] = string(s.Status)
			}
		}
		for _, u := range p.Data.Units {
			rows = append(rows, []string{u.Name, first(done[u.Name], "not begun"), dash(strings.Join(u.Acceptance, ",")), clipped(u.Title)})
		}
		w.line("")
		w.line("plan by %s, attempt %s: %s", p.Actor, first(p.Attempt, "none"), p.Data.Summary)
		w.section([]string{"UNIT", "STEPS", "ITEMS", "TITLE"}, rows)
	}
	rows = nil
	for i := range t.Steps {
		s := &t.Steps[i]
		status := string(s.Status)
		if s.Status == projections.StepDone && !t.Proven(s) {
			status = "done, its evidence is in quarantine"
		}
		rows = append(rows, []string{s.Data.Step, s.Attempt, dash(s.Data.Unit), status, s.Actor, dash(short(s.Commit)), clipped(s.Data.Title)})
	}
	w.section([]string{"STEP", "ATTEMPT", "UNIT", "STATUS", "BY", "COMMIT", "TITLE"}, rows)
	if p := t.Progress; p != nil {
		count := ""
		if p.Data.Total > 0 {
			count = fmt.Sprintf("%d of %d: ", p.Data.Done, p.Data.Total)
		}
		w.line("progress at position %d by %s: %s%s", p.Position, p.Actor, count, p.Data.Note)
	}
}

// decisions writes decisions and banned approaches, and below them what is
// guarded now.
func (w *textWriter) decisions(t *projections.Task) {
	rows := make([][]string, len(t.Choices))
	for i := range t.Choices {
		d := &t.Choices[i]
		rows[i] = []string{d.Data.Decision, decisionStatus(d, t.Admitted), d.Data.Owner, clipped(d.Data.Title), clipped(d.Data.Choice)}
	}
	w.section([]string{"DECISION", "STATUS", "OWNER", "TITLE", "CHOICE"}, rows)
	rows = make([][]string, len(t.Bans))
	for i := range t.Bans {
		b := &t.Bans[i]
		status := "holds" + prefixedBy(" until ", b.Data.Expires)
		if b.Lifted != "" {
			status = "lifted"
		} else if !b.Holds(t.Admitted) {
			status = "expired " + b.Data.Expires
		}
		rows[i] = []string{b.Data.Approach, status, b.Actor, clipped(b.Data.Title), clipped(b.Data.Reason)}
	}
	w.section([]string{"BANNED", "STATUS", "BY", "TITLE", "REASON"}, rows)
	rows = nil
	for _, g := range t.Guards(t.Admitted) {
		rows = append(rows, []string{first(g.Decision, g.Approach), dash(listed(g.Guard.Contains)), dash(listed(g.Guard.Forbids)), dash(listed(g.Guard.Keywords)),
			first(listed(g.Guard.Paths), "every file"), clipped(g.Reason)})
	}
	w.section([]string{"GUARD OF", "MUST CONTAIN", "MUST NOT", "KEYWORDS", "FILES", "REASON"}, rows)
}

// decisionStatus says where a decision stands at an admission stamp, ns.
func decisionStatus(d *projections.Decision, stamp int64) string {
	switch {
	case d.Withdrawn != "":
		return "withdrawn"
	case d.Superseded != "":
		return "superseded by " + d.Superseded
	case !d.Active(stamp):
		return "expired " + d.Data.Expires
	case d.Guards(stamp):
		return "frozen" + prefixedBy(" until ", first(d.Frozen.Data.Expires, d.Data.Expires))
	}
	return "stands" + prefixedBy(" until ", d.Data.Expires)
}

func (w *textWriter) artifacts(t *projections.Task) {
	rows := make([][]string, len(t.Artifacts))
	for i, a := range t.Artifacts {
		status := ""
		if t.Quarantined(a.Data.Digest) {
			status = "in quarantine"
		}
		rows[i] = []string{short(a.Data.Digest), a.Data.Class, strconv.FormatInt(a.Data.Size, 10), a.Data.MediaType, a.Actor, clipped(a.Data.Name), status}
	}
	w.section([]string{"ARTIFACT", "CLASS", "BYTES", "TYPE", "BY", "NAME", ""}, rows)
}

// costs writes totals, rounded to millionths: the exact ones are in -o json.
func (w *textWriter) costs(costs []projections.CostTotal) {
	rows := make([][]string, len(costs))
	for i, c := range costs {
		tokens := ""
		if c.TokensIn > 0 || c.TokensOut > 0 {
			tokens = fmt.Sprintf("%d/%d", c.TokensIn, c.TokensOut)
		}
		minutes := ""
		if c.Minutes > 0 {
			minutes = strconv.FormatInt(c.Minutes, 10)
		}
		rows[i] = []string{c.Kind, money(c.Rounded()) + " " + c.Currency, dash(minutes), dash(tokens), strconv.FormatInt(c.Events, 10)}
	}
	w.section([]string{"COST", "TOTAL", "MINUTES", "TOKENS IN/OUT", "RECORDS"}, rows)
}

// money writes millionths of a currency's unit, with at least two decimal
// places.
func money(micros int64) string {
	fraction := fmt.Sprintf("%06d", micros%1_000_000)
	for len(fraction) > 2 && strings.HasSuffix(fraction, "0") {
		fraction = strings.TrimSuffix(fraction, "0")
	}
	return fmt.Sprintf("%d.%s", micros/1_000_000, fraction)
}

// dash stands for an empty cell.
func dash(s string) string { return first(s, "-") }

// listed writes a list in a cell.
func listed(words []string) string { return clipped(strings.Join(words, ", ")) }

// describeWork is describe for what is said about the work.
func describeWork(p events.Payload) string {
	switch d := p.(type) {
	case *events.Pause:
		return d.Reason
	case *events.Unpause:
		return d.Reason
	case *events.Plan:
		return counted(len(d.Units), "unit") + ": " + d.Summary
	case *events.StepIssue:
		return d.Step + ": " + d.Title
	case *events.StepCompletion:
		return d.Step + ": " + d.Summary
	case *events.StepFailure:
		return d.Step + ": " + d.Reason
	case *events.Progress:
		return d.Note
	case *events.Decision:
		return d.Decision + ": " + d.Title
	case *events.Freeze:
		return d.Decision + ": " + d.Reason
	case *events.Thaw:
		return d.Decision + ": " + d.Reason
	case *events.Retraction:
		return d.Decision + ": " + d.Reason
	case *events.Ban:
		return d.Approach + ": " + d.Title
	case *events.Unban:
		return d.Approach + ": " + d.Reason
	}
	return describeFact(p)
}

// describeFact is describe for artifacts, costs, defects and violations.
func describeFact(p events.Payload) string {
	switch d := p.(type) {
	case *events.Artifact:
		return fmt.Sprintf("%s, %s, %d bytes, %s", short(d.Digest), d.Class, d.Size, d.Name)
	case *events.Quarantine:
		return short(d.Digest) + ": " + d.Reason
	case *events.Cost:
		if d.Time != nil {
			return fmt.Sprintf("%s, %d minutes at %s %s an hour", d.Kind, d.Time.Minutes, money(d.Time.RatePerHour), d.Time.Currency)
		}
		return fmt.Sprintf("%s, %s %s", d.Kind, money(d.Amount.Micros), d.Amount.Currency)
	case *events.Violation:
		return fmt.Sprintf("tree %s, %s", short(d.Tree), counted(len(d.Paths), "path"))
	case *events.DefectReport:
		return d.Severity + ": " + d.Text
	}
	return describeAuthority(p)
}

// describeAuthority is describe for keys, policies and what stops a ledger.
func describeAuthority(p events.Payload) string {
	switch d := p.(type) {
	case *events.KeyRotation:
		return fmt.Sprintf("%s, %s ends", d.Actor, d.Old)
	case *events.KeyCompromise:
		return fmt.Sprintf("%s, %s since %d: %s", d.Actor, d.Key, d.Since, d.Reason)
	case *events.Policy:
		return d.Reason
	case *events.Upgrade:
		return fmt.Sprintf("rules %d: %s", d.Rules, d.Reason)
	case *events.LedgerFreeze:
		return d.Reason
	case *events.LedgerThaw:
		return d.Reason
	case *events.Integrity:
		return d.Reason
	case *events.Lift:
		return d.Reason
	}
	return ""
}
