package ledger_test

import (
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// TestFreeze offers a frozen ledger what it takes and what it does not.
func TestFreeze(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	until(h, "src/export/state.go", 4)
	h.Do("TASK-1", ledgertest.ImplA, projectionstest.Intent("one"))
	h.Play([]ledgertest.Step{{Task: "TASK-1", Actor: ledgertest.ImplA, Say: ledgertest.Dispatch("one")}})
	_, err := h.Try("", ledgertest.Founder, &events.LedgerThaw{Reason: "r"})
	wantRule(t, err, ledger.CodeState, "ledger.unfrozen")
	_, err = h.Try("", ledgertest.Reviewer, &events.LedgerFreeze{Reason: "r"})
	wantRule(t, err, ledger.CodeRule, "ledger.frozen/role")
	h.Do("", ledgertest.Founder, &events.LedgerFreeze{Reason: "a key may have leaked"})
	for _, s := range []ledgertest.Step{
		ledgertest.Saying("", ledgertest.Founder, &events.LedgerFreeze{Reason: "again"}),
		ledgertest.Saying("", ledgertest.Founder, ledgertest.Invitation("new")),
		ledgertest.Publish(ledgertest.NoFridays, events.Tiers{}),
		ledgertest.Saying("TASK-1", ledgertest.ImplA, projectionstest.Intent("two")),
		ledgertest.Saying("TASK-1", ledgertest.ImplA, &events.Release{Reason: "other"}),
		ledgertest.Saying("TASK-1", ledgertest.Founder, &events.Cancellation{Reason: "r"}),
		ledgertest.Saying("TASK-2", ledgertest.Founder, projectionstest.Contract(1)),
	} {
		wantRule(t, told(h, s), ledger.CodeState, "frozen")
	}
	h.Play([]ledgertest.Step{
		{Task: "TASK-1", Actor: ledgertest.ImplA, Say: ledgertest.Outcome("one", projections.StatusConfirmed)},
		ledgertest.Saying("TASK-1", ledgertest.Auditor, &events.Finding{Severity: "check", Rule: "r", Text: "t"}),
		{Task: "TASK-1", Actor: ledgertest.Controller, Say: ledgertest.Interrupt},
		ledgertest.Saying("", ledgertest.Founder, &events.Revocation{Actor: ledgertest.ImplB, Reason: "leaked"}),
		ledgertest.Saying("", ledgertest.Founder, &events.LedgerThaw{Reason: "it is over"}),
		{Task: "TASK-1", Actor: ledgertest.Controller, Say: ledgertest.Claim(events.PurposeRecover)},
	})
	sameAfter(t, h)
}

// TestExpiryWhileFrozen records that a lease ran out in a frozen ledger.
func TestExpiryWhileFrozen(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	until(h, "src/export/state.go", 4)
	h.Do("", ledgertest.Founder, &events.LedgerFreeze{Reason: "r"})
	h.Clock.Advance(61_000_000_000)
	_, err := h.Try("TASK-1", ledgertest.Auditor, &events.Finding{Severity: "check", Rule: "r", Text: "t"})
	wantRefusal(t, err, ledger.Conflict, ledger.CodeHead) // the interruption came first
	if got := h.State("TASK-1"); got != projections.Interrupted {
		t.Errorf("state is %s, want Interrupted", got)
	}
}

// TestQuarantine stops each extent, and only that, until an admin lifts it.
func TestQuarantine(t *testing.T) {
	finding := func(task string) ledgertest.Step {
		return ledgertest.Saying(task, ledgertest.Auditor, &events.Finding{Severity: "check", Rule: "r", Text: "t"})
	}
	invite := ledgertest.Saying("", ledgertest.Founder, ledgertest.Invitation("new"))
	for _, c := range []struct {
		extent         events.Extent
		task           string
		stopped, taken []ledgertest.Step
	}{
		{events.ExtentTask, "TASK-1", []ledgertest.Step{finding("TASK-1")}, []ledgertest.Step{finding("TASK-2"), invite}},
		{events.ExtentRegistry, "", []ledgertest.Step{invite}, []ledgertest.Step{finding("TASK-1"), finding("TASK-2")}},
		{events.ExtentLedger, "", []ledgertest.Step{invite, finding("TASK-1"), finding("TASK-2"),
			ledgertest.Saying("", ledgertest.Founder, &events.LedgerFreeze{Reason: "r"})}, nil},
	} {
		h := ledgertest.Found(t, "acme", memory(t, "acme"))
		until(h, "src/export/state.go", 4)
		h.Do("TASK-2", ledgertest.Founder, projectionstest.Contract(1))
		report := &events.Integrity{Extent: c.extent, Task: c.task, At: 3, Reason: "the root is another one"}
		lift := &events.Lift{Extent: c.extent, Task: c.task, Reason: "compared"}
		for _, nobody := range []string{ledgertest.Auditor, ledgertest.ImplA, ledgertest.Controller} {
			_, err := h.Try("", nobody, report)
			wantRule(t, err, ledger.CodeRule, "integrity.reported/role")
		}
		_, err := h.Try("", ledgertest.Founder, lift)
		wantRule(t, err, ledger.CodeNotFound, "quarantine.lifted")
		_, err = h.Try("", ledgertest.Service, &events.Integrity{Extent: c.extent, Task: c.task, At: 9999, Reason: "r"})
		wantRule(t, err, ledger.CodeNotFound, "integrity.reported")
		h.Do("", ledgertest.Service, report)
		_, err = h.Try("", ledgertest.Founder, report)
		wantRule(t, err, ledger.CodeState, "integrity.reported")
		for _, s := range c.stopped {
			if r := wantRefusal(t, told(h, s), ledger.Corrupt, ledger.CodeDamage); r.Rule != "quarantine" {
				t.Errorf("%s: stopped by %s", c.extent, r.Rule)
			}
		}
		h.Play(c.taken)
		_, err = h.Try("", ledgertest.Service, lift)
		wantRule(t, err, ledger.CodeRule, "quarantine.lifted/role")
		h.Do("", ledgertest.Founder, lift)
		h.Play(c.stopped[:1])
		sameAfter(t, h)
	}
}

// TestExpiryInQuarantine lets a lease run out where nothing can record it: the
// answer is the quarantine's, and the interruption comes once it is lifted.
func TestExpiryInQuarantine(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	until(h, "src/export/state.go", 4)
	h.Do("", ledgertest.Service, &events.Integrity{Extent: events.ExtentTask, Task: "TASK-1", Reason: "r"})
	h.Clock.Advance(61_000_000_000)
	wantRefusal(t, told(h, ledgertest.Saying("TASK-1", ledgertest.ImplA, projectionstest.Result("1"))), ledger.Corrupt, ledger.CodeDamage)
	h.Do("", ledgertest.Founder, &events.Lift{Extent: events.ExtentTask, Task: "TASK-1", Reason: "r"})
	_, err := h.Try("TASK-1", ledgertest.ImplA, projectionstest.Result("1"))
	wantRefusal(t, err, ledger.Conflict, ledger.CodeHead)
	if got := h.State("TASK-1"); got != projections.Interrupted {
		t.Errorf("state is %s, want Interrupted", got)
	}
}

// TestFreezeAndQuarantineEnd demands a way out of both at once.
func TestFreezeAndQuarantineEnd(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	h.Do("", ledgertest.Founder, &events.LedgerFreeze{Reason: "r"})
	h.Do("", ledgertest.Service, &events.Integrity{Extent: events.ExtentLedger, Reason: "r"})
	h.Do("", ledgertest.Founder, &events.Lift{Extent: events.ExtentLedger, Reason: "r"})
	h.Do("", ledgertest.Founder, &events.LedgerThaw{Reason: "r"})
	h.Do("", ledgertest.Founder, ledgertest.Invitation("new"))
}
