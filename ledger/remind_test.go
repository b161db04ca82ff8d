package ledger_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// proposing returns a house, with sweeps, in which TASK-1 waits for its
// contract to be accepted: for 72 hours.
func proposing(t *testing.T) *ledgertest.House {
	t.Helper()
	h := ledgertest.Found(t, "acme", memory(t, "acme"), ledgertest.WithSweep(time.Second))
	h.Do("TASK-1", ledgertest.Founder, projectionstest.Contract(1))
	return h
}

// later lets time pass on the ledger's clock, and then two sweeps happen.
func later(h *ledgertest.House, d time.Duration) {
	h.Clock.Advance(d)
	<-time.After(2 * time.Second)
	synctest.Wait()
}

// reminders returns the findings by the service on a task.
func reminders(h *ledgertest.House, task string) (list []projections.Finding) {
	h.Writer.View(func(b *ledger.Book) {
		for _, f := range b.State.Task(task).Findings {
			if f.Actor == ledgertest.Service {
				list = append(list, f)
			}
		}
	})
	return list
}

func wantReminders(t *testing.T, h *ledgertest.House, task string, want int) {
	t.Helper()
	if got := len(reminders(h, task)); got != want {
		t.Fatalf("%s has %d reminders, want %d", task, got, want)
	}
}

// TestReminders says once per term that a deadline has passed, over restarts,
// and stops after a few.
func TestReminders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := proposing(t)
		later(h, 71*time.Hour)
		wantReminders(t, h, "TASK-1", 0)
		later(h, 2*time.Hour) // 73
		wantReminders(t, h, "TASK-1", 1)
		first := reminders(h, "TASK-1")[0].Data
		if first.Severity != "check" || first.Rule != projections.RuleDeadline || h.State("TASK-1") != projections.Proposed {
			t.Errorf("%+v in %s, want a finding to be checked in Proposed", first, h.State("TASK-1"))
		}
		heads, last := h.Heads(), h.Last()
		if heads[len(heads)-1].Size != uint64(last) {
			t.Errorf("the newest retained head is of size %d, history ends at %d", heads[len(heads)-1].Size, last)
		}
		later(h, time.Hour) // 74
		wantReminders(t, h, "TASK-1", 1)
		h.Restart(h.Journal.(*journal.Memory).Reopen())
		later(h, 2*time.Minute)
		wantReminders(t, h, "TASK-1", 1)
		h.Do("TASK-1", ledgertest.Founder, &events.Acknowledgement{Finding: reminders(h, "TASK-1")[0].EventID, Reason: "seen"})
		later(h, 2*time.Minute)
		wantReminders(t, h, "TASK-1", 1)
		later(h, 72*time.Hour) // 146
		wantReminders(t, h, "TASK-1", 2)
		h.Writer.Close()
		h.Clock.Advance(4 * 72 * time.Hour) // 434: what passed without a service is said once
		h.Restart(h.Journal.(*journal.Memory).Reopen())
		later(h, time.Minute)
		wantReminders(t, h, "TASK-1", 3)
		for range 4 {
			later(h, 72*time.Hour)
		}
		wantReminders(t, h, "TASK-1", projections.MaxReminders)
		sameAfter(t, h)
	})
}

// TestNoReminder says nothing of a state that was left in time, of one that
// has ended, and while somebody holds a lease.
func TestNoReminder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := proposing(t)
		later(h, 71*time.Hour)
		h.Play([]ledgertest.Step{{Task: "TASK-1", Actor: ledgertest.Founder, Say: ledgertest.Accept}})
		later(h, 23*time.Hour)
		wantReminders(t, h, "TASK-1", 0)
		h.Play([]ledgertest.Step{
			{Task: "TASK-1", Actor: ledgertest.Controller, Say: ledgertest.Open},
			{Task: "TASK-1", Actor: ledgertest.ImplA, Say: func(l *projections.Ledger, task *projections.Task) events.Payload {
				return &events.Claim{Purpose: events.PurposeWork, TermSeconds: 3600, World: ledgertest.World(l, task)}
			}},
		})
		later(h, 59*time.Minute)
		wantReminders(t, h, "TASK-1", 0)
		later(h, 2*time.Minute) // the lease ran out: the hour of Interrupted begins
		wantReminders(t, h, "TASK-1", 0)
		later(h, 61*time.Minute)
		wantReminders(t, h, "TASK-1", 1)
		h.Do("TASK-1", ledgertest.Founder, &events.Cancellation{Reason: "r"})
		later(h, 1000*time.Hour)
		wantReminders(t, h, "TASK-1", 1)
		sameAfter(t, h)
	})
}

// TestRemindersOfPause follows the pause while there is one, then the state.
func TestRemindersOfPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := proposing(t)
		later(h, 70*time.Hour)
		h.Do("TASK-1", ledgertest.Founder, &events.Pause{Reason: "wait"})
		later(h, 71*time.Hour) // 141: only the state's deadline has passed
		wantReminders(t, h, "TASK-1", 0)
		later(h, 2*time.Hour) // 143
		wantReminders(t, h, "TASK-1", 1)
		h.Do("TASK-1", ledgertest.Founder, &events.Unpause{Reason: "go on"})
		later(h, 2*time.Minute) // the term of the state that runs has its reminder
		wantReminders(t, h, "TASK-1", 1)
		later(h, 2*time.Hour) // 145
		wantReminders(t, h, "TASK-1", 2)
		sameAfter(t, h)
	})
}

// TestRemindersWait says nothing while a ledger is frozen or a task is in
// quarantine, and what is still overdue afterwards.
func TestRemindersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := proposing(t)
		h.Do("TASK-2", ledgertest.Founder, projectionstest.Contract(1))
		h.Do("", ledgertest.Founder, &events.LedgerFreeze{Reason: "r"})
		later(h, 73*time.Hour)
		wantReminders(t, h, "TASK-1", 0)
		h.Do("", ledgertest.Service, &events.Integrity{Extent: events.ExtentTask, Task: "TASK-1", Reason: "r"})
		h.Do("", ledgertest.Founder, &events.LedgerThaw{Reason: "r"})
		later(h, 2*time.Minute)
		wantReminders(t, h, "TASK-1", 0)
		wantReminders(t, h, "TASK-2", 1)
		h.Do("", ledgertest.Founder, &events.Lift{Extent: events.ExtentTask, Task: "TASK-1", Reason: "r"})
		later(h, 2*time.Minute)
		wantReminders(t, h, "TASK-1", 1)
		wantReminders(t, h, "TASK-2", 1)
		sameAfter(t, h)
	})
}

// TestRemindersOnce: of two instances only the one that leads says that a
// deadline has passed, and the one that takes over does not say it again.
func TestRemindersOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := proposing(t)
		h.Writer.Close()
		var first, second atomic.Bool
		first.Store(true)
		a, b := shared(t, h, &first), shared(t, h, &second)
		lead(t, a)
		said := func(want int) {
			t.Helper()
			n := 0
			for _, r := range h.Records() {
				if r.Header["ce-type"][0] == string(events.FindingRecorded) {
					n++
				}
			}
			if n != want {
				t.Fatalf("%d reminders, want %d", n, want)
			}
		}
		later(h, 73*time.Hour)
		said(1)
		first.Store(false)
		second.Store(true)
		lead(t, b)
		later(h, 2*time.Minute)
		said(1)
		later(h, 72*time.Hour)
		said(2)
		h.Audit()
	})
}

// TestManyReminders spreads those of many tasks over sweeps and loses none.
func TestManyReminders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := proposing(t)
		tasks := []string{"TASK-1"}
		for i := range 70 {
			task := "MANY-" + string(rune('a'+i/10)) + string(rune('0'+i%10))
			h.Do(task, ledgertest.Founder, projectionstest.Contract(1))
			tasks = append(tasks, task)
		}
		before := h.Last()
		h.Clock.Advance(73 * time.Hour)
		<-time.After(time.Second)
		synctest.Wait()
		if n := h.Last() - before; n == 0 || n >= events.Position(len(tasks)) {
			t.Errorf("one sweep wrote %d reminders of %d", n, len(tasks))
		}
		later(h, 0)
		for _, task := range tasks {
			wantReminders(t, h, task, 1)
		}
	})
}

// TestServiceFindings takes no finding by the service but a reminder that is
// due; a finding by somebody else is none.
func TestServiceFindings(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	h.Do("TASK-1", ledgertest.Founder, projectionstest.Contract(1))
	due := func(mods ...func(*events.Finding)) *events.Finding {
		f := &events.Finding{Severity: "check", Rule: projections.RuleDeadline, Text: "t"}
		for _, mod := range mods {
			mod(f)
		}
		return f
	}
	const service, early = "finding.recorded/service", "finding.recorded/deadline"
	refused := func(code ledger.Code, rule string, f *events.Finding) {
		t.Helper()
		_, err := h.Try("TASK-1", ledgertest.Service, f)
		wantRule(t, err, code, rule)
	}
	h.Clock.Advance(71 * time.Hour)
	refused(ledger.CodeState, early, due())
	h.Clock.Advance(2 * time.Hour)
	for _, mod := range []func(*events.Finding){
		func(f *events.Finding) { f.Severity = "fatal" },
		func(f *events.Finding) { f.Severity = "hint" },
		func(f *events.Finding) { f.Rule = "other" },
		func(f *events.Finding) { f.Path = "src/main.go" },
	} {
		refused(ledger.CodeRule, service, due(mod))
	}
	h.Do("TASK-1", ledgertest.Auditor, due())
	h.Do("TASK-1", ledgertest.Service, due())
	refused(ledger.CodeState, early, due())
	h.Do("TASK-1", ledgertest.Auditor, due(func(f *events.Finding) { f.Severity = "fatal" }))
	h.Clock.Advance(72 * time.Hour)
	h.Do("TASK-1", ledgertest.Service, due())
	refused(ledger.CodeState, early, due())
	sameAfter(t, h)
}
