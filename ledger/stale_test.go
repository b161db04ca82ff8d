package ledger_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// logged returns a house in which impl-a holds the work lease of TASK-1, and
// its operational log.
func logged(t *testing.T) (*ledgertest.House, *bytes.Buffer) {
	t.Helper()
	j := memory(t, "acme")
	h := ledgertest.Found(t, "acme", j)
	h.Writer.Close()
	text := &bytes.Buffer{}
	h.Journal = j.Reopen()
	cfg := h.Config(h.Journal)
	cfg.Log = slog.New(slog.NewTextHandler(text, nil))
	w, err := ledger.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	h.Writer = w
	h.Play(ledgertest.Start("TASK-1"))
	return h, text
}

// old submits what an actor says as the run with a fence, whoever runs now.
func old(h *ledgertest.House, actor string, fence uint64, p events.Payload) error {
	var e events.Event
	h.Writer.View(func(b *ledger.Book) { e = h.Draft(b.State, "TASK-1", actor, p) })
	e.Fence = fence
	_, err := h.Submit(ledgertest.Seal(e, actor))
	return err
}

// TestSleeperIsFenced: impl-a sleeps through its lease, others take
// over, it wakes and goes on writing. All of it is refused as of an old run,
// changes nothing, and is in the operational log.
func TestSleeperIsFenced(t *testing.T) {
	h, text := logged(t)
	h.Do("TASK-1", ledgertest.ImplA, projectionstest.Intent("one"))
	h.Clock.Advance(300 * time.Second)
	wantRefusal(t, beat(t, h, ledgertest.ImplA, 1, 1), ledger.Refused, ledger.CodeFence)
	wantInterrupted(t, h)
	h.Play([]ledgertest.Step{
		{Task: "TASK-1", Actor: ledgertest.Controller, Say: ledgertest.Claim(events.PurposeRecover)},
		{Task: "TASK-1", Actor: ledgertest.Controller, Say: ledgertest.Recover},
		{Task: "TASK-1", Actor: ledgertest.ImplB, Say: ledgertest.Claim(events.PurposeWork)},
	})
	h.Do("TASK-1", ledgertest.ImplB, projectionstest.Intent("two"))
	before, last := h.Digests(), h.Last()
	for _, p := range []events.Payload{
		projectionstest.Result("1"), projectionstest.Intent("three"), &events.Dispatch{Key: "one", Try: 1, Token: "t", Host: "h", Boot: "b"},
		&events.Confirmation{Key: "one", Try: 1, ExternalID: "x", Token: "t", Basis: events.BasisReply, Evidence: "seen"},
		&events.Release{Reason: "shift"},
	} {
		text.Reset()
		r := ledger.AsRefusal(old(h, ledgertest.ImplA, 1, p))
		if r == nil || r.Class != ledger.Refused {
			t.Errorf("%s of the old run: %v", p.Type(), r)
			continue
		}
		if r.Code != ledger.CodeFence {
			t.Errorf("%s of the old run: refused with %s, want %s", p.Type(), r.Code, ledger.CodeFence)
		}
		if line := text.String(); !strings.Contains(line, "refused a run that is over") || !strings.Contains(line, p.Type().Short()) || !strings.Contains(line, "fence=1") {
			t.Errorf("%s is not in the log: %q", p.Type(), line)
		}
	}
	text.Reset()
	wantRefusal(t, beat(t, h, ledgertest.ImplA, 1, 2), ledger.Refused, ledger.CodeFence)
	if !strings.Contains(text.String(), "rule=heartbeat") {
		t.Errorf("the heartbeat is not in the log: %q", text)
	}
	if h.Last() != last || !equalDigests(before, h.Digests()) {
		t.Error("the old run changed something")
	}
	if err := beat(t, h, ledgertest.ImplB, 3, 1); err != nil {
		t.Errorf("the new run lost its lease: %v", err)
	}
	h.Audit()
}

// TestOpenCallStopsTheTakeover: the old run's call was
// under way. Nobody may fire before its outcome is known; that outcome is a
// fact, and may come late from the old run.
func TestOpenCallStopsTheTakeover(t *testing.T) {
	h, _ := logged(t)
	h.Do("TASK-1", ledgertest.ImplA, projectionstest.Intent("one"))
	h.Play([]ledgertest.Step{{Task: "TASK-1", Actor: ledgertest.ImplA, Say: ledgertest.Dispatch("one")}})
	var token string
	h.Writer.View(func(b *ledger.Book) { token = b.State.Task("TASK-1").Effects[0].Tries[0].Token })
	h.Clock.Advance(300 * time.Second)
	wantRefusal(t, beat(t, h, ledgertest.ImplA, 1, 1), ledger.Refused, ledger.CodeFence)
	h.Play([]ledgertest.Step{
		{Task: "TASK-1", Actor: ledgertest.Controller, Say: ledgertest.Claim(events.PurposeRecover)},
		{Task: "TASK-1", Actor: ledgertest.Controller, Say: ledgertest.Recover},
	})
	if got := h.State("TASK-1"); got != projections.Escalated {
		t.Fatalf("the task is %s, want Escalated", got)
	}
	for _, p := range []events.Payload{&events.Dispatch{Key: "one", Try: 2, Token: "t", Host: "h", Boot: "b"}, projectionstest.Intent("two")} {
		if err := old(h, ledgertest.ImplB, 0, p); err == nil {
			t.Errorf("%s by somebody else was accepted", p.Type())
		}
	}
	late := &events.Confirmation{Key: "one", Try: 1, ExternalID: "x", Token: token, Basis: events.BasisReply, Evidence: "the reply came late"}
	if err := old(h, ledgertest.ImplA, 1, late); err != nil {
		t.Fatalf("the late outcome: %v", err)
	}
	h.Writer.View(func(b *ledger.Book) {
		if part := b.State.Task("TASK-1").Effects[0].Parts[0]; part.Status != projections.StatusConfirmed || !part.Late {
			t.Errorf("part %+v", part)
		}
	})
	h.Audit()
}
