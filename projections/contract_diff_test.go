package projections_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

func diffed(t *testing.T, change func(*events.Contract)) string {
	t.Helper()
	contract := func() *events.Contract {
		return &events.Contract{
			Version: 1, Goal: "greet", NonGoals: []string{"sing", "dance"}, RiskTier: "code", Target: "main", Quorum: 1, MaxRepairs: 5, MaxStalls: 3,
			Owners: events.Owners{Product: "olga"}, Scope: events.Scope{Include: []string{"docs/**", "src/**"}}, Reviewers: []string{"bob", "rita"},
			Acceptance: []events.Item{{ID: "A1", Text: "hello", Required: true, Evidence: "test", Checks: []events.Check{{
				ID: "A1-1", Command: []string{"sh", "a b"}, TimeoutSeconds: 60, Files: []events.PinnedFile{{Path: "a", Digest: strings.Repeat("1", 64)}}}}}},
		}
	}
	a, b := contract(), contract()
	b.Version = 2
	change(b)
	changes, err := projections.DiffContracts(a, b)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range changes {
		lines = append(lines, fmt.Sprintf("%s %q %q", c.Field, c.Removed, c.Added))
	}
	return strings.Join(lines, "\n")
}

func TestDiffContracts(t *testing.T) {
	item := events.Item{ID: "A0", Text: "first", Required: true, Evidence: "human-review", Checks: []events.Check{{ID: "A0-1", Command: []string{"true"}, TimeoutSeconds: 1}}}
	for name, c := range map[string]struct {
		change func(*events.Contract)
		want   string
	}{
		"nothing":     {func(*events.Contract) {}, ""},
		"goal":        {func(c *events.Contract) { c.Goal = "greet all" }, `goal ["greet"] ["greet all"]`},
		"a number":    {func(c *events.Contract) { c.Quorum = 2 }, `quorum ["1"] ["2"]`},
		"a list":      {func(c *events.Contract) { c.Scope.Include = []string{"lib/**", "src/**"} }, `scope.include ["docs/**"] ["lib/**"]`},
		"an order":    {func(c *events.Contract) { c.NonGoals = []string{"dance", "sing"} }, `nonGoals ["sing" "dance"] ["dance" "sing"]`},
		"twice":       {func(c *events.Contract) { c.NonGoals = []string{"sing", "dance", "sing"} }, `nonGoals [] ["sing"]`},
		"new member":  {func(c *events.Contract) { c.Expires = "2130-01-31T00:00:00Z" }, `expires [] ["2130-01-31T00:00:00Z"]`},
		"lost member": {func(c *events.Contract) { c.Reviewers = nil }, `reviewers ["bob" "rita"] []`},
		"a report": {func(c *events.Contract) {
			c.Acceptance[0].Checks[0].Report = &events.ReportRef{Format: "tap", Path: "-"}
			c.Acceptance[0].Checks[0].Skips = []string{"TestOld"}
		}, "acceptance.A1.checks.A1-1.report.format [] [\"tap\"]\nacceptance.A1.checks.A1-1.report.path [] [\"-\"]\nacceptance.A1.checks.A1-1.skips [] [\"TestOld\"]"},
		"a service": {func(c *events.Contract) {
			c.Services = []events.Service{{Name: "db", Command: []string{"pg_isready"}, TimeoutSeconds: 5}}
		}, "services.db [] [\"present\"]\nservices.db.command [] [\"[\\\"pg_isready\\\"]\"]\nservices.db.timeoutSeconds [] [\"5\"]"},
		"a command": {func(c *events.Contract) { c.Acceptance[0].Checks[0].Command = []string{"sh", "a", "b"} }, `acceptance.A1.checks.A1-1.command ["[\"sh\",\"a b\"]"] ["[\"sh\",\"a\",\"b\"]"]`},
		"a pin":     {func(c *events.Contract) { c.Acceptance[0].Checks[0].Files[0].Digest = strings.Repeat("2", 64) }, `acceptance.A1.checks.A1-1.files.a.digest ["` + strings.Repeat("1", 64) + `"] ["` + strings.Repeat("2", 64) + `"]`},
		"new item": {func(c *events.Contract) { c.Acceptance = append([]events.Item{item}, c.Acceptance...) },
			"acceptance.A0 [] [\"present\"]\nacceptance.A0.checks.A0-1 [] [\"present\"]\nacceptance.A0.checks.A0-1.command [] [\"[\\\"true\\\"]\"]\nacceptance.A0.checks.A0-1.timeoutSeconds [] [\"1\"]\nacceptance.A0.evidence [] [\"human-review\"]\nacceptance.A0.required [] [\"true\"]\nacceptance.A0.text [] [\"first\"]"},
	} {
		if got := diffed(t, c.change); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}
