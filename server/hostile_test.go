package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/journal/jetstream/embedded"
	"github.com/deedledger/deed/server/protocol"
	"github.com/nats-io/nats.go"
)

// hostileTargets are subjects that only the service may use: events, requests
// that change the stream, the lease's bucket and its stream, other instances,
// objects, and answers to the service.
func hostileTargets(instance string) []string {
	stream, bucket := "DEED_"+servicetest.Name, jetstream.LeaseBucket(servicetest.Name)
	targets := []string{
		"deed.acme.ev.registry", "deed.acme.ev.task.TASK-1", "$KV." + bucket + ".writer", "$O." + jetstream.ObjectBucket(servicetest.Name) + ".C.x", "$O." + jetstream.ObjectBucket(servicetest.Name) + ".M.x",
		protocol.SubjectForward(servicetest.Name, instance, "submit"), protocol.SubjectForward(servicetest.Name, instance, "renew"),
		"_SERVICE.x", "$SYS.REQ.SERVER.PING", "$JS.API.META.LEADER.STEPDOWN",
	}
	for _, s := range []string{stream, "KV_" + bucket, "OBJ_" + jetstream.ObjectBucket(servicetest.Name)} {
		for _, op := range []string{"CREATE", "UPDATE", "DELETE", "PURGE", "MSG.DELETE", "RESTORE", "SNAPSHOT", "LEADER.STEPDOWN", "PEER.REMOVE"} {
			targets = append(targets, "$JS.API.STREAM."+op+"."+s, jetstream.ClientAPI+".STREAM."+op+"."+s)
		}
	}
	return append(targets, "$JS.API.STREAM.MSG.GET.KV_"+bucket, jetstream.ClientAPI+".STREAM.MSG.GET.KV_"+bucket, jetstream.ClientAPI+".CONSUMER.CREATE.KV_"+bucket+".x")
}

// TestHostileClientOutside: a client with every right that clients have on an
// operator's NATS changes nothing: not the stream, not the lease, not what
// other clients are told.
func TestHostileClientOutside(t *testing.T) {
	o := single(t)
	l := servicetest.NewExternal(t, o)
	local := runExternal(t, servicetest.ExternalOptions(l.Folder.Dir, o))
	awaitTrue(t, "leading", local.Writer().Leading)
	honest := servicetest.Dial(t, l.ExternalConfig(t, o, ""))
	tasks := chain(t, l, "TASK-1")
	submitAll(t, honest, tasks, 2)
	status, err := honest.Status(servicetest.Within(t))
	if err != nil || status.Instance == "" || status.Writer != status.Instance {
		t.Fatalf("status %+v, error %v", status, err)
	}

	denied := make(chan string, 1024)
	nc, err := o.Client.Connect(o.URL, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err.Error() }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	targets := hostileTargets(status.Instance)
	for _, subject := range targets {
		if err := nc.Publish(subject, []byte(`{"name":"me","epoch":99}`)); err != nil {
			t.Fatal(err)
		}
		awaitDenied(t, denied, subject)
	}
	// What may be asked is asked with each of them as the place for its answer.
	e, err := tasks.Next()
	if err != nil {
		t.Fatal(err)
	}
	for _, subject := range embedded.ClientPermissions(servicetest.Name).Publish.Allow {
		for _, body := range [][]byte{nil, []byte("{}"), []byte(`{"seq":1}`)} {
			for _, reply := range targets {
				if err := nc.PublishRequest(strings.Replace(subject, ">", "x.y", 1), reply, body); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	// Nobody else answers for the service, or hears what it is asked.
	for _, subject := range []string{protocol.SubjectSubmit(servicetest.Name), protocol.SubjectQuery(servicetest.Name, ">"), "$SRV.PING.deed", "deed.acme.fw.>", ">"} {
		if _, err := nc.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		awaitDenied(t, denied, subject)
	}
	// An answer that a client makes for another's inbox is no acknowledgement:
	// it has no head that the service signed.
	if _, err := nc.RequestWithContext(servicetest.Within(t), protocol.SubjectQuery(servicetest.Name, protocol.QueryStatus), nil); err != nil {
		t.Fatal(err)
	}
	after, err := honest.Status(servicetest.Within(t))
	if err != nil || after.Position != status.Position || after.Writer != status.Writer {
		t.Errorf("status %+v, error %v, was %+v", after, err, status)
	}
	if local.Drift() != nil || !local.Writer().Leading() {
		t.Errorf("drift %v, leading %t", local.Drift(), local.Writer().Leading())
	}
	if _, err := honest.Submit(servicetest.Within(t), e, false); err != nil {
		t.Error(err)
	}
	tasks.Took(e)
	wantEvents(t, honest, uint64(status.Position)+1)
}

// awaitDenied waits until the server has refused something about a subject.
func awaitDenied(t *testing.T, denied chan string, subject string) {
	t.Helper()
	ctx := servicetest.Within(t)
	var seen []string
	for {
		select {
		case text := <-denied:
			if strings.Contains(strings.ToLower(text), strings.ToLower(subject)) {
				return
			}
			seen = append(seen, text)
		case <-ctx.Done():
			t.Fatalf("%s was not refused; refused were %q", subject, slices.Compact(seen))
		}
	}
}
