package client_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/internal/natstest"
	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server/protocol"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"
)

// middle stands between a client and a real service. What it does with each
// request is the test's.
type middle struct {
	ledger *servicetest.Ledger
	direct client.Config // past the middle
	config client.Config // through it

	up    *nats.Conn
	relay atomic.Pointer[func(m *nats.Msg)]
}

func newMiddle(t *testing.T) *middle {
	t.Helper()
	l := servicetest.New(t)
	x := &middle{ledger: l, direct: l.Config(t, l.Run(t).URL(), "")}
	c := natstest.Config(t)
	c.Ledger, c.Listen = servicetest.Name, "127.0.0.1:0"
	s := natstest.Start(t, c)
	x.config = x.direct
	x.config.URL, x.config.Password, x.config.Timeout = s.URL(), c.ClientPassword, 200*time.Millisecond
	x.config.HeadPath = filepath.Join(t.TempDir(), "head")
	var err error
	if x.up, err = nats.Connect(x.direct.URL, nats.UserInfo(x.direct.User, x.direct.Password)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.up.Close)
	x.does(func(m *nats.Msg) { _ = m.RespondMsg(x.forward(t, m)) })
	down := natstest.Connect(t, s)
	if _, err := down.Subscribe("deed."+servicetest.Name+".v1.>", func(m *nats.Msg) { (*x.relay.Load())(m) }); err != nil {
		t.Fatal(err)
	}
	if err := down.Flush(); err != nil {
		t.Fatal(err)
	}
	return x
}

// does sets what happens to requests from now on.
func (x *middle) does(relay func(m *nats.Msg)) { x.relay.Store(&relay) }

// forward sends a request to the service and returns its answer.
func (x *middle) forward(t *testing.T, m *nats.Msg) *nats.Msg {
	reply, err := x.up.RequestMsg(&nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}, time.Minute)
	if err != nil {
		t.Errorf("forward: %v", err)
		return &nats.Msg{}
	}
	return &nats.Msg{Header: reply.Header, Data: reply.Data}
}

// alters changes the data of every answer.
func (x *middle) alters(t *testing.T, change func(data map[string]any)) {
	x.does(func(m *nats.Msg) {
		var data map[string]any
		if err := protocol.Decode(x.forward(t, m).Data, false, &data); err != nil {
			t.Errorf("forward: %v", err)
			return
		}
		change(data)
		body, _ := protocol.Encode(data, nil)
		_ = m.Respond(body)
	})
}

func class(err error) ledger.Class {
	if r, ok := errors.AsType[*ledger.Refusal](err); ok {
		return r.Class
	}
	return ""
}

// next returns the next event of a chain.
func next(t *testing.T, chain *servicetest.Chain) events.Event {
	t.Helper()
	e, err := chain.Next()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// begin returns the first event of a task.
func begin(t *testing.T, l *servicetest.Ledger, task string) events.Event {
	t.Helper()
	chain, err := l.Chain(task)
	if err != nil {
		t.Fatal(err)
	}
	return next(t, chain)
}

// TestSubmitSettles drops answers, and requests: the client submits the same
// bytes until it is answered, and the event is there once.
func TestSubmitSettles(t *testing.T) {
	x := newMiddle(t)
	direct := servicetest.Dial(t, x.direct)
	for i, test := range []struct {
		requests, answers int // dropped
		existing          bool
	}{{0, 0, false}, {1, 0, false}, {0, 1, true}, {2, 2, true}, {0, 4, true}, {4, 0, false}} {
		requests, answers := test.requests, test.answers
		x.does(func(m *nats.Msg) {
			if requests > 0 {
				requests--
				return
			}
			reply := x.forward(t, m)
			if answers > 0 {
				answers--
				return
			}
			_ = m.RespondMsg(reply)
		})
		e := begin(t, x.ledger, fmt.Sprintf("TASK-%d", i))
		c := servicetest.Dial(t, x.config)
		ack, err := c.Submit(servicetest.Within(t), e, false)
		if err != nil || ack.Existing != test.existing || ack.EventID != e.ID || ack.Hash != e.Hash().String() {
			t.Errorf("%+v: %+v, %v", test, ack, err)
		}
		if head, ok, err := c.Head(); err != nil || !ok || head.Size != uint64(ack.Position) {
			t.Errorf("%+v: remembers %+v, %t, %v after position %d", test, head, ok, err, ack.Position)
		}
		if s, err := direct.Status(servicetest.Within(t)); err != nil || s.Position != events.Position(i+2) {
			t.Errorf("%+v: ledger has %d events, %v, want %d", test, s.Position, err, i+2)
		}
	}
}

// TestSubmitUnknown: what nobody answers stays unknown, also when the last
// answers say that nothing was written by them.
func TestSubmitUnknown(t *testing.T) {
	x := newMiddle(t)
	direct := servicetest.Dial(t, x.direct)
	stopping, _ := protocol.Encode(nil, &ledger.Refusal{Class: ledger.Unavailable, Code: ledger.CodeBusy, Rule: "service", Text: "stopping"})
	unknown, _ := protocol.Encode(nil, &ledger.Refusal{Class: ledger.Unknown, Code: ledger.CodeBusy, Rule: "service", Text: "no answer in time"})
	for i, test := range []struct {
		name    string
		answers [][]byte // nil is dropped; the last is repeated
		want    ledger.Class
	}{
		{"nothing", [][]byte{nil}, ledger.Unknown},
		{"nothing, then stopping", [][]byte{nil, stopping}, ledger.Unknown},
		{"unknown, then stopping", [][]byte{unknown, stopping}, ledger.Unknown},
		{"junk, then stopping", [][]byte{[]byte("junk"), stopping}, ledger.Unknown},
		{"junk", [][]byte{[]byte("{}")}, ledger.Unknown},
		{"stopping", [][]byte{stopping}, ledger.Unavailable},
	} {
		n := 0
		x.does(func(m *nats.Msg) {
			answer := test.answers[min(n, len(test.answers)-1)]
			if n++; n == 1 && test.want == ledger.Unknown {
				x.forward(t, m)
			}
			if answer != nil {
				_ = m.Respond(answer)
			}
		})
		e := begin(t, x.ledger, fmt.Sprintf("TASK-%d", i))
		_, err := servicetest.Dial(t, x.config).Submit(servicetest.Within(t), e, false)
		if class(err) != test.want {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
		at, err := direct.Locate(servicetest.Within(t), e.ID)
		if written := err == nil && at.Hash == e.Hash().String(); written != (test.want == ledger.Unknown) {
			t.Errorf("%s: event is at %+v, %v", test.name, at, err)
		}
	}
}

// TestSubmitGivesUp: a context that ends ends the tries.
func TestSubmitGivesUp(t *testing.T) {
	x := newMiddle(t)
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	x.does(func(*nats.Msg) { tries++; cancel() })
	if _, err := servicetest.Dial(t, x.config).Submit(ctx, begin(t, x.ledger, "TASK-1"), false); class(err) != ledger.Unknown || tries != 1 {
		t.Errorf("%d tries, %v, want one and unknown", tries, err)
	}
}

// TestTooLarge: what the connection cannot carry was never sent.
func TestTooLarge(t *testing.T) {
	x := newMiddle(t)
	e := begin(t, x.ledger, "TASK-1")
	e.Data = []byte(`{"text":"` + strings.Repeat("x", 2<<20) + `"}`)
	if _, err := servicetest.Dial(t, x.config).Submit(servicetest.Within(t), e, false); class(err) != ledger.Refused {
		t.Errorf("2 MiB: %v, want refused", err)
	}
}

// TestJunkAnswers: an answer that no service gives changes nothing.
func TestJunkAnswers(t *testing.T) {
	x := newMiddle(t)
	c := servicetest.Dial(t, x.config)
	for _, junk := range []string{
		"", "junk", "null", "[]", "{}", `{"data":null,"data":null}`, `{"data":7}`, `{"data":"x"}`, `{"refusal":{}}`, `{"refusal":{"class":"maybe"}}`,
		`{"refusal":{"class":"refused"},"data":{}}`, `{"data":{"position":"x"}}`, `{"data":{}} {"data":{}}`, "\x1f\x8b\x08",
	} {
		x.does(func(m *nats.Msg) { _ = m.Respond([]byte(junk)) })
		if s, err := c.Status(servicetest.Within(t)); err == nil || s.Ledger != "" || s.Head != "" {
			t.Errorf("status from %q: %+v, %v", junk, s, err)
		}
		if _, err := c.Tasks(servicetest.Within(t)); class(err) != ledger.Unavailable && !strings.HasPrefix(junk, `{"data":{`) {
			t.Errorf("tasks from %q: %v, want unavailable", junk, err)
		}
	}
	x.does(func(m *nats.Msg) {
		_ = m.RespondMsg(&nats.Msg{Header: nats.Header{protocol.HeaderEncoding: {"gzip"}}, Data: []byte("no gzip")})
	})
	if _, err := c.Tasks(servicetest.Within(t)); class(err) != ledger.Unavailable {
		t.Errorf("tasks from what is no gzip: %v, want unavailable", err)
	}
	if _, ok, err := c.Head(); ok || err != nil {
		t.Errorf("junk is remembered as a head: %t, %v", ok, err)
	}
}

// TestForeignAck: an acknowledgement of another event is none.
func TestForeignAck(t *testing.T) {
	x := newMiddle(t)
	for name, change := range map[string]func(map[string]any){
		"another id":   func(d map[string]any) { d["eventId"] = "01890a5d-ac96-774b-bcce-000000000001" },
		"another hash": func(d map[string]any) { d["hash"] = events.Sum([]byte("x")).String() },
		"no id":        func(d map[string]any) { delete(d, "eventId") },
	} {
		x.alters(t, func(d map[string]any) { change(d); delete(d, "existing") })
		_, err := servicetest.Dial(t, x.config).Submit(servicetest.Within(t), begin(t, x.ledger, "TASK-"+strings.ReplaceAll(name, " ", "-")), false)
		if class(err) != ledger.Unknown {
			t.Errorf("%s: %v, want unknown", name, err)
		}
	}
}

// TestHeads: a head that does not continue the remembered one is an error, and
// the remembered one stays.
func TestHeads(t *testing.T) {
	x := newMiddle(t)
	c := servicetest.Dial(t, x.config)
	chain, err := x.ledger.Chain("TASK-1")
	if err != nil {
		t.Fatal(err)
	}
	grow := func() {
		e := next(t, chain)
		if _, err := servicetest.Dial(t, x.direct).Submit(servicetest.Within(t), e, false); err != nil {
			t.Fatal(err)
		}
		chain.Took(e)
	}
	grow()
	early, err := c.Status(servicetest.Within(t))
	if err != nil {
		t.Fatal(err)
	}
	grow()
	if _, err := c.Status(servicetest.Within(t)); err != nil {
		t.Fatal(err)
	}
	kept, _, err := c.Head()
	if err != nil || kept.Size != 3 {
		t.Fatalf("remembers %+v, %v", kept, err)
	}
	grow()
	other := servicetest.New(t)
	foreign, err := servicetest.Dial(t, other.Config(t, other.Run(t).URL(), "")).Status(servicetest.Within(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(map[string]any)
		want   error
	}{
		"an earlier head":        {func(d map[string]any) { d["head"] = early.Head }, evidence.ErrRollback},
		"another ledger's head":  {func(d map[string]any) { d["head"] = foreign.Head }, evidence.ErrHeadOrigin},
		"no head":                {func(d map[string]any) { delete(d, "head") }, evidence.ErrHeadForm},
		"a cut head":             {func(d map[string]any) { d["head"] = early.Head[:len(early.Head)-3] }, evidence.ErrHeadForm},
		"another size":           {func(d map[string]any) { d["head"] = strings.Replace(d["head"].(string), "\n4\n", "\n5\n", 1) }, evidence.ErrHeadSignature},
		"no proof":               {func(d map[string]any) { delete(d, "consistency") }, evidence.ErrForked},
		"a proof of other nodes": {func(d map[string]any) { d["consistency"] = []any{events.Sum([]byte("x")).String()} }, evidence.ErrForked},
	} {
		x.alters(t, test.change)
		if s, err := c.Status(servicetest.Within(t)); !errors.Is(err, test.want) || s.Head != "" {
			t.Errorf("%s: %+v, %v, want %v", name, s, err, test.want)
		}
		if now, _, err := c.Head(); err != nil || now != kept {
			t.Errorf("%s: remembers %+v, %v, want %+v", name, now, err, kept)
		}
	}
	x.does(func(m *nats.Msg) { _ = m.RespondMsg(x.forward(t, m)) })
	if _, err := c.Status(servicetest.Within(t)); err != nil {
		t.Errorf("a good head after bad ones: %v", err)
	}
}

// TestSharedHeads: processes that share a file of heads do not stop each other,
// and the largest head is kept.
func TestSharedHeads(t *testing.T) {
	const clients, each = 4, 15
	l := servicetest.New(t)
	config := l.Config(t, l.Run(t).URL(), filepath.Join(t.TempDir(), "head"))
	var largest atomic.Uint64
	var group sync.WaitGroup
	for i := range clients {
		c := servicetest.Dial(t, config)
		chain, err := l.Chain(fmt.Sprintf("TASK-%d", i))
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			for range each {
				e, err := chain.Next()
				if err != nil {
					t.Error(err)
					return
				}
				ack, err := c.Submit(servicetest.Within(t), e, false)
				if err != nil {
					t.Error(err)
					return
				}
				chain.Took(e)
				for old := largest.Load(); uint64(ack.Position) > old && !largest.CompareAndSwap(old, uint64(ack.Position)); old = largest.Load() {
				}
			}
		})
	}
	group.Wait()
	c := servicetest.Dial(t, config)
	if _, err := c.Status(servicetest.Within(t)); err != nil {
		t.Fatal(err)
	}
	head, ok, err := c.Head()
	if err != nil || !ok || head.Size != clients*each+1 || largest.Load() != head.Size {
		t.Errorf("remembers %+v, %t, %v; largest position %d", head, ok, err, largest.Load())
	}
}

// TestDryRun writes nothing and remembers nothing.
func TestDryRun(t *testing.T) {
	x := newMiddle(t)
	c := servicetest.Dial(t, x.config)
	e := begin(t, x.ledger, "TASK-1")
	ack, err := c.Submit(servicetest.Within(t), e, true)
	if err != nil || !ack.DryRun || ack.Position != 0 || ack.EventID != e.ID {
		t.Errorf("%+v, %v", ack, err)
	}
	if _, ok, err := c.Head(); ok || err != nil {
		t.Errorf("remembers a head: %t, %v", ok, err)
	}
	if _, err := c.Locate(servicetest.Within(t), e.ID); class(err) != ledger.Refused {
		t.Errorf("the event is there: %v", err)
	}
}

// TestProof: a proof is checked against the record that the client holds.
func TestProof(t *testing.T) {
	x := newMiddle(t)
	e := begin(t, x.ledger, "TASK-1")
	c := servicetest.Dial(t, x.config)
	ack, err := c.Submit(servicetest.Within(t), e, false)
	if err != nil {
		t.Fatal(err)
	}
	record := events.Record{Position: ack.Position, Admitted: ack.Admitted, Event: e}
	if p, err := c.Proof(servicetest.Within(t), record); err != nil || p.Position != ack.Position {
		t.Errorf("proof of what is there: %+v, %v", p, err)
	}
	later, moved, other := record, record, record
	later.Admitted++
	moved.Position = 1
	other.Event.Data = []byte(`{}`)
	for name, r := range map[string]events.Record{"another stamp": later, "another position": moved, "another event": other} {
		if _, err := c.Proof(servicetest.Within(t), r); !errors.Is(err, evidence.ErrProof) {
			t.Errorf("proof of %s: %v, want ErrProof", name, err)
		}
	}
	x.alters(t, func(d map[string]any) { d["inclusion"] = []any{events.Sum([]byte("x")).String()} })
	if _, err := c.Proof(servicetest.Within(t), record); !errors.Is(err, evidence.ErrProof) {
		t.Errorf("a proof of other nodes: %v, want ErrProof", err)
	}
	x.alters(t, func(d map[string]any) { d["inclusion"] = []any{"junk"} })
	if _, err := c.Proof(servicetest.Within(t), record); err == nil {
		t.Error("junk is a proof")
	}
}

// TestQueries reads what the service knows.
func TestQueries(t *testing.T) {
	x := newMiddle(t)
	c := servicetest.Dial(t, x.config)
	e := begin(t, x.ledger, "TASK-1")
	if _, err := c.Submit(servicetest.Within(t), e, false); err != nil {
		t.Fatal(err)
	}
	if tasks, err := c.Tasks(servicetest.Within(t)); err != nil || len(tasks.Tasks) != 1 || tasks.Tasks[0].Task != "TASK-1" {
		t.Errorf("tasks: %+v, %v", tasks, err)
	}
	if task, err := c.Task(servicetest.Within(t), "TASK-1"); err != nil || task.Task == nil || task.Task.Sequence != 1 || len(task.Next) == 0 {
		t.Errorf("task: %+v, %v", task, err)
	}
	if g, err := c.Registry(servicetest.Within(t)); err != nil || g.Registry.Identity != x.ledger.Folder.Identity {
		t.Errorf("registry: %+v, %v", g, err)
	}
	if at, err := c.Locate(servicetest.Within(t), e.ID); err != nil || at.Position != 2 || at.Hash != e.Hash().String() {
		t.Errorf("event: %+v, %v", at, err)
	}
	p, err := c.Packet(servicetest.Within(t), protocol.Ask{Task: "TASK-1", Packet: "resume", Actor: "ann", Role: events.RoleOwner})
	if err != nil || !jsontext.Value(p.JSON).IsValid() || p.Markdown == "" || p.Digest == "" {
		t.Errorf("packet: %+v, %v", p, err)
	}
	var parsed map[string]any
	if err := json.Unmarshal([]byte(p.JSON), &parsed); err != nil {
		t.Errorf("packet: %v", err)
	}
	if _, err := evidence.OpenHead([]byte(p.Head), servicetest.Name, x.config.Identity, x.config.Service); err != nil {
		t.Errorf("the packet's head: %v", err)
	}
}
