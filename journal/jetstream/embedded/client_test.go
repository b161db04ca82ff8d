package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/internal/natstest"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/journal/jetstream/embedded"
	"github.com/deedledger/deed/journal/journaltest"
)

// denied lists what the server refused of a client, by subject.
type denied struct {
	nc   *nats.Conn
	seen chan error
}

func newClient(t *testing.T) (client denied, service *nats.Conn, j *jetstream.Journal) {
	t.Helper()
	s := natstest.Start(t, natstest.Config(t))
	service = natstest.Connect(t, s)
	j, err := jetstream.Create(natstest.Within(t), service, natstest.Settings())
	if err != nil {
		t.Fatal(err)
	}
	journaltest.Fill(t, j, 4)
	client.seen = make(chan error, 1)
	client.nc, err = s.ConnectClient(nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { client.seen <- err }))
	if err != nil {
		t.Fatal(err)
	}
	return client, service, j
}

// wait returns what the server refused last.
func (d denied) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-d.seen:
		return err
	case <-time.After(10 * time.Second):
		return errors.New("nothing was refused")
	}
}

func TestClientIsDenied(t *testing.T) {
	client, _, j := newClient(t)
	for _, subject := range []string{
		"deed.test.ev.registry", "deed.test.ev.task.A-1", "deed.test", "deed.test.v1", "deed.other.v1.submit", "anything",
		"$JS.API.STREAM.DELETE.DEED_test", "$JS.API.STREAM.PURGE.DEED_test", "$JS.API.STREAM.UPDATE.DEED_test",
		"$JS.API.STREAM.CREATE.DEED_other", "$JS.API.STREAM.MSG.DELETE.DEED_test", "$JS.API.STREAM.RESTORE.DEED_test",
		"$JS.API.STREAM.SNAPSHOT.DEED_test", "$JS.API.STREAM.INFO.DEED_other", "$JS.API.STREAM.LIST", "$JS.API.STREAM.NAMES",
		"$JS.API.INFO", "$JS.API.ACCOUNT.PURGE.x", "$JS.API.META.LEADER.STEPDOWN", "$JS.API.STREAM.LEADER.STEPDOWN.DEED_test",
		"$JS.API.STREAM.PEER.REMOVE.DEED_test", "$JS.API.CONSUMER.CREATE.DEED_test", "$JS.API.CONSUMER.DURABLE.CREATE.DEED_test.x",
		"$JS.API.CONSUMER.CREATE.DEED_other.x", "$JS.API.DIRECT.GET.DEED_test", "$JS.ACK.DEED_test.x.1.1.1.1.1",
		"$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.x.INFO", "$KV.x.y", "$O.x", "_INBOX.x", "_SERVICE.x",
	} {
		if err := client.nc.Publish(subject, []byte("{}")); err != nil {
			t.Fatalf("publish to %s: %v", subject, err)
		}
		if err := client.wait(t); !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("publish to %s: %v", subject, err)
		}
	}
	for _, subject := range []string{
		">", "*", "deed.>", "deed.test.ev.>", "deed.test.ev.registry", "deed.test.v1.submit", "deed.test.v1.>", "_SERVICE.>",
		"$JS.>", "$JS.API.>", "$JS.EVENT.ADVISORY.>", "$SRV.>", "$SRV.PING", "$SYS.>", "*.>", "_INBOX", "$KV.>",
	} {
		sub, err := client.nc.SubscribeSync(subject)
		if err != nil {
			t.Fatalf("subscribe to %s: %v", subject, err)
		}
		if err := client.wait(t); !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("subscribe to %s: %v", subject, err)
		}
		_ = sub.Unsubscribe()
	}
	if err := j.CheckSettings(natstest.Within(t)); err != nil {
		t.Error(err)
	}
	if last, err := j.Last(natstest.Within(t)); err != nil || last != 4 {
		t.Errorf("last position %d, error %v", last, err)
	}
}

func TestClientReads(t *testing.T) {
	client, _, _ := newClient(t)
	ctx := natstest.Within(t)
	r, err := jetstream.OpenReader(ctx, client.nc, jetstream.Config{Ledger: natstest.Ledger, API: jetstream.ClientAPI})
	if err != nil {
		t.Fatal(err)
	}
	if last, err := r.Last(ctx); err != nil || last != 4 {
		t.Errorf("last position %d, error %v", last, err)
	}
	if rec, err := r.Read(ctx, 3); err != nil || rec.Subject != journaltest.SubjectA {
		t.Errorf("record %+v, error %v", rec, err)
	}
	next := events.Position(1)
	count := func(rec journal.Record) error {
		if rec.Position != next {
			return fmt.Errorf("position %d, want %d", rec.Position, next)
		}
		next++
		return nil
	}
	if err := r.Replay(ctx, 1, count); err != nil || next != 5 {
		t.Errorf("replayed up to %d, error %v", next, err)
	}
	enough := errors.New("enough")
	if err := r.Follow(ctx, 2, func(journal.Record) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("follow: %v", err)
	}
	select {
	case err := <-client.seen:
		t.Errorf("the server refused: %v", err)
	default:
	}
}

// TestClientAsksTheService: requests, their answers, and discovery.
func TestClientAsksTheService(t *testing.T) {
	client, service, _ := newClient(t)
	for _, subject := range []string{"deed.test.v1.submit", "deed.test.v1.query.task", "$SRV.PING.deed"} {
		sub, err := service.Subscribe(subject, func(m *nats.Msg) { _ = m.Respond([]byte("yes")) })
		if err != nil {
			t.Fatal(err)
		}
		if err := service.Flush(); err != nil {
			t.Fatal(err)
		}
		if m, err := client.nc.RequestWithContext(natstest.Within(t), subject, nil); err != nil || string(m.Data) != "yes" {
			t.Errorf("%s: %v", subject, err)
		}
		_ = sub.Unsubscribe()
	}
}

// TestClientHearsNoAcknowledgement: a client may listen to every _INBOX, which
// is not where the service is answered.
func TestClientHearsNoAcknowledgement(t *testing.T) {
	client, _, j := newClient(t)
	sub, err := client.nc.SubscribeSync("_INBOX.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := client.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	ctx := natstest.Within(t)
	if _, err := j.Append(ctx, journaltest.NewMessage("secret", journaltest.SubjectB), journal.Expect{Last: 4, SubjectLast: 4}); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Read(ctx, 5); err != nil {
		t.Fatal(err)
	}
	if err := client.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, err := sub.Pending(); err != nil || n != 0 {
		t.Errorf("heard %d messages, error %v", n, err)
	}
}

// TestClientCannotActThroughAConsumer: the server delivers what a push consumer
// is for, with its own rights, to whatever subject the consumer names. It must
// not take such a delivery for a request to itself or for a message to store.
func TestClientCannotActThroughAConsumer(t *testing.T) {
	client, service, j := newClient(t)
	js, err := natsjs.NewWithAPIPrefix(client.nc, jetstream.ClientAPI)
	if err != nil {
		t.Fatal(err)
	}
	ctx := natstest.Within(t)
	for i, target := range []string{
		"$JS.API.STREAM.DELETE.DEED_test", "$JS.API.STREAM.PURGE.DEED_test", "$JS.API.STREAM.UPDATE.DEED_test",
		"deed.test.ev.registry", "deed.test.ev.task.A-1",
	} {
		for _, listen := range []bool{false, true} {
			var sub *nats.Subscription
			if listen { // a consumer without a listener may not deliver at all
				if sub, err = service.SubscribeSync(target); err != nil {
					t.Fatal(err)
				}
				if err := service.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			name := fmt.Sprintf("push-%d-%v", i, listen)
			_, err := js.CreatePushConsumer(ctx, j.Stream(), natsjs.ConsumerConfig{
				Name: name, DeliverSubject: target, HeadersOnly: true, AckPolicy: natsjs.AckNonePolicy,
			})
			if err == nil && listen {
				for range 4 {
					if _, err := sub.NextMsgWithContext(ctx); err != nil {
						t.Fatalf("%s: nothing delivered: %v", target, err)
					}
				}
			}
			_ = js.DeleteConsumer(ctx, j.Stream(), name)
			if listen {
				_ = sub.Unsubscribe()
			}
			wantUnharmed(ctx, t, j, target)
		}
	}
}

// TestClientRepliesReachNobody: a server checks no right on the subject that an
// answer goes to. A client that names an event subject, or a request of
// JetStream, as the place for its answer must not have it stored or obeyed.
func TestClientRepliesReachNobody(t *testing.T) {
	client, service, j := newClient(t)
	ctx := natstest.Within(t)
	if _, err := service.Subscribe("deed.test.v1.>", func(m *nats.Msg) { _ = m.Respond([]byte("{}")) }); err != nil {
		t.Fatal(err)
	}
	if err := service.Flush(); err != nil {
		t.Fatal(err)
	}
	var asked int
	for _, subject := range embedded.ClientPermissions(natstest.Ledger).Publish.Allow {
		subject = strings.Replace(subject, ">", "x.y", 1)
		for _, reply := range []string{"deed.test.ev.registry", "deed.test.ev.task.A-1", "$JS.API.STREAM.PURGE.DEED_test", "$JS.API.STREAM.DELETE.DEED_test", "_SERVICE.x"} {
			for _, body := range []string{"", "{}", `{"seq":1}`} {
				if err := client.nc.PublishRequest(subject, reply, []byte(body)); err != nil {
					t.Fatal(err)
				}
				asked++
			}
		}
	}
	// An answer of the service that was asked last says that all were handled.
	if _, err := client.nc.RequestWithContext(ctx, "deed.test.v1.last", nil); err != nil {
		t.Fatal(err)
	}
	wantUnharmed(ctx, t, j, fmt.Sprintf("%d answers to subjects of the service", asked))
}

func wantUnharmed(ctx context.Context, t *testing.T, j *jetstream.Journal, what string) {
	t.Helper()
	if err := j.CheckSettings(ctx); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if last, err := j.Last(ctx); err != nil || last != 4 {
		t.Fatalf("%s: last position %d, error %v", what, last, err)
	}
}
