package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/journaltest"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections/projectionstest"
)

// flaky is a journal that a test cuts off: appends are kept or lost without an
// answer, and nothing can be read, until the test mends it.
type flaky struct {
	*journal.Memory

	mu   sync.Mutex // guards what is below
	how  string     // "", "kept", "lost", or "dark": kept, and reads fail too
	held func()     // the newest lost append, as if it were still on its way
}

func (f *flaky) set(how string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.how = how
}

func (f *flaky) is() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.how
}

// arrive delivers the newest lost append.
func (f *flaky) arrive() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held()
}

func (f *flaky) Append(ctx context.Context, m journal.Message, e journal.Expect) (events.Position, error) {
	lost := fmt.Errorf("append: %w: cut off", journal.ErrUnknown)
	switch f.is() {
	case "kept", "kept dark":
		_, _ = f.Memory.Append(ctx, m, e)
		return 0, lost
	case "lost", "lost dark":
		f.mu.Lock()
		defer f.mu.Unlock()
		f.held = func() { _, _ = f.Memory.Append(ctx, m, e) }
		return 0, lost
	}
	return f.Memory.Append(ctx, m, e)
}

func (f *flaky) dark() error {
	if how := f.is(); how == "kept dark" || how == "lost dark" {
		return fmt.Errorf("read: %w", journal.ErrUnavailable)
	}
	return nil
}

func (f *flaky) Read(ctx context.Context, at events.Position) (journal.Record, error) {
	if err := f.dark(); err != nil {
		return journal.Record{}, err
	}
	return f.Memory.Read(ctx, at)
}

func (f *flaky) Replay(ctx context.Context, from events.Position, handle func(journal.Record) error) error {
	if err := f.dark(); err != nil {
		return err
	}
	return f.Memory.Replay(ctx, from, handle)
}

// wantRefusal fails unless err is a refusal of the class and, where one is
// given, the code.
func wantRefusal(t *testing.T, err error, class ledger.Class, code ledger.Code) *ledger.Refusal {
	t.Helper()
	r, ok := errors.AsType[*ledger.Refusal](err)
	if !ok || r.Class != class || code != "" && r.Code != code {
		t.Fatalf("got %v, want class %s, code %q", err, class, code)
	}
	return r
}

// occurrences counts stored events with an id, and returns the last position.
func occurrences(h *ledgertest.House, id string) (n int, at events.Position) {
	for _, r := range h.Records() {
		if r.Header["ce-id"][0] == id {
			n, at = n+1, r.Position
		}
	}
	return n, at
}

// finding is an event that anybody may append at any time.
func finding(text string) *events.Finding {
	return &events.Finding{Severity: "hint", Rule: "note", Text: text}
}

// TestEveryAppendGoesWrong lets each append of a story go wrong in each way
// that a read-back settles. The writer acknowledges each event all the same,
// once, and a restart finds the same history.
func TestEveryAppendGoesWrong(t *testing.T) {
	for _, fault := range []journaltest.Fault{
		journaltest.AckLost, journaltest.RequestLost, journaltest.RequestLate, journaltest.DeliveredTwice,
		journaltest.AnsweredDuplicate, journaltest.InFlight, journaltest.StoredInFlight,
	} {
		t.Run(fmt.Sprint("fault ", int(fault)), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := memory(t, "acme")
				faulty := journaltest.NewFaulty(j)
				h := ledgertest.Found(t, "acme", faulty)
				for _, step := range ledgertest.Delivery("TASK-1") {
					before := h.Last()
					faulty.Plan(fault)
					h.Play([]ledgertest.Step{step})
					if h.Last() != before+1 {
						t.Fatalf("%s: position %d after %d", step.Actor, h.Last(), before)
					}
				}
				live := h.Digests()
				h.Restart(j.Reopen())
				if !equalDigests(live, h.Digests()) {
					t.Error("a restart finds another state")
				}
				h.Audit()
			})
		})
	}
}

// TestEveryAppendUnknown lets each append of a story be lost or kept without
// anybody being able to say which: the answer is unknown, nothing more is
// ordered, and a restart settles it.
func TestEveryAppendUnknown(t *testing.T) {
	for _, how := range []string{"kept dark", "lost dark"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &flaky{Memory: memory(t, "acme")}
				h := ledgertest.Found(t, "acme", f)
				for _, step := range ledgertest.Delivery("TASK-1") {
					var e events.Event
					h.Writer.View(func(b *ledger.Book) {
						e = h.Sign(b.State, step.Task, step.Actor, step.Say(b.State, b.State.Task(step.Task)))
					})
					want := h.Last() + 1
					f.set(how)
					_, err := h.Submit(e)
					wantRefusal(t, err, ledger.Unknown, "")
					_, err = h.Try("TASK-2", ledgertest.Auditor, finding("after"))
					wantRefusal(t, err, ledger.Unavailable, "")

					f = &flaky{Memory: f.Reopen()}
					h.Restart(f)
					if n, at := occurrences(h, e.ID); n > 1 || n == 1 && at != want || (n == 1) != (how == "kept dark") {
						t.Fatalf("%s: event %s is there %d times, at %d", how, e.Type, n, at)
					}
					ack, err := h.Submit(e)
					if err != nil || ack.Position != want || ack.Existing != (how == "kept dark") {
						t.Fatalf("%s again: %+v, %v; want position %d", e.Type, ack, err, want)
					}
				}
				h.Audit()
			})
		})
	}
}

// TestUnknownComesBack goes on by itself once the journal can be read, and then
// knows what became of the event.
func TestUnknownComesBack(t *testing.T) {
	for _, how := range []string{"kept dark", "lost dark"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &flaky{Memory: memory(t, "acme")}
				h := ledgertest.Found(t, "acme", f, ledgertest.WithSweep(time.Second))
				h.Do("TASK-1", ledgertest.Founder, projectionstest.Contract(1))
				e := h.Next("TASK-1", ledgertest.Auditor, finding("one"))
				f.set(how)
				_, err := h.Submit(e)
				wantRefusal(t, err, ledger.Unknown, "")
				if h.Writer.Broken() == nil {
					t.Error("the writer does not say that it waits")
				}
				f.set("")
				<-time.After(3 * time.Second)
				synctest.Wait()
				if err := h.Writer.Broken(); err != nil {
					t.Fatalf("still broken: %v", err)
				}
				h.Writer.View(func(b *ledger.Book) {
					if _, _, ok := b.Find(e.ID); ok != (how == "kept dark") {
						t.Errorf("event found: %t", ok)
					}
				})
				h.Do("TASK-1", ledgertest.Auditor, finding("two"))
				h.Audit()
			})
		})
	}
}

// TestLateAppend lets a request arrive after everybody gave up on it. It was
// never refused, so nothing that was said becomes wrong.
func TestLateAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{Memory: memory(t, "acme")}
		h := ledgertest.Found(t, "acme", f)
		h.Do("TASK-1", ledgertest.Founder, projectionstest.Contract(1))
		first := h.Next("TASK-1", ledgertest.Auditor, finding("first"))
		second := h.Next("TASK-1", ledgertest.Controller, finding("second"))
		f.set("lost")
		_, err := h.Submit(first)
		wantRefusal(t, err, ledger.Unknown, "")
		f.set("")
		f.arrive()
		_, err = h.Submit(second)
		if r := wantRefusal(t, err, ledger.Conflict, ledger.CodeHead); r.Head != first.Hash().String() {
			t.Errorf("conflict names head %s, want %s", r.Head, first.Hash())
		}
		if ack, err := h.Submit(first); err != nil || !ack.Existing || ack.Position != h.Last() {
			t.Errorf("the late event: %+v, %v", ack, err)
		}
		h.Audit()
	})
}

// TestRefusedIsAbsent refuses an event that the journal does not take.
func TestRefusedIsAbsent(t *testing.T) {
	faulty := journaltest.NewFaulty(memory(t, "acme"))
	h := ledgertest.Found(t, "acme", faulty)
	h.Do("TASK-1", ledgertest.Founder, projectionstest.Contract(1))
	e := h.Next("TASK-1", ledgertest.Auditor, finding("one"))
	faulty.Plan(journaltest.Refused)
	_, err := h.Submit(e)
	wantRefusal(t, err, ledger.Refused, ledger.CodeLimit)
	if n, _ := occurrences(h, e.ID); n != 0 {
		t.Errorf("the refused event is there %d times", n)
	}
	if ack, err := h.Submit(e); err != nil || ack.Existing {
		t.Errorf("the same event later: %+v, %v", ack, err)
	}
	h.Audit()
}

// TestForeignMessage stops for good when somebody else wrote to the journal
// what no writer writes.
func TestForeignMessage(t *testing.T) {
	for _, fault := range []journaltest.Fault{journaltest.Foreign, journaltest.ForeignSameID} {
		t.Run(fmt.Sprint("fault ", int(fault)), func(t *testing.T) {
			j := memory(t, "acme")
			faulty := journaltest.NewFaulty(j)
			h := ledgertest.Found(t, "acme", faulty)
			h.Do("TASK-1", ledgertest.Founder, projectionstest.Contract(1))
			at := h.Last() + 1
			faulty.Plan(fault)
			_, err := h.Try("TASK-1", ledgertest.Auditor, finding("one"))
			wantRefusal(t, err, ledger.Corrupt, ledger.CodeDamage)
			_, err = h.Try("TASK-1", ledgertest.Auditor, finding("two"))
			wantRefusal(t, err, ledger.Corrupt, ledger.CodeDamage)
			wantRefusal(t, h.Writer.Broken(), ledger.Corrupt, ledger.CodeDamage)
			e := h.Next("TASK-1", ledgertest.Auditor, finding("three"))
			_, err = h.Writer.Submit(t.Context(), ledger.Request{Export: e.Export(), DryRun: true})
			wantRefusal(t, err, ledger.Corrupt, ledger.CodeDamage)
			if last, err := j.Last(t.Context()); err != nil || last != at {
				t.Errorf("the journal ends at %d, %v; want the foreign message at %d", last, err, at)
			}
			_, err = ledger.Open(t.Context(), h.Config(j.Reopen()))
			wantRefusal(t, err, ledger.Corrupt, ledger.CodeDamage)
		})
	}
}

// TestResubmission answers for what is there already, and refuses another
// event under its id.
func TestResubmission(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	h.Do("TASK-1", ledgertest.Founder, projectionstest.Contract(1))
	e := h.Next("TASK-1", ledgertest.Auditor, finding("one"))
	first, err := h.Submit(e)
	if err != nil {
		t.Fatal(err)
	}
	h.Do("TASK-1", ledgertest.Auditor, finding("two"))
	for range 2 {
		again, err := h.Submit(e)
		if err != nil || !again.Existing || again.Position != first.Position || again.Hash != first.Hash || again.Head == "" {
			t.Errorf("again: %+v, %v; first %+v", again, err, first)
		}
	}
	other := h.Draft(stateOf(h), "TASK-1", ledgertest.Auditor, finding("three"))
	other.ID = e.ID
	_, err = h.Submit(ledgertest.Seal(other, ledgertest.Auditor))
	if r := wantRefusal(t, err, ledger.Refused, ledger.CodeRule); r.Rule != "event-id" {
		t.Errorf("refused by %s", r.Rule)
	}
	h.Audit()
}

// TestResubmissionAfterRevocation still says that an event is there whose
// author was revoked meanwhile, and takes nothing new of that author.
func TestResubmissionAfterRevocation(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	h.Do("TASK-1", ledgertest.Founder, projectionstest.Contract(1))
	e := h.Next("TASK-1", "rob", finding("one"))
	first, err := h.Submit(e)
	if err != nil {
		t.Fatal(err)
	}
	h.Do("", ledgertest.Founder, &events.Revocation{Actor: "rob", Reason: "left"})
	again, err := h.Submit(e)
	if err != nil || !again.Existing || again.Position != first.Position {
		t.Errorf("again: %+v, %v", again, err)
	}
	if head := openHead(t, h, []byte(again.Head)); head.Size != uint64(h.Last()) {
		t.Errorf("head of size %d", head.Size)
	}
	_, err = h.Try("TASK-1", "rob", finding("two"))
	wantRefusal(t, err, ledger.Refused, ledger.CodeSignature)
	other := e
	other.Data = []byte(`{"rule":"note","severity":"hint","text":"other"}`)
	_, err = h.Submit(other)
	wantRefusal(t, err, ledger.Refused, ledger.CodeSignature)
}

// prefix returns a journal that holds the first n of some records, as an
// older copy of the store would.
func prefix(t ledgertest.TB, records []journal.Record, n int) *journal.Memory {
	t.Helper()
	j := memory(t, "acme")
	last := map[string]events.Position{}
	for _, r := range records[:n] {
		m := journal.Message{ID: r.Header[journal.HeaderID][0], Subject: r.Subject, Header: map[string]string{}, Data: r.Data}
		for name, values := range r.Header {
			if _, natural := journal.Headers(m, journal.Expect{}, j.Stream())[name]; !natural {
				m.Header[name] = values[0]
			}
		}
		if _, err := j.Append(context.Background(), m, journal.Expect{Last: r.Position - 1, SubjectLast: last[r.Subject]}); err != nil {
			t.Fatalf("copy position %d: %v", r.Position, err)
		}
		last[r.Subject] = r.Position
	}
	return j
}

// TestRollback refuses to open a history that lacks what was acknowledged, or
// that went on in another way.
func TestRollback(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	h.Play(ledgertest.Start("TASK-1"))
	records := h.Records()
	for cut := 1; cut <= 3; cut++ {
		_, err := ledger.Open(t.Context(), h.Config(prefix(t, records, len(records)-cut)))
		wantRefusal(t, err, ledger.Corrupt, ledger.CodeDamage)
	}
	fork := prefix(t, records, len(records)-1)
	cfg := h.Config(fork)
	cfg.Retained = nil
	w, err := ledger.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	var e events.Event
	w.View(func(b *ledger.Book) { e = h.Sign(b.State, "TASK-1", ledgertest.Auditor, finding("instead")) })
	if _, err := w.Submit(t.Context(), ledger.Request{Export: e.Export()}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	_, err = ledger.Open(t.Context(), h.Config(fork))
	wantRefusal(t, err, ledger.Corrupt, ledger.CodeDamage)
	other := h.Config(prefix(t, records, len(records)))
	other.Service = ledgertest.Key(ledgertest.Founder)
	_, err = ledger.Open(t.Context(), other)
	wantRefusal(t, err, ledger.Refused, ledger.CodeSignature)
	_, err = ledger.Open(t.Context(), h.Config(memory(t, "acme")))
	if !errors.Is(err, ledger.ErrNotCreated) {
		t.Errorf("an empty journal: %v, want ErrNotCreated", err)
	}
	if err := ledger.Create(t.Context(), fork, h.Genesis(), h.Clock.Now()); !errors.Is(err, ledger.ErrExists) {
		t.Errorf("creating twice: %v, want ErrExists", err)
	}
}

// TestHeadsCannotBeKept: an event that no kept head covers is unknown to its
// author, and nothing is ordered after it until the service starts again.
func TestHeadsCannotBeKept(t *testing.T) {
	j := memory(t, "acme")
	h := ledgertest.Found(t, "acme", j)
	h.Play(ledgertest.Start("TASK-1"))
	before := h.Last()
	cfg := h.Config(prefix(t, h.Records(), int(before)))
	full := errors.New("disk full")
	cfg.Retain = func(evidence.Head, []byte) error { return full }
	w, err := ledger.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	say := func(text string) error {
		var e events.Event
		w.View(func(b *ledger.Book) { e = h.Sign(b.State, "TASK-1", ledgertest.Auditor, finding(text)) })
		_, err := w.Submit(t.Context(), ledger.Request{Export: e.Export()})
		return err
	}
	if r := ledger.AsRefusal(say("first")); r.Class != ledger.Unknown {
		t.Errorf("the event without a kept head: %v, want unknown", r)
	}
	if r := ledger.AsRefusal(say("second")); r.Class != ledger.Corrupt || r.Rule != "retained-head" {
		t.Errorf("the event after it: %v, want the writer stopped by retained-head", r)
	}
	w.View(func(b *ledger.Book) {
		if b.State.Position != before+1 {
			t.Errorf("position %d, want %d", b.State.Position, before+1)
		}
	})
}
