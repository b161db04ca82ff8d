package projectionstest

import "github.com/deedledger/deed/events"

// Plan returns a plan of two units, u1 and u2.
func Plan() *events.Plan {
	return &events.Plan{Summary: "export first, then format", Units: []events.Unit{
		{Name: "u1", Title: "export", Files: []string{"src/export/**"}, Acceptance: []string{"A1"}, Verification: []string{"go test -run Test1"}, Success: "Test1 passes"},
		{Name: "u2", Title: "format", Acceptance: []string{"A2"}, Success: "Test2 passes"},
	}}
}

// IssueStep returns the data of step.issued, about a unit or none.
func IssueStep(step, unit string) *events.StepIssue {
	return &events.StepIssue{Step: step, Unit: unit, Title: "do " + step, Success: step + " is done", Files: []string{"src/export/**"}}
}

// CompleteStep returns the data of step.completed, proven by a command and an
// artifact.
func CompleteStep(step string) *events.StepCompletion {
	return &events.StepCompletion{Step: step, Summary: step + " was done", Commit: Object("head"), Evidence: []events.Evidence{
		{Ran: &events.Ran{Command: []string{"go", "test"}, Exit: 0}}, {Artifact: Digest("log of " + step), Note: "whole output"},
	}}
}

// Decision returns the data of decision.recorded of the founder's.
func Decision(id string, mods ...func(*events.Decision)) *events.Decision {
	d := &events.Decision{
		Decision: id, Title: "title of " + id, Choice: "choice of " + id, Alternatives: []string{"the other way"}, Owner: Founder,
		Evidence: []events.Evidence{{Artifact: Digest("grounds of " + id)}},
	}
	modify(d, mods)
	return d
}

// Freeze returns the data of decision.frozen.
func Freeze(id string, mods ...func(*events.Freeze)) *events.Freeze {
	f := &events.Freeze{Decision: id, Reason: "it is settled", Guard: events.Guard{
		Contains: []string{"must"}, Forbids: []string{"mustNot"}, Keywords: []string{"export"}, Paths: []string{"src/export/**"},
	}}
	modify(f, mods)
	return f
}

// Ban returns the data of approach.banned.
func Ban(id string, mods ...func(*events.Ban)) *events.Ban {
	b := &events.Ban{
		Approach: id, Title: "title of " + id, Guard: events.Guard{Forbids: []string{"forbidden"}, Paths: []string{"src/**"}}, Reason: "it failed before",
		Evidence: []events.Evidence{{Commit: Object("failed")}},
	}
	modify(b, mods)
	return b
}

// Artifact returns the data of artifact.recorded; the digest is the label's.
func Artifact(label string) *events.Artifact {
	return &events.Artifact{Digest: Digest(label), Size: 7, MediaType: "text/plain", Class: "internal", Name: label}
}

// Money returns the data of cost.recorded with an amount.
func Money(kind string, micros int64, currency string) *events.Cost {
	return &events.Cost{Kind: kind, Amount: &events.Amount{Micros: micros, Currency: currency}}
}

// Minutes returns the data of cost.recorded with a person's time.
func Minutes(kind string, minutes, rate int64, currency string) *events.Cost {
	return &events.Cost{Kind: kind, Time: &events.Spent{Minutes: minutes, RatePerHour: rate, Currency: currency}}
}

// Violation returns the data of boundary.violated for a tree.
func Violation(tree string) *events.Violation {
	return &events.Violation{Tree: tree, Paths: []events.Trespass{{Path: "infra/main.tf", Side: "new", Rule: "excluded"}}}
}

// DefectReport returns the data of defect.reported.
func DefectReport(text string) *events.DefectReport {
	return &events.DefectReport{Text: text, Severity: "high", Acceptance: "A1", Path: "src/export/a.go", Commit: Object("head")}
}

// playWork plays the lines of a script about how the work goes, and reports
// whether the line is one.
func (k *Task) playWork(word func(int) string) bool {
	t := k.State()
	lease := func() string {
		if t.Lease == nil {
			return "impl-a"
		}
		return t.Lease.Actor
	}
	switch word(0) {
	case "pause":
		k.Do(Founder, &events.Pause{Reason: "wait"})
	case "unpause":
		k.Do(Founder, &events.Unpause{Reason: "go on"})
	case "plan":
		k.Do(lease(), Plan())
	case "issue":
		k.Do(lease(), IssueStep(word(1), ""))
	case "complete":
		k.Do(lease(), CompleteStep(word(1)))
	case "decide":
		k.Do("impl-a", Decision(word(1)))
	case "freeze":
		k.Do(Founder, Freeze(word(1)))
	case "unfreeze":
		k.Do(Founder, &events.Thaw{Decision: word(1), Reason: "later"})
	case "ban":
		k.Do(Founder, Ban(word(1)))
	case "cost":
		k.Do("rita", Minutes("review", 7, 100, "EUR"))
	case "violate":
		k.Do("ci", Violation(t.Result.Data.Tree))
	case "quarantine":
		k.Do("olga", &events.Quarantine{Digest: Digest(word(1)), Reason: "it shows an address"})
	default:
		return false
	}
	return true
}
