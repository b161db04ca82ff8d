package ledger_test

import (
	"testing"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// wantRule fails unless err is a refusal by the rule.
func wantRule(t *testing.T, err error, code ledger.Code, rule string) {
	t.Helper()
	if r := wantRefusal(t, err, ledger.Refused, code); r.Rule != rule {
		t.Fatalf("refused by %s (%s), want %s", r.Rule, r.Text, rule)
	}
}

// told signs what a step says, now.
func told(h *ledgertest.House, s ledgertest.Step) error {
	var p events.Payload
	h.Writer.View(func(b *ledger.Book) { p = s.Say(b.State, b.State.Task(s.Task)) })
	_, err := h.Try(s.Task, s.Actor, p)
	return err
}

// sameAfter demands that audit and restart give the states of now.
func sameAfter(t *testing.T, h *ledgertest.House) {
	t.Helper()
	live, audit := h.Digests(), h.Audit()
	if !equalDigests(live, audit.Digests) {
		t.Errorf("audited states differ: %v, live %v", audit.Digests, live)
	}
}

// until plays the first steps of the story of a change of a path.
func until(h *ledgertest.House, path string, last int) {
	contract := projectionstest.Contract(1, func(c *events.Contract) {
		c.Scope.Include = []string{"src/**"}
		c.Scope.Effects = []events.EffectKind{events.EffectPreview, events.EffectMerge, events.EffectProductionDeploy}
	})
	result := projectionstest.Result("1", func(r *events.Result) { r.Changes[0].Path = path })
	steps := []ledgertest.Step{
		ledgertest.Saying("TASK-1", ledgertest.Founder, contract), {Task: "TASK-1", Actor: ledgertest.Founder, Say: ledgertest.Accept},
		{Task: "TASK-1", Actor: ledgertest.Controller, Say: ledgertest.Open}, {Task: "TASK-1", Actor: ledgertest.ImplA, Say: ledgertest.Claim(events.PurposeWork)},
		ledgertest.Saying("TASK-1", ledgertest.ImplA, result), {Task: "TASK-1", Actor: ledgertest.Verifier, Say: ledgertest.Receipt(nil)},
		{Task: "TASK-1", Actor: ledgertest.Reviewer, Say: ledgertest.Verdict("approve")},
	}
	h.Play(steps[:last])
}

// approved is the number of steps that lead to Approved.
const approved = 7

func release() ledgertest.Step {
	return ledgertest.Step{Task: "TASK-1", Actor: ledgertest.Operator, Say: ledgertest.Claim(events.PurposeRelease)}
}

func deliver() ledgertest.Step {
	return ledgertest.Step{Task: "TASK-1", Actor: ledgertest.Operator, Say: ledgertest.Deliver}
}

// TestTwoReviewers holds a change of src/auth at Approved until a second
// person approves; a change of anything else passes with one.
func TestTwoReviewers(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	h.Play([]ledgertest.Step{ledgertest.Publish(ledgertest.TwoReviewers, events.Tiers{})})
	until(h, "src/auth/login.go", approved)
	wantRule(t, told(h, deliver()), ledger.CodeRule, "policy/two-reviewers-for-auth")
	wantRule(t, told(h, release()), ledger.CodeRule, "policy/two-reviewers-for-auth")
	if err := told(h, ledgertest.Step{Task: "TASK-1", Actor: ledgertest.Reviewer, Say: ledgertest.Verdict("approve")}); err == nil {
		t.Error("one person approved twice")
	}
	h.Play([]ledgertest.Step{{Task: "TASK-1", Actor: "rob", Say: ledgertest.Verdict("approve")}, deliver()})
	sameAfter(t, h)

	other := ledgertest.Found(t, "acme", memory(t, "acme"))
	other.Play([]ledgertest.Step{ledgertest.Publish(ledgertest.TwoReviewers, events.Tiers{})})
	until(other, "src/authors/list.go", approved)
	other.Play([]ledgertest.Step{deliver()})
}

// TestApprovedCanStillBeRejected lets a further reviewer say no.
func TestApprovedCanStillBeRejected(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	until(h, "src/auth/login.go", approved)
	h.Play([]ledgertest.Step{{Task: "TASK-1", Actor: "rob", Say: func(l *projections.Ledger, k *projections.Task) events.Payload {
		a := ledgertest.Verdict("reject")(l, k).(*events.Approval)
		a.Defects = []events.Defect{{Acceptance: "A1", Text: "wrong", Severity: "high"}}
		return a
	}}})
	if got := h.State("TASK-1"); got != projections.RepairQueued {
		t.Errorf("state is %s, want RepairQueued", got)
	}
}

// TestNoFridays refuses a production deploy on a Friday and takes it on the
// Tuesday of the clock.
func TestNoFridays(t *testing.T) {
	for day, friday := range map[time.Duration]bool{0: false, 3: true} {
		h := ledgertest.Found(t, "acme", memory(t, "acme"))
		h.Play([]ledgertest.Step{ledgertest.Publish(ledgertest.NoFridays, events.Tiers{})})
		h.Clock.Advance(day * 24 * time.Hour)
		until(h, "src/export/state.go", approved)
		h.Play([]ledgertest.Step{release()})
		intent := projectionstest.Intent("deploy-1")
		intent.Kind = events.EffectProductionDeploy
		_, err := h.Try("TASK-1", ledgertest.Operator, intent)
		if friday {
			wantRule(t, err, ledger.CodeRule, "policy/no-friday-deploys")
		} else if err != nil {
			t.Errorf("on a Tuesday: %v", err)
		}
		sameAfter(t, h)
	}
}

// TestAutomationInALedger switches automation off and on between the steps of
// an agent.
func TestAutomationInALedger(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	until(h, "src/export/state.go", 4)
	intent := projectionstest.Intent("merge-1")
	h.Do("TASK-1", ledgertest.ImplA, projectionstest.Intent("preview-1"))
	h.Play([]ledgertest.Step{
		{Task: "TASK-1", Actor: ledgertest.ImplA, Say: ledgertest.Dispatch("preview-1")},
		ledgertest.Publish("", events.Tiers{Code: events.AutomationOff}),
	})
	_, err := h.Try("TASK-1", ledgertest.ImplA, intent)
	wantRule(t, err, ledger.CodeRule, "policy/automation")
	_, err = h.Try("TASK-1", ledgertest.ImplA, projectionstest.Result("1"))
	wantRefusal(t, err, ledger.Refused, ledger.CodeEffect) // the floor speaks first
	h.Play([]ledgertest.Step{
		{Task: "TASK-1", Actor: ledgertest.ImplA, Say: ledgertest.Outcome("preview-1", projections.StatusConfirmed)},
		ledgertest.Saying("TASK-1", ledgertest.ImplA, &events.Finding{Severity: "check", Rule: "r", Text: "t"}),
	})
	_, err = h.Try("TASK-1", ledgertest.ImplA, projectionstest.Result("1"))
	wantRule(t, err, ledger.CodeRule, "policy/automation")
	h.Play([]ledgertest.Step{ledgertest.Publish("", events.Tiers{Code: events.AutomationDraft})})
	h.Do("TASK-1", ledgertest.ImplA, projectionstest.Result("1"))
	sameAfter(t, h)
}

// TestNewPolicyVoidsApprovals publishes a policy over an approved task: it is
// neither delivered nor released until a person pins the new one and it is
// proven and approved again.
func TestNewPolicyVoidsApprovals(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	until(h, "src/export/state.go", approved)
	var before, after string
	h.Writer.View(func(b *ledger.Book) { before = b.State.Registry.Policy })
	h.Play([]ledgertest.Step{ledgertest.Publish(ledgertest.NoFridays, events.Tiers{})})
	h.Writer.View(func(b *ledger.Book) { after = b.State.Registry.Policy })
	if before == after {
		t.Fatal("the digest is the old one")
	}
	wantRule(t, told(h, deliver()), ledger.CodeStale, "delivery.recorded/policy")
	wantRule(t, told(h, ledgertest.Step{Task: "TASK-1", Actor: "rob", Say: ledgertest.Verdict("approve")}), ledger.CodeStale, "approval.recorded/policy")
	wantRule(t, told(h, release()), ledger.CodeStale, "lease.claimed release/re_authorize")
	h.Play([]ledgertest.Step{
		{Task: "TASK-1", Actor: ledgertest.Controller, Say: ledgertest.Claim(events.PurposeRecover)},
		{Task: "TASK-1", Actor: ledgertest.Controller, Say: ledgertest.Recover},
	})
	if got := h.State("TASK-1"); got != projections.Escalated {
		t.Fatalf("state is %s, want Escalated", got)
	}
	_, err := h.Try("TASK-1", ledgertest.Founder, &events.Resolution{Action: "resume", Reason: "r", Policy: before})
	wantRule(t, err, ledger.CodeStale, "escalation.resolved/policy")
	h.Do("TASK-1", ledgertest.Founder, &events.Resolution{Action: "resume", Reason: "r", Policy: after})
	if got := h.State("TASK-1"); got != projections.AwaitingVerification {
		t.Fatalf("state is %s, want AwaitingVerification", got)
	}
	h.Play([]ledgertest.Step{
		{Task: "TASK-1", Actor: ledgertest.Verifier, Say: ledgertest.Receipt(nil)},
		{Task: "TASK-1", Actor: ledgertest.Reviewer, Say: ledgertest.Verdict("approve")}, deliver(),
	})
	sameAfter(t, h)
}

// TestPolicyInARelease stops a release run whose approvals a new policy voids.
func TestPolicyInARelease(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	until(h, "src/export/state.go", approved)
	h.Play([]ledgertest.Step{release()})
	h.Do("TASK-1", ledgertest.Operator, projectionstest.Intent("one"))
	h.Play([]ledgertest.Step{ledgertest.Publish(ledgertest.NoFridays, events.Tiers{})})
	_, err := h.Try("TASK-1", ledgertest.Operator, projectionstest.Intent("two"))
	wantRule(t, err, ledger.CodeStale, "effect.intended/policy")
	wantRule(t, told(h, ledgertest.Step{Task: "TASK-1", Actor: ledgertest.Operator, Say: ledgertest.Dispatch("one")}), ledger.CodeStale, "effect.dispatched/policy")
	wantRule(t, told(h, deliver()), ledger.CodeStale, "delivery.recorded/policy")
	h.Do("TASK-1", ledgertest.Operator, &events.Release{Reason: "other"})
}

// TestContractAnswersToItsOwnTier: what a policy says of a risk tier holds for
// the contract that is proposed or accepted, whatever others the task has had,
// and for a contract that leaves the tier.
func TestContractAnswersToItsOwnTier(t *testing.T) {
	const text = `@id("no-ann") forbid (principal == Actor::"ann", action == Action::"contract.accepted", resource) when { resource.riskTier == "production" };`
	begin := func(first, second string) (h *ledgertest.House, accept func(version int64) error) {
		h = ledgertest.Found(t, "acme", memory(t, "acme"))
		h.Play([]ledgertest.Step{ledgertest.Publish(text, events.Tiers{})})
		for i, tier := range []string{first, second} {
			h.Do("TASK-1", ledgertest.Founder, projectionstest.Contract(int64(i)+1, func(c *events.Contract) { c.RiskTier = tier }))
		}
		return h, func(version int64) error {
			_, err := h.Try("TASK-1", ledgertest.Founder, &events.Acceptance{Version: version, Digest: stateOf(h).Task("TASK-1").Version(version).Digest})
			return err
		}
	}
	h, accept := begin("production", "read-only")
	wantRule(t, accept(1), ledger.CodeRule, "policy/no-ann")
	if err := accept(2); err != nil {
		t.Fatalf("accept a read-only contract: %v", err)
	}
	wantRule(t, accept(1), ledger.CodeRule, "policy/no-ann")
	sameAfter(t, h)

	// Whoever may not accept the tier may not lead a task out of it.
	h, accept = begin("code", "production")
	if err := accept(1); err != nil {
		t.Fatal(err)
	}
	h.Play([]ledgertest.Step{ledgertest.Publish(ledgertest.NoFridays, events.Tiers{})})
	if err := accept(2); err != nil {
		t.Fatal(err)
	}
	h.Play([]ledgertest.Step{ledgertest.Publish(text, events.Tiers{})})
	wantRule(t, accept(1), ledger.CodeRule, "policy/no-ann")
}

// TestPublication refuses what is no policy, whoever is no admin, and the
// policy in force.
func TestPublication(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	publish := func(actor, cedar string) error {
		_, err := h.Try("", actor, &events.Policy{Cedar: cedar, Reason: "r"})
		return err
	}
	wantRule(t, publish(ledgertest.Founder, "permit(principal, action, resource);"), ledger.CodeRule, "policy.published/cedar")
	wantRule(t, publish(ledgertest.Founder, "be careful"), ledger.CodeRule, "policy.published/cedar")
	wantRule(t, publish(ledgertest.Founder, "forbid(principal, action, resource);"), ledger.CodeRule, "policy.published/lockout")
	wantRule(t, publish(ledgertest.Reviewer, ledgertest.NoFridays), ledger.CodeRule, "policy.published/role")
	wantRule(t, publish(ledgertest.ImplA, ledgertest.NoFridays), ledger.CodeRule, "policy.published/role")
	if err := publish(ledgertest.Founder, ledgertest.NoFridays); err != nil {
		t.Fatal(err)
	}
	wantRule(t, publish(ledgertest.Founder, ledgertest.NoFridays), ledger.CodeState, "policy.published")
	if err := publish(ledgertest.Founder, ""); err != nil {
		t.Errorf("back to the floor: %v", err)
	}
	for _, to := range []int64{1, events.Rules + 1} {
		if _, err := h.Try("", ledgertest.Founder, &events.Upgrade{Rules: to, Reason: "r"}); err == nil {
			t.Errorf("switched to version %d of the rules", to)
		}
	}
	h.Do("", ledgertest.Founder, &events.Upgrade{Rules: events.Rules, Reason: "r"})
	sameAfter(t, h)
}
