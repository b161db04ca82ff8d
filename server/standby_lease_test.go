package server_test

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/internal/natstest"
	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server"
	"github.com/deedledger/deed/signer"
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

// through is a run's lease whose heartbeats all go to one standby.
type through struct {
	*testing.T
	client *client.Client
	key    signer.Key
	beat   ledger.Heartbeat
	store  *jetstream.LeaseStore
}

// renew sends one heartbeat, which must be taken.
func (r *through) renew() {
	r.Helper()
	r.beat.Number++
	if err := r.client.Renew(servicetest.Within(r.T), r.beat, r.key); err != nil {
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
	cluster := natstest.StartCluster(t, servicetest.Name)
	cluster.Await()
	urls := strings.Split(cluster.URL(), ",")
	o := servicetest.Passwords(t, urls[0], cluster.ServicePassword, cluster.ClientPassword)
	begun := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	one, two := &stopped{now: begun}, &stopped{now: begun}
	cast := ledgertest.NewCast(servicetest.Name, one.Now)
	options := func(dir, url string, c *stopped) server.Options {
		options := servicetest.ExternalOptions(dir, o)
		options.Now, options.External.Term, options.External.NATS.URL = c.Now, writerTerm, url
		return options
	}
	first := options(filepath.Join(t.TempDir(), "one"), urls[0], one)
	folder, err := server.CreateExternal(servicetest.Within(t), first, servicetest.Name, func(service signer.PublicKey) (events.Event, error) {
		return cast.Genesis(func(g *events.Genesis) { g.Service.Key = service.String() }), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	l := &servicetest.Ledger{Folder: folder}
	f := &fleet{T: t, history: &history{begun: time.Now()}, cast: cast, instances: []*server.Local{runExternal(t, first)}}
	awaitTrue(t, "leading", f.instances[0].Writer().Leading)
	f.instances = append(f.instances, runExternal(t, options(l.Twin(t).Dir, urls[1], two)))
	// A server gives a request to an instance that is connected to it, if one is.
	near := o
	near.URL = urls[1]
	r := &through{T: t, client: servicetest.Dial(t, l.ExternalConfig(t, near, "")), key: cast.Key(ledgertest.ImplA)}
	f.prepare(r.client)
	f.claim(r.client, "TASK-1")
	config := jetstream.Config{Ledger: servicetest.Name, Replicas: natstest.ClusterSize}
	if r.store, err = jetstream.OpenLease(servicetest.Within(t), dialService(t, o), config); err != nil {
		t.Fatal(err)
	}
	r.beat = ledger.Heartbeat{Task: "TASK-1", Fence: int64(f.task("TASK-1").Fence)}
	before := f.instances[0].Writer().Leading() && !f.instances[1].Writer().Leading()
	for range 5 {
		r.advance(one, runStep, 1)
		r.renew()
	}
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
