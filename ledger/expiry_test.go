package ledger_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/journaltest"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// working returns a house in which impl-a holds the work lease of TASK-1.
func working(t *testing.T, j journal.Journal, options ...ledgertest.Option) *ledgertest.House {
	t.Helper()
	h := ledgertest.Found(t, "acme", j, options...)
	h.Play(ledgertest.Start("TASK-1"))
	return h
}

// beat sends a heartbeat of an actor for TASK-1.
func beat(t *testing.T, h *ledgertest.House, actor string, fence, number int64) error {
	t.Helper()
	return renew(t, h, ledger.Heartbeat{Ledger: "acme", Task: "TASK-1", Fence: fence, Number: number}, actor)
}

func renew(t *testing.T, h *ledgertest.House, b ledger.Heartbeat, actor string) error {
	t.Helper()
	envelope, err := ledger.SealHeartbeat(b, ledgertest.Key(actor))
	if err != nil {
		t.Fatal(err)
	}
	return h.Writer.Renew(t.Context(), envelope)
}

// wantInterrupted checks that the newest event of TASK-1 is the service's
// interruption of an expired lease.
func wantInterrupted(t *testing.T, h *ledgertest.House) {
	t.Helper()
	if got := h.State("TASK-1"); got != projections.Interrupted {
		t.Fatalf("the task is %s, want Interrupted", got)
	}
	records := h.Records()
	last := records[len(records)-1]
	if last.Header["ce-authid"][0] != ledgertest.Service || last.Header["ce-type"][0] != string(events.AttemptInterrupted) ||
		!strings.Contains(string(last.Data), "lease-expired") {
		t.Errorf("the newest event is %s by %s: %s", last.Header["ce-type"], last.Header["ce-authid"], last.Data)
	}
}

// TestSweep lets a lease run out while nobody submits anything.
func TestSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := working(t, memory(t, "acme"), ledgertest.WithSweep(time.Second))
		sweep := func() { <-time.After(2 * time.Second); synctest.Wait() }
		h.Clock.Advance(55 * time.Second)
		sweep()
		if got := h.State("TASK-1"); got != projections.Executing {
			t.Fatalf("after 55 s: %s", got)
		}
		h.Clock.Advance(10 * time.Second)
		sweep()
		wantInterrupted(t, h)
		heads, last := h.Heads(), h.Last()
		if heads[len(heads)-1].Size != uint64(last) {
			t.Errorf("the newest retained head is of size %d, history ends at %d", heads[len(heads)-1].Size, last)
		}
		sweep()
		if h.Last() != last {
			t.Error("a second sweep wrote again")
		}
		h.Audit()
	})
}

// TestRenewal keeps a lease alive by heartbeats and by the holder's events,
// not by those of others.
func TestRenewal(t *testing.T) {
	h := working(t, memory(t, "acme"))
	h.Clock.Advance(40 * time.Second)
	h.Do("TASK-1", ledgertest.ImplA, projectionstest.Intent("one"))
	h.Clock.Advance(40 * time.Second)
	if err := beat(t, h, ledgertest.ImplA, 1, 1); err != nil {
		t.Fatalf("heartbeat after 40 s: %v", err)
	}
	h.Clock.Advance(40 * time.Second)
	h.Do("TASK-1", ledgertest.Auditor, finding("still alive"))
	if got := h.State("TASK-1"); got != projections.Executing {
		t.Fatalf("the task is %s", got)
	}
	h.Clock.Advance(21 * time.Second)
	err := beat(t, h, ledgertest.ImplA, 1, 2)
	wantRefusal(t, err, ledger.Refused, ledger.CodeFence)
	wantInterrupted(t, h)
	h.Audit()
}

// TestHeartbeatsRefused takes no heartbeat but the holder's next one.
func TestHeartbeatsRefused(t *testing.T) {
	h := working(t, memory(t, "acme"))
	if err := beat(t, h, ledgertest.ImplA, 1, 5); err != nil {
		t.Fatal(err)
	}
	before := h.Last()
	good := ledger.Heartbeat{Ledger: "acme", Task: "TASK-1", Fence: 1, Number: 6}
	for _, c := range []struct {
		name  string
		actor string
		mod   func(*ledger.Heartbeat)
		code  ledger.Code
	}{
		{"no number", ledgertest.ImplA, func(b *ledger.Heartbeat) { b.Number = 0 }, ledger.CodeForm},
		{"negative number", ledgertest.ImplA, func(b *ledger.Heartbeat) { b.Number = -6 }, ledger.CodeForm},
		{"number past every clock", ledgertest.ImplA, func(b *ledger.Heartbeat) { b.Number = 1<<52 + 1 }, ledger.CodeForm},
		{"old fence", ledgertest.ImplA, func(b *ledger.Heartbeat) { b.Fence = 0 }, ledger.CodeFence},
		{"next fence", ledgertest.ImplA, func(b *ledger.Heartbeat) { b.Fence = 2 }, ledger.CodeFence},
		{"other actor", ledgertest.ImplB, func(*ledger.Heartbeat) {}, ledger.CodeFence},
		{"unknown key", "stranger", func(*ledger.Heartbeat) {}, ledger.CodeSignature},
		{"other task", ledgertest.ImplA, func(b *ledger.Heartbeat) { b.Task = "TASK-2" }, ledger.CodeFence},
		{"other ledger", ledgertest.ImplA, func(b *ledger.Heartbeat) { b.Ledger = "other" }, ledger.CodeNotFound},
	} {
		b := good
		c.mod(&b)
		t.Run(c.name, func(t *testing.T) {
			wantRefusal(t, renew(t, h, b, c.actor), ledger.Refused, c.code)
		})
	}
	for _, number := range []int64{5, 4} {
		b := good
		b.Number = number
		err := renew(t, h, b, ledgertest.ImplA)
		wantRefusal(t, err, ledger.Conflict, ledger.CodeHead)
		if newest := ledger.AsRefusal(err).Sequence; newest != 5 {
			t.Errorf("the conflict names number %d, want 5", newest)
		}
	}
	e := h.Next("TASK-1", ledgertest.ImplA, projectionstest.Intent("one"))
	wantRefusal(t, h.Writer.Renew(t.Context(), e.Envelope), ledger.Refused, ledger.CodeSignature)
	wantRefusal(t, h.Writer.Renew(t.Context(), []byte("{}")), ledger.Refused, ledger.CodeSignature)
	if err := renew(t, h, good, ledgertest.ImplA); err != nil {
		t.Errorf("the good heartbeat after all of them: %v", err)
	}
	if h.Last() != before {
		t.Error("a heartbeat wrote an event")
	}
}

// TestRestartGivesFullTerm renews every lease when the writer starts, since
// nobody can know how long its holder was cut off.
func TestRestartGivesFullTerm(t *testing.T) {
	h := working(t, memory(t, "acme"))
	h.Clock.Advance(500 * time.Second)
	h.Restart(h.Journal.(*journal.Memory).Reopen())
	h.Clock.Advance(55 * time.Second)
	h.Do("TASK-1", ledgertest.Auditor, finding("look"))
	if got := h.State("TASK-1"); got != projections.Executing {
		t.Fatalf("55 s after the restart: %s", got)
	}
	h.Clock.Advance(6 * time.Second)
	_, err := h.Try("TASK-1", ledgertest.Auditor, finding("look again"))
	wantRefusal(t, err, ledger.Conflict, ledger.CodeHead)
	wantInterrupted(t, h)
}

// TestAfterExpiry loses whatever the holder submits after its term, also
// before any sweep; what it decides anew is under an old fence.
func TestAfterExpiry(t *testing.T) {
	h := working(t, memory(t, "acme"))
	h.Clock.Advance(61 * time.Second)
	e := h.Next("TASK-1", ledgertest.ImplA, projectionstest.Intent("one"))
	before := h.Last()
	_, err := h.Writer.Submit(t.Context(), ledger.Request{Export: e.Export(), DryRun: true})
	wantRefusal(t, err, ledger.Conflict, ledger.CodeHead)
	if h.Last() != before {
		t.Error("a dry run wrote")
	}
	_, err = h.Submit(e)
	r := wantRefusal(t, err, ledger.Conflict, ledger.CodeHead)
	wantInterrupted(t, h)
	if r.Head != stateOf(h).Tasks["TASK-1"].Head {
		t.Errorf("the conflict names head %s, not the interruption", r.Head)
	}
	again := h.Draft(stateOf(h), "TASK-1", ledgertest.ImplA, projectionstest.Intent("one"))
	again.Fence = 1
	_, err = h.Submit(ledgertest.Seal(again, ledgertest.ImplA))
	wantRefusal(t, err, ledger.Refused, ledger.CodeFence)
	h.Audit()
}

// TestInterruptionFails lets nothing pass the end of a lease that cannot be
// recorded.
func TestInterruptionFails(t *testing.T) {
	faulty := journaltest.NewFaulty(memory(t, "acme"))
	h := working(t, faulty)
	before := h.Last()
	h.Clock.Advance(61 * time.Second)
	e := h.Next("TASK-1", ledgertest.ImplA, projectionstest.Intent("one"))
	faulty.Plan(journaltest.Refused)
	_, err := h.Submit(e)
	wantRefusal(t, err, ledger.Unavailable, "")
	faulty.Plan(journaltest.Refused)
	wantRefusal(t, beat(t, h, ledgertest.ImplA, 1, 1), ledger.Unavailable, "")
	if h.Last() != before {
		t.Fatalf("position %d after %d", h.Last(), before)
	}
	_, err = h.Submit(e)
	wantRefusal(t, err, ledger.Conflict, ledger.CodeHead)
	wantInterrupted(t, h)
}

// TestFormerHolder wakes up after impl-b took over: what became of its call is
// recorded as late, and everything else is refused, as is its next try.
func TestFormerHolder(t *testing.T) {
	h := working(t, memory(t, "acme"))
	h.Do("TASK-1", ledgertest.ImplA, projectionstest.Intent("one"))
	h.Play([]ledgertest.Step{{Task: "TASK-1", Actor: ledgertest.ImplA, Say: ledgertest.Dispatch("one")}})
	h.Clock.Advance(300 * time.Second)
	_, err := h.Try("TASK-1", ledgertest.Auditor, finding("wake the writer"))
	wantRefusal(t, err, ledger.Conflict, ledger.CodeHead)
	wantInterrupted(t, h)
	h.Play([]ledgertest.Step{
		{Task: "TASK-1", Actor: ledgertest.Controller, Say: ledgertest.Claim(events.PurposeRecover)},
		{Task: "TASK-1", Actor: ledgertest.Controller, Say: ledgertest.Recover},
	})
	if got := h.State("TASK-1"); got != projections.Escalated {
		t.Fatalf("after the recovery with an open effect: %s", got)
	}
	former := func(p events.Payload) error {
		e := h.Draft(stateOf(h), "TASK-1", ledgertest.ImplA, p)
		e.Fence = 1
		_, err := h.Submit(ledgertest.Seal(e, ledgertest.ImplA))
		return err
	}
	refuseAll := func() {
		t.Helper()
		for _, p := range []events.Payload{
			projectionstest.Result("late"), &events.Release{Reason: "other"}, projectionstest.Intent("two"),
			&events.Dispatch{Key: "one", Try: 2, Token: "one-2", Host: "host", Boot: "boot"}, &events.EffectWithdrawal{Key: "one", Reason: "mine"},
			&events.Escalation{Reason: "r", NextStep: "n"},
		} {
			wantRefusal(t, former(p), ledger.Refused, "")
		}
		wantRefusal(t, beat(t, h, ledgertest.ImplA, 1, 99), ledger.Refused, ledger.CodeFence)
	}
	refuseAll()
	state := h.State("TASK-1")
	if err := former(projectionstest.Outcome("one", "", 1, projections.StatusConfirmed)); err != nil {
		t.Fatalf("the late outcome: %v", err)
	}
	part := stateOf(h).Tasks["TASK-1"].Effect("one").Parts[0]
	if !part.Late || part.Status != projections.StatusConfirmed || h.State("TASK-1") != state {
		t.Errorf("part %+v, state %s, want a late confirmation in %s", part, h.State("TASK-1"), state)
	}
	refuseAll()
	h.Do("TASK-1", ledgertest.Founder, &events.Resolution{Action: "resume", Reason: "settled"})
	h.Play([]ledgertest.Step{{Task: "TASK-1", Actor: ledgertest.ImplB, Say: ledgertest.Claim(events.PurposeWork)}})
	refuseAll()
	if lease := stateOf(h).Tasks["TASK-1"].Lease; lease == nil || lease.Actor != ledgertest.ImplB {
		t.Errorf("the lease of impl-b is gone: %+v", lease)
	}
	h.Audit()
}
