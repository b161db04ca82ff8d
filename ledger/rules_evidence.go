package ledger

import (
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// WebKinds lists the kinds of evidence that show a page.
func WebKinds() []string { return []string{"screenshot", "trace", "browser-check"} }

// Lacking says what the passing outcome of a check lacks of the evidence that its
// item asks for; "" where it has all. A screenshot's item needs a page that was
// looked at, with its address, what the look gave, and a picture or trace of it.
// An API's needs a request with its response, or tests that ran against it.
func Lacking(item *events.Item, o *events.CheckOutcome) string {
	shows := func(kinds ...string) bool {
		return slices.ContainsFunc(o.Evidence, func(e events.Evidence) bool {
			return slices.Contains(kinds, e.Kind) && e.URL != "" && e.Artifact != "" && e.Outcome == events.OutcomePass
		})
	}
	switch item.Evidence {
	case "screenshot":
		if !shows(WebKinds()...) {
			return "a passing look at a page: kind screenshot, trace or browser-check, with url, outcome and artifact"
		}
	case "api-response":
		if ran := o.Counts != nil && o.Counts.Executed > 0; !ran && !shows("api-response") {
			return "a request with its response: kind api-response, with url, outcome and artifact; or a contract test's report"
		}
	}
	return ""
}

// checkShown refuses a pass without the evidence that its item asks for, or
// with evidence that says otherwise or that nobody has. Receipts that do not say
// where their outcomes come from are older than this rule, which leaves them.
func checkShown(s *scene, d *events.Receipt, item *events.Item, o *events.CheckOutcome) *Refusal {
	if d.Source == nil || o.Outcome != events.OutcomePass {
		return nil
	}
	rule := s.row.Name() + "/evidence"
	if what := Lacking(item, o); what != "" {
		return refuse(CodeRule, rule, "item %s passes only with %s", item.ID, what)
	}
	for _, e := range o.Evidence {
		switch {
		case e.Kind == "":
		case e.Outcome != events.OutcomePass:
			return refuse(CodeRule, rule, "check %s passes with evidence whose outcome is %q", o.ID, e.Outcome)
		case !slices.ContainsFunc(s.task.Artifacts, func(a projections.Artifact) bool { return a.Data.Digest == e.Artifact }):
			return refuse(CodeNotFound, rule, "artifact %s is not recorded for this task", e.Artifact)
		}
	}
	return nil
}
