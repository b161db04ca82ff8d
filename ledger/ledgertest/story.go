package ledgertest

import (
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// Step is one event of a story: who says what, once the state before it is
// known.
type Step struct {
	Task, Actor string
	Say         func(*projections.Ledger, *projections.Task) events.Payload
}

// Saying returns a step whose data does not depend on the state.
func Saying(task, actor string, p events.Payload) Step {
	return Step{task, actor, func(*projections.Ledger, *projections.Task) events.Payload { return p }}
}

// Start returns the steps from a contract to a work lease of ImplA.
func Start(task string) []Step {
	return []Step{
		Saying(task, Founder, projectionstest.Contract(1)),
		{task, Founder, Accept},
		{task, Controller, Open},
		{task, ImplA, Claim(events.PurposeWork)},
	}
}

// Delivery returns a task's story up to delivery, with one preview effect.
func Delivery(task string) []Step {
	return append(Start(task),
		Saying(task, ImplA, projectionstest.Intent(task)),
		Step{task, ImplA, Dispatch(task)},
		Step{task, ImplA, Outcome(task, projections.StatusConfirmed)},
		Saying(task, ImplA, projectionstest.Result("1")),
		Step{task, Verifier, Receipt(nil)},
		Step{task, Reviewer, Verdict("approve")},
		Step{task, Operator, Deliver},
	)
}

// Takeover returns a story in which ImplA dies after an effect acted, the
// controller recovers, and ImplB delivers.
func Takeover(task string) []Step {
	return append(Start(task),
		Saying(task, ImplA, projectionstest.Intent(task)),
		Step{task, ImplA, Dispatch(task)},
		Step{task, Controller, Interrupt},
		Step{task, Controller, Claim(events.PurposeRecover)},
		Step{task, Controller, Outcome(task, projections.StatusConfirmed)},
		Step{task, Controller, Recover},
		Step{task, ImplB, Claim(events.PurposeWork)},
		Saying(task, ImplB, projectionstest.Result("1")),
		Step{task, Verifier, Receipt(nil)},
		Step{task, Reviewer, Verdict("approve")},
		Step{task, Operator, Deliver},
	)
}

// Repairs returns a story with a failing check, a rejection, findings, a
// release of the lease, and a delivery.
func Repairs(task string) []Step {
	return append(Start(task),
		Saying(task, ImplA, &events.Release{Reason: "context"}),
		Step{task, ImplB, Claim(events.PurposeWork)},
		Saying(task, ImplB, projectionstest.Result("1")),
		Step{task, Verifier, Receipt(projectionstest.Outcomes{"C1": events.ClassCodeFailure})},
		Saying(task, Verifier, &events.RepairRequest{Items: []string{"A1"}, Reason: "mend it"}),
		Saying(task, Controller, &events.RepairAcceptance{Kind: "code"}),
		Step{task, ImplB, Claim(events.PurposeWork)},
		Saying(task, ImplB, projectionstest.Result("2")),
		Step{task, Verifier, Receipt(nil)},
		Saying(task, Auditor, &events.Finding{Severity: "fatal", Rule: "claim-without-proof", Text: "the claim does not match"}),
		Step{task, Reviewer, Acknowledge},
		Step{task, Reviewer, Verdict("approve")},
		Step{task, Operator, Deliver},
	)
}

// Effects returns a story of effects that were approved, withdrawn, failed,
// unknown and compensated, which ends in an escalation and a cancellation.
func Effects(task string) []Step {
	one, two, three := task+"-1", task+"-2", task+"-3"
	return append(Start(task),
		Saying(task, ImplA, projectionstest.Intent(one)),
		Step{task, Reviewer, approveEffect(one)},
		Step{task, ImplA, Dispatch(one)},
		Step{task, ImplA, Outcome(one, projections.StatusFailed)},
		Saying(task, Founder, &events.EffectWithdrawal{Key: one, Reason: "not needed"}),
		Saying(task, ImplA, projectionstest.Intent(two)),
		Step{task, ImplA, Dispatch(two)},
		Step{task, ImplA, Outcome(two, projections.StatusUnknown)},
		Step{task, Controller, Outcome(two, projections.StatusConfirmed)},
		Step{task, Controller, Outcome(two, projections.StatusCompensated)},
		Saying(task, ImplA, projectionstest.Intent(three)),
		Saying(task, ImplA, &events.Escalation{Reason: "unsure", NextStep: "look"}),
		Saying(task, Founder, &events.Resolution{Action: "resume", Reason: "decided"}),
		Saying(task, Founder, &events.Cancellation{Reason: "no longer wanted"}),
	)
}

// Everything returns stories that together hold every event type of a task,
// told in turn so that the events of different tasks lie side by side.
func Everything() []Step {
	return Interleave(
		Takeover("TASK-1"), Repairs("TASK-2"), Effects("TASK-3"), Delivery("TASK-4"), Work("TASK-6"),
		[]Step{Saying("TASK-5", Founder, projectionstest.Contract(1)), Saying("TASK-5", Founder, &events.Withdrawal{Reason: "no"})},
	)
}

// Interleave takes one step of each story in turn.
func Interleave(stories ...[]Step) []Step {
	var all []Step
	for i := 0; ; i++ {
		before := len(all)
		for _, s := range stories {
			if i < len(s) {
				all = append(all, s[i])
			}
		}
		if len(all) == before {
			return all
		}
	}
}

// Accept accepts the contract version that was proposed last.
func Accept(_ *projections.Ledger, t *projections.Task) events.Payload {
	v := t.Contracts[len(t.Contracts)-1]
	return &events.Acceptance{Version: v.Contract.Version, Digest: v.Digest}
}

// Open opens an attempt.
func Open(l *projections.Ledger, t *projections.Task) events.Payload {
	return projectionstest.Snapshot(t, l.Registry.Policy)
}

// World returns the world in which everything that t pinned still holds.
func World(l *projections.Ledger, t *projections.Task) events.World {
	w := projectionstest.World(l.Registry.Policy)
	if t.Result != nil {
		w.MergeTree = t.Result.Data.Tree
	}
	return w
}

// Claim claims a lease for 60 seconds.
func Claim(purpose events.Purpose) func(*projections.Ledger, *projections.Task) events.Payload {
	return func(l *projections.Ledger, t *projections.Task) events.Payload {
		return &events.Claim{Purpose: purpose, TermSeconds: 60, World: World(l, t)}
	}
}

// Interrupt ends the live lease as a controller does.
func Interrupt(_ *projections.Ledger, t *projections.Task) events.Payload {
	return &events.Interruption{Cause: "controller", Fence: int64(t.Fence)}
}

// Recover decides what the rules decide.
func Recover(l *projections.Ledger, t *projections.Task) events.Payload {
	w := World(l, t)
	matches := ledger.Matches(l, t, w, l.Admitted)
	return &events.Recovery{Decision: matches[0], Matches: matches, World: w}
}

// Dispatch starts the next try of an effect.
func Dispatch(key string) func(*projections.Ledger, *projections.Task) events.Payload {
	return func(_ *projections.Ledger, t *projections.Task) events.Payload {
		n := int64(len(t.Effect(key).Tries)) + 1
		return &events.Dispatch{Key: key, Try: n, Token: fmt.Sprintf("%s-%d", key, n), Host: "host", Boot: "boot"}
	}
}

// Outcome says what became of an effect's newest try, by a probe.
func Outcome(key string, status projections.Status) func(*projections.Ledger, *projections.Task) events.Payload {
	return func(_ *projections.Ledger, t *projections.Task) events.Payload {
		return projectionstest.Outcome(key, "", int64(len(t.Effect(key).Tries)), status)
	}
}

func approveEffect(key string) func(*projections.Ledger, *projections.Task) events.Payload {
	return func(_ *projections.Ledger, t *projections.Task) events.Payload {
		return &events.EffectApproval{Key: key, PayloadDigest: t.Effect(key).Intent.PayloadDigest}
	}
}

// Receipt returns a verifier's receipt on the current input.
func Receipt(outcomes projectionstest.Outcomes) func(*projections.Ledger, *projections.Task) events.Payload {
	return func(_ *projections.Ledger, t *projections.Task) events.Payload {
		return projectionstest.Receipt(t, fmt.Sprintf("nonce-of-16-bytes-%d", t.Sequence), outcomes)
	}
}

// Verdict returns a reviewer's verdict, "approve", on the current result.
func Verdict(verdict string) func(*projections.Ledger, *projections.Task) events.Payload {
	return func(_ *projections.Ledger, t *projections.Task) events.Payload {
		_, digest, err := projections.ReviewPacket(t).Encode(0)
		if err != nil {
			panic("ledgertest: " + err.Error())
		}
		return &events.Approval{
			Verdict: verdict, Contract: t.Contract().Digest, Result: t.Result.Hash,
			Head: t.Result.Data.Head, Tree: t.Result.Data.Tree, Packet: digest.String(),
		}
	}
}

// Deliver records the delivery of the current result.
func Deliver(_ *projections.Ledger, t *projections.Task) events.Payload {
	return &events.Delivery{
		Contract: t.Contract().Digest, Result: t.Result.Hash, Target: "main", Commit: t.Result.Data.Head, Tree: t.Result.Data.Tree,
	}
}

// Acknowledge closes the newest finding.
func Acknowledge(_ *projections.Ledger, t *projections.Task) events.Payload {
	return &events.Acknowledgement{Finding: t.Findings[len(t.Findings)-1].EventID, Reason: "seen"}
}
