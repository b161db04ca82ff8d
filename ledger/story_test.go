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
)

// memory returns an empty journal in memory.
func memory(t ledgertest.TB, name string) *journal.Memory {
	t.Helper()
	j, err := journal.NewMemory(name)
	if err != nil {
		t.Fatalf("new memory journal: %v", err)
	}
	return j
}

// TestStories plays every story through a writer with real keys: each ends
// where it says, every event type occurs, and the audit is clean.
func TestStories(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	h.Play(ledgertest.Everything())
	h.Play(ledgertest.Steering())
	h.Play(ledgertest.Keys())
	h.Do("", ledgertest.Founder, &events.Revocation{Actor: "rob", Reason: "left"})
	for task, want := range map[string]projections.State{
		"TASK-1": projections.Delivered, "TASK-2": projections.Delivered, "TASK-3": projections.Cancelled,
		"TASK-4": projections.Delivered, "TASK-5": projections.Cancelled, "TASK-6": projections.Delivered,
	} {
		if got := h.State(task); got != want {
			t.Errorf("%s is %s, want %s", task, got, want)
		}
	}
	var seen []events.Type
	for _, r := range h.Records() {
		seen = append(seen, events.Type(r.Header["ce-type"][0]))
	}
	for _, kind := range events.Types() {
		if !slices.Contains(seen, kind) {
			t.Errorf("no event of type %s in the stories", kind)
		}
	}
	audit := h.Audit()
	if int(audit.Events) != len(seen) || audit.Heads != len(h.Heads()) {
		t.Errorf("audit saw %d events and %d heads, want %d and %d", audit.Events, audit.Heads, len(seen), len(h.Heads()))
	}
	live := h.Digests()
	h.Restart(h.Journal.(*journal.Memory).Reopen())
	if after := h.Digests(); !equalDigests(live, after) || !equalDigests(live, audit.Digests) {
		t.Errorf("states differ: live %v, audited %v, restarted %v", live, audit.Digests, after)
	}
}

func equalDigests(a, b projections.Digests) bool {
	if a.Position != b.Position || a.Registry != b.Registry || len(a.Tasks) != len(b.Tasks) {
		return false
	}
	for task, digest := range a.Tasks {
		if b.Tasks[task] != digest {
			return false
		}
	}
	return true
}

// stateOf returns the live state, for signing the next event. Nobody may write
// meanwhile.
func stateOf(h *ledgertest.House) (l *projections.Ledger) {
	h.Writer.View(func(b *ledger.Book) { l = b.State })
	return l
}

func openHead(t *testing.T, h *ledgertest.House, text []byte) evidence.Head {
	t.Helper()
	identity, err := events.ParseHash(stateOf(h).Registry.Identity)
	if err != nil {
		t.Fatal(err)
	}
	head, err := evidence.OpenHead(text, h.Ledger, identity, ledgertest.Key(ledgertest.Service).Public())
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// checkContinues verifies a proof from the head of a known size.
func checkContinues(t *testing.T, h *ledgertest.House, known uint64, next evidence.Head, proof []events.Hash) {
	t.Helper()
	for _, previous := range h.Heads() {
		if previous.Size == known {
			if err := evidence.CompareHeads(previous, next, proof); err != nil {
				t.Errorf("from size %d to %d: %v", known, next.Size, err)
			}
			return
		}
	}
	t.Errorf("no head of size %d was kept", known)
}
