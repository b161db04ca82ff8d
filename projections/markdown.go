package projections

import (
	"fmt"
	"strings"

	"github.com/deedledger/deed/events"
)

// Limits of text in Markdown, in characters of a line and bytes of a quote.
const (
	markdownLine  = 500
	markdownQuote = 4000
)

// page writes Markdown. Structure comes from its methods' literals alone; all
// else passes line or fence.
type page struct{ b strings.Builder }

// printf writes a line of ours; its arguments are escaped.
func (p *page) printf(format string, args ...any) {
	for i, a := range args {
		args[i] = MarkdownLine(fmt.Sprint(a))
	}
	fmt.Fprintf(&p.b, format+"\n", args...)
}

func (p *page) heading(text string) { p.b.WriteString("\n## " + text + "\n\n") }

// MarkdownLine returns s as text on one line that no Markdown or HTML reader takes for
// structure.
func MarkdownLine(s string) string {
	var b strings.Builder
	start := true // still where a line could open a list or an underline
	s = Plain(s, markdownLine)
	for i, r := range s {
		digit := r >= '0' && r <= '9'
		switch {
		case i == 0 && strings.ContainsRune("-+=", r) && !isDigit(s, 1), start && i > 0 && r == '.':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case strings.ContainsRune("\\`*_[]()#|!~$", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
		start = start && digit
	}
	return b.String()
}

// isDigit reports whether s has a digit at byte i.
func isDigit(s string, i int) bool { return i < len(s) && s[i] >= '0' && s[i] <= '9' }

// fence quotes a text of an agent: each line behind a bar, inside a fence that
// is longer than any run of backticks in it.
func (p *page) fence(label, by, text string) {
	lines := PlainLines(text, markdownQuote)
	run := longestRun(strings.Join(lines, "\n"), '`')
	mark := strings.Repeat("`", max(3, run+1))
	if by != "" {
		label += ", by " + by
	}
	p.printf("%s:\n", label)
	p.b.WriteString(mark + "text\n")
	for _, l := range lines {
		p.b.WriteString("| " + l + "\n")
	}
	p.b.WriteString(mark + "\n\n")
}

// longestRun returns the length of the longest run of c in s.
func longestRun(s string, c rune) int {
	longest, run := 0, 0
	for _, r := range s {
		if r != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// list writes one bullet for each entry, or "none".
func list[T any](p *page, entries []T, write func(T)) {
	if len(entries) == 0 {
		p.printf("none")
	}
	for _, e := range entries {
		p.b.WriteString("- ")
		write(e)
	}
}

func (p *page) plain(s string) { p.printf("%s", s) }

// Markdown returns r for people. It is as long as r: see [Resume.Fit].
func (r Resume) Markdown() string {
	p := &page{}
	p.printf("# Resume %s: %s", r.Task, r.State)
	p.printf("")
	if r.BlockedAt != 0 {
		p.printf("**The history is blocked at position %s. Nobody may go on.**\n", r.BlockedAt)
	}
	p.printf("%s", r.Goal)
	p.heading("Next step")
	p.printf("%s", r.Next.Do)
	p.printf("\nDone when: %s. Waits for: %s.\n", r.Next.Success, roleNames(r.Next.Roles))
	list(p, r.Next.Checks, func(c NextStep) {
		p.printf("check %s of %s: %s", c.ID, c.Acceptance, strings.Join(c.Command, " "))
	})
	if r.Paused != nil {
		p.printf("\npaused by %s since %s", r.Paused.Actor, events.FormatStamp(r.Paused.Since))
	}
	if r.Next.Step+r.Next.Unit != "" {
		p.printf("\nopen step: %s; next unit: %s", or(r.Next.Step, "none"), or(r.Next.Unit, "none"))
	}
	p.heading("Not goals")
	list(p, r.NonGoals, p.plain)
	p.acceptance(r.Acceptance, r.Totals)
	p.heading("Boundary")
	p.printf("- may change: %s\n- never: %s", strings.Join(r.Boundary.Include, ", "), strings.Join(r.Boundary.Exclude, ", "))
	p.printf("- commands: %s\n- effects: %s", strings.Join(r.Boundary.Commands, ", "), kindNames(r.Boundary.Effects))
	p.work(r.WorkView)
	r.markdownState(p)
	p.untrusted(r.Untrusted)
	p.heading("Where this comes from")
	p.printf("- contract version %s, digest %s", r.Contract.Version, or(r.Contract.Digest, "none"))
	if r.Snapshot != nil {
		p.printf("- attempt %s on contract version %s, base %s, policy %s", r.Snapshot.Attempt, r.Snapshot.Contract, r.Snapshot.BaseCommit, r.Snapshot.Policy)
	}
	p.printf("- task head %s at position %s, sequence %s", r.Provenance.TaskHead, r.Provenance.Position, r.Provenance.Sequence)
	p.printf("- registry head %s at position %s", or(r.Provenance.RegistryHead, "none"), r.Provenance.RegistryPosition)
	for _, l := range r.Provenance.Chain {
		p.printf("- %s %s at position %s by %s, hash %s", l.What, l.EventID, l.Position, l.Actor, l.Hash)
	}
	p.cuts(r.Truncated)
	return p.b.String()
}

// after returns a value with a text before it, nothing for no value.
func after(text, value string) string {
	if value == "" {
		return ""
	}
	return text + value
}

// markdownState writes what is done, open and left.
func (r Resume) markdownState(p *page) {
	p.heading("Done, with proof")
	list(p, r.Done.Items, func(d Proven) {
		p.printf("%s: receipt %s%s", d.Acceptance, d.Receipt, after(", assurance ", d.Assurance))
	})
	if d := r.Done.Result; d != nil {
		p.printf("- result %s by %s (run %s): head %s, tree %s", d.Hash, d.Actor, d.Fence, d.Head, d.Tree)
	}
	for _, run := range r.Done.Runs {
		p.printf("- run %s (%s) by %s: %s", run.Fence, run.Purpose, run.Actor, or(run.Ended, "live"))
	}
	for _, a := range r.Done.Approvals {
		p.printf("- %s by %s, counts: %s", a.Verdict, a.Actor, a.Counts)
	}
	p.failing(r.Failing)
	p.effects(r.Effects)
	p.heading("Files")
	list(p, r.Files, p.file)
	p.heading("Open risks")
	list(p, r.Risks.Findings, p.finding)
	p.printf("- open effects: %s; uncovered points: %s; attempt on an older contract: %s; foreign changes: %s",
		len(r.Risks.Effects), r.Risks.Uncovered, r.Risks.Stale, len(r.Risks.Foreign))
	p.heading("Left")
	p.printf("- repairs: %s, stalls: %s, contract expires: %s", r.Budget.Repairs, r.Budget.Stalls, or(r.Budget.Expires, "never"))
	w := r.Waiting
	p.printf("- waiting for %s by %s; owner %s; since %s, deadline %s", or(w.For, "nothing"), roleNames(w.Roles), or(w.Owner, "nobody"), events.FormatStamp(w.Since), events.FormatStamp(w.Deadline))
	if c := r.Recover; c != nil {
		p.printf("- last recovery: %s by %s, from %s to %s, at head %s", c.Decision, c.Actor, c.From, c.To, c.Head)
	}
}

// Markdown returns r for people. It is as long as r: see [Review.Fit].
func (r Review) Markdown() string {
	p := &page{}
	p.printf("# Review %s", r.Task)
	p.printf("")
	p.printf("%s", r.Goal)
	p.heading("Questions to decide")
	list(p, r.Questions, p.plain)
	p.heading("What an approval names")
	b := r.Basis
	p.printf("- contract version %s, digest %s\n- result %s by %s", b.Version, or(b.Contract, "none"), or(b.Result, "none"), r.Result.Actor)
	p.printf("- head %s, tree %s\n- policy %s\n- risk tier %s, target %s", b.Head, b.Tree, b.Policy, r.RiskTier, r.Target)
	p.heading("Not goals")
	list(p, r.NonGoals, p.plain)
	p.acceptance(r.Acceptance, r.Totals)
	p.heading("Changes")
	list(p, r.Changes, p.file)
	p.heading("Receipts")
	list(p, r.Receipts, func(v ReceiptView) {
		p.printf("%s by %s: %s, assurance %s%s, input %s", v.EventID, v.Actor, v.Kind, v.Assurance, after(", confinement ", v.Confinement), v.InputDigest)
		for _, c := range v.Checks {
			flaky := ""
			if c.Flaky {
				flaky = ", not the same each time"
			}
			p.printf("  - %s of %s: %s (%s%s), output %s", c.ID, c.Acceptance, c.Outcome, c.Class, flaky, c.Artifact)
		}
	})
	p.failing(r.Failing)
	p.effects(r.Effects)
	p.work(r.WorkView)
	p.heading("Findings")
	list(p, r.Findings, p.finding)
	p.heading("History")
	p.printf("repairs: %s\n", r.Repairs)
	list(p, r.Recoveries, func(d RecoveryRecord) { p.printf("%s by %s at position %s", d.Decision, d.Actor, d.Position) })
	p.untrusted(r.Untrusted)
	p.cuts(r.Truncated)
	return p.b.String()
}

func (p *page) acceptance(items []Acceptance, n Totals) {
	p.heading("Acceptance")
	p.printf("%s of %s pass; fail %s, inconclusive %s, stale %s, claimed %s, open %s\n", n.Pass, n.Items, n.Fail, n.Inconclusive, n.Stale, n.Claimed, n.Open)
	list(p, items, func(a Acceptance) {
		need := "optional"
		if a.Required {
			need = "required"
		}
		p.printf("%s %s (%s, %s) %s; receipt %s", a.ID, a.Status, need, a.Evidence, a.Text, or(a.Receipt, "none"))
	})
}

func (p *page) failing(checks []Failing) {
	p.heading("Checks without a pass")
	list(p, checks, func(f Failing) {
		p.printf("%s of %s: %s (%s), exit %s, receipt %s, output %s", f.Check, f.Acceptance, f.Outcome, f.Class, f.Exit, f.Receipt, f.Artifact)
	})
}

func (p *page) effects(effects []EffectView) {
	p.heading("Effects")
	list(p, effects, func(e EffectView) {
		p.printf("%s %s: %s, tries %s, open: %s", e.Kind, e.Key, e.Status, e.Tries, e.Open)
		for _, part := range e.Parts {
			p.printf("  - %s: %s", part.Name, part.Status)
		}
	})
}

func (p *page) file(f FileView) {
	p.printf("%s %s for %s", f.Status, f.Path, or(strings.Join(f.Acceptance, ", "), "no item"))
}

func (p *page) finding(f FindingView) { p.printf("%s %s by %s %s", f.Severity, f.ID, f.Actor, f.Path) }

// untrusted quotes everything that agents wrote.
func (p *page) untrusted(u Untrusted) {
	p.heading("Untrusted text")
	p.printf("%s\n", u.Notice)
	if u.Proposal != "" {
		p.fence("proposed goal", "", u.Proposal)
	}
	if u.Summary != "" {
		p.fence("summary", "", u.Summary)
	}
	for _, group := range []struct {
		label  string
		quotes []Quote
	}{
		{"output", u.Outputs}, {"finding", u.Findings}, {"defect", u.Defects}, {"reason", u.Reasons}, {"claim", u.Claims},
		{"uncovered", u.Uncovered}, {"effect", u.Effects}, {"environment", u.Environment}, {"note", u.Notes},
		{"step", u.Steps}, {"decision", u.Decisions},
	} {
		for _, q := range group.quotes {
			p.fence(group.label+" "+q.Of, q.By, q.Text)
		}
	}
}

func (p *page) cuts(cuts []Cut) {
	if len(cuts) == 0 {
		return
	}
	p.heading("Left off")
	for _, c := range cuts {
		p.printf("- %s: %s", c.What, c.Left)
	}
}

func roleNames(roles []events.Role) string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return or(strings.Join(names, ", "), "nobody")
}

func kindNames(kinds []events.EffectKind) string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return or(strings.Join(names, ", "), "none")
}
