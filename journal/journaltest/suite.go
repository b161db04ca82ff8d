// Package journaltest holds every journal to the contract of package journal:
// one suite, and a wrapper that makes appends go wrong.
package journaltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
)

// Ledger is the ledger whose journal is tested.
const Ledger = "test"

// Two subjects of the ledger's journal.
const (
	SubjectA = "deed.test.ev.task.A-1"
	SubjectB = "deed.test.ev.task.B-2"
)

// Open opens a store's journal. The first call makes the store; each further
// one stops what the one before had started, as a restart does, and opens the
// same store again.
type Open func() journal.Journal

// Run runs the contract suite. newStore returns the Open of a fresh store, which
// the test's cleanup removes. The store must remember message ids for as long as
// a test takes.
func Run(t *testing.T, newStore func(t *testing.T) Open) { run(t, newStore, false) }

// RunReplicated is Run for a store of several copies, which may say less in two
// places: a message that is sent again under an old expectation is a duplicate,
// for it looks at the id first; and the append that was faster than one in
// conflict may still be in flight, so that the last position has not moved yet.
func RunReplicated(t *testing.T, newStore func(t *testing.T) Open) { run(t, newStore, true) }

func run(t *testing.T, newStore func(t *testing.T) Open, replicated bool) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, open Open)
	}{
		{"StoresExactly", testStoresExactly},
		{"RecordIsTheReaders", testRecordIsTheReaders},
		{"Expectation", testExpectation},
		{"RefusesMessages", testRefusesMessages},
		{"TakesLargestMessage", testTakesLargestMessage},
		{"DuplicateID", func(t *testing.T, open Open) { testDuplicateID(t, open, replicated) }},
		{"Settle", testSettle},
		{"AppendSettled", testAppendSettled},
		{"AppendSettledDuplicateID", testAppendSettledDuplicateID},
		{"AppendSettledCut", testAppendSettledCut},
		{"Contexts", testContexts},
		{"Starts", testStarts},
		{"ReplayStopsAtLast", testReplayStopsAtLast},
		{"FollowGoesOn", testFollowGoesOn},
		{"HandlerError", testHandlerError},
		{"Close", testClose},
		{"CloseEndsFollow", testCloseEndsFollow},
		{"Restart", testRestart},
		{"Race", func(t *testing.T, open Open) { testRace(t, open, replicated) }},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newStore(t)) })
	}
}

// NewMessage returns a small message.
func NewMessage(id, subject string) journal.Message {
	return journal.Message{
		ID:      id,
		Subject: subject,
		Header:  map[string]string{"ce-type": "dev.deed.test.v1", "Deed-Admitted": "17"},
		Data:    []byte(`{"id":"` + id + `"}`),
	}
}

// Within returns a context that bounds one step of a test.
func Within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Fill appends n messages to SubjectA and SubjectB in turn, from an empty
// journal on, and returns the expectation of the next message to SubjectA.
func Fill(t testing.TB, j journal.Journal, n int) journal.Expect {
	t.Helper()
	last := map[string]events.Position{}
	for i := range n {
		subject := SubjectA
		if i%2 == 1 {
			subject = SubjectB
		}
		e := journal.Expect{Last: events.Position(i), SubjectLast: last[subject]}
		mustAppend(t, j, NewMessage(fmt.Sprintf("fill-%d", i+1), subject), e)
		last[subject] = e.Last + 1
	}
	return journal.Expect{Last: events.Position(n), SubjectLast: last[SubjectA]}
}

func mustAppend(t testing.TB, j journal.Journal, m journal.Message, e journal.Expect) {
	t.Helper()
	at, err := j.Append(Within(t), m, e)
	if err != nil || at != e.Last+1 {
		t.Fatalf("append %s under %+v: position %d, error %v", m.ID, e, at, err)
	}
}

func mustRead(t testing.TB, j journal.Journal, at events.Position) journal.Record {
	t.Helper()
	r, err := j.Read(Within(t), at)
	if err != nil {
		t.Fatalf("read position %d: %v", at, err)
	}
	return r
}

func wantLast(t testing.TB, j journal.Journal, want events.Position) {
	t.Helper()
	if got, err := j.Last(Within(t)); err != nil || got != want {
		t.Fatalf("last position %d, error %v; want %d", got, err, want)
	}
}

// wantErrors checks that err is every one of want, and none of the other
// outcomes of a write.
func wantErrors(t testing.TB, err error, want ...error) {
	t.Helper()
	for _, outcome := range []error{
		journal.ErrConflict, journal.ErrDuplicate, journal.ErrUnknown,
		journal.ErrRefused, journal.ErrCorrupt, journal.ErrClosed,
	} {
		if errors.Is(err, outcome) != slices.Contains(want, outcome) {
			t.Errorf("error %v: is %v = %v", err, outcome, errors.Is(err, outcome))
		}
	}
	for _, w := range want {
		if !errors.Is(err, w) {
			t.Errorf("error %v: is not %v", err, w)
		}
	}
}
