package server_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/internal/natstest"
	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server"
	"github.com/deedledger/deed/signer"
	"github.com/nats-io/nats.go"
)

// single runs one NATS server for a ledger of servicetest, listening.
func single(t *testing.T) servicetest.Outside {
	t.Helper()
	c := natstest.Config(t)
	c.Ledger, c.Listen = servicetest.Name, "127.0.0.1:0"
	s := natstest.Start(t, c)
	return servicetest.Passwords(t, s.URL(), c.ServicePassword, c.ClientPassword)
}

// runExternal runs an instance in this process until the test ends, or until
// it is closed before.
func runExternal(t *testing.T, o server.Options) *server.Local {
	t.Helper()
	l, err := server.Run(servicetest.Within(t), o)
	if err != nil {
		t.Fatalf("run instance: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close instance: %v", err)
		}
	})
	return l
}

// awaitTrue polls a condition until it holds.
func awaitTrue(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for ctx := servicetest.Within(t); !holds(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("never %s", what)
		}
	}
}

// submitAll submits n more events of a chain, each until it is answered.
func submitAll(t *testing.T, c *client.Client, chain *servicetest.Chain, n int) {
	t.Helper()
	for range n {
		e, err := chain.Next()
		if err != nil {
			t.Fatal(err)
		}
		awaitTrue(t, "answered", func() bool {
			_, err = c.Submit(servicetest.Within(t), e, false)
			return !open(err)
		})
		if err != nil {
			t.Fatal(err)
		}
		chain.Took(e)
	}
}

func TestExternalFlow(t *testing.T) {
	o := single(t)
	l := servicetest.NewExternal(t, o)
	first := runExternal(t, servicetest.ExternalOptions(l.Folder.Dir, o))
	c := servicetest.Dial(t, l.ExternalConfig(t, o, filepath.Join(t.TempDir(), "head")))
	tasks := chain(t, l, "TASK-1")
	submitAll(t, c, tasks, 3)
	if !first.Writer().Leading() {
		t.Error("the only instance does not lead")
	}
	twin := l.Twin(t)
	second := runExternal(t, servicetest.ExternalOptions(twin.Dir, o))
	submitAll(t, c, tasks, 40) // both take requests; one of them writes
	awaitTrue(t, "level", func() bool { return second.Writer().Reach(t.Context(), 44) == nil })
	if second.Writer().Leading() {
		t.Error("two instances lead")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	submitAll(t, c, tasks, 3)
	if !second.Writer().Leading() {
		t.Error("nobody took over")
	}
	wantEvents(t, c, 47)
}

// TestExternalRefusals: what an instance does not start on.
func TestExternalRefusals(t *testing.T) {
	o := single(t)
	l := servicetest.NewExternal(t, o)
	run := func(options server.Options) error {
		local, err := server.Run(servicetest.Within(t), options)
		if err == nil {
			_ = local.Close()
		}
		return err
	}
	otherKey := l.Twin(t)
	key, err := signer.GenerateKey(strings.NewReader(strings.Repeat("k", 64)))
	if err == nil {
		err = errors.Join(os.Remove(otherKey.KeyPath()), signer.WriteKeyFile(otherKey.KeyPath(), key, nil))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := run(servicetest.ExternalOptions(otherKey.Dir, o)); !errors.Is(err, server.ErrOtherLedger) {
		t.Errorf("another service key: %v", err)
	}
	embedded := servicetest.New(t)
	if err := run(servicetest.ExternalOptions(embedded.Folder.Dir, o)); !errors.Is(err, server.ErrNotExternal) {
		t.Errorf("folder that holds its ledger itself: %v", err)
	}
	if err := run(servicetest.Options(l.Twin(t).Dir)); err == nil {
		t.Error("ran a copied folder without its NATS")
	}
	for name, change := range map[string]func(*server.NATS){
		"three replicas": func(n *server.NATS) { n.Replicas = 3 },
		"no server":      func(n *server.NATS) { n.URL = "nats://127.0.0.1:1" },
		"password in it": func(n *server.NATS) { n.URL = strings.Replace(n.URL, "nats://", "nats://service:secret@", 1) },
		"two identities": func(n *server.NATS) { n.Creds = n.PasswordFile },
		"no file":        func(n *server.NATS) { n.PasswordFile += "x" },
	} {
		options := servicetest.ExternalOptions(l.Twin(t).Dir, o)
		change(options.External.NATS)
		if err := run(options); err == nil {
			t.Errorf("%s: it runs", name)
		}
	}
	first := runExternal(t, servicetest.ExternalOptions(l.Folder.Dir, o))
	if err := run(servicetest.ExternalOptions(l.Folder.Dir, o)); err == nil {
		t.Error("two instances on one folder")
	}
	if busy, err := l.Folder.InUse(); err != nil || !busy {
		t.Errorf("folder in use: %t, %v", busy, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := servicetest.ExternalOptions(filepath.Join(t.TempDir(), "again"), o)
	if _, err := server.CreateExternal(servicetest.Within(t), again, servicetest.Name, servicetest.Founding()); !errors.Is(err, journal.ErrExists) {
		t.Errorf("create a ledger twice: %v", err)
	}
}

// TestExternalMissingStream: a ledger is never made a second time.
func TestExternalMissingStream(t *testing.T) {
	o := single(t)
	l := servicetest.NewExternal(t, o)
	empty := single(t)
	_, err := server.Run(servicetest.Within(t), servicetest.ExternalOptions(l.Folder.Dir, empty))
	wantDamage(t, "no stream", err, "stream")
	other := servicetest.NewExternal(t, empty)
	if _, err := server.Run(servicetest.Within(t), servicetest.ExternalOptions(l.Twin(t).Dir, empty)); !errors.Is(err, server.ErrOtherLedger) {
		t.Errorf("another ledger of the name: %v", err)
	}
	_ = other
}

// TestExternalDrift: a stream whose settings change takes nothing more from
// the service until they are what a ledger needs.
func TestExternalDrift(t *testing.T) {
	o := single(t)
	l := servicetest.NewExternal(t, o)
	options := servicetest.ExternalOptions(l.Folder.Dir, o)
	options.External.Inspect = 10 * time.Millisecond
	local := runExternal(t, options)
	c := servicetest.Dial(t, l.ExternalConfig(t, o, ""))
	tasks := chain(t, l, "TASK-1")
	submitAll(t, c, tasks, 1)
	config := jetstream.Config{Ledger: servicetest.Name}
	natstest.Drift(t, dialService(t, o), config, true)
	awaitTrue(t, "noticed", func() bool { return local.Drift() != nil })
	e, err := tasks.Next()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Submit(servicetest.Within(t), e, false); err == nil {
		t.Error("appended to a stream that drifted")
	}
	natstest.Drift(t, dialService(t, o), config, false)
	awaitTrue(t, "mended", func() bool { return local.Drift() == nil })
	submitAll(t, c, tasks, 1)
}

func dialService(t *testing.T, o servicetest.Outside) *nats.Conn {
	t.Helper()
	nc, err := o.Service.Connect(o.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// wantEvents audits the history as a client reads it.
func wantEvents(t *testing.T, c *client.Client, n uint64) {
	t.Helper()
	r, err := c.Reader(servicetest.Within(t))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, audit, err := ledger.Verify(servicetest.Within(t), r, servicetest.Name, nil, 0); err != nil || audit.Fault != nil || audit.Events != n {
		t.Errorf("audit %+v, fault %+v, error %v, want %d events", audit, audit.Fault, err, n)
	}
}
