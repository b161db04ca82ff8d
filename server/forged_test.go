package server_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections/projectionstest"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/signer"
	"github.com/nats-io/nats.go"
)

// TestForgedInbox: a client of the clients' account reaches no other client's
// inbox, whatever it says there: an acknowledgement, an answer or a renewal.
func TestForgedInbox(t *testing.T) {
	o := single(t)
	denied := make(chan string, 1024)
	nc, err := o.Client.Connect(o.URL, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err.Error() }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	victim, err := o.Client.Connect(o.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(victim.Close)
	inbox := victim.NewInbox()
	heard, err := victim.SubscribeSync(inbox)
	if err == nil {
		err = victim.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{`{"eventId":"x","position":1}`, `{"tasks":[]}`, `{}`} {
		if err := nc.Publish(inbox, []byte(body)); err != nil {
			t.Fatal(err)
		}
		awaitDenied(t, denied, inbox)
	}
	// What the server had let through would be before this.
	if err := victim.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, err := heard.Pending(); err != nil || n != 0 {
		t.Errorf("%d messages reached another's inbox, error %v", n, err)
	}
}

// forger answers for the service, as only somebody in the service's account can.
type forger struct {
	t      *testing.T
	answer any
}

func (f *forger) reply(m *nats.Msg) {
	text, compressed := protocol.Encode(f.answer, nil)
	answer := nats.NewMsg(m.Reply)
	answer.Data = text
	if compressed {
		answer.Header.Set(protocol.HeaderEncoding, "gzip")
	}
	if err := m.RespondMsg(answer); err != nil {
		f.t.Errorf("forge: %v", err)
	}
}

// TestForgedAnswers: what a client takes from whoever answers in the service's
// place: nothing that needs the service's signature. Answers to other queries,
// and to heartbeats, carry none: it takes those, as docs/design.md says.
func TestForgedAnswers(t *testing.T) {
	o := single(t)
	l := servicetest.NewExternal(t, o)
	local := runExternal(t, servicetest.ExternalOptions(l.Folder.Dir, o))
	awaitTrue(t, "leading", local.Writer().Leading)
	c := servicetest.Dial(t, l.ExternalConfig(t, o, ""))
	tasks := chain(t, l, "TASK-1")
	first, err := tasks.Next()
	if err != nil {
		t.Fatal(err)
	}
	var good ledger.Ack
	awaitTrue(t, "answered", func() bool { good, err = c.Submit(servicetest.Within(t), first, false); return !open(err) })
	if err != nil {
		t.Fatal(err)
	}
	tasks.Took(first)
	if err := local.Close(); err != nil {
		t.Fatal(err)
	}
	e, err := tasks.Next()
	if err != nil {
		t.Fatal(err)
	}
	f := &forger{t: t}
	nc := dialService(t, o)
	if _, err := nc.Subscribe("deed."+servicetest.Name+".v1.>", f.reply); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	ack := func(head string, at events.Position) protocol.Submitted {
		return protocol.Submitted{Ack: ledger.Ack{EventID: e.ID, Hash: e.Hash().String(), Position: at, Head: head}}
	}
	for name, forged := range map[string]protocol.Submitted{
		"no head":                    ack("", good.Position+1),
		"a head by another key":      ack(otherHead(t, l, 99), good.Position+1),
		"a head that was cut":        ack(good.Head[:len(good.Head)/2], good.Position+1),
		"an older head":              ack(good.Head, good.Position+1),
		"no position":                ack(good.Head, 0),
		"the answer to another":      {Ack: good},
		"a head with another's size": ack(strings.Replace(good.Head, "\n2\n", "\n9\n", 1), good.Position+1),
	} {
		f.answer = forged
		if got, err := c.Submit(servicetest.Within(t), e, false); err == nil {
			t.Errorf("%s: acknowledged as %+v", name, got)
		}
	}
	for name, head := range map[string]string{"no head": "", "a head by another key": otherHead(t, l, 99)} {
		f.answer = protocol.Status{Ledger: servicetest.Name, Position: 99, Head: head}
		if got, err := c.Status(servicetest.Within(t)); err == nil {
			t.Errorf("status with %s: %+v", name, got)
		}
	}
	// A head says nothing about one event: a proof of inclusion does.
	f.answer = ack(good.Head, good.Position)
	if _, err := c.Submit(servicetest.Within(t), e, false); err != nil {
		t.Errorf("an acknowledgement at a position that the head covers: %v", err)
	}
	f.unsigned(c, l)
}

// unsigned shows what a client cannot tell from the service's own.
func (f *forger) unsigned(c *client.Client, l *servicetest.Ledger) {
	f.t.Helper()
	f.answer = protocol.Tasks{}
	if _, err := c.Tasks(servicetest.Within(f.t)); err != nil {
		f.t.Errorf("tasks: %v", err)
	}
	f.answer = struct{}{}
	if err := c.Renew(context.Background(), ledger.Heartbeat{Task: "TASK-1", Fence: 1, Number: 1}, l.Story.Key(projectionstest.Founder)); err != nil {
		f.t.Errorf("renew: %v", err)
	}
}

// otherHead is a head of the ledger that its service did not sign.
func otherHead(t *testing.T, l *servicetest.Ledger, size uint64) string {
	t.Helper()
	key, err := signer.GenerateKey(bytes.NewReader(bytes.Repeat([]byte("f"), 64)))
	if err != nil {
		t.Fatal(err)
	}
	head, err := evidence.SignHead(evidence.Head{Ledger: servicetest.Name, Identity: l.Identity(t), Size: size}, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(head)
}
