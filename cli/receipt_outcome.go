package cli

import (
	"fmt"
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/runner"
	"github.com/deedledger/deed/runner/testreport"
)

// Bounds of notes in a receipt, in bytes.
const (
	noteWindow  = 400
	notesWindow = 8 << 10 // of all together
)

// window is the room that is left in a receipt.
type window struct {
	output, notes int
	// clean redacts what programs printed, before it is cut.
	clean func(string) string
}

// outcomes returns the outcome of every check; before the checks ran, that
// none did.
func (b *receiptBuilder) outcomes() []events.CheckOutcome {
	var list []events.CheckOutcome
	room := window{receiptWindow, notesWindow, b.session.clean}
	for _, item := range b.task.Contract().Contract.Acceptance {
		for _, c := range item.Checks {
			o := unproven(item, c)
			if n := len(list); n < len(b.report.Outcomes) {
				got := b.report.Outcomes[n]
				room.fill(&o, got)
				room.compare(&o, b.task)
				if c.Report != nil && c.Report.Path != "-" && got.Report != nil && got.Report.SHA256 != "" {
					o.Evidence = []events.Evidence{{Artifact: got.Report.SHA256, Path: c.Report.Path, Note: "test report, " + c.Report.Format}}
				}
			}
			list = append(list, o)
		}
	}
	return list
}

// fill takes over what the runner found. Only a check that did not pass keeps
// a window of its output.
func (w *window) fill(o *events.CheckOutcome, got runner.Outcome) {
	o.Outcome, o.Class, o.Rule = events.Outcome(got.Result), events.Class(got.Class), got.Rule
	o.Exit, o.DurationMS, o.Artifact = int64(got.ExitCode), got.Duration.Milliseconds(), got.Output.Digest
	o.Flaky = got.Flaky
	switch {
	case got.Report != nil:
		c := got.Report.Counts
		o.Executed = c.Executed
		o.Counts = &events.Counts{Total: c.Total, Executed: c.Executed, Passed: c.Passed, Failed: c.Failed, Skipped: c.Skipped, Flaky: min(c.Flaky, c.Executed)}
	case got.Tests.Known:
		o.Executed = int64(got.Tests.Passed)
	}
	for _, t := range got.Tries {
		o.Tries = append(o.Tries, events.Try{
			Outcome: events.Outcome(t.Result), Class: events.Class(t.Class), Rule: t.Rule,
			Exit: int64(t.ExitCode), DurationMS: t.Duration.Milliseconds(), Artifact: t.Output.Digest,
		})
	}
	if got.Result != runner.ResultPass {
		w.note(o, got.Reason)
		text := got.Output.Window()
		if got.Detail != "" {
			text = got.Detail + "\n" + text
		}
		o.Output = printable(w.clean(text), min(checkWindow, w.output))
		w.output -= len(o.Output)
	}
	for _, n := range got.Notes {
		w.note(o, n)
	}
}

// note adds a finding to an outcome, as one line of what is left of the room.
func (w *window) note(o *events.CheckOutcome, text string) {
	text = printable(plain(w.clean(text)), min(noteWindow, w.notes))
	if text == "" || len(o.Notes) == 16 {
		return
	}
	w.notes -= len(text)
	o.Notes = append(o.Notes, text)
}

// compare holds an outcome against the task's earlier receipts: tests that
// vanish are as silent as a pass, and a pass after a failure on the same input
// is no plain one.
func (w *window) compare(o *events.CheckOutcome, t *projections.Task) {
	if text, less := shrunk(o, t); less {
		w.note(o, text)
	}
	if o.Outcome != events.OutcomePass || o.Flaky {
		return
	}
	for i := range t.Receipts {
		r := &t.Receipts[i]
		before := outcomeOf(r, o)
		if before != nil && t.Current(r) && (before.Outcome == events.OutcomeFail || before.Rule == runner.RuleFlaky) {
			o.Flaky = true
			w.note(o, fmt.Sprintf("was %s by rule %s on the same input in receipt %s", before.Outcome, before.Rule, r.EventID))
			return
		}
	}
}

// shrunk says whether a check executed fewer tests than in the last receipt of
// the task that counted them, and how many.
func shrunk(o *events.CheckOutcome, t *projections.Task) (string, bool) {
	if o.Counts == nil && o.Executed == 0 {
		return "", false // nothing was counted now
	}
	for i := len(t.Receipts) - 1; i >= 0; i-- {
		if before := outcomeOf(&t.Receipts[i], o); before != nil && before.Executed > 0 {
			return testreport.Shrunk(testreport.Counts{Executed: before.Executed}, testreport.Counts{Executed: o.Executed})
		}
	}
	return "", false
}

// outcomeOf returns what an earlier receipt says of the same check with the
// same command, nil where it says nothing that counts.
func outcomeOf(r *projections.Receipt, o *events.CheckOutcome) *events.CheckOutcome {
	if r.Void != "" {
		return nil
	}
	for i := range r.Data.Checks {
		c := &r.Data.Checks[i]
		if c.ID == o.ID && c.Acceptance == o.Acceptance && slices.Equal(c.Command, o.Command) {
			return c
		}
	}
	return nil
}
