package ledger_test

import (
	"slices"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// TestHeartbeatsAreNoHistory: a run that lives for long does not lengthen what
// everybody has to read after it.
func TestHeartbeatsAreNoHistory(t *testing.T) {
	h := working(t, memory(t, "acme"))
	before, last := h.Digests(), h.Last()
	for n := range int64(200) {
		if err := beat(t, h, ledgertest.ImplA, 1, n+1); err != nil {
			t.Fatalf("heartbeat %d: %v", n+1, err)
		}
	}
	if h.Last() != last || !equalDigests(before, h.Digests()) {
		t.Errorf("200 heartbeats wrote %d events", h.Last()-last)
	}
	h.Audit()
}

// TestNothingIsNotVerified: an audit that had nothing to look at says so; it
// never answers that all is well.
func TestNothingIsNotVerified(t *testing.T) {
	_, audit, err := ledger.Verify(t.Context(), memory(t, "acme"), "acme", nil, 0)
	if err == nil && audit.Fault == nil {
		t.Errorf("an empty journal is verified: %+v", audit)
	}
}

// TestAttemptIDsAreUsedOnce: neither an open nor an ended attempt gives its id
// to another one.
func TestAttemptIDsAreUsedOnce(t *testing.T) {
	h := working(t, memory(t, "acme"))
	taken := stateOf(h).Tasks["TASK-1"].Attempts[0].ID
	h.Do("TASK-1", ledgertest.ImplA, &events.Release{Reason: "shift"})
	e := h.Draft(stateOf(h), "TASK-1", ledgertest.Controller, projectionstest.Snapshot(stateOf(h).Tasks["TASK-1"], stateOf(h).Tasks["TASK-1"].Attempts[0].Snapshot.Inputs.Policy))
	e.Subject = taken
	_, err := h.Submit(ledgertest.Seal(e, ledgertest.Controller))
	if r := ledger.AsRefusal(err); r == nil || r.Class != ledger.Refused {
		t.Errorf("attempt %s was opened again: %v", taken, err)
	}
}

// TestRetiredKeyInTheJournal: somebody with access to the store and to a key
// that was rotated away writes an event with a time before the rotation. Its
// place gives it away, to an audit and to a service that starts, and both stop
// at the same event.
func TestRetiredKeyInTheJournal(t *testing.T) {
	j := memory(t, "acme")
	h := ledgertest.Found(t, "acme", j)
	stepsTo(t, h, "TASK-1", projections.Executing)
	retired := ledgertest.Key(ledgertest.ImplA)
	e := h.Draft(stateOf(h), "TASK-1", ledgertest.ImplA, finding("before the rotation"))
	e.Fence = stateOf(h).Task("TASK-1").Lease.Fence
	h.Do("", ledgertest.ImplA, ledgertest.Rotation(ledgertest.ImplA))
	before := h.Last()
	e.Time, e.SignKeyID = "2026-11-30T00:00:00Z", string(retired.ID())
	sealed, err := evidence.Seal(e, retired)
	if err != nil {
		t.Fatal(err)
	}
	m := evidence.NewMessage(sealed, stateOf(h).Admitted+1)
	if _, err := j.Append(t.Context(), m, journal.Expect{Last: before, SubjectLast: lastOf(h, m.Subject)}); err != nil {
		t.Fatal(err)
	}
	_, audit, err := ledger.Verify(t.Context(), j, "acme", h.Heads(), 0)
	if err != nil || audit.Fault == nil || audit.Fault.Position != before+1 || audit.Fault.EventID != e.ID || audit.Events != uint64(before) {
		t.Errorf("audit: %+v, %v; want a fault at %d", audit.Fault, err, before+1)
	}
	if _, audit, err = ledger.Verify(t.Context(), j, "acme", h.Heads(), before); err != nil || audit.Fault != nil {
		t.Errorf("history before it: %+v, %v", audit.Fault, err)
	}
	_, err = ledger.Open(t.Context(), h.Config(j.Reopen()))
	wantRefusal(t, err, ledger.Corrupt, ledger.CodeDamage)
}

// lastOf returns the position of the newest message on a subject.
func lastOf(h *ledgertest.House, subject string) (last events.Position) {
	for _, r := range h.Records() {
		if r.Subject == subject {
			last = r.Position
		}
	}
	return last
}

// TestOddTextIsStoredAsSigned signs, stores, fetches and verifies text that
// encoders like to change. White space that means nothing is a change, too.
func TestOddTextIsStoredAsSigned(t *testing.T) {
	j := memory(t, "acme")
	h := ledgertest.Found(t, "acme", j)
	h.Do("TASK-1", ledgertest.Founder, projectionstest.Contract(1))
	for _, text := range []string{
		"go test ./... && echo <ok>", "9007199254740993", "-0 1e21 1.0", "line\u2028and\u2029paragraph", "\U0001f600 \ue000 \ufb33",
		"NFC \u00e9 NFD e\u0301", "{}", `{"outcome":"fail","outcome":"pass"}`, "\x1b[2K\x7f\u0085\u202e", `\u0041 \/ \\`,
	} {
		ack := h.Do("TASK-1", ledgertest.Auditor, finding(text))
		r, err := j.Read(t.Context(), ack.Position)
		if err != nil {
			t.Fatal(err)
		}
		p, err := events.DecodeData(events.FindingRecorded, r.Data)
		if f, ok := p.(*events.Finding); err != nil || !ok || f.Text != text {
			t.Errorf("%q came back as %+v, %v", text, p, err)
		}
	}
	h.Audit()
	records := h.Records()
	for i := len(records) - 10; i < len(records); i++ {
		bad := slices.Clone(records)
		bad[i] = copyOf(bad[i])
		bad[i].Data = append([]byte("{ "), bad[i].Data[1:]...)
		_, audit, err := ledger.Verify(t.Context(), shelf{j.Stream(), bad}, "acme", nil, 0)
		if err != nil || audit.Fault == nil || audit.Fault.Position != records[i].Position {
			t.Errorf("a space in the data at %d: %+v, %v", records[i].Position, audit.Fault, err)
		}
	}
}
