package ledger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// workMoves plays with a pause, a violated boundary, one step, one decision and
// one ban.
func (g *graph) workMoves(t *projections.Task) []move {
	var all []move
	if g.pause {
		all = append(all, move{"ann", &events.Pause{Reason: "wait"}}, move{"carl", &events.Unpause{Reason: "go on"}})
	}
	if g.steps && t.Result != nil && len(t.Violations) < 1 {
		all = append(all, move{"ci", projectionstest.Violation(t.Result.Data.Tree)})
	}
	if g.steps {
		all = append(all, move{"impl-a", projectionstest.Plan()}, move{"impl-a", &events.Progress{Note: "on it"}},
			move{"impl-a", &events.StepFailure{Step: "s1", Reason: "no"}}, move{"impl-a", projectionstest.CompleteStep("s1")},
			move{"rita", projectionstest.Money("review", 1, "EUR")}, move{"rita", projectionstest.DefectReport("wrong")},
			move{"impl-a", projectionstest.Artifact("log of s1")}, move{"olga", &events.Quarantine{Digest: projectionstest.Digest("log of s1"), Reason: "no"}})
		if len(t.Steps) < 1 {
			all = append(all, move{"impl-a", projectionstest.IssueStep("s1", "")})
		}
	}
	if g.choices {
		all = append(all, move{"impl-a", projectionstest.Decision("d1")}, move{"ann", projectionstest.Freeze("d1")},
			move{"ann", &events.Thaw{Decision: "d1", Reason: "no"}}, move{"ann", &events.Retraction{Decision: "d1", Reason: "no"}},
			move{"ann", projectionstest.Ban("b1")}, move{"ann", &events.Unban{Approach: "b1", Reason: "no"}})
	}
	return all
}

// workSignature is what the rules can tell of how the work goes.
func workSignature(t *projections.Task) string {
	var b strings.Builder
	if p := t.Pause; p != nil {
		fmt.Fprintf(&b, " paused=%t/%t", p.Decisive, p.Failing != "")
	}
	if len(t.Violations) > 0 {
		fmt.Fprintf(&b, " violated=%t", t.Violated() != nil)
	}
	if t.Plan != nil {
		fmt.Fprintf(&b, " plan=%t", t.CurrentPlan() != nil)
	}
	for _, s := range t.Steps {
		fmt.Fprintf(&b, " step=%s/%t", s.Status, t.Step(s.Data.Step) != nil)
	}
	for _, d := range t.Choices {
		fmt.Fprintf(&b, " decision=%t/%t", d.Standing(), d.Frozen != nil)
	}
	for _, d := range t.Bans {
		fmt.Fprintf(&b, " ban=%t", d.Lifted == "")
	}
	fmt.Fprintf(&b, " artifacts=%d/%d", min(1, len(t.Artifacts)), len(t.Quarantine))
	return b.String()
}

// copyWork copies what a fold of such events changes in place.
func copyWork(c, t *projections.Task) {
	c.Steps, c.Choices, c.Bans, c.Costs = slices.Clone(t.Steps), slices.Clone(t.Choices), slices.Clone(t.Bans), slices.Clone(t.Costs)
	c.Artifacts, c.Quarantine, c.Violations, c.Defects = slices.Clone(t.Artifacts), slices.Clone(t.Quarantine), slices.Clone(t.Violations), slices.Clone(t.Defects)
	if t.Pause != nil {
		p := *t.Pause
		c.Pause = &p
	}
}
