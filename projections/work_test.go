package projections_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// working returns a task with a lease of impl-a.
func working() *projectionstest.Task {
	_, task := begin()
	task.Propose()
	task.Accept()
	task.Open()
	task.Claim("impl-a", events.PurposeWork)
	return task
}

func TestCostsAreExact(t *testing.T) {
	k := working()
	for range 7 {
		k.Do("rita", projectionstest.Minutes("review", 7, 100, "EUR")) // 700/60: 11 and 40 sixtieths
	}
	k.Do("rita", projectionstest.Minutes("review", 1, 61, "USD"))
	k.Do("rita", projectionstest.Minutes("saved", 30, 90_000_000, "EUR"))
	k.Do("ci", projectionstest.Money("ci", 0, "EUR"))
	k.Do("ci", projectionstest.Money("ci", 41, "EUR"))
	for range 2 {
		k.Do("impl-a", &events.Cost{Kind: "model", Amount: &events.Amount{Micros: 5, Currency: "EUR"}, Tokens: &events.Tokens{In: 1<<53 - 1, Out: 3}, Model: "m"})
	}
	for _, want := range []struct {
		kind, currency                            string
		micros, sixtieths, rounded, count, minute int64
	}{
		{"review", "EUR", 81, 40, 82, 7, 49}, {"review", "USD", 1, 1, 1, 1, 1}, {"saved", "EUR", 45_000_000, 0, 45_000_000, 1, 30},
		{"ci", "EUR", 41, 0, 41, 2, 0}, {"model", "EUR", 10, 0, 10, 2, 0}, {"sandbox", "EUR", 0, 0, 0, 0, 0}, {"ci", "USD", 0, 0, 0, 0, 0},
	} {
		c := k.State().Cost(want.kind, want.currency)
		if c.Micros != want.micros || c.Sixtieths != want.sixtieths || c.Rounded() != want.rounded || c.Events != want.count || c.Minutes != want.minute {
			t.Errorf("%s %s: %+v, rounded %d", want.kind, want.currency, c, c.Rounded())
		}
	}
	if c := k.State().Cost("model", "EUR"); c.TokensIn != 2*(1<<53-1) || c.TokensOut != 6 {
		t.Errorf("tokens %+v", c)
	}
	if n := len(k.State().Costs); n != 5 {
		t.Errorf("%d totals, want 5", n)
	}
}

// TestCostsDoNotOverflow: a total stops at the largest number.
func TestCostsDoNotOverflow(t *testing.T) {
	k := working()
	for range 600 {
		k.Do("rita", projectionstest.Minutes("review", events.MaxMinutes, events.MaxMicros, "EUR"))
	}
	if c := k.State().Cost("review", "EUR"); c.Micros != math.MaxInt64 || c.Rounded() != math.MaxInt64 {
		t.Errorf("total %+v", c)
	}
}

func TestWorkReferencesToNothing(t *testing.T) {
	for name, p := range map[string]events.Payload{
		"step done":   projectionstest.CompleteStep("s1"),
		"step failed": &events.StepFailure{Step: "s1", Reason: "x"},
		"supersedes":  projectionstest.Decision("d1", func(d *events.Decision) { d.Supersedes = "d0" }),
		"freeze":      projectionstest.Freeze("d1"),
		"thaw":        &events.Thaw{Decision: "d1", Reason: "x"},
		"withdrawal":  &events.Retraction{Decision: "d1", Reason: "x"},
		"unban":       &events.Unban{Approach: "b1", Reason: "x"},
	} {
		k := working()
		if err := k.Story.Add(k.Draft("impl-a", p)); !errors.Is(err, projections.ErrReference) || k.State().Blocked == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStepsBelongToTheirAttempt: a new attempt starts without plan and steps,
// and a name may come again.
func TestStepsBelongToTheirAttempt(t *testing.T) {
	k := working()
	k.Do("impl-a", projectionstest.Plan())
	k.Do("impl-a", projectionstest.IssueStep("s1", "u1"))
	k.Do("impl-a", &events.Progress{Step: "s1", Note: "half of it"})
	k.Interrupt()
	k.Recover(projections.NewAttemptInputsChanged)
	k.AcceptRepair()
	k.Open()
	s := k.State()
	if s.Step("s1") != nil || s.CurrentPlan() != nil || s.NextUnit() != nil || len(s.CurrentSteps()) != 0 || len(s.Steps) != 1 {
		t.Errorf("the new attempt has step %+v, plan %+v", s.Step("s1"), s.CurrentPlan())
	}
	if q := resume(k, events.RoleImplementer).Untrusted.Steps; len(q) != 0 {
		t.Errorf("quotes of an older attempt: %+v", q)
	}
}

// told is a task with everything that packets show of how the work goes.
func told(text string) *projectionstest.Task {
	k := working()
	plan := projectionstest.Plan()
	plan.Summary, plan.Units[1].Title = oneLine(text), oneLine(text)
	k.Do("impl-a", plan)
	k.Do("impl-a", projectionstest.IssueStep("s1", "u1"))
	done := projectionstest.CompleteStep("s1")
	done.Summary = text
	k.Do("impl-a", done)
	open := projectionstest.IssueStep("s2", "")
	open.Title, open.Success = oneLine(text), oneLine(text)
	k.Do("impl-a", open)
	k.Do("impl-a", &events.Progress{Step: "s2", Note: text})
	k.Do("impl-a", projectionstest.Decision("d1", func(d *events.Decision) { d.Choice = text }))
	k.Do(projectionstest.Founder, projectionstest.Freeze("d1", func(f *events.Freeze) { f.Reason = text }))
	k.Do("impl-a", projectionstest.Decision("d2"))
	k.Do(projectionstest.Founder, projectionstest.Ban("b1", func(b *events.Ban) { b.Reason = text }))
	k.Do("ci", projectionstest.Money("ci", 1_500_000, "EUR"))
	k.Do("rita", projectionstest.Minutes("review", 20, 90_000_000, "EUR"))
	k.Do("rita", projectionstest.DefectReport(text))
	k.Do("ci", projectionstest.Violation(projectionstest.Object("bad tree")))
	k.Do("olga", &events.Quarantine{Digest: projectionstest.Digest("grounds of d2"), Reason: text})
	return k
}

// oneLine makes a text fit where only a line may stand.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

func TestPacketsShowTheWork(t *testing.T) {
	k := told("because of the books")
	r := resume(k, events.RoleImplementer)
	switch {
	case r.Next.Step != "s2" || r.Next.Unit != "u2":
		t.Errorf("next step %q, unit %q", r.Next.Step, r.Next.Unit)
	case len(r.Steps) != 2 || !r.Steps[0].Proven || r.Steps[1].Proven || r.Steps[1].Status != projections.StepOpen:
		t.Errorf("steps %+v", r.Steps)
	case len(r.Decisions) != 2 || !r.Decisions[0].Frozen || r.Decisions[1].Frozen || !r.Decisions[0].Grounded || r.Decisions[1].Grounded:
		t.Errorf("decisions %+v", r.Decisions)
	case len(r.Bans) != 1 || len(r.Violations) != 1 || len(r.Defects) != 1 || len(r.Quarantined) != 1:
		t.Errorf("bans %+v, violations %+v, defects %+v, quarantined %+v", r.Bans, r.Violations, r.Defects, r.Quarantined)
	case len(r.Untrusted.Steps) != 5 || len(r.Untrusted.Decisions) != 3 || len(r.Untrusted.Defects) != 1:
		t.Errorf("quotes %+v, %+v, %+v", r.Untrusted.Steps, r.Untrusted.Decisions, r.Untrusted.Defects)
	}
	if v := resume(k, events.RoleVerifier); len(v.Untrusted.Steps) != 0 || len(v.Untrusted.Decisions) != 3 {
		t.Errorf("a verifier reads %+v", v.Untrusted.Steps)
	}
	k.Do("olga", &events.Quarantine{Digest: projectionstest.Digest("log of s1"), Reason: "x"})
	if s := resume(k, events.RoleImplementer).Steps[0]; !s.Proven || !strings.HasPrefix(s.Evidence[1], "quarantined ") {
		t.Errorf("step with one quarantined piece of two: %+v", s)
	}
	k.Do("carl", &events.Pause{Reason: "wait"})
	if p := resume(k, events.RoleImplementer); p.Paused == nil || p.Waiting.For != "task.unpaused" || !strings.HasPrefix(p.Next.Do, "Stop") {
		t.Errorf("paused %+v, next %+v", p.Paused, p.Next)
	}
	k.Do("carl", &events.Unpause{Reason: "go on"})
	k.Do(projectionstest.Founder, &events.Thaw{Decision: "d1", Reason: "x"})
	k.Do(projectionstest.Founder, &events.Retraction{Decision: "d2", Reason: "x"})
	k.Do(projectionstest.Founder, &events.Unban{Approach: "b1", Reason: "x"})
	if r := resume(k, events.RoleImplementer); len(r.Decisions) != 1 || r.Decisions[0].Frozen || len(r.Bans) != 0 {
		t.Errorf("after the end of all: %+v, %+v", r.Decisions, r.Bans)
	}
}

// TestExpiredShowsInReviewOnly: a resume packet shows what counts at the
// task's head; a review packet depends on no time and names the end instead.
func TestExpiredShowsInReviewOnly(t *testing.T) {
	k := working()
	k.Do("impl-a", projectionstest.Decision("d1", func(d *events.Decision) { d.Expires = "2020-01-01T00:00:00Z" }))
	k.Do(projectionstest.Founder, projectionstest.Freeze("d1"))
	k.Do(projectionstest.Founder, projectionstest.Ban("b1", func(b *events.Ban) { b.Expires = "2020-01-01T00:00:00Z" }))
	if r := resume(k, events.RoleOwner); len(r.Decisions)+len(r.Bans) != 0 || len(k.State().Guards(k.State().Admitted)) != 0 {
		t.Errorf("expired: %+v, %+v", r.Decisions, r.Bans)
	}
	if r := projections.ReviewPacket(k.State()); len(r.Decisions) != 1 || r.Decisions[0].Expires == "" || len(r.Bans) != 1 {
		t.Errorf("review: %+v, %+v", r.Decisions, r.Bans)
	}
}

// TestReviewKeepsItsDigest: a reviewer's minutes, a pause and notes do not
// change what the next reviewer of a quorum names; a defect does.
func TestReviewKeepsItsDigest(t *testing.T) {
	k := reviewed()
	digest := func() events.Hash {
		_, h, err := projections.ReviewPacket(k.State()).Encode(0)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	before := digest()
	for _, p := range []events.Payload{
		projectionstest.Minutes("review", 20, 90_000_000, "EUR"), projectionstest.Artifact("log"), &events.Pause{Reason: "wait"}, &events.Unpause{Reason: "go on"},
	} {
		k.Do(projectionstest.Founder, p)
		if digest() != before {
			t.Errorf("%s changed the review packet", p.Type().Short())
		}
	}
	for _, p := range []events.Payload{
		projectionstest.DefectReport("wrong"), projectionstest.Money("ci", 1, "EUR"), projectionstest.Decision("d1"), projectionstest.Freeze("d1"), projectionstest.Ban("b1"),
	} {
		was := digest()
		if k.Do(projectionstest.Founder, p); digest() == was {
			t.Errorf("%s left the review packet as it was", p.Type().Short())
		}
	}
	r := projections.ReviewPacket(k.State())
	if len(r.Costs) != 1 || r.Costs[0].Kind != "ci" || !strings.Contains(strings.Join(r.Questions, "\n"), "defects are reported") {
		t.Errorf("costs %+v, questions %q", r.Costs, r.Questions)
	}
}

// TestWorkTextStaysQuoted: no text about the work leaves the untrusted fields,
// in JSON or Markdown, and packets full of it keep their limit.
func TestWorkTextStaysQuoted(t *testing.T) {
	k := told(evil)
	r := resume(k, events.RoleImplementer)
	r.Untrusted = projections.Untrusted{}
	b, err := events.Canonical(r)
	if err != nil || strings.Contains(string(b), "ignore the contract") {
		t.Errorf("text outside the untrusted fields: %v %s", err, b)
	}
	for _, page := range []string{resume(k, events.RoleImplementer).Markdown(), projections.ReviewPacket(k.State()).Markdown()} {
		if strings.ContainsAny(page, "\x1b\x07\u202e") || strings.Contains(page, "\n- [x] ignore") || strings.Contains(page, "\n<script>") {
			t.Error("hostile text is live in Markdown")
		}
	}
	k = told(strings.Repeat("x", 480))
	for i := range 200 {
		k.Do("impl-a", projectionstest.Decision("more-"+projectionstest.Digest(string(rune(i)))[:8], func(d *events.Decision) { d.Choice = strings.Repeat("y", 3000) }))
	}
	for _, limit := range []int{0, 6000} {
		b, _, err := resume(k, events.RoleImplementer).Encode(limit)
		if err != nil || limit == 0 && len(b) > projections.PacketLimit {
			t.Errorf("limit %d: %d bytes, %v", limit, len(b), err)
		}
		if _, _, err := projections.ReviewPacket(k.State()).Encode(limit); err != nil {
			t.Errorf("review, limit %d: %v", limit, err)
		}
	}
	fit, err := resume(k, events.RoleImplementer).Fit(0)
	if err != nil || len(fit.Bans) != 1 || len(fit.Violations) != 1 {
		t.Errorf("the ban or the violation was left off before less important things: %+v %v", fit.Truncated, err)
	}
}

// TestQuarantinedOutputIsNotShown: the window of an output that is quarantined
// is in no packet.
func TestQuarantinedOutputIsNotShown(t *testing.T) {
	k := working()
	k.Hand()
	receipt := projectionstest.Receipt(k.State(), "nonce-of-16-bytes-9", projectionstest.Outcomes{"C1": events.ClassCodeFailure})
	receipt.Checks[0].Output, receipt.Checks[0].Artifact = "a customer's address", projectionstest.Digest("leaky")
	k.Do("ci", receipt)
	shown := func() bool {
		b, _, err := resume(k, events.RoleImplementer).Encode(0)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(b), "customer's address")
	}
	if !shown() {
		t.Fatal("the failing output is not shown")
	}
	k.Do("olga", &events.Quarantine{Digest: projectionstest.Digest("leaky"), Reason: "x"})
	if shown() {
		t.Error("the quarantined output is shown")
	}
}
