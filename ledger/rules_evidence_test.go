package ledger

import (
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// TestLacking holds what an item's evidence asks of a pass.
func TestLacking(t *testing.T) {
	look := events.Evidence{Kind: "screenshot", URL: "https://pr.example/", Artifact: projectionstest.Digest("png"), Outcome: events.OutcomePass}
	with := func(change func(*events.Evidence)) []events.Evidence {
		e := look
		change(&e)
		return []events.Evidence{{Artifact: projectionstest.Digest("report"), Note: "test report"}, e}
	}
	ran := &events.Counts{Total: 1, Executed: 1, Passed: 1}
	for _, c := range []struct {
		name, kind string
		evidence   []events.Evidence
		counts     *events.Counts
		ok         bool
	}{
		{"a test needs none", "test", nil, nil, true},
		{"a review needs none", "human-review", nil, nil, true},
		{"a screenshot", "screenshot", with(func(*events.Evidence) {}), nil, true},
		{"a trace", "screenshot", with(func(e *events.Evidence) { e.Kind = "trace" }), nil, true},
		{"nothing", "screenshot", nil, ran, false},
		{"without an address", "screenshot", with(func(e *events.Evidence) { e.URL = "" }), nil, false},
		{"without a picture", "screenshot", with(func(e *events.Evidence) { e.Artifact, e.Commit = "", projectionstest.Object("c") }), nil, false},
		{"without an outcome", "screenshot", with(func(e *events.Evidence) { e.Outcome = "" }), nil, false},
		{"with another outcome", "screenshot", with(func(e *events.Evidence) { e.Outcome = events.OutcomeFail }), nil, false},
		{"without a kind", "screenshot", with(func(e *events.Evidence) { e.Kind = "" }), nil, false},
		{"a reply for a page", "screenshot", with(func(e *events.Evidence) { e.Kind = "api-response" }), nil, false},
		{"a reply", "api-response", with(func(e *events.Evidence) { e.Kind = "api-response" }), nil, true},
		{"a contract test", "api-response", nil, ran, true},
		{"a contract test that ran nothing", "api-response", nil, &events.Counts{Total: 1, Skipped: 1}, false},
		{"a page for a reply", "api-response", with(func(*events.Evidence) {}), nil, false},
		{"no reply", "api-response", nil, nil, false},
	} {
		item := &events.Item{ID: "A1", Evidence: c.kind}
		if got := Lacking(item, &events.CheckOutcome{Evidence: c.evidence, Counts: c.counts}); (got == "") != c.ok {
			t.Errorf("%s: lacks %q", c.name, got)
		}
	}
}

// TestReceiptShowsWhatItsItemAsks refuses a pass without the item's evidence in a
// receipt that says where it is from, and leaves older receipts alone.
func TestReceiptShowsWhatItsItemAsks(t *testing.T) {
	kept := projectionstest.Digest("png")
	look := func(change func(*events.Evidence)) func(*events.Receipt) {
		return func(r *events.Receipt) {
			e := events.Evidence{Kind: "screenshot", URL: "https://pr.example/", Artifact: kept, Outcome: events.OutcomePass}
			change(&e)
			r.Source = &events.ReceiptSource{Kind: "run"}
			r.Checks[0].Evidence = []events.Evidence{e}
		}
	}
	for name, c := range map[string]struct {
		change func(*events.Receipt)
		code   Code
	}{
		"an older receipt": {func(*events.Receipt) {}, ""},
		"a look":           {look(func(*events.Evidence) {}), ""},
		"no look":          {func(r *events.Receipt) { r.Source = &events.ReceiptSource{Kind: "run"} }, CodeRule},
		"no pass": {func(r *events.Receipt) {
			r.Source = &events.ReceiptSource{Kind: "run"}
			r.Checks[0].Outcome, r.Checks[0].Class = events.OutcomeInconclusive, events.ClassInconclusive
		}, ""},
		"a look that failed":        {look(func(e *events.Evidence) { e.Outcome = events.OutcomeFail }), CodeRule},
		"a picture that nobody has": {look(func(e *events.Evidence) { e.Artifact = projectionstest.Digest("other") }), CodeNotFound},
		"one look that failed": {func(r *events.Receipt) {
			look(func(*events.Evidence) {})(r)
			r.Checks[0].Evidence = append(r.Checks[0].Evidence, events.Evidence{Kind: "trace", Artifact: kept, Outcome: events.OutcomeFail})
		}, CodeRule},
	} {
		t.Run(name, func(t *testing.T) {
			k := representatives()[projections.AwaitingVerification]
			task := k.State()
			task.Contract().Contract.Acceptance[0].Evidence = "screenshot"
			task.Artifacts = append(task.Artifacts, projections.Artifact{Data: events.Artifact{Digest: kept}})
			r := projectionstest.Receipt(task, "another-nonce-of-16", nil)
			c.change(r)
			s := &scene{ledger: k.Story.Ledger, task: task, row: &Row{Type: events.ReceiptRecorded}}
			refusal := checkOutcomes(s, r)
			switch {
			case c.code == "" && refusal != nil:
				t.Errorf("refused: %v", refusal)
			case c.code != "" && (refusal == nil || refusal.Code != c.code):
				t.Errorf("got %v, want %s", refusal, c.code)
			}
		})
	}
}
