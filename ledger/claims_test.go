package ledger_test

import (
	"slices"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// claimStep is one step of a story and what waits to be claimed after it.
type claimStep struct {
	ledgertest.Step
	want []events.Purpose
}

// TestClaims plays stories and compares, after each step, for which purposes a
// lease waits to be claimed. Whatever is named can be claimed.
func TestClaims(t *testing.T) {
	work, recovery, release := []events.Purpose{events.PurposeWork}, []events.Purpose{events.PurposeRecover}, []events.Purpose{events.PurposeRelease}
	say := func(actor string, p events.Payload, want []events.Purpose) claimStep {
		return claimStep{ledgertest.Saying("TASK-1", actor, p), want}
	}
	do := func(actor string, f func(*projections.Ledger, *projections.Task) events.Payload, want []events.Purpose) claimStep {
		return claimStep{ledgertest.Step{Task: "TASK-1", Actor: actor, Say: f}, want}
	}
	start := []claimStep{
		say(ledgertest.Founder, projectionstest.Contract(1), nil), do(ledgertest.Founder, ledgertest.Accept, nil),
		do(ledgertest.Controller, ledgertest.Open, work), do(ledgertest.ImplA, ledgertest.Claim(events.PurposeWork), nil),
	}
	for name, steps := range map[string][]claimStep{
		"released, paused, delivered": {
			say(ledgertest.ImplA, &events.Release{Reason: "shift"}, work),
			say(ledgertest.Founder, &events.Pause{Reason: "wait"}, nil), say(ledgertest.Founder, &events.Unpause{Reason: "go on"}, work),
			do(ledgertest.ImplB, ledgertest.Claim(events.PurposeWork), nil), say(ledgertest.ImplB, projectionstest.Result("1"), nil),
			do(ledgertest.Verifier, ledgertest.Receipt(nil), nil), do(ledgertest.Reviewer, ledgertest.Verdict("approve"), release),
			do(ledgertest.Operator, ledgertest.Claim(events.PurposeRelease), nil), do(ledgertest.Operator, ledgertest.Deliver, nil),
		},
		"interrupted with an effect": {
			say(ledgertest.ImplA, projectionstest.Intent("one"), nil), do(ledgertest.ImplA, ledgertest.Dispatch("one"), nil),
			do(ledgertest.Controller, ledgertest.Interrupt, recovery), do(ledgertest.Controller, ledgertest.Claim(events.PurposeRecover), nil),
			do(ledgertest.Controller, ledgertest.Outcome("one", projections.StatusConfirmed), nil), do(ledgertest.Controller, ledgertest.Recover, work),
			say(ledgertest.Founder, &events.Cancellation{Reason: "no"}, nil),
		},
		"repair": {
			say(ledgertest.ImplA, projectionstest.Result("1"), nil),
			do(ledgertest.Verifier, ledgertest.Receipt(projectionstest.Outcomes{"C1": events.ClassCodeFailure}), nil),
			say(ledgertest.Controller, &events.RepairAcceptance{Kind: "code"}, work),
			say(ledgertest.Auditor, &events.Finding{Severity: "fatal", Rule: "r", Text: "t"}, nil), do(ledgertest.Reviewer, ledgertest.Acknowledge, work),
			say(ledgertest.Controller, &events.Escalation{Reason: "r", NextStep: "n"}, nil),
		},
		"a newer contract": {
			say(ledgertest.ImplA, &events.Release{Reason: "shift"}, work),
			say(ledgertest.Founder, projectionstest.Contract(2), work), do(ledgertest.Founder, ledgertest.Accept, recovery),
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := ledgertest.Found(t, "acme", memory(t, "acme"))
			if got := claims(h); got != nil {
				t.Errorf("a task without events waits for %v", got)
			}
			for i, step := range append(slices.Clone(start), steps...) {
				h.Play([]ledgertest.Step{step.Step})
				if got := claims(h); !slices.Equal(got, step.want) {
					t.Fatalf("step %d by %s, %s: waits for %v, want %v", i, step.Actor, h.State("TASK-1"), got, step.want)
				}
				for _, p := range step.want {
					wantClaimable(t, h, p)
				}
			}
		})
	}
}

// claims returns what of TASK-1 waits to be claimed.
func claims(h *ledgertest.House) (list []events.Purpose) {
	h.Writer.View(func(b *ledger.Book) { list = ledger.NewRules().Claims(b.State.Task("TASK-1")) })
	return list
}

// wantClaimable demands that the claim would be accepted.
func wantClaimable(t *testing.T, h *ledgertest.House, p events.Purpose) {
	t.Helper()
	actor := map[events.Purpose]string{events.PurposeWork: ledgertest.ImplB, events.PurposeRecover: ledgertest.Controller, events.PurposeRelease: ledgertest.Operator}[p]
	var e events.Event
	h.Writer.View(func(b *ledger.Book) {
		e = h.Sign(b.State, "TASK-1", actor, ledgertest.Claim(p)(b.State, b.State.Task("TASK-1")))
	})
	if _, err := h.Writer.Submit(t.Context(), ledger.Request{Export: e.Export(), DryRun: true}); err != nil {
		t.Errorf("in %s the claim for %s: %v", h.State("TASK-1"), p, err)
	}
}
