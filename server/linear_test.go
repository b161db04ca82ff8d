package server_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/internal/natstest"
	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
	"github.com/deedledger/deed/server"
	"github.com/deedledger/deed/signer"
)

var (
	linearCluster = flag.Bool("cluster", false, "TestLinear: three NATS servers in processes, whose leader is stopped and killed")
	linearRounds  = flag.Int("rounds", 3, "TestLinear: how often the writer is lost")
)

// doing is one operation: what a client wanted, of which fence or try.
type doing struct {
	what, object string // object is a task or an effect key
	actor        string
	number       uint64 // fence or try
	id           string // of the event
}

// The outcomes of an operation.
const (
	did     = "did"     // written
	was     = "was"     // there already
	not     = "not"     // refused or overtaken: nothing was written
	nobodys = "unknown" // nobody can say
)

// effectKeys is how many effects each task has.
const effectKeys = 6

// checkPatience ends a search for an order that hangs; one takes milliseconds,
// for no outcome is open any more when it begins.
const checkPatience = 5 * time.Minute

// lastly is the return of an operation that stays open.
const lastly = math.MaxInt64

// lineage is the state of one object: who holds it, and the number that was
// used last.
type lineage struct {
	holder string
	number uint64
}

// after returns the state after an operation was done, and whether it may be.
func (d doing) after(s lineage) (lineage, bool) {
	switch d.what {
	case "claim": // one holder, and fences rise
		return lineage{d.actor, d.number}, s.holder == "" && d.number > s.number
	case "release":
		return lineage{"", s.number}, s.holder == d.actor && s.number == d.number
	case "intend": // one intent for ever
		return lineage{"intended", 0}, s.holder == ""
	case "dispatch": // each try once, in order
		return lineage{"intended", d.number}, s.holder == "intended" && d.number == s.number+1
	}
	return s, false
}

// linear is what leases and effect keys must look like to everybody.
func linear() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			by := map[string][]porcupine.Operation{}
			for _, o := range history {
				by[o.Input.(doing).object] = append(by[o.Input.(doing).object], o)
			}
			var parts [][]porcupine.Operation
			for _, p := range by {
				parts = append(parts, p)
			}
			return parts
		},
		Init: func() []any { return []any{lineage{}} },
		Step: func(state, input, output any) []any {
			s, d := state.(lineage), input.(doing)
			next, may := d.after(s)
			switch {
			case output == not:
				return []any{s}
			case output == was && d.what == "intend" && s.holder == "intended":
				return []any{s}
			case output == did && may:
				return []any{next}
			}
			return nil
		},
	}
	return m.ToModel()
}

// history records operations of many clients.
type history struct {
	begun time.Time
	mu    sync.Mutex
	all   []porcupine.Operation
}

func (h *history) record(client int, d doing, do func() string) string {
	call := time.Since(h.begun).Nanoseconds()
	out := do()
	o := porcupine.Operation{ClientId: client, Input: d, Call: call, Output: out, Return: time.Since(h.begun).Nanoseconds()}
	if out == nobodys {
		o.Return = lastly
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, o)
	return out
}

// fleet is clients of one ledger whose service has two instances.
type fleet struct {
	*testing.T
	*history
	cast    *ledgertest.Cast
	ends    chan struct{}
	outside servicetest.Outside
	ledger  *servicetest.Ledger
	dirs    []string // of the instances

	mu        sync.Mutex // guards instances
	instances []*server.Local
	tethers   []*tether // of each instance; nil on a cluster
}

// say signs what an actor says next, as some instance knows the ledger; ok is
// false where it has nothing to say.
func (f *fleet) say(task, actor string, say func(*projections.Ledger, *projections.Task) (doing, events.Payload)) (e events.Event, d doing, ok bool) {
	f.mu.Lock()
	i := f.instances[rand.N(len(f.instances))]
	f.mu.Unlock()
	i.Writer().View(func(b *ledger.Book) {
		var p events.Payload
		if d, p = say(b.State, b.State.Task(task)); p != nil {
			e, ok = f.cast.Sign(b.State, task, actor, p), true
		}
	})
	return e, d, ok
}

// submit submits once, and says what became of it.
func submitOnce(ctx context.Context, c *client.Client, e events.Event) string {
	ack, err := c.Submit(ctx, e, false)
	class, _ := refusal(err)
	switch {
	case err == nil && ack.Existing && ack.EventID != e.ID:
		return was
	case err == nil:
		return did
	case class == ledger.Refused || class == ledger.Conflict || class == ledger.Unavailable:
		return not
	}
	return nobodys
}

// work claims, intends, dispatches, confirms and releases, whatever it may.
func (f *fleet) work(number int, c *client.Client) {
	actor := []string{ledgertest.ImplA, ledgertest.ImplB}[number%2]
	for round := 0; ; round++ {
		select {
		case <-f.ends:
			return
		default:
		}
		task := fmt.Sprintf("TASK-%d", rand.N(2)+1)
		key := fmt.Sprintf("%s-%d", task, rand.N(effectKeys))
		e, d, ok := f.say(task, actor, func(l *projections.Ledger, t *projections.Task) (doing, events.Payload) {
			effect := t.Effect(key)
			switch {
			case t.Lease == nil && t.State == projections.Snapshotted:
				return doing{what: "claim", object: task, actor: actor, number: t.Fence + 1}, &events.Claim{Purpose: events.PurposeWork, TermSeconds: 3600, World: ledgertest.World(l, t)}
			case t.Lease == nil || t.Lease.Actor != actor:
				return doing{}, nil
			case effect == nil || rand.N(8) == 0:
				return doing{what: "intend", object: key, actor: actor}, projectionstest.Intent(key)
			case effect.Status() == projections.StatusDispatched:
				return doing{}, ledgertest.Outcome(key, projections.StatusFailed)(l, t)
			case rand.N(3) == 0 && !dispatched(t):
				return doing{what: "release", object: task, actor: actor, number: t.Lease.Fence}, &events.Release{Reason: "shift"}
			}
			return doing{what: "dispatch", object: key, actor: actor, number: uint64(len(effect.Tries)) + 1}, ledgertest.Dispatch(key)(l, t)
		})
		if !ok {
			<-time.After(time.Millisecond)
			continue
		}
		ctx, cancel := context.WithCancel(f.Context())
		if number == 0 && round%3 == 0 { // a client that dies with its request on the way
			time.AfterFunc(time.Millisecond, cancel)
		}
		if d.what == "" {
			submitOnce(ctx, c, e)
		} else {
			d.id = e.ID
			f.record(number, d, func() string { return submitOnce(ctx, c, e) })
		}
		cancel()
	}
}

// dispatched reports whether an effect of a task is open: then its run is not
// given up.
func dispatched(t *projections.Task) bool {
	for i := range effectKeys {
		if e := t.Effect(fmt.Sprintf("%s-%d", t.ID, i)); e != nil && e.Status() == projections.StatusDispatched {
			return true
		}
	}
	return false
}

// TestLinear: leases and effect keys are linearizable to clients of two
// instances, while writers stop, sleep and come back, clients die, and, with
// -cluster, the leader of the stream is stopped and killed.
func TestLinear(t *testing.T) {
	var cluster *natstest.Cluster
	var o servicetest.Outside
	if *linearCluster {
		cluster = natstest.StartProcesses(t, servicetest.Name)
		cluster.Await()
		o = servicetest.Passwords(t, cluster.URL(), cluster.ServicePassword, cluster.ClientPassword)
	} else {
		o = single(t)
	}
	cast := ledgertest.NewCast(servicetest.Name, time.Now)
	f := &fleet{T: t, history: &history{begun: time.Now()}, cast: cast, ends: make(chan struct{}), outside: o}
	options := servicetest.ExternalOptions(filepath.Join(t.TempDir(), "one"), o)
	folder, err := server.CreateExternal(servicetest.Within(t), options, servicetest.Name, func(service signer.PublicKey) (events.Event, error) {
		return cast.Genesis(func(g *events.Genesis) { g.Service.Key = service.String() }), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	l := &servicetest.Ledger{Folder: folder}
	f.ledger, f.dirs = l, []string{folder.Dir, l.Twin(t).Dir}
	f.instances, f.tethers = make([]*server.Local, 2), make([]*tether, 2)
	f.start(0)
	f.start(1)
	dial := func() *client.Client {
		config := l.ExternalConfig(t, o, "")
		config.Timeout = 500 * time.Millisecond // one of two does not answer for a while
		return servicetest.Dial(t, config)
	}
	f.prepare(dial())
	var group sync.WaitGroup
	for i := range 6 {
		c := dial()
		group.Go(func() { f.work(i, c) })
	}
	for round := range *linearRounds {
		f.await(10)
		f.disturb(round)
		if cluster != nil {
			end := []func(int){cluster.Stop, cluster.Kill}[round%2]
			leader := cluster.Leader()
			end(leader)
			f.await(10)
			cluster.Start(leader)
		}
		f.await(10)
	}
	awaitTrue(t, "dispatched", func() bool { return f.dispatch() >= 0 })
	close(f.ends)
	group.Wait()
	counts := map[string]int{}
	for _, op := range f.all {
		counts[op.Input.(doing).what+" "+op.Output.(string)]++
	}
	t.Logf("%d operations: %v", len(f.all), counts)
	f.settle()
	if result := porcupine.CheckOperationsTimeout(linear(), f.all, checkPatience); result != porcupine.Ok {
		t.Errorf("the history is %s", result)
	}
	// The same history with one success told twice must not pass.
	doctored := slices.Clone(f.all)
	at := f.dispatch()
	if result := porcupine.CheckOperationsTimeout(linear(), append(doctored, doctored[at]), checkPatience); result != porcupine.Illegal {
		t.Errorf("a history with a try that was dispatched twice is %s", result)
	}
}

// dispatch returns where the history has a try that was dispatched, -1 for
// nowhere.
func (h *history) dispatch() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.IndexFunc(h.all, func(op porcupine.Operation) bool { return op.Output == did && op.Input.(doing).what == "dispatch" })
}

// prepare enrols the actors and opens an attempt of each task.
func (f *fleet) prepare(c *client.Client) {
	f.Helper()
	do := func(task, actor string, say func(*projections.Ledger, *projections.Task) events.Payload) {
		f.Helper()
		awaitTrue(f.T, "answered", func() bool {
			e, _, _ := f.say(task, actor, func(l *projections.Ledger, t *projections.Task) (doing, events.Payload) { return doing{}, say(l, t) })
			_, err := c.Submit(servicetest.Within(f.T), e, false)
			class, _ := refusal(err)
			if err != nil && !open(err) && class != ledger.Conflict {
				f.Fatalf("%s on %q: %v", actor, task, err)
			}
			at := events.Position(0)
			f.instances[0].Writer().View(func(b *ledger.Book) { at, _, _ = b.Find(e.ID) })
			if err == nil {
				for _, i := range f.instances {
					_ = i.Writer().Reach(servicetest.Within(f.T), at)
				}
				awaitTrue(f.T, "level", func() bool {
					for _, i := range f.instances {
						found := false
						i.Writer().View(func(b *ledger.Book) { _, _, found = b.Find(e.ID) })
						if !found {
							return false
						}
					}
					return true
				})
			}
			return err == nil
		})
	}
	says := func(p events.Payload) func(*projections.Ledger, *projections.Task) events.Payload {
		return func(*projections.Ledger, *projections.Task) events.Payload { return p }
	}
	for _, actor := range []string{ledgertest.ImplA, ledgertest.ImplB, ledgertest.Controller} {
		do("", ledgertest.Founder, says(ledgertest.Invitation(actor)))
		do("", actor, says(ledgertest.KeyClaim(actor)))
	}
	for _, task := range []string{"TASK-1", "TASK-2"} {
		do(task, ledgertest.Founder, says(projectionstest.Contract(1)))
		do(task, ledgertest.Founder, ledgertest.Accept)
		do(task, ledgertest.Controller, ledgertest.Open)
	}
}

// await waits for so many more operations that were done.
func (f *fleet) await(n int) {
	f.Helper()
	done := func() (n int) {
		f.history.mu.Lock()
		defer f.history.mu.Unlock()
		for _, o := range f.all {
			if o.Output == did || o.Output == was {
				n++
			}
		}
		return n
	}
	want := done() + n
	awaitTrue(f.T, "done", func() bool { return done() >= want })
}

// disturb takes the writer away: it sleeps, or it ends and another starts, or
// it is cut off for good in the middle of what it does.
func (f *fleet) disturb(round int) {
	f.Helper()
	var writer int
	awaitTrue(f.T, "led", func() bool {
		writer = slices.IndexFunc(f.instances, func(l *server.Local) bool { return l.Writer().Leading() })
		return writer >= 0
	})
	l := f.instances[writer]
	switch {
	case round%3 == 0:
		l.Suspend()
		f.await(10)
		awaitTrue(f.T, "took over", func() bool { return f.instances[1-writer].Writer().Leading() })
		f.await(10)
		l.Resume()
		return
	case round%3 == 1 || f.tethers[writer] == nil:
		if err := l.Close(); err != nil {
			f.Fatal(err)
		}
	default:
		f.tethers[writer].sever()
		awaitTrue(f.T, "took over", func() bool { return f.instances[1-writer].Writer().Leading() })
		f.dirs[writer] = f.ledger.Twin(f.T).Dir // the one that was cut off has its folder yet
	}
	f.start(writer)
}
