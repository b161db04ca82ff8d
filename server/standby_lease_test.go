package server_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/signer"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// The times of TestLeaseThroughStandby, by clocks that only the test moves: no
// machine is too slow for them.
const (
	runTerm    = 2 * time.Second // of the run's lease
	writerTerm = 4 * time.Second // of the writer's
	runStep    = time.Second
)

// stopped is a clock that only the test moves.
type stopped struct {
	mu  sync.Mutex
	now time.Time
}

func (c *stopped) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *stopped) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// through is a run's lease whose heartbeats all go to one instance.
type through struct {
	*testing.T
	to    *server.Local
	key   signer.Key
	beat  ledger.Heartbeat
	store *jetstream.LeaseStore
}

// renew sends one heartbeat, which must be taken.
func (r *through) renew() {
	r.Helper()
	r.beat.Number++
	envelope, err := ledger.SealHeartbeat(r.beat, r.key)
	if err == nil {
		err = r.to.RenewThrough(servicetest.Within(r.T), envelope)
	}
	if err != nil {
		r.Fatalf("heartbeat %d: %v", r.beat.Number, err)
	}
}

// advance moves a clock and waits until its instance has renewed the writer's
// lease so often.
func (r *through) advance(c *stopped, d time.Duration, times uint64) {
	r.Helper()
	revision := func() uint64 {
		_, at, err := r.store.Get(servicetest.Within(r.T))
		if err != nil {
			return 0
		}
		return at
	}
	begun := revision()
	c.Advance(d)
	awaitTrue(r.T, "renewed the writer's lease", func() bool { return revision() >= begun+times })
}

// TestLeaseThroughStandby: a run's lease lives for longer than its term by
// heartbeats that a standby hands on, and has a full term after a failover.
func TestLeaseThroughStandby(t *testing.T) {
	o := single(t)
	begun := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	one, two := &stopped{now: begun}, &stopped{now: begun}
	cast := ledgertest.NewCast(servicetest.Name, one.Now)
	options := func(dir string, c *stopped) server.Options {
		options := servicetest.ExternalOptions(dir, o)
		options.Now, options.External.Term = c.Now, writerTerm
		return options
	}
	first := options(filepath.Join(t.TempDir(), "one"), one)
	folder, err := server.CreateExternal(servicetest.Within(t), first, servicetest.Name, func(service signer.PublicKey) (events.Event, error) {
		return cast.Genesis(func(g *events.Genesis) { g.Service.Key = service.String() }), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	l := &servicetest.Ledger{Folder: folder}
	f := &fleet{T: t, history: &history{begun: time.Now()}, cast: cast, instances: []*server.Local{runExternal(t, first)}}
	awaitTrue(t, "leading", f.instances[0].Writer().Leading)
	f.instances = append(f.instances, runExternal(t, options(l.Twin(t).Dir, two)))
	c := servicetest.Dial(t, l.ExternalConfig(t, o, ""))
	r := &through{T: t, to: f.instances[1], key: cast.Key(ledgertest.ImplA)}
	f.prepare(c)
	f.claim(c, "TASK-1")
	config := jetstream.Config{Ledger: servicetest.Name}
	if r.store, err = jetstream.OpenLease(servicetest.Within(t), dialService(t, o), config); err != nil {
		t.Fatal(err)
	}
	r.beat = ledger.Heartbeat{Ledger: servicetest.Name, Task: "TASK-1", Fence: int64(f.task("TASK-1").Fence)}
	before := f.instances[0].Writer().Leading() && !f.instances[1].Writer().Leading()
	for range 5 {
		r.advance(one, runStep, 1)
		r.renew()
	}
	nc := dialService(t, o)
	awaitTrue(t, "handed on", func() bool { return handed(t, c, nc) == 5 })
	if !before || !f.instances[0].Writer().Leading() || f.instances[1].Writer().Leading() {
		t.Fatal("the writer changed before it was to")
	}
	// All but the end of the term is over when the writer ends, and by the
	// standby's own clock the whole of it.
	r.advance(one, runTerm-time.Millisecond, 1)
	two.Advance(writerTerm - time.Second)
	if err := f.instances[0].Close(); err != nil {
		t.Fatal(err)
	}
	awaitTrue(t, "took over", f.instances[1].Writer().Leading)
	r.advance(two, runTerm-time.Millisecond, 2)
	r.renew()
	r.advance(two, runTerm, 0)
	awaitTrue(t, "interrupted", func() bool { return f.task("TASK-1").Lease == nil })
}

// handed returns how many heartbeats the writer got from standbys.
func handed(t *testing.T, c *client.Client, nc *nats.Conn) int {
	t.Helper()
	status, err := c.Status(servicetest.Within(t))
	if err != nil {
		t.Fatal(err)
	}
	answers, err := nc.SubscribeSync(nc.NewInbox())
	if err == nil {
		err = nc.PublishRequest("$SRV.STATS."+protocol.ServiceName, answers.Subject, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	for {
		m, err := answers.NextMsgWithContext(servicetest.Within(t))
		var s micro.Stats
		if err == nil {
			err = json.Unmarshal(m.Data, &s)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range s.Endpoints {
			if e.Subject == protocol.SubjectForward(servicetest.Name, status.Writer, "renew") {
				return e.NumRequests
			}
		}
	}
}

// claim claims a task for a short term.
func (f *fleet) claim(c *client.Client, task string) {
	f.Helper()
	e, _, _ := f.say(task, ledgertest.ImplA, func(l *projections.Ledger, t *projections.Task) (doing, events.Payload) {
		return doing{}, &events.Claim{Purpose: events.PurposeWork, TermSeconds: int64(runTerm / time.Second), World: ledgertest.World(l, t)}
	})
	awaitTrue(f.T, "answered", func() bool {
		_, err := c.Submit(servicetest.Within(f.T), e, false)
		if err != nil && !open(err) {
			f.Fatal(err)
		}
		return err == nil
	})
	awaitTrue(f.T, "level", func() bool {
		return !slices.ContainsFunc(f.instances, func(i *server.Local) bool { return taskOf(i, task).Lease == nil })
	})
}

// task returns a task as the last instance knows it.
func (f *fleet) task(id string) *projections.Task { return taskOf(f.instances[len(f.instances)-1], id) }

func taskOf(i *server.Local, id string) (t *projections.Task) {
	i.Writer().View(func(b *ledger.Book) {
		now := *b.State.Task(id)
		t = &now
	})
	return t
}
