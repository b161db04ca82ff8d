package ledger_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// trick is a submission that must be refused.
type trick struct {
	name  string
	class ledger.Class
	code  ledger.Code
	event func() []byte // exported
}

// try submits each trick, dry and in earnest: the same refusal, nothing
// written, the state as before.
func try(t *testing.T, h *ledgertest.House, tricks []trick) {
	t.Helper()
	for _, c := range tricks {
		t.Run(c.name, func(t *testing.T) {
			before, last := h.Digests(), h.Last()
			export := c.event()
			for _, dry := range []bool{true, false} {
				_, err := h.Writer.Submit(t.Context(), ledger.Request{Export: export, DryRun: dry})
				if r := wantRefusal(t, err, c.class, c.code); r.Rule == "" || r.Text == "" {
					t.Errorf("refusal without rule or text: %+v", r)
				}
			}
			stored, err := h.Journal.Last(t.Context())
			if err != nil || stored != last || !equalDigests(before, h.Digests()) {
				t.Errorf("the journal ends at %d, %v; it ended at %d", stored, err, last)
			}
		})
	}
	h.Audit()
}

// TestForgedAuthors refuses events that are not their author's.
func TestForgedAuthors(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	h.Do("", ledgertest.Founder, &events.Revocation{Actor: "rob", Reason: "left"})
	h.Do("TASK-1", ledgertest.Founder, projectionstest.Contract(1))
	changed := func(by string, mod func(*events.Event)) func() []byte {
		return func() []byte {
			e := h.Draft(stateOf(h), "TASK-1", ledgertest.Controller, finding("one"))
			mod(&e)
			return ledgertest.Seal(e, by).Export()
		}
	}
	signedBy := func(actor string) func(*events.Event) {
		return func(e *events.Event) { e.SignKeyID = string(ledgertest.Key(actor).ID()) }
	}
	honest := func() events.Event { return h.Next("TASK-1", ledgertest.Controller, finding("one")) }
	try(t, h, []trick{
		{"another actor's key", ledger.Refused, ledger.CodeSignature, changed(ledgertest.ImplA, signedBy(ledgertest.ImplA))},
		{"another actor's key under the author's id", ledger.Refused, ledger.CodeSignature, changed(ledgertest.ImplA, func(*events.Event) {})},
		{"the author's key under another's id", ledger.Refused, ledger.CodeSignature, changed(ledgertest.Controller, signedBy(ledgertest.ImplA))},
		{"an unknown key", ledger.Refused, ledger.CodeSignature, changed("stranger", signedBy("stranger"))},
		{"an unknown author", ledger.Refused, ledger.CodeSignature, changed(ledgertest.Controller, func(e *events.Event) { e.AuthID = "stranger" })},
		{"a revoked key", ledger.Refused, ledger.CodeSignature, func() []byte { return h.Next("TASK-1", "rob", finding("one")).Export() }},
		{"a person's authtype", ledger.Refused, ledger.CodeForm, changed(ledgertest.Controller, func(e *events.Event) { e.AuthType = events.KindHuman.AuthType() })},
		{"the service's authtype", ledger.Refused, ledger.CodeForm, changed(ledgertest.Controller, func(e *events.Event) { e.AuthType = "system" })},
		{"the service's name", ledger.Refused, ledger.CodeSignature, changed(ledgertest.Controller, func(e *events.Event) { e.AuthID = ledgertest.Service })},
		{"a second signature on a task's event", ledger.Refused, ledger.CodeSignature, func() []byte {
			return ledgertest.Seal(h.Draft(stateOf(h), "TASK-1", ledgertest.Controller, finding("one")), ledgertest.Controller, ledgertest.ImplA).Export()
		}},
		{"another event's envelope", ledger.Refused, ledger.CodeSignature, func() []byte {
			e := honest()
			e.Envelope = h.Next("TASK-1", ledgertest.Controller, finding("two")).Envelope
			return e.Export()
		}},
		{"other data under the signature", ledger.Refused, ledger.CodeSignature, func() []byte {
			e := honest()
			e.Data = bytes.Replace(e.Data, []byte("one"), []byte("two"), 1)
			return e.Export()
		}},
		{"another task under the signature", ledger.Refused, ledger.CodeSignature, func() []byte {
			e := honest()
			e.Source.Task = "TASK-2"
			return e.Export()
		}},
		{"no envelope", ledger.Refused, "", func() []byte { return h.Draft(stateOf(h), "TASK-1", ledgertest.Controller, finding("one")).Export() }},
		{"another ledger", ledger.Refused, ledger.CodeNotFound, changed(ledgertest.Controller, func(e *events.Event) { e.Source.Ledger = "other" })},
		{"a fence without a lease", ledger.Refused, ledger.CodeFence, changed(ledgertest.Controller, func(e *events.Event) { e.Fence = 1 })},
		{"an attempt that is not", ledger.Refused, ledger.CodeStale, changed(ledgertest.Controller, func(e *events.Event) { e.Subject = "a1" })},
		{"a role that the author lacks", ledger.Refused, ledger.CodeRule, func() []byte {
			return h.Next("TASK-1", ledgertest.ImplA, projectionstest.Contract(2)).Export()
		}},
		{"a second genesis", ledger.Conflict, ledger.CodeHead, func() []byte { return h.Genesis().Export() }},
		{"a trailing byte", ledger.Refused, ledger.CodeForm, func() []byte { return append(honest().Export(), '\n') }},
		{"nothing", ledger.Refused, "", func() []byte { return nil }},
	})
}

// TestStalePlaces refuses events that were signed on another history, and says
// what the head is now.
func TestStalePlaces(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	h.Do("TASK-1", ledgertest.Founder, projectionstest.Contract(1))
	old := h.Next("TASK-1", ledgertest.Controller, finding("old"))
	h.Do("TASK-1", ledgertest.Auditor, finding("one"))
	h.Do("TASK-1", ledgertest.Auditor, finding("two"))
	changed := func(task string, mod func(*events.Event)) func() []byte {
		return func() []byte {
			e := h.Draft(stateOf(h), task, ledgertest.Controller, finding("one"))
			mod(&e)
			return ledgertest.Seal(e, ledgertest.Controller).Export()
		}
	}
	tricks := []trick{
		{"signed two events ago", ledger.Conflict, ledger.CodeHead, func() []byte { return old.Export() }},
		{"the last sequence again", ledger.Conflict, ledger.CodeHead, changed("TASK-1", func(e *events.Event) { e.Sequence-- })},
		{"a sequence skipped", ledger.Conflict, ledger.CodeHead, changed("TASK-1", func(e *events.Event) { e.Sequence++ })},
		{"an older head", ledger.Conflict, ledger.CodeHead, changed("TASK-1", func(e *events.Event) { e.PrevHash = old.PrevHash })},
		{"no head", ledger.Conflict, ledger.CodeHead, changed("TASK-1", func(e *events.Event) { e.PrevHash = events.Hash{} })},
		{"a new task on no genesis", ledger.Conflict, ledger.CodeHead, changed("TASK-9", func(e *events.Event) { e.PrevHash = events.Hash{} })},
		{"a new task from its second event", ledger.Conflict, ledger.CodeHead, changed("TASK-9", func(e *events.Event) { e.Sequence = 2 })},
	}
	try(t, h, tricks)
	for _, c := range tricks[:5] {
		_, err := h.Writer.Submit(t.Context(), ledger.Request{Export: c.event()})
		r := wantRefusal(t, err, ledger.Conflict, ledger.CodeHead)
		if task := stateOf(h).Tasks["TASK-1"]; r.Sequence != task.Sequence || r.Head != task.Head {
			t.Errorf("%s: conflict names %d %s, the head is %d %s", c.name, r.Sequence, r.Head, task.Sequence, task.Head)
		}
	}
}

// TestClaimTricks refuses claims of keys that the invitation does not cover.
func TestClaimTricks(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	invite := func(actor, expires string) {
		h.Do("", ledgertest.Founder, &events.Invitation{
			Actor: actor, Kind: events.KindAgent, Principal: "of-" + actor, Roles: []events.Role{events.RoleImplementer},
			TokenHash: projectionstest.Digest("token-" + actor), Expires: expires,
		})
	}
	invite("new", "")
	invite("late", events.FormatTime(h.Clock.Now().Add(time.Minute)))
	invite("gone", "")
	h.Do("", ledgertest.Founder, &events.Revocation{Actor: "gone", Reason: "no"})
	h.Clock.Advance(2 * time.Minute)
	claim := func(actor, by string, mod func(*events.KeyClaim)) func() []byte {
		return func() []byte {
			d := ledgertest.KeyClaim(actor)
			mod(d)
			e := h.Draft(stateOf(h), "", actor, d)
			e.SignKeyID = string(ledgertest.Key(by).ID())
			return ledgertest.Seal(e, by).Export()
		}
	}
	same := func(*events.KeyClaim) {}
	try(t, h, []trick{
		{"wrong token", ledger.Refused, ledger.CodeRule, claim("new", "new", func(d *events.KeyClaim) { d.Token = "token-late" })},
		{"expired invitation", ledger.Refused, ledger.CodeStale, claim("late", "late", same)},
		{"revoked invitation", ledger.Refused, ledger.CodeRule, claim("gone", "gone", same)},
		{"no invitation", ledger.Refused, ledger.CodeNotFound, claim("stranger", "stranger", same)},
		{"claimed already", ledger.Refused, ledger.CodeNotFound, claim(ledgertest.ImplA, ledgertest.ImplA, same)},
		{"a key that somebody holds", ledger.Refused, ledger.CodeRule, claim("new", ledgertest.ImplB, func(d *events.KeyClaim) {
			d.Key = ledgertest.Key(ledgertest.ImplB).Public().String()
		})},
		{"a key that somebody held", ledger.Refused, ledger.CodeRule, claim("new", ledgertest.Service, func(d *events.KeyClaim) {
			d.Key = ledgertest.Key(ledgertest.Service).Public().String()
		})},
		{"signed by another key", ledger.Refused, ledger.CodeSignature, claim("new", ledgertest.ImplA, same)},
		{"a key that is none", ledger.Refused, "", claim("new", "new", func(d *events.KeyClaim) { d.Key = "ed25519:" + d.Key })},
		{"somebody else as author", ledger.Refused, "", func() []byte {
			e := h.Draft(stateOf(h), "", ledgertest.ImplA, ledgertest.KeyClaim("new"))
			e.SignKeyID = string(ledgertest.Key("new").ID())
			return ledgertest.Seal(e, "new").Export()
		}},
		{"an invitation by an actor that is no admin", ledger.Refused, ledger.CodeRule, func() []byte {
			return h.Next("", ledgertest.Controller, ledgertest.Invitation("eve")).Export()
		}},
		{"a co-signer that is no admin", ledger.Refused, ledger.CodeRule, func() []byte {
			return ledgertest.Seal(h.Draft(stateOf(h), "", ledgertest.Founder, ledgertest.Invitation("eve")), ledgertest.Founder, ledgertest.ImplA).Export()
		}},
		{"the founder's own revocation", ledger.Refused, ledger.CodeRule, func() []byte {
			return h.Next("", ledgertest.Founder, &events.Revocation{Actor: ledgertest.Founder, Reason: "no"}).Export()
		}},
		{"the service's revocation", ledger.Refused, ledger.CodeRule, func() []byte {
			return h.Next("", ledgertest.Founder, &events.Revocation{Actor: ledgertest.Service, Reason: "no"}).Export()
		}},
	})
	h.Do("", "new", ledgertest.KeyClaim("new"))
	_, err := h.Try("", "new", ledgertest.KeyClaim("new"))
	wantRefusal(t, err, ledger.Refused, ledger.CodeNotFound)
}

// TestDryRun answers as the real thing would, names the rule, and writes
// nothing.
func TestDryRun(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	for _, step := range ledgertest.Delivery("TASK-1") {
		before, heads := h.Last(), len(h.Heads())
		e := h.Next(step.Task, step.Actor, step.Say(stateOf(h), stateOf(h).Task(step.Task)))
		dry, err := h.Writer.Submit(t.Context(), ledger.Request{Export: e.Export(), DryRun: true})
		if err != nil || !dry.DryRun || dry.Rule == "" || dry.Position != 0 || dry.Head != "" {
			t.Fatalf("%s: %+v, %v", e.Type, dry, err)
		}
		if h.Last() != before || len(h.Heads()) != heads {
			t.Fatalf("%s: a dry run wrote", e.Type)
		}
		ack, err := h.Submit(e)
		if err != nil || ack.Rule != dry.Rule || ack.Hash != dry.Hash {
			t.Fatalf("%s: %+v, %v; dry %+v", e.Type, ack, err, dry)
		}
		again, err := h.Writer.Submit(t.Context(), ledger.Request{Export: e.Export(), DryRun: true})
		if err != nil || !again.Existing || again.Position != ack.Position {
			t.Fatalf("%s dry again: %+v, %v", e.Type, again, err)
		}
	}
	h.Audit()
}

// TestAuthorsClock takes any time attribute: the order of the journal counts,
// the audit notes a clock that runs ahead, and no term depends on it.
func TestAuthorsClock(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	at := func(actor string, when time.Time, p events.Payload) ledger.Ack {
		t.Helper()
		e := h.Draft(stateOf(h), "TASK-1", actor, p)
		e.Time = events.FormatTime(when)
		ack, err := h.Submit(ledgertest.Seal(e, actor))
		if err != nil {
			t.Fatalf("%s at %s: %v", e.Type, e.Time, err)
		}
		return ack
	}
	steps := ledgertest.Start("TASK-1")
	h.Play(steps[:3])
	ahead := h.Clock.Now().Add(10 * time.Minute)
	claim := at(ledgertest.ImplA, ahead, steps[3].Say(stateOf(h), stateOf(h).Task("TASK-1")))
	at(ledgertest.Auditor, time.Unix(0, 0).UTC(), finding("from 1970"))
	at(ledgertest.Auditor, ahead, finding("from the future"))
	audit := h.Audit()
	if len(audit.Notes) != 2 {
		t.Errorf("notes %q, want one for each event that runs ahead", audit.Notes)
	}
	h.Clock.Advance(61 * time.Second)
	_, err := h.Try("TASK-1", ledgertest.Auditor, finding("look"))
	wantRefusal(t, err, ledger.Conflict, ledger.CodeHead)
	wantInterrupted(t, h)
	if deadline := ahead.UnixNano(); claim.Admitted >= deadline {
		t.Errorf("the claim's stamp %d is the author's time", claim.Admitted)
	}
}

// TestClockSetBack keeps stamps monotone, so that history stays valid.
func TestClockSetBack(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	first := h.Do("TASK-1", ledgertest.Founder, projectionstest.Contract(1))
	h.Clock.Advance(-time.Hour)
	second := h.Do("TASK-1", ledgertest.Auditor, finding("one"))
	if second.Admitted < first.Admitted {
		t.Errorf("stamp %d after %d", second.Admitted, first.Admitted)
	}
	h.Audit()
}

// TestHeads gives every acknowledgement a head, and a proof that it continues
// the head that the client knows.
func TestHeads(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	known := uint64(3)
	for n := range 5 {
		e := h.Next("TASK-1", ledgertest.Founder, projectionstest.Contract(1))
		if n > 0 {
			e = h.Next("TASK-1", ledgertest.Auditor, finding(fmt.Sprint(n)))
		}
		ack, err := h.Writer.Submit(t.Context(), ledger.Request{Export: e.Export(), Known: known})
		if err != nil {
			t.Fatal(err)
		}
		next := openHead(t, h, []byte(ack.Head))
		if next.Size != uint64(ack.Position) {
			t.Errorf("head of size %d acknowledges position %d", next.Size, ack.Position)
		}
		checkContinues(t, h, known, next, ack.Consistency)
		known = next.Size
	}
	text, proof, err := h.Writer.Head(3)
	if err != nil {
		t.Fatal(err)
	}
	checkContinues(t, h, 3, openHead(t, h, text), proof)
}

// TestClosed refuses what comes after Close, and says that nothing was
// written.
func TestClosed(t *testing.T) {
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	e := h.Next("TASK-1", ledgertest.Founder, projectionstest.Contract(1))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Writer.Submit(ended, ledger.Request{Export: e.Export()}); err == nil {
		t.Error("a submission whose context ended was acknowledged")
	} else if r := ledger.AsRefusal(err); r.Class != ledger.Unavailable && r.Class != ledger.Unknown {
		t.Errorf("got %v", err)
	}
	h.Writer.Close()
	h.Writer.Close()
	last, err := h.Journal.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Submit(e)
	if r := ledger.AsRefusal(err); r.Class != ledger.Unavailable && r.Class != ledger.Unknown {
		t.Errorf("after Close: %v", err)
	}
	if after, err := h.Journal.Last(t.Context()); err != nil || after != last {
		t.Errorf("the journal grew to %d, %v", after, err)
	}
	if h.State("TASK-1") != projections.None {
		t.Error("the task exists")
	}
}
