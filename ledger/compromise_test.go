package ledger_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// refused demands a refusal with a code and the beginning of a rule.
func refused(t *testing.T, err error, code ledger.Code, rule string) {
	t.Helper()
	r, ok := errors.AsType[*ledger.Refusal](err)
	if !ok || r.Code != code || !strings.HasPrefix(r.Rule, rule) {
		t.Errorf("got %v, want a refusal with code %s by %s", err, code, rule)
	}
}

// signedBy is an event that an actor's first key signs, whoever the cast
// thinks it is by now.
func signedBy(h *ledgertest.House, task, actor string, p events.Payload) events.Event {
	var e events.Event
	h.Writer.View(func(b *ledger.Book) { e = h.Draft(b.State, task, actor, p) })
	e.SignKeyID = ""
	return ledgertest.Seal(e, actor)
}

// stepsTo returns the first n steps of a delivery: 4 to a work lease, 5 to a
// result, 6 to a proof, 7 to an approval.
func stepsTo(t *testing.T, h *ledgertest.House, task string, state projections.State) {
	t.Helper()
	for _, step := range ledgertest.Delivery(task) {
		if h.State(task) == state {
			return
		}
		h.Play([]ledgertest.Step{step})
	}
	if got := h.State(task); got != state {
		t.Fatalf("%s is %s, want %s", task, got, state)
	}
}

// TestRotation keeps honest history whole: what the old key signed stays valid, the
// new one goes on with the same lease, and a time that is set back helps
// nobody, since positions decide.
func TestRotation(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	stepsTo(t, h, "TASK-1", projections.Executing)
	finding := &events.Finding{Severity: "hint", Rule: "r", Text: "t"}
	h.Do("TASK-1", ledgertest.ImplA, finding)
	h.Do("", ledgertest.ImplA, ledgertest.Rotation(ledgertest.ImplA))
	late := signedBy(h, "TASK-1", ledgertest.ImplA, finding)
	late.Time = "2026-11-30T00:00:00Z"
	_, err := h.Submit(ledgertest.Seal(late, ledgertest.ImplA))
	refused(t, err, ledger.CodeSignature, "signature")
	if last := h.Last(); stateOf(h).Task("TASK-1").Lease == nil {
		t.Errorf("the lease ended at %d with the rotation", last)
	}
	for _, step := range ledgertest.Delivery("TASK-1")[4:] {
		h.Play([]ledgertest.Step{step})
	}
	if got := h.State("TASK-1"); got != projections.Delivered {
		t.Errorf("the run under the new key ends in %s", got)
	}
	if audit := h.Audit(); len(audit.Suspect) != 0 {
		t.Errorf("suspects without a compromise: %v", audit.Suspect)
	}
}

// TestRotationIsRefused lists how a key is not rotated.
func TestRotationIsRefused(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	seal := func(d *events.KeyRotation, actor string, keys ...string) events.Event {
		var e events.Event
		h.Writer.View(func(b *ledger.Book) { e = h.Draft(b.State, "", actor, d) })
		e.SignKeyID = ""
		return ledgertest.Seal(e, keys...)
	}
	a, next := ledgertest.ImplA, ledgertest.NextKey(ledgertest.ImplA)
	taken := ledgertest.Rotation(a)
	taken.Key = ledgertest.Key(ledgertest.ImplB).Public().String()
	other := ledgertest.Rotation(a)
	other.Actor = ledgertest.ImplB
	own := ledgertest.Rotation(a)
	own.Key = ledgertest.Key(a).Public().String()
	service := ledgertest.Rotation(ledgertest.Service)
	for _, c := range []struct {
		name  string
		event events.Event
		code  ledger.Code
		rule  string
	}{
		{"without the new key", seal(ledgertest.Rotation(a), a, a), ledger.CodeSignature, "key.rotated/author"},
		{"without the old key", seal(ledgertest.Rotation(a), a, next), ledger.CodeSignature, "key"},
		{"with the new key as author", seal(ledgertest.Rotation(a), a, next, a), ledger.CodeSignature, "key"},
		{"with a third key", seal(ledgertest.Rotation(a), a, a, next, ledgertest.Founder), ledger.CodeSignature, "key.rotated/author"},
		{"to a key of another actor", seal(taken, a, a, ledgertest.ImplB), ledger.CodeRule, "key.rotated/key"},
		{"to itself", seal(own, a, a), ledger.CodeSignature, "key.rotated/author"},
		{"for another actor", seal(other, a, a, next), ledger.CodeSignature, "key.rotated/author"},
		{"by an admin", seal(ledgertest.Rotation(a), ledgertest.Founder, ledgertest.Founder, next), ledger.CodeSignature, "key.rotated/author"},
		{"of the service", seal(service, ledgertest.Service, ledgertest.Service, ledgertest.NextKey(ledgertest.Service)), ledger.CodeRule, "key.rotated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.Submit(c.event)
			refused(t, err, c.code, c.rule)
		})
	}
	h.Do("", a, ledgertest.Rotation(a))
	back := &events.KeyRotation{Actor: a, Old: string(ledgertest.Key(next).ID()), Key: ledgertest.Key(a).Public().String()}
	_, err := h.Submit(seal(back, a, next, a))
	refused(t, err, ledger.CodeRule, "key.rotated/key")
}

// TestCompromisedVerifier: receipts since the position count as absent, those
// before it stay, and the audit tells both apart.
func TestCompromisedVerifier(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	stepsTo(t, h, "TASK-1", projections.Approved)
	early := h.Last()
	stepsTo(t, h, "TASK-2", projections.Approved)
	stepsTo(t, h, "TASK-3", projections.Delivered)
	h.Do("", ledgertest.Founder, ledgertest.Compromise(ledgertest.Verifier, early+1))
	for task, want := range map[string]projections.State{
		"TASK-1": projections.Approved, "TASK-2": projections.AwaitingVerification, "TASK-3": projections.Delivered,
	} {
		if got := h.State(task); got != want {
			t.Errorf("%s is %s, want %s", task, got, want)
		}
	}
	state := stateOf(h)
	if n := len(state.Task("TASK-3").Suspects); n != 1 {
		t.Errorf("the delivered task has %d suspect events, want 1", n)
	}
	if n := len(state.Task("TASK-1").Suspects); n != 0 {
		t.Errorf("a task from before has %d suspect events", n)
	}
	_, err := h.Try("TASK-2", ledgertest.Verifier, ledgertest.Receipt(nil)(state, state.Task("TASK-2")))
	refused(t, err, ledger.CodeSignature, "signature")
	audit := h.Audit()
	if audit.Fault != nil || len(audit.Suspect) != 1 || audit.Suspect[0].Events != 2 || audit.Suspect[0].First <= early {
		t.Errorf("audit: fault %v, suspects %+v", audit.Fault, audit.Suspect)
	}
	// The actor gets a key of its own again and proves the result anew.
	again := ledgertest.Invitation(ledgertest.Verifier)
	h.Do("", ledgertest.Founder, again)
	claim := ledgertest.KeyClaim(ledgertest.Verifier)
	claim.Key = ledgertest.Key(ledgertest.NextKey(ledgertest.Verifier)).Public().String()
	var e events.Event
	h.Writer.View(func(b *ledger.Book) { e = h.Draft(b.State, "", ledgertest.Verifier, claim) })
	e.SignKeyID = ""
	if _, err := h.Submit(ledgertest.Seal(e, ledgertest.NextKey(ledgertest.Verifier))); err != nil {
		t.Fatalf("claim another key: %v", err)
	}
	state = stateOf(h)
	var receipt events.Event
	p := ledgertest.Receipt(nil)(state, state.Task("TASK-2"))
	h.Writer.View(func(b *ledger.Book) { receipt = h.Draft(b.State, "TASK-2", ledgertest.Verifier, p) })
	receipt.SignKeyID = ""
	if _, err := h.Submit(ledgertest.Seal(receipt, ledgertest.NextKey(ledgertest.Verifier))); err != nil {
		t.Fatalf("prove again: %v", err)
	}
	if got := h.State("TASK-2"); got != projections.AwaitingReview {
		t.Errorf("proven again, TASK-2 is %s", got)
	}
	h.Do("TASK-2", ledgertest.Reviewer, ledgertest.Verdict("approve")(stateOf(h), stateOf(h).Task("TASK-2")))
	if got := h.State("TASK-2"); got != projections.Approved {
		t.Errorf("approved again, TASK-2 is %s", got)
	}
	h.Audit()
}

// TestCompromisedReviewer: an approval counts as absent, and the task waits
// for another one.
func TestCompromisedReviewer(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	stepsTo(t, h, "TASK-1", projections.Approved)
	h.Do("", ledgertest.Founder, ledgertest.Compromise(ledgertest.Reviewer, h.Last()))
	if got := h.State("TASK-1"); got != projections.AwaitingReview {
		t.Errorf("the task is %s, want AwaitingReview", got)
	}
	h.Audit()
}

// TestCompromisedImplementer: what the thief may have done
// cannot be resumed without a person.
func TestCompromisedImplementer(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	stepsTo(t, h, "TASK-1", projections.AwaitingVerification)
	since := h.Last()
	stepsTo(t, h, "TASK-2", projections.Executing)
	h.Do("", ledgertest.Founder, ledgertest.Compromise(ledgertest.ImplA, since))
	if got := h.State("TASK-1"); got != projections.Escalated {
		t.Errorf("a result by the thief leaves the task %s, want Escalated", got)
	}
	if got := h.State("TASK-2"); got != projections.Interrupted {
		t.Errorf("a lease of the thief leaves the task %s, want Interrupted", got)
	}
	h.Do("TASK-2", ledgertest.Controller, ledgertest.Claim(events.PurposeRecover)(stateOf(h), stateOf(h).Task("TASK-2")))
	decision := ledgertest.Recover(stateOf(h), stateOf(h).Task("TASK-2"))
	if d := decision.(*events.Recovery); d.Decision != projections.ReAuthorize {
		t.Errorf("recovery decides %s, want %s", d.Decision, projections.ReAuthorize)
	}
	h.Do("TASK-2", ledgertest.Controller, decision)
	if got := h.State("TASK-2"); got != projections.Escalated {
		t.Errorf("recovered, the task is %s, want Escalated", got)
	}
	h.Do("TASK-1", ledgertest.Founder, &events.Resolution{Action: "reverify", Reason: "the diff was read line by line"})
	if got, open := h.State("TASK-1"), stateOf(h).Task("TASK-1").Doubtful(); got != projections.AwaitingVerification || open {
		t.Errorf("resolved by a person, the task is %s, doubtful %t", got, open)
	}
	h.Audit()
}

// TestCompromisedBeforeRotation: the rotation of a key that was stolen before it
// does not let its run go on: what the thief did in it is a person's to judge.
func TestCompromisedBeforeRotation(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	story := ledgertest.Delivery("TASK-1")
	h.Play(story[:5])
	stolen := h.Last() + 1
	h.Play(story[5:7]) // dispatched and confirmed, by who knows whom
	h.Do("", ledgertest.ImplA, ledgertest.Rotation(ledgertest.ImplA))
	h.Do("", ledgertest.Founder, ledgertest.Compromise(ledgertest.ImplA, stolen))
	if got := h.State("TASK-1"); got != projections.Interrupted {
		t.Fatalf("the task is %s, want Interrupted", got)
	}
	h.Play([]ledgertest.Step{{Task: "TASK-1", Actor: ledgertest.Controller, Say: ledgertest.Claim(events.PurposeRecover)}, {Task: "TASK-1", Actor: ledgertest.Controller, Say: ledgertest.Recover}})
	if got := h.State("TASK-1"); got != projections.Escalated {
		t.Errorf("recovered, the task is %s, want Escalated", got)
	}
	h.Audit()

	// A key that was stolen after its last use changes nothing.
	h = ledgertest.Found(t, "acme", memory(t, "acme"))
	h.Play(story[:7])
	h.Do("", ledgertest.ImplA, ledgertest.Rotation(ledgertest.ImplA))
	h.Do("", ledgertest.Founder, ledgertest.Compromise(ledgertest.ImplA, h.Last()))
	h.Play(story[7:])
}

// TestCompromiseWhilePaused: a pause does not change where a voided failure
// leads.
func TestCompromiseWhilePaused(t *testing.T) {
	for _, paused := range []bool{false, true} {
		h := ledgertest.Found(t, "acme", memory(t, "acme"))
		stepsTo(t, h, "TASK-1", projections.AwaitingVerification)
		h.Play([]ledgertest.Step{{Task: "TASK-1", Actor: ledgertest.Verifier, Say: ledgertest.Receipt(projectionstest.Outcomes{"C1": events.ClassCodeFailure})}})
		stolen := h.Last()
		if paused {
			h.Do("TASK-1", ledgertest.Founder, &events.Pause{Reason: "wait"})
		}
		h.Do("", ledgertest.Founder, ledgertest.Compromise(ledgertest.Verifier, stolen))
		if got := h.State("TASK-1"); paused && got != projections.RepairQueued {
			t.Errorf("paused, the task is %s", got)
		}
		if paused {
			h.Do("TASK-1", ledgertest.Founder, &events.Unpause{Reason: "go on"})
		}
		if got := h.State("TASK-1"); got != projections.AwaitingVerification {
			t.Errorf("paused %t: the task is %s", paused, got)
		}
		h.Audit()
	}
}

// TestCompromiseIsRefused lists what key.compromised does not say.
func TestCompromiseIsRefused(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	of := func(actor string, mods ...func(*events.KeyCompromise)) *events.KeyCompromise {
		d := ledgertest.Compromise(actor, 3)
		for _, m := range mods {
			m(d)
		}
		return d
	}
	h.Do("", ledgertest.Founder, of(ledgertest.ImplB, func(d *events.KeyCompromise) { d.Since = 5 }))
	for _, c := range []struct {
		name, by string
		data     *events.KeyCompromise
		code     ledger.Code
		rule     string
	}{
		{"by no admin", ledgertest.ImplA, of(ledgertest.ImplA), ledger.CodeRule, "key.compromised/role"},
		{"of another actor's key", ledgertest.Founder, of(ledgertest.ImplA, func(d *events.KeyCompromise) { d.Actor = ledgertest.Reviewer }), ledger.CodeNotFound, "key.compromised/key"},
		{"of a key that nobody had", ledgertest.Founder, of("nobody", func(d *events.KeyCompromise) { d.Actor = ledgertest.ImplA }), ledger.CodeNotFound, "key.compromised/key"},
		{"of an actor that is not there", ledgertest.Founder, of("nobody"), ledger.CodeNotFound, "key.compromised/key"},
		{"in the future", ledgertest.Founder, of(ledgertest.ImplA, func(d *events.KeyCompromise) { d.Since = 1000 }), ledger.CodeStale, "key.compromised/since"},
		{"again, and later", ledgertest.Founder, of(ledgertest.ImplB, func(d *events.KeyCompromise) { d.Since = 6 }), ledger.CodeState, "key.compromised/since"},
		{"of the only admin", ledgertest.Founder, of(ledgertest.Founder), ledger.CodeRule, "key.compromised/lockout"},
		{"of the service", ledgertest.Founder, of(ledgertest.Service), ledger.CodeRule, "key.compromised"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.Try("", c.by, c.data)
			refused(t, err, c.code, c.rule)
		})
	}
	h.Do("", ledgertest.Founder, of(ledgertest.ImplB, func(d *events.KeyCompromise) { d.Since = 4 }))
	h.Do("", ledgertest.Founder, ledgertest.Rotation(ledgertest.Founder))
	h.Do("", ledgertest.Founder, of(ledgertest.Founder))
	h.Audit()
}

// interruptions returns the causes of the interruptions of a task.
func interruptions(t *testing.T, h *ledgertest.House, task string) (causes []string) {
	t.Helper()
	for _, r := range h.Records() {
		if e, err := events.ParseStored(r.Header, r.Data); err != nil {
			t.Fatal(err)
		} else if p, err := e.Payload(); err == nil && e.Source.Task == task {
			if d, ok := p.(*events.Interruption); ok {
				causes = append(causes, d.Cause)
			}
		}
	}
	return causes
}

// TestRevokedHolder: a revocation ends the holder's lease at once, and a crash
// between the two is made good at the next start, once.
func TestRevokedHolder(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	stepsTo(t, h, "TASK-1", projections.Executing)
	h.Do("", ledgertest.Founder, &events.Revocation{Actor: ledgertest.ImplA, Reason: "left"})
	if got := interruptions(t, h, "TASK-1"); h.State("TASK-1") != projections.Interrupted || !slices.Equal(got, []string{"holder-revoked"}) {
		t.Fatalf("the task is %s, interruptions %v", h.State("TASK-1"), got)
	}
	_, err := h.Try("TASK-1", ledgertest.ImplA, &events.Finding{Severity: "hint", Rule: "r", Text: "t"})
	refused(t, err, ledger.CodeSignature, "signature")

	// Cut the history behind the revocation, as a crash would.
	cut := memory(t, "acme")
	for _, r := range h.Records()[:len(h.Records())-1] {
		e, err := events.ParseStored(r.Header, r.Data)
		if err != nil {
			t.Fatal(err)
		}
		admitted, err := strconv.ParseInt(r.Header[events.HeaderAdmitted][0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cut.Append(context.Background(), evidence.NewMessage(e, admitted), journal.Expect{Last: r.Position - 1, SubjectLast: lastOn(h, r)}); err != nil {
			t.Fatalf("copy %d: %v", r.Position, err)
		}
	}
	for range 2 {
		again, err := ledger.Open(t.Context(), ledger.Config{Ledger: "acme", Journal: cut, Service: ledgertest.Key(ledgertest.Service), Now: h.Clock.Now, NewID: h.NewID, Sweep: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		again.Close()
		cut = cut.Reopen()
	}
	_, audit, err := ledger.Verify(t.Context(), cut, "acme", nil, 0)
	if err != nil || audit.Fault != nil || audit.Events != uint64(len(h.Records())) {
		t.Errorf("after two starts: %d events, want %d; %v, %v", audit.Events, len(h.Records()), audit.Fault, err)
	}
}

// lastOn returns the position of the message before r on its subject.
func lastOn(h *ledgertest.House, r journal.Record) (last events.Position) {
	for _, other := range h.Records() {
		if other.Subject == r.Subject && other.Position < r.Position {
			last = other.Position
		}
	}
	return last
}

// TestExpiry: the service ends an actor when its time is over, before anything
// else is ordered, and the actor's lease with it.
func TestExpiry(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	stepsTo(t, h, "TASK-1", projections.Executing)
	amend := ledgertest.Invitation(ledgertest.ImplA)
	amend.TokenHash, amend.GitIdentities = "", nil
	amend.ValidUntil = events.FormatTime(h.Clock.Now().Add(30 * time.Second))
	h.Do("", ledgertest.Founder, amend)
	early := &events.Revocation{Actor: ledgertest.ImplA, Reason: events.ReasonExpiry}
	_, err := h.Try("", ledgertest.Service, early)
	refused(t, err, ledger.CodeRule, "actor.revoked/expiry")
	finding := &events.Finding{Severity: "hint", Rule: "r", Text: "t"}
	h.Do("TASK-1", ledgertest.ImplA, finding)
	h.Clock.Advance(31 * time.Second)
	_, err = h.Try("TASK-1", ledgertest.ImplA, finding)
	refused(t, err, ledger.CodeSignature, "key")
	if a := stateOf(h).Registry.Actor(ledgertest.ImplA); a.Revoked == 0 || h.State("TASK-1") != projections.Interrupted {
		t.Errorf("revoked at %d, the task is %s", a.Revoked, h.State("TASK-1"))
	}
	_, err = h.Try("", ledgertest.Service, &events.Revocation{Actor: ledgertest.ImplB, Reason: events.ReasonExpiry})
	refused(t, err, ledger.CodeRule, "actor.revoked/expiry")
	h.Audit()
}
