package ledger_test

import (
	"context"
	"errors"
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/journaltest"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
	"github.com/deedledger/deed/signer"
	"pgregory.net/rapid"
)

// plain is the small model of a task: what must be true whatever the rules and
// folds make of it.
type plain struct {
	sequence uint64
	fence    uint64
	holder   string
	deadline time.Time // the holder's term, by the writer's clock
	worked   map[string]bool
	proved   bool
	approved bool
	done     bool
	paused   bool
}

// machine submits what comes to its mind and holds the answers against the
// model.
type machine struct {
	h      *ledgertest.House
	store  *journal.Memory
	faulty *journaltest.Faulty

	tasks   map[string]*plain
	last    events.Position
	acked   map[string]events.Position // by event id
	sent    []events.Event
	revoked map[string]bool
	audited *ledger.Book    // takes each stored message once
	records []events.Record // what it took
}

func newMachine(t *rapid.T) *machine {
	m := &machine{
		store: memory(t, "acme"), tasks: map[string]*plain{}, acked: map[string]events.Position{},
		revoked: map[string]bool{}, audited: ledger.NewBook("acme"),
	}
	m.faulty = journaltest.NewFaulty(m.store)
	m.h = ledgertest.Found(t, "acme", m.faulty)
	m.last = m.h.Last()
	for _, id := range []string{"TASK-1", "TASK-2"} {
		m.tasks[id] = &plain{worked: map[string]bool{}}
	}
	return m
}

// idea is what an actor may want to say in a state.
type idea struct {
	actor string
	say   func(*projections.Ledger, *projections.Task) events.Payload
}

// ideas returns what makes some sense in a state; most of it is refused in
// most states.
func ideas(t *projections.Task) []idea {
	fixed := func(actor string, p events.Payload) idea {
		return idea{actor, func(*projections.Ledger, *projections.Task) events.Payload { return p }}
	}
	all := []idea{
		fixed(ledgertest.Founder, projectionstest.Contract(int64(len(t.Contracts))+1)),
		fixed(ledgertest.Auditor, finding("hint")),
		fixed(ledgertest.Controller, &events.Escalation{Reason: "r", NextStep: "n"}),
		fixed(ledgertest.Founder, &events.Resolution{Action: "resume", Reason: "r"}),
		fixed(ledgertest.Founder, &events.Resolution{Action: "new-attempt", Reason: "r"}),
		fixed(ledgertest.Controller, &events.RepairAcceptance{Kind: "code"}),
		fixed(ledgertest.ImplA, &events.Release{Reason: "context"}),
		fixed(ledgertest.ImplA, projectionstest.Result("1")), fixed(ledgertest.ImplB, projectionstest.Result("2")),
		fixed(ledgertest.ImplA, projectionstest.Intent(t.ID)),
		{ledgertest.ImplA, ledgertest.Claim(events.PurposeWork)}, {ledgertest.ImplB, ledgertest.Claim(events.PurposeWork)},
		{ledgertest.Operator, ledgertest.Claim(events.PurposeRelease)},
		fixed(ledgertest.Founder, &events.Pause{Reason: "r"}), fixed(ledgertest.Controller, &events.Unpause{Reason: "r"}),
		fixed(ledgertest.ImplA, projectionstest.IssueStep("s1", "")), fixed(ledgertest.ImplA, projectionstest.CompleteStep("s1")),
		fixed(ledgertest.ImplA, projectionstest.Decision("d1")), fixed(ledgertest.Founder, projectionstest.Freeze("d1")),
		fixed(ledgertest.Founder, &events.Thaw{Decision: "d1", Reason: "r"}),
	}
	if len(t.Contracts) > 0 {
		all = append(all, idea{ledgertest.Founder, ledgertest.Accept})
	}
	if t.Fence > 0 {
		all = append(all, idea{ledgertest.Controller, ledgertest.Interrupt})
	}
	if t.Contract() != nil {
		all = append(all, idea{ledgertest.Controller, ledgertest.Open})
	}
	if t.Attempt() != nil && t.Contract() != nil {
		all = append(all, idea{ledgertest.Controller, ledgertest.Claim(events.PurposeRecover)}, idea{ledgertest.Controller, ledgertest.Recover})
	}
	if t.Result != nil && t.Attempt() != nil {
		all = append(all, idea{ledgertest.Verifier, ledgertest.Receipt(nil)},
			idea{ledgertest.Verifier, ledgertest.Receipt(projectionstest.Outcomes{"C1": events.ClassCodeFailure})},
			idea{ledgertest.Reviewer, ledgertest.Verdict("approve")}, idea{ledgertest.Operator, ledgertest.Deliver})
	}
	if e := t.Effect(t.ID); e != nil {
		all = append(all, idea{e.Actor, ledgertest.Dispatch(t.ID)})
		for _, s := range []projections.Status{projections.StatusConfirmed, projections.StatusFailed, projections.StatusUnknown} {
			if len(e.Tries) > 0 {
				all = append(all, idea{e.Actor, ledgertest.Outcome(t.ID, s)}, idea{ledgertest.Controller, ledgertest.Outcome(t.ID, s)})
			}
		}
	}
	return all
}

// forward reports whether an event may bring a task nearer to delivery.
func forward(t *projections.Task, p events.Payload) bool {
	switch p.Type() {
	case events.TaskPaused, events.DecisionFrozen, events.DecisionUnfrozen:
		return false
	case events.FindingRecorded, events.AttemptEscalated, events.LeaseReleased, events.AttemptInterrupted:
		return false
	case events.ContractProposed:
		return len(t.Contracts) == 0
	case events.LeaseClaimed:
		return t.State != projections.AwaitingReview && t.State != projections.AwaitingVerification
	}
	return true
}

// legal returns the ideas that lead forward and that the book would take.
func (m *machine) legal(task string) []idea {
	var good []idea
	m.h.Writer.View(func(b *ledger.Book) {
		t := b.State.Task(task)
		for _, i := range ideas(t) {
			p := i.say(b.State, t)
			e := m.h.Draft(b.State, task, i.actor, p)
			a := ledger.Admitted{Event: e, Payload: p, Signers: []signer.KeyID{signer.KeyID(e.SignKeyID)}}
			if forward(t, p) && b.Check(a, m.h.Clock.Now().UnixNano()) == nil {
				good = append(good, i)
			}
		}
	})
	return good
}

func (m *machine) task(t *rapid.T) string {
	return rapid.SampledFrom([]string{"TASK-1", "TASK-2"}).Draw(t, "task")
}

// submit sends an event and holds the answer against the model.
func (m *machine) submit(t *rapid.T, e events.Event) {
	at, was := m.acked[e.ID]
	ack, err := m.h.Submit(e)
	m.sent = append(m.sent, e)
	m.catchUp(t, e)
	switch {
	case err != nil && was:
		t.Fatalf("%s was acknowledged at %d and is refused now: %v", e.Type, at, err)
	case err != nil:
		if r := ledger.AsRefusal(err); r.Class != ledger.Refused && r.Class != ledger.Conflict && r.Class != ledger.Unavailable {
			t.Fatalf("%s by %s: %v", e.Type, e.AuthID, err)
		}
	case was && (ack.Position != at || !ack.Existing):
		t.Fatalf("%s was at %d, now %+v", e.Type, at, ack)
	case ack.EventID != e.ID && !ack.Existing:
		t.Fatalf("%s: acknowledged as %+v", e.Type, ack)
	case !ack.Existing && ack.Position != m.last && (e.Type != events.ActorRevoked || ack.Position > m.last): // leases end after a revocation
		t.Fatalf("%s: acknowledged at %d, history ends at %d", e.Type, ack.Position, m.last)
	}
	if err == nil && ack.EventID == e.ID {
		m.acked[e.ID] = ack.Position
	}
}

// catchUp takes what was stored since the last look: at most one interruption
// by the service, and the event that was sent.
func (m *machine) catchUp(t *rapid.T, sent events.Event) {
	err := m.store.Replay(context.Background(), m.audited.Next(), func(stored journal.Record) error {
		r, err := m.audited.Take(stored)
		if err != nil {
			t.Fatalf("audit: %v", err)
		}
		m.records = append(m.records, r)
		if r.Position <= m.last {
			return nil // the founding
		}
		m.last = r.Position
		if r.Event.ID != sent.ID && r.Event.AuthID != ledgertest.Service {
			t.Fatalf("position %d holds %s by %s, which nobody sent", r.Position, r.Event.Type, r.Event.AuthID)
		}
		if r.Event.Source.Task != "" {
			m.follow(t, r)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("replay: %v", err)
	}
}

// follow keeps the model of a task in line with an event that was stored, and
// fails where the event should not have been.
func (m *machine) follow(t *rapid.T, r events.Record) {
	e, p := r.Event, m.tasks[r.Event.Source.Task]
	now := time.Unix(0, r.Admitted)
	payload, err := e.Payload()
	if err != nil {
		t.Fatalf("payload: %v", err)
	}
	p.sequence++
	switch {
	case e.Sequence != p.sequence:
		t.Fatalf("sequence %d after %d", e.Sequence, p.sequence-1)
	case p.done && e.Type != events.FindingRecorded && e.Type != events.ReceiptRecorded && payload.Type() != events.EffectConfirmed:
		t.Fatalf("%s after the delivery", e.Type)
	case m.revoked[e.AuthID]:
		t.Fatalf("%s by %s, who is revoked", e.Type, e.AuthID)
	case e.AuthID == p.holder && e.Fence == p.fence && !now.Before(p.deadline):
		t.Fatalf("%s by %s after its term", e.Type, e.AuthID)
	}
	mine := p.holder != "" && e.AuthID == p.holder && e.Fence == p.fence
	switch payload.(type) {
	case *events.Claim, *events.Result, *events.Approval, *events.Delivery, *events.Dispatch, *events.StepIssue, *events.Recovery, *events.Resolution:
		if p.paused {
			t.Fatalf("%s while the task is paused", e.Type)
		}
	}
	switch d := payload.(type) {
	case *events.Claim:
		if p.holder != "" || e.Fence != p.fence+1 {
			t.Fatalf("%s claims fence %d while %q holds %d", e.AuthID, e.Fence, p.holder, p.fence)
		}
		p.holder, p.fence, mine = e.AuthID, e.Fence, true
		if d.Purpose == events.PurposeWork {
			p.worked[e.AuthID] = true
		}
	case *events.Pause:
		p.paused = true
	case *events.Unpause, *events.Cancellation, *events.Withdrawal:
		p.paused = false
	case *events.Result, *events.Intent, *events.Dispatch, *events.Release, *events.Recovery, *events.StepIssue, *events.StepCompletion:
		if !mine {
			t.Fatalf("%s by %s under fence %d; %q holds %d", e.Type, e.AuthID, e.Fence, p.holder, p.fence)
		}
	case *events.Interruption:
		switch {
		case d.Cause == "lease-expired" && now.Before(p.deadline):
			t.Fatalf("interrupted at %s, the term ends at %s", now, p.deadline)
		case d.Cause == "holder-revoked" && p.holder != ledgertest.ImplB: // whom "revoke" revokes
			t.Fatalf("the lease of %s is taken away", p.holder)
		}
	case *events.Receipt:
		if p.worked[e.AuthID] {
			t.Fatalf("%s proves its own work", e.AuthID)
		}
		p.proved = !slices.ContainsFunc(d.Checks, func(c events.CheckOutcome) bool { return c.Class != events.ClassPass })
	case *events.Approval:
		if !p.proved || p.worked[e.AuthID] {
			t.Fatalf("%s approves; proved %t, worked %v", e.AuthID, p.proved, p.worked)
		}
		p.approved = true
	case *events.Delivery:
		if !p.proved || !p.approved {
			t.Fatalf("delivered; proved %t, approved %t", p.proved, p.approved)
		}
		p.done = true
	}
	if mine {
		p.deadline = now.Add(60 * time.Second)
	}
	if e.Type == events.ResultRecorded || e.Type == events.ContractAccepted || e.Type == events.AttemptOpened {
		p.proved, p.approved = false, false
	}
	if m.audited.State.Task(e.Source.Task).Lease == nil {
		p.holder = ""
	}
}

// check compares what the writer has in memory with what the journal says: the
// fold of all of it from the start, and the book that verified each message.
func (m *machine) check(t *rapid.T) {
	m.catchUp(t, events.Event{})
	fold := projections.NewLedger("acme")
	for _, r := range m.records {
		if err := fold.Apply(r); err != nil {
			t.Fatalf("rebuild: %v", err)
		}
	}
	live := m.h.Digests()
	rebuilt, err := fold.Digests()
	if err != nil || !equalDigests(live, rebuilt) {
		t.Fatalf("live %+v, rebuilt %+v, %v", live, rebuilt, err)
	}
	verified, err := m.audited.State.Digests()
	if err != nil || !equalDigests(live, verified) {
		t.Fatalf("live %+v, verified %+v, %v", live, verified, err)
	}
	for id, at := range m.acked {
		if found, _, ok := m.audited.Find(id); !ok || found != at {
			t.Fatalf("event %s was acknowledged at %d, is at %d (%t)", id, at, found, ok)
		}
	}
}

// actions are what may happen in one step.
func (m *machine) actions() map[string]func(*rapid.T) {
	anyone := func(t *rapid.T) string {
		return rapid.SampledFrom(append(ledgertest.Invited(), ledgertest.Founder)).Draw(t, "actor")
	}
	draw := func(t *rapid.T, task string) idea {
		l := stateOf(m.h)
		return rapid.SampledFrom(ideas(l.Task(task))).Draw(t, "idea")
	}
	advance := func(t *rapid.T) {
		task := m.task(t)
		if good := m.legal(task); len(good) > 0 {
			i := rapid.SampledFrom(good).Draw(t, "legal idea")
			l := stateOf(m.h)
			m.submit(t, m.h.Next(task, i.actor, i.say(l, l.Task(task))))
		}
	}
	return map[string]func(*rapid.T){
		"": m.check,
		// Five names, so that stories get somewhere.
		"go on": advance, "go on and on": advance, "go on further": advance, "go on still": advance, "go on yet": advance,
		"anything": func(t *rapid.T) {
			task, l := m.task(t), stateOf(m.h)
			i := draw(t, task)
			m.submit(t, m.h.Next(task, anyone(t), i.say(l, l.Task(task))))
		},
		"forge": func(t *rapid.T) {
			task, l := m.task(t), stateOf(m.h)
			i := draw(t, task)
			e := m.h.Draft(l, task, i.actor, i.say(l, l.Task(task)))
			e.SignKeyID = string(ledgertest.Key("stranger").ID())
			before := m.last
			if m.submit(t, ledgertest.Seal(e, "stranger")); m.last > before && stateOf(m.h).Task(task).Lease != nil {
				t.Fatalf("a stranger's %s was taken", e.Type)
			}
			if _, ok := m.acked[e.ID]; ok {
				t.Fatalf("a stranger's %s was acknowledged", e.Type)
			}
		},
		"stale": func(t *rapid.T) {
			e := m.h.Draft(stateOf(m.h), m.task(t), ledgertest.Auditor, finding("stale"))
			e.Sequence++
			if m.submit(t, ledgertest.Seal(e, ledgertest.Auditor)); m.acked[e.ID] != 0 {
				t.Fatal("an event with a gap was acknowledged")
			}
		},
		"again": func(t *rapid.T) {
			if len(m.sent) > 0 {
				m.submit(t, rapid.SampledFrom(m.sent).Draw(t, "sent"))
			}
		},
		"wait": func(t *rapid.T) {
			m.h.Clock.Advance(time.Duration(rapid.IntRange(1, 45).Draw(t, "seconds")) * time.Second)
		},
		"restart": func(t *rapid.T) {
			m.store = m.store.Reopen()
			m.faulty = journaltest.NewFaulty(m.store)
			m.h.Restart(m.faulty)
			for _, p := range m.tasks { // a full term for everybody
				p.deadline = m.h.Clock.Now().Add(60 * time.Second)
			}
		},
		"fault": func(t *rapid.T) {
			m.faulty.Plan(rapid.SampledFrom([]journaltest.Fault{
				journaltest.AckLost, journaltest.DeliveredTwice, journaltest.AnsweredDuplicate, journaltest.StoredInFlight, journaltest.Refused,
			}).Draw(t, "fault"))
		},
		"revoke": func(t *rapid.T) {
			if actor := rapid.SampledFrom([]string{"rob", ledgertest.ImplB}).Draw(t, "revoked"); !m.revoked[actor] && len(m.sent) > 15 {
				e := m.h.Next("", ledgertest.Founder, &events.Revocation{Actor: actor, Reason: "left"})
				m.submit(t, e)
				m.revoked[actor] = m.acked[e.ID] != 0
			}
		},
	}
}

// TestModel plays random legal and illegal events by random actors, with
// faults, restarts and time that passes. After each step the journal alone
// gives the state that the writer has.
func TestModel(t *testing.T) {
	t.Parallel()
	few(t)
	reached := map[projections.State]int{}
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		t.Repeat(m.actions())
		m.h.Journal = m.store
		m.h.Audit()
		for task := range m.tasks {
			reached[m.h.State(task)]++
		}
	})
	t.Logf("tasks ended in: %v", reached)
}

// few plays fewer and longer runs than rapid's hundred, unless -rapid.checks says how
// many.
func few(t *testing.T) {
	t.Helper()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := errors.Join(flag.Set("rapid.checks", "6"), flag.Set("rapid.steps", "45")); err != nil {
			t.Fatal(err)
		}
	}
}
