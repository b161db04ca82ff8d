package server_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server/protocol"
	"github.com/nats-io/nats.go"
)

// wire is a raw connection with a client's credential, which obeys no rule of
// the client package.
type wire struct {
	*nats.Conn
	denied chan error
}

func newWire(t *testing.T, l *servicetest.Ledger, url string) wire {
	t.Helper()
	c := l.Config(t, url, "")
	w := wire{denied: make(chan error, 64)}
	var err error
	w.Conn, err = nats.Connect(url, nats.UserInfo(c.User, c.Password),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { w.denied <- err }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// ask sends any bytes and returns the refusal in the answer, or nothing.
func (w wire) ask(t *testing.T, subject string, body []byte, headers ...string) (ledger.Class, ledger.Code) {
	t.Helper()
	m := nats.NewMsg(subject)
	m.Data = body
	for i := 0; i+1 < len(headers); i += 2 {
		m.Header.Add(headers[i], headers[i+1])
	}
	reply, err := w.RequestMsgWithContext(servicetest.Within(t), m)
	if err != nil {
		t.Fatalf("%s: no answer: %v", subject, err)
	}
	var data any
	err = protocol.Decode(reply.Data, reply.Header.Get(protocol.HeaderEncoding) == "gzip", &data)
	class, code := refusal(err)
	if err != nil && class == "" {
		t.Fatalf("%s: answer %q: %v", subject, reply.Data, err)
	}
	return class, code
}

// position returns how many events the ledger has.
func position(t *testing.T, c *client.Client) events.Position {
	t.Helper()
	s, err := c.Status(servicetest.Within(t))
	if err != nil {
		t.Fatal(err)
	}
	return s.Position
}

func TestSubmitRefuses(t *testing.T) {
	l := servicetest.New(t)
	local := l.Run(t)
	w := newWire(t, l, local.URL())
	good, err := chain(t, l, "TASK-1").Next()
	if err != nil {
		t.Fatal(err)
	}
	whole := string(good.Export())
	foreign := good
	foreign.Source.Ledger = "another"
	later := good
	later.Sequence = 2
	tests := map[string]struct {
		body string
		want ledger.Code
	}{
		"nothing": {"", ledger.CodeForm}, "no JSON": {"junk", ledger.CodeForm}, "bytes": {"\x00\xff\xfe{", ledger.CodeForm},
		"null": {"null", ledger.CodeForm}, "a list": {"[" + whole + "]", ledger.CodeForm}, "no members": {"{}", ledger.CodeForm},
		"cut": {whole[:len(whole)-1], ledger.CodeForm}, "twice": {whole + whole, ledger.CodeForm}, "a space more": {whole + " ", ledger.CodeForm},
		"deep":            {strings.Repeat("[", 50_000), ledger.CodeForm},
		"too large":       {strings.Repeat(" ", events.MaxExport+1), ledger.CodeLimit},
		"nearly a MiB":    {strings.Repeat("{", 1<<20-4096), ledger.CodeLimit},
		"another data":    {strings.Replace(whole, `"quorum":1`, `"quorum":2`, 1), ledger.CodeSignature},
		"another actor":   {strings.Replace(whole, `"authid":"ann"`, `"authid":"bob"`, 1), ledger.CodeSignature},
		"another ledger":  {string(foreign.Export()), ledger.CodeSignature},
		"another place":   {string(later.Export()), ledger.CodeSignature},
		"an unknown type": {strings.ReplaceAll(whole, "contract.proposed", "contract.dreamt"), ledger.CodeForm},
	}
	for name, test := range tests {
		for _, headers := range [][]string{nil, {protocol.HeaderDryRun, "true"}} {
			class, code := w.ask(t, protocol.SubjectSubmit(servicetest.Name), []byte(test.body), headers...)
			if class != ledger.Refused || code != test.want {
				t.Errorf("submit %s with headers %v: %s %s, want refused %s", name, headers, class, code, test.want)
			}
		}
	}
	c := servicetest.Dial(t, l.Config(t, local.URL(), ""))
	if at := position(t, c); at != 1 {
		t.Errorf("ledger has %d events after refusals, want 1", at)
	}
	// Headers that make no sense ask for nothing.
	class, _ := w.ask(t, protocol.SubjectSubmit(servicetest.Name), []byte(whole), protocol.HeaderKnown, "-1", protocol.HeaderKnown, "junk", "Other", "x")
	if class != "" || position(t, c) != 2 {
		t.Errorf("a good event with odd headers: %s, at %d", class, position(t, c))
	}
}

func TestQueriesRefuse(t *testing.T) {
	l := servicetest.New(t)
	local := l.Run(t)
	w := newWire(t, l, local.URL())
	appendAll(t, servicetest.Dial(t, l.Config(t, local.URL(), "")), chain(t, l, "TASK-1"), 2)
	queries := []string{
		protocol.QueryStatus, protocol.QueryTasks, protocol.QueryTask, protocol.QueryRegistry, protocol.QueryEvent, protocol.QueryPacket,
		protocol.QueryProof, protocol.QueryConsistency,
	}
	junk := []string{"junk", "[]", `"x"`, `{"more":1}`, `{"task":1}`, `{"task":"A","task":"B"}`, `{} {}`, "\xff", `{"known":-1}`, `{"limit":1e400}`, strings.Repeat("[", 20_000)}
	for _, q := range queries {
		for _, body := range junk {
			if class, code := w.ask(t, protocol.SubjectQuery(servicetest.Name, q), []byte(body)); class != ledger.Refused || code != ledger.CodeForm {
				t.Errorf("query %s with %.20q: %s %s, want refused form", q, body, class, code)
			}
		}
	}
	for _, test := range []struct {
		query, body string
		want        ledger.Code
	}{
		{protocol.QueryTask, `{}`, ledger.CodeNotFound}, {protocol.QueryTask, `{"task":"TASK-2"}`, ledger.CodeNotFound},
		{protocol.QueryTask, `{"task":"../\u001b[31m"}`, ledger.CodeNotFound}, {protocol.QueryEvent, `{"event":"x"}`, ledger.CodeNotFound},
		{protocol.QueryPacket, `{"task":"TASK-2","packet":"resume"}`, ledger.CodeNotFound}, {protocol.QueryPacket, `{"task":"TASK-1"}`, ledger.CodeForm},
		{protocol.QueryPacket, `{"task":"TASK-1","packet":"other"}`, ledger.CodeForm}, {protocol.QueryProof, `{}`, ledger.CodeNotFound},
		{protocol.QueryProof, `{"at":4}`, ledger.CodeNotFound}, {protocol.QueryProof, `{"at":-1}`, ledger.CodeForm},
		{protocol.QueryProof, `{"at":9223372036854775807}`, ledger.CodeNotFound}, {protocol.QueryConsistency, `{}`, ledger.CodeNotFound},
		{protocol.QueryConsistency, `{"known":2,"size":1}`, ledger.CodeNotFound}, {protocol.QueryConsistency, `{"known":1,"size":4}`, ledger.CodeNotFound},
		{protocol.QueryConsistency, `{"known":18446744073709551615,"size":18446744073709551615}`, ledger.CodeNotFound},
	} {
		if class, code := w.ask(t, protocol.SubjectQuery(servicetest.Name, test.query), []byte(test.body)); class != ledger.Refused || code != test.want {
			t.Errorf("query %s with %s: %s %s, want refused %s", test.query, test.body, class, code, test.want)
		}
	}
	for _, test := range [][2]string{
		{protocol.QueryStatus, ``}, {protocol.QueryStatus, `{"known":18446744073709551615}`}, {protocol.QueryTasks, ``}, {protocol.QueryRegistry, `{}`},
		{protocol.QueryTask, `{"task":"TASK-1"}`}, {protocol.QueryProof, `{"at":3}`}, {protocol.QueryConsistency, `{"known":1,"size":3}`},
		{protocol.QueryPacket, `{"task":"TASK-1","packet":"resume","limit":-1}`}, {protocol.QueryPacket, `{"task":"TASK-1","packet":"review"}`},
	} {
		if class, code := w.ask(t, protocol.SubjectQuery(servicetest.Name, test[0]), []byte(test[1])); class != "" {
			t.Errorf("query %s with %q: %s %s", test[0], test[1], class, code)
		}
	}
}

func TestRenewRefuses(t *testing.T) {
	l := servicetest.New(t)
	w := newWire(t, l, l.Run(t).URL())
	stranger, err := ledger.SealHeartbeat(ledger.Heartbeat{Ledger: servicetest.Name, Task: "TASK-1", Fence: 1, Number: 1}, l.Story.Key("impl-a"))
	if err != nil {
		t.Fatal(err)
	}
	known, err := ledger.SealHeartbeat(ledger.Heartbeat{Ledger: servicetest.Name, Task: "TASK-1", Fence: 1, Number: 1}, l.Story.Key("ann"))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		body []byte
		want ledger.Code
	}{
		"nothing": {nil, ledger.CodeSignature}, "junk": {[]byte("junk"), ledger.CodeSignature}, "large": {make([]byte, 100_000), ledger.CodeSignature},
		"by a stranger": {stranger, ledger.CodeSignature}, "cut": {known[:len(known)-2], ledger.CodeSignature}, "without a lease": {known, ledger.CodeFence},
	} {
		if class, code := w.ask(t, protocol.SubjectRenew(servicetest.Name), test.body); class != ledger.Refused || code != test.want {
			t.Errorf("renew with %s: %s %s, want refused %s", name, class, code, test.want)
		}
	}
}

func TestWrongCredential(t *testing.T) {
	l := servicetest.New(t)
	local := l.Run(t)
	for name, change := range map[string]func(*client.Config){
		"no password": func(c *client.Config) { c.Password = "" }, "a cut password": func(c *client.Config) { c.Password = c.Password[1:] },
		"the service's name": func(c *client.Config) { c.User = "service" }, "nobody": func(c *client.Config) { c.User, c.Password = "", "" },
	} {
		c := l.Config(t, local.URL(), "")
		change(&c)
		_, err := client.Dial(c)
		if class, code := refusal(err); class != ledger.Refused || code != ledger.CodeRule {
			t.Errorf("dial with %s: %v, want refused by a rule", name, err)
		}
	}
	c := l.Config(t, "nats://127.0.0.1:1", "")
	_, err := client.Dial(c)
	if class, _ := refusal(err); class != ledger.Unavailable {
		t.Errorf("dial nobody: %v, want unavailable", err)
	}
}

// TestClientMayNotTouchTheStream: with a client's credential and without the
// client package nobody gets past the service.
func TestClientMayNotTouchTheStream(t *testing.T) {
	l := servicetest.New(t)
	local := l.Run(t)
	c := servicetest.Dial(t, l.Config(t, local.URL(), ""))
	appendAll(t, c, chain(t, l, "TASK-1"), 2)
	w := newWire(t, l, local.URL())
	next := chain(t, l, "TASK-9")
	e, err := next.Next()
	if err != nil {
		t.Fatal(err)
	}
	stream := "DEED_" + servicetest.Name
	for _, subject := range []string{
		e.Source.Subject(), "deed.acme.ev.registry", "deed.acme.ev.task.TASK-1", "deed.acme.ev.other", "deed.acme", "deed.other.v1.submit",
		"$JS.API.STREAM.DELETE." + stream, "$JS.API.STREAM.PURGE." + stream, "$JS.API.STREAM.UPDATE." + stream, "$JS.API.STREAM.CREATE.OTHER",
		"$JS.API.STREAM.MSG.DELETE." + stream, "$JS.API.STREAM.SNAPSHOT." + stream, "$JS.API.STREAM.RESTORE." + stream,
		"$JS.API.STREAM.LIST", "$JS.API.CONSUMER.CREATE.OTHER.x", "$JS.API.ACCOUNT.PURGE.x", "$SYS.REQ.SERVER.PING", "_SERVICE.any",
	} {
		m := nats.NewMsg(subject)
		m.Reply = w.NewRespInbox()
		m.Data = []byte(`{"seq":1}`)
		if strings.HasPrefix(subject, "deed.") {
			for name, value := range e.Headers() {
				m.Header[name] = []string{value}
			}
			m.Data = e.Data
		}
		if err := errors.Join(w.PublishMsg(m), w.FlushWithContext(servicetest.Within(t))); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-w.denied:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("publish to %s: %v, want a permission violation", subject, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("publish to %s is not refused", subject)
		}
	}
	for _, subject := range []string{"deed.acme.ev.>", "deed.acme.v1.submit", "_SERVICE.>", ">", "$SYS.>"} {
		if _, err := w.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		if err := w.FlushWithContext(servicetest.Within(t)); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-w.denied:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("subscribe to %s: %v, want a permission violation", subject, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("subscription to %s is not refused", subject)
		}
	}
	if at := position(t, c); at != 3 {
		t.Errorf("ledger has %d events, want 3", at)
	}
	appendAll(t, c, next, 1) // the service works on
}

// TestStopAnswers: a service that is stopped answers what it has taken: for
// whatever is in the ledger afterwards there was an acknowledgement.
func TestStopAnswers(t *testing.T) {
	const clients, rounds = 32, 5
	l := servicetest.New(t)
	total := 0
	for round := range rounds {
		local := l.Run(t)
		config := l.Config(t, local.URL(), "")
		var outcome stopOutcome
		var group sync.WaitGroup
		var begun sync.WaitGroup
		begun.Add(clients)
		for i := range clients {
			task := chain(t, l, fmt.Sprintf("TASK-%d-%d", round, i))
			group.Go(func() { submitUntilStopped(t, config, task, sync.OnceFunc(begun.Done), &outcome) })
		}
		begun.Wait()
		if err := local.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
		group.Wait()
		total += int(outcome.acked.Load())
		local = l.Run(t)
		if at := position(t, servicetest.Dial(t, l.Config(t, local.URL(), ""))); at != events.Position(total+1) {
			t.Fatalf("ledger has %d events, %d were acknowledged", at, total+1)
		}
		if err := local.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d acknowledged, %d answered that nothing was written, %d not taken", outcome.acked.Load(), outcome.refused.Load(), outcome.lost.Load())
	}
}

// stopOutcome counts what clients of a service that stops were told.
type stopOutcome struct{ acked, refused, lost atomic.Int64 }

// submitUntilStopped submits one event after the other until the service is
// gone: an answer that it is stopping, nobody there, or no server any more. It
// calls begun after the first answer.
func submitUntilStopped(t *testing.T, c client.Config, task *servicetest.Chain, begun func(), outcome *stopOutcome) {
	defer begun()
	closed, replies := make(chan struct{}), make(chan *nats.Msg, 1)
	conn, err := nats.Connect(c.URL, nats.UserInfo(c.User, c.Password), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	inbox := conn.NewRespInbox()
	if _, err := conn.ChanSubscribe(inbox, replies); err != nil {
		t.Error(err)
		return
	}
	for {
		e, err := task.Next()
		if err != nil {
			t.Error(err)
			return
		}
		if err := conn.PublishRequest(protocol.SubjectSubmit(c.Ledger), inbox, e.Export()); err != nil {
			outcome.lost.Add(1)
			return
		}
		var reply *nats.Msg
		select {
		case reply = <-replies:
		case <-closed:
			select {
			case reply = <-replies: // it came before the end
			default:
				outcome.lost.Add(1)
				return
			}
		}
		if reply.Header.Get("Status") == "503" { // nobody there
			outcome.refused.Add(1)
			return
		}
		var done protocol.Submitted
		err = protocol.Decode(reply.Data, false, &done)
		switch class, _ := refusal(err); {
		case err == nil:
			outcome.acked.Add(1)
			task.Took(e)
		case class == ledger.Unavailable:
			outcome.refused.Add(1)
			return
		default:
			t.Errorf("event %d of %s: %v", e.Sequence, e.Source.Task, err)
			return
		}
		begun()
	}
}
