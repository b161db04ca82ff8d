package server_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
	"github.com/deedledger/deed/server"
	"github.com/deedledger/deed/signer"
)

var everyCell = flag.Bool("every-cell", false, "ask the service about each role, type and state, not about a sample of those that the table forbids")

// saying is what somebody says of a task, given its state.
type saying func(*projections.Ledger, *projections.Task) events.Payload

func always(p events.Payload) saying {
	return func(*projections.Ledger, *projections.Task) events.Payload { return p }
}

// claims is a lease for an hour, so that none ends while a slow machine tests.
func claims(purpose events.Purpose) saying {
	return func(l *projections.Ledger, t *projections.Task) events.Payload {
		c := ledgertest.Claim(purpose)(l, t).(*events.Claim)
		c.TermSeconds = 3600
		return c
	}
}

// wired is a real service and its cast, who know each state that they reach.
type wired struct {
	t     *testing.T
	cast  *ledgertest.Cast
	state *projections.Ledger
	conn  *client.Client
}

func newWired(t *testing.T) *wired {
	t.Helper()
	w := &wired{t: t, cast: ledgertest.NewCast(servicetest.Name, time.Now), state: projections.NewLedger(servicetest.Name)}
	dir := filepath.Join(t.TempDir(), "ledger")
	var first events.Event
	folder, err := server.Create(servicetest.Within(t), servicetest.Options(dir), servicetest.Name, func(service signer.PublicKey) (events.Event, error) {
		first = w.cast.Genesis(func(g *events.Genesis) { g.Service.Key = service.String() })
		return first, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	l := &servicetest.Ledger{Folder: folder}
	w.conn = servicetest.Dial(t, l.Config(t, l.Run(t).URL(), ""))
	stored, err := w.conn.Locate(servicetest.Within(t), first.ID)
	if err != nil {
		t.Fatal(err)
	}
	w.apply(first, stored.Position, time.Now().UnixNano())
	more := map[string]events.Role{"pia": events.RolePlanner, "cora": events.RoleCompiler, "owner-bot": events.RoleOwner, "reviewer-bot": events.RoleReviewer}
	for _, actor := range append(ledgertest.Invited(), slices.Sorted(maps.Keys(more))...) {
		d := ledgertest.Invitation(actor)
		if role := more[actor]; role != "" {
			d.Roles = []events.Role{role}
		}
		w.does("", ledgertest.Founder, always(d))
		w.does("", actor, always(ledgertest.KeyClaim(actor)))
	}
	return w
}

func (w *wired) apply(e events.Event, at events.Position, admitted int64) {
	w.t.Helper()
	if err := w.state.Apply(events.Record{Position: at, Admitted: admitted, Event: e}); err != nil {
		w.t.Fatalf("apply %s: %v", e.Type, err)
	}
}

// does signs, submits and folds what an actor says.
func (w *wired) does(task, actor string, s saying) {
	w.t.Helper()
	p := s(w.state, w.state.Task(task))
	if a, ok := p.(*events.Artifact); ok { // of a label, which is its name
		a.Size = int64(len(a.Name))
		if _, err := w.conn.PutArtifact(servicetest.Within(w.t), strings.NewReader(a.Name), a.Digest, a.Size, w.cast.Key(actor)); err != nil {
			w.t.Fatal(err)
		}
	}
	e := w.cast.Sign(w.state, task, actor, p)
	ack, err := w.conn.Submit(servicetest.Within(w.t), e, false)
	if err != nil {
		w.t.Fatalf("%s by %s on %q: %v", e.Type, actor, task, err)
	}
	w.apply(e, ack.Position, ack.Admitted)
}

// act is one event of a story.
type act struct {
	actor string
	say   saying
}

// stories returns one for each state, and one for each thing in it that a row
// of the table is about.
func stories() map[string][]act {
	started := []act{
		{ledgertest.Founder, func(_ *projections.Ledger, t *projections.Task) events.Payload {
			return projectionstest.Contract(int64(len(t.Contracts)) + 1)
		}},
		{ledgertest.Founder, ledgertest.Accept}, {ledgertest.Controller, ledgertest.Open}, {ledgertest.ImplA, claims(events.PurposeWork)},
	}
	then := func(before []act, more ...act) []act { return append(slices.Clip(before), more...) }
	handed := then(started, act{ledgertest.ImplA, always(projectionstest.Result("1"))})
	proven := then(handed, act{ledgertest.Verifier, ledgertest.Receipt(nil)})
	approved := then(proven, act{ledgertest.Reviewer, ledgertest.Verdict("approve")})
	releasing := then(approved, act{ledgertest.Operator, claims(events.PurposeRelease)})
	interrupted := then(started, act{ledgertest.Controller, ledgertest.Interrupt})
	evaluating := then(interrupted, act{ledgertest.Controller, claims(events.PurposeRecover)})
	failed := then(handed, act{ledgertest.Verifier, ledgertest.Receipt(projectionstest.Outcomes{"C1": events.ClassCodeFailure})})
	intended := func(before []act, actor string) []act {
		return then(before, act{actor, func(_ *projections.Ledger, t *projections.Task) events.Payload {
			return projectionstest.Intent(effectKey(t))
		}})
	}
	dispatched := func(before []act, actor string) []act {
		return then(intended(before, actor), act{actor, func(l *projections.Ledger, t *projections.Task) events.Payload {
			return ledgertest.Dispatch(effectKey(t))(l, t)
		}})
	}
	confirmed := func(before []act, actor string) []act {
		return then(dispatched(before, actor), act{actor, outcome(projections.StatusConfirmed)})
	}
	said := func(before []act, actor string, p events.Payload) []act { return then(before, act{actor, always(p)}) }
	decided := said(started, ledgertest.Founder, projectionstest.Decision("d1"))
	return map[string][]act{
		"None": nil, "Proposed": started[:1], "Contracted": started[:2], "Snapshotted": started[:3], "Executing": started,
		"AwaitingVerification": handed, "RepairQueued": failed, "AwaitingReview": proven, "Approved": approved, "Releasing": releasing,
		"Delivered": then(approved, act{ledgertest.Operator, ledgertest.Deliver}), "Interrupted": interrupted, "RecoveryEvaluating": evaluating,
		"Escalated": said(started, ledgertest.ImplA, &events.Escalation{Reason: "stuck", NextStep: "look"}),
		"Cancelled": said(started, ledgertest.Founder, &events.Cancellation{Reason: "no"}),

		"RepairQueued accepted": said(failed, ledgertest.Controller, &events.RepairAcceptance{Kind: "code"}),
		"Executing intended":    intended(started, ledgertest.ImplA), "Executing dispatched": dispatched(started, ledgertest.ImplA),
		"Executing confirmed": confirmed(started, ledgertest.ImplA),
		"Releasing intended":  intended(releasing, ledgertest.Operator), "Releasing dispatched": dispatched(releasing, ledgertest.Operator),
		"Releasing confirmed":    confirmed(releasing, ledgertest.Operator),
		"Interrupted dispatched": then(dispatched(started, ledgertest.ImplA), act{ledgertest.Controller, ledgertest.Interrupt}),
		"Executing fatal":        said(started, ledgertest.Auditor, &events.Finding{Severity: "fatal", Rule: "R1", Text: "gone"}),
		"Executing paused":       said(started, ledgertest.Founder, &events.Pause{Reason: "wait"}),
		"Executing step":         said(started, ledgertest.ImplA, projectionstest.IssueStep("s1", "")),
		"Executing decided":      decided, "Executing frozen": said(decided, ledgertest.Founder, projectionstest.Freeze("d1")),
		"Executing banned":   said(started, ledgertest.Founder, projectionstest.Ban("b1")),
		"Executing artifact": said(started, ledgertest.ImplA, projectionstest.Artifact("log")),
	}
}

func effectKey(t *projections.Task) string { return t.ID + "-effect" }

func outcome(status projections.Status) saying {
	return func(l *projections.Ledger, t *projections.Task) events.Payload {
		if e := t.Effect(effectKey(t)); e == nil || len(e.Tries) == 0 {
			return nil
		}
		return ledgertest.Outcome(effectKey(t), status)(l, t)
	}
}

// basedOn lets a person state an outcome.
func basedOn(basis events.Basis, p events.Payload) events.Payload {
	switch d := p.(type) {
	case *events.Confirmation:
		d.Basis = basis
	case *events.Failure:
		d.Basis = basis
	case *events.Compensation:
		d.Basis = basis
	}
	return p
}

// guarded returns what s says where ok holds.
func guarded(ok func(*projections.Task) bool, s saying) saying {
	return func(l *projections.Ledger, t *projections.Task) events.Payload {
		if !ok(t) {
			return nil
		}
		return s(l, t)
	}
}

// wording returns what may be said under each row of the table, in the words
// that have a chance in some state.
func wording() map[string][]saying {
	contract := func(t *projections.Task) bool { return t.Contract() != nil }
	attempt := func(t *projections.Task) bool { return contract(t) && t.Attempt() != nil }
	result := func(t *projections.Task) bool { return attempt(t) && t.Result != nil }
	effect := func(t *projections.Task) bool { return t.Effect(effectKey(t)) != nil }
	keyed := func(make func(key string) events.Payload) saying {
		return guarded(effect, func(_ *projections.Ledger, t *projections.Task) events.Payload { return make(effectKey(t)) })
	}
	settles := func(status projections.Status) []saying {
		return []saying{outcome(status), func(l *projections.Ledger, t *projections.Task) events.Payload {
			if p := outcome(status)(l, t); p != nil {
				return basedOn(events.BasisPerson, p)
			}
			return nil
		}}
	}
	one := func(s saying) []saying { return []saying{s} }
	all := map[string][]saying{
		"contract.proposed": one(func(_ *projections.Ledger, t *projections.Task) events.Payload {
			return projectionstest.Contract(int64(len(t.Contracts)) + 1)
		}),
		"contract.accepted":     one(guarded(func(t *projections.Task) bool { return len(t.Contracts) > 0 }, ledgertest.Accept)),
		"contract.withdrawn":    one(always(&events.Withdrawal{Reason: "no"})),
		"task.cancelled":        one(always(&events.Cancellation{Reason: "no"})),
		"attempt.opened":        one(guarded(contract, ledgertest.Open)),
		"lease.claimed work":    one(guarded(attempt, claims(events.PurposeWork))),
		"lease.claimed recover": one(guarded(attempt, claims(events.PurposeRecover))),
		"lease.claimed release": one(guarded(attempt, claims(events.PurposeRelease))),
		"lease.released":        one(always(&events.Release{Reason: "quota"})),
		"attempt.interrupted": {guarded(func(t *projections.Task) bool { return t.Fence > 0 }, ledgertest.Interrupt),
			guarded(func(t *projections.Task) bool { return t.Fence > 0 }, func(_ *projections.Ledger, t *projections.Task) events.Payload {
				return &events.Interruption{Cause: "lease-expired", Fence: int64(t.Fence)}
			})},
		"result.recorded":     one(guarded(attempt, always(projectionstest.Result("2")))),
		"recovery.decided":    one(guarded(attempt, ledgertest.Recover)),
		"attempt.escalated":   one(always(&events.Escalation{Reason: "stuck", NextStep: "look"})),
		"escalation.resolved": {always(&events.Resolution{Action: "resume", Reason: "r"}), always(&events.Resolution{Action: "new-attempt", Reason: "r"})},
		"receipt.recorded":    one(guarded(result, ledgertest.Receipt(nil))),
		"repair.requested":    one(guarded(result, always(&events.RepairRequest{Items: []string{"A1"}, Reason: "failed"}))),
		"repair.accepted":     one(guarded(func(t *projections.Task) bool { return t.Repair != nil }, always(&events.RepairAcceptance{Kind: "code"}))),
		"approval.recorded":   one(guarded(result, ledgertest.Verdict("approve"))),
		"delivery.recorded":   one(guarded(result, ledgertest.Deliver)),
		"effect.intended": one(guarded(attempt, func(_ *projections.Ledger, t *projections.Task) events.Payload {
			return projectionstest.Intent(effectKey(t) + "-2")
		})),
		"effect.approved": one(guarded(effect, func(_ *projections.Ledger, t *projections.Task) events.Payload {
			return &events.EffectApproval{Key: effectKey(t), PayloadDigest: t.Effect(effectKey(t)).Intent.PayloadDigest}
		})),
		"effect.withdrawn": one(keyed(func(key string) events.Payload { return &events.EffectWithdrawal{Key: key, Reason: "no"} })),
		"effect.dispatched": one(guarded(effect, func(l *projections.Ledger, t *projections.Task) events.Payload {
			return ledgertest.Dispatch(effectKey(t))(l, t)
		})),
		"effect.confirmed": settles(projections.StatusConfirmed), "effect.failed": settles(projections.StatusFailed),
		"effect.unknown": settles(projections.StatusUnknown), "effect.compensated": settles(projections.StatusCompensated),
		"finding.recorded":     one(always(&events.Finding{Severity: "hint", Rule: "R1", Text: "odd"})),
		"finding.acknowledged": one(guarded(func(t *projections.Task) bool { return len(t.Findings) > 0 }, ledgertest.Acknowledge)),
	}
	for p, name := range map[events.Payload]string{
		&events.Pause{Reason: "r"}: "task.paused", &events.Unpause{Reason: "r"}: "task.unpaused",
		projectionstest.Plan(): "plan.recorded", projectionstest.IssueStep("s2", ""): "step.issued", projectionstest.CompleteStep("s1"): "step.completed",
		&events.StepFailure{Step: "s1", Reason: "r"}: "step.failed", &events.Progress{Note: "half"}: "progress.recorded",
		projectionstest.Violation(projectionstest.Object("other")): "boundary.violated",
		projectionstest.Decision("d2"):                             "decision.recorded", projectionstest.Freeze("d1"): "decision.frozen", &events.Thaw{Decision: "d1", Reason: "r"}: "decision.unfrozen",
		&events.Retraction{Decision: "d1", Reason: "r"}: "decision.withdrawn", projectionstest.Ban("b2"): "approach.banned", &events.Unban{Approach: "b1", Reason: "r"}: "approach.unbanned",
		projectionstest.Artifact("other"): "artifact.recorded", &events.Quarantine{Digest: projectionstest.Digest("log"), Reason: "r"}: "artifact.quarantined",
		projectionstest.Money("ci", 1, "EUR"): "cost.recorded", projectionstest.DefectReport("wrong"): "defect.reported",
	} {
		all[name] = one(always(p))
	}
	return all
}

// tabled reports whether a row of the table names the actor in this state, for
// some data.
func tabled(row *ledger.Row, a *projections.Actor, t *projections.Task) bool {
	return slices.Contains(row.In, t.State) && slices.ContainsFunc(row.By, func(by ledger.Author) bool { return names(by, a, t) })
}

// names reports whether an entry of a row names the actor.
func names(by ledger.Author, a *projections.Actor, t *projections.Task) bool {
	switch {
	case len(by.Holder) > 0:
		return t.Lease != nil && t.Lease.Actor == a.Name && slices.Contains(by.Holder, t.Lease.Purpose)
	case by.Former:
		return slices.ContainsFunc(t.Runs, func(r projections.Run) bool { return r.Actor == a.Name })
	}
	return a.Has(by.Role) && (by.Kind == "" || by.Kind == a.Kind)
}

// TestAuthorityOverTheWire walks role × type × state through a real service,
// asking it with a dry run: nobody whom the table does not name gets an event
// in, every refusal names its rule, and every entry of every row is accepted
// somewhere. The service's own rows are no client's: whoever claims to be the
// service is refused.
func TestAuthorityOverTheWire(t *testing.T) {
	t.Parallel()
	w := newWired(t)
	var tasks []string
	for _, name := range slices.Sorted(maps.Keys(stories())) {
		task := strings.ReplaceAll(name, " ", "-")
		tasks = append(tasks, task)
		for _, a := range stories()[name] {
			w.does(task, a.actor, a.say)
		}
		if state, _, _ := strings.Cut(name, " "); w.state.Task(task).State.String() != state && name != "None" {
			t.Fatalf("the story of %s ends in %s", name, w.state.Task(task).State)
		}
	}
	words := wording()
	accepted := map[string]bool{}
	asked := 0
	for _, row := range ledger.Table() {
		if words[row.Name()] == nil {
			t.Errorf("row %s is not walked", row.Name())
		}
		for _, task := range tasks {
			for _, a := range w.state.Registry.Actors {
				k := w.state.Task(task)
				allowed := tabled(&row, a, k) && a.Name != ledgertest.Service
				if asked++; !allowed && asked%5 != 0 && !*everyCell {
					continue
				}
				for _, say := range words[row.Name()] {
					if p := say(w.state, k); p != nil && w.ask(task, a.Name, p, allowed) {
						for i, by := range row.By {
							if names(by, a, k) {
								accepted[fmt.Sprint(row.Name(), " ", i)] = true
							}
						}
					}
				}
			}
		}
		for i, by := range row.By {
			if by.Role != events.RoleService && !accepted[fmt.Sprint(row.Name(), " ", i)] {
				t.Errorf("%s by %s is accepted nowhere", row.Name(), by)
			}
		}
	}
	t.Logf("%d cells of the table", asked)
}

// ask asks the service whether an actor may say p, and returns its answer.
func (w *wired) ask(task, actor string, p events.Payload, allowed bool) bool {
	w.t.Helper()
	e := w.cast.Sign(w.state, task, actor, p)
	_, err := w.conn.Submit(servicetest.Within(w.t), e, true)
	r, refused := errors.AsType[*ledger.Refusal](err)
	switch {
	case err == nil && !allowed:
		w.t.Errorf("%s by %s is accepted in %s", e.Type.Short(), actor, task)
	case err != nil && (!refused || r.Class != ledger.Refused || r.Rule == "" || r.Text == ""):
		w.t.Errorf("%s by %s in %s: %v", e.Type.Short(), actor, task, err)
	}
	return err == nil
}
