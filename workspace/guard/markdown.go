package guard

import (
	"fmt"
	"strings"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/projections"
)

// page writes Markdown in which no text of others is structure.
type page struct{ b strings.Builder }

func (p *page) printf(format string, args ...any) {
	for i, a := range args {
		args[i] = projections.MarkdownLine(fmt.Sprint(a))
	}
	fmt.Fprintf(&p.b, format+"\n", args...)
}

func (p *page) heading(text string) { p.b.WriteString("\n" + text + "\n\n") }

func (p *page) nothing(n int) {
	if n == 0 {
		p.b.WriteString("- none\n")
	}
}

// Markdown returns the hand-over for people, HANDOFF.md: what was measured,
// what is said, and what does not match.
func (k Pack) Markdown() string {
	var p page
	p.printf("# Hand-over: %s", k.Claimed.Task)
	p.heading("## Objective: read from the disk")
	p.objective(k.Objective)
	p.ledger(k.Ledger)
	p.heading("## Claimed: written by people or models, untrusted")
	p.claimed(k.Claimed)
	p.heading("## What does not match")
	p.check(k.Check)
	p.heading("## Before you start")
	if k.Ledger != nil {
		p.printf("Run `deed resume %s`: it measures again, holds this against the worktree, and exits with 1 where something is fatal.", k.Ledger.Task)
		return p.b.String()
	}
	p.b.WriteString("Run `deed guard resume`: it measures again, and exits with 1 where something is fatal.\n")
	return p.b.String()
}

// Report returns the check alone.
func (k Pack) Report() string {
	var p page
	p.printf("# Check of %s", k.Claimed.Task)
	p.b.WriteString("\n")
	p.check(k.Check)
	return p.b.String()
}

func (p *page) objective(s Snapshot) {
	p.printf("- captured: %s", s.Captured)
	if s.Git {
		p.printf("- HEAD: %s", orNone(s.Head))
		p.printf("- branch: %s", or(s.Branch, "none: HEAD is detached"))
		p.printf("- base of the change: %s", orNone(s.Base))
	}
	p.printf("- files of the project: %s", s.Files)
	for _, n := range s.Notes {
		p.printf("- note: %s", n)
	}
	p.heading("### Changed files")
	p.nothing(len(s.Changed))
	const most = 200
	for i, path := range s.Changed {
		if i == most {
			p.printf("- and %s more, in .resume/snapshot.json", len(s.Changed)-most)
			break
		}
		p.printf("- %s", shown(path))
	}
}

// shown writes an encoded path for people.
func shown(encoded string) string {
	raw, err := boundary.DecodePath(encoded)
	if err != nil {
		return encoded
	}
	return boundary.DisplayPath(raw)
}

func (p *page) claimed(c Claimed) {
	p.printf("Goal: %s", or(c.Goal, "not stated"))
	p.heading("### Done")
	p.nothing(len(c.Done))
	for _, d := range c.Done {
		p.printf("- %s (evidence: %s)", d.What, or(d.Evidence, "none"))
	}
	p.heading("### Left")
	p.nothing(len(c.Todo))
	for _, t := range c.Todo {
		p.printf("- %s; next: %s", t.What, or(t.Next, "not stated"))
	}
	p.heading("### Frozen decisions")
	p.rules(c.Frozen)
	p.heading("### Banned approaches")
	p.rules(c.Banned)
	p.heading("### Acceptance")
	p.nothing(len(c.Accept))
	for _, a := range c.Accept {
		p.printf("- %s (check: %s)", a.Criterion, or(a.Check, "none"))
	}
}

func (p *page) rules(list []ClaimedRule) {
	p.nothing(len(list))
	for _, r := range list {
		p.printf("- %s: %s%s%s", r.Title, or(r.Reason, "no reason stated"), clause("; must occur: ", r.Contains), clause("; must not occur: ", r.Forbids)+clause("; in: ", r.Paths))
	}
}

func (p *page) check(c PackedCheck) {
	p.printf("Fatal: %s; to be checked by a person: %s; hints: %s.", c.Fatal, c.Pending, c.Hints)
	p.b.WriteString("\n")
	for _, f := range c.Findings {
		p.printf("- %s", f.String())
	}
	if s := c.Skipped; s != (Skipped{}) {
		p.printf("- not scanned: %s binary, %s larger than %s bytes, %s links, %s gone", s.Binary, s.Large, MaxFileBytes, s.Links, s.Gone)
	}
}

// String returns a finding on one line: rule, place, text, claim, reason.
func (f Finding) String() string {
	var b strings.Builder
	b.WriteString(string(f.Code))
	if f.Path != "" {
		b.WriteString(" " + boundary.DisplayPath(f.Path))
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d", f.Line)
		}
	}
	b.WriteString(": " + f.Text)
	if f.Claim != "" {
		b.WriteString(" — " + f.Claim)
	}
	if f.Reason != "" {
		b.WriteString(" (reason: " + f.Reason + ")")
	}
	if f.Said > 0 {
		fmt.Fprintf(&b, " [%s:%d]", ClaimsName, f.Said)
	}
	if f.Acknowledged != "" {
		b.WriteString(" — acknowledged by " + f.Acknowledged)
	}
	return b.String()
}

func clause(label string, words []string) string {
	if len(words) == 0 {
		return ""
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = fmt.Sprintf("%q", w)
	}
	return label + strings.Join(quoted, ", ")
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
