package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
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
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server"
	"github.com/deedledger/deed/server/protocol"
)

// serveFolder and serveListen ask the test binary to be a service instead.
const (
	serveFolder = "DEED_TEST_SERVE_FOLDER"
	serveListen = "DEED_TEST_SERVE_LISTEN"
)

func TestMain(m *testing.M) {
	if natstest.Main(os.Getenv(natstest.ConfVariable)) {
		return
	}
	if dir := os.Getenv(serveFolder); dir != "" {
		if err := serve(dir, os.Getenv(serveListen)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serve runs the service of a folder until standard input ends, as it does
// when the test ends, however it ends.
func serve(dir, listen string) error {
	o := servicetest.Options(dir)
	o.Listen, o.PID = listen, os.Getpid()
	local, err := server.Run(context.Background(), o)
	if err != nil {
		return err
	}
	fmt.Println(local.URL())
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, local.Close())
}

// process is a service in a process of its own.
type process struct {
	cmd   *exec.Cmd
	url   string
	stdin io.WriteCloser
}

// startProcess runs a service in another process and waits until it listens.
// It tries again only while something else has the address.
func startProcess(t *testing.T, dir, listen string) *process {
	t.Helper()
	ctx := servicetest.Within(t)
	for {
		p, complaint, err := tryProcess(dir, listen)
		if err == nil {
			return p
		}
		if ctx.Err() != nil || !strings.Contains(complaint, "address already in use") {
			t.Fatalf("start service: %v\n%s", err, complaint)
		}
	}
}

func tryProcess(dir, listen string) (*process, string, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	var complaint strings.Builder
	p := &process{cmd: exec.Command(executable)}
	p.cmd.Env = append(os.Environ(), serveFolder+"="+dir, serveListen+"="+listen)
	p.cmd.Stderr = &complaint
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, "", err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		err = errors.Join(err, p.cmd.Wait())
		return nil, complaint.String(), err
	}
	p.url = strings.TrimSpace(line)
	return p, "", nil
}

// kill ends the process with SIGKILL: nothing of it runs any more.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatalf("kill service: %v", err)
	}
	_ = p.cmd.Wait() // killed, it says
}

// stop asks the process to end and waits for it.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := errors.Join(p.stdin.Close(), p.cmd.Wait()); err != nil {
		t.Fatalf("stop service: %v", err)
	}
}

const (
	killClients = 8
	killRounds  = 20
	// appendPatience ends what hangs, no more: a new service, or a new leader of
	// the stream, takes as long as the machine makes it.
	appendPatience = 5 * time.Minute
)

// acked is an event that a client knows to be in the ledger.
type acked struct {
	id, hash string
	position events.Position
	head     string // a signed head, where the service answered with one
}

// appender appends to a task of its own until it is told to stop.
type appender struct {
	*testing.T
	ledger  *servicetest.Ledger
	config  client.Config
	chain   *servicetest.Chain
	round   *atomic.Pointer[context.Context] // ends when the service is killed
	stop    <-chan struct{}
	count   *atomic.Int64 // of all appenders
	patient bool
	outside func() string // where an operator's NATS is now; nil for the folder's own

	acked    []acked
	existing int // resubmitted, and was there
	found    int // looked for by id, and was there
	absent   int // looked for by id, and was not there
}

// run returns when the last event is settled.
func (a *appender) run() {
	c, err := a.dial()
	if err != nil {
		a.Errorf("dial: %v", err)
		return
	}
	defer func() { c.Close() }()
	for {
		select {
		case <-a.stop:
			return
		default:
		}
		e, err := a.chain.Next()
		if err != nil {
			a.Errorf("make event: %v", err)
			return
		}
		var done acked
		if a.patient {
			done, err = a.insist(c, e)
		} else {
			done, err = a.restart(&c, e)
		}
		if err != nil {
			a.Errorf("event %s of %s: %v", e.ID, e.Source, err)
			return
		}
		a.chain.Took(e)
		a.acked = append(a.acked, done)
		a.count.Add(1)
	}
}

func (a *appender) dial() (*client.Client, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(appendPatience); ; <-tick.C {
		c, err := a.reach()
		if err == nil {
			return c, nil
		}
		if time.Now().After(deadline) {
			return nil, err
		}
	}
}

// reach connects to where the service is now.
func (a *appender) reach() (*client.Client, error) {
	if a.outside != nil {
		a.config.URL = a.outside()
		return client.Dial(a.config)
	}
	running, err := a.ledger.Folder.Running()
	if err != nil {
		return nil, err
	}
	a.config.URL = running.URL
	return client.Dial(a.config)
}

// open reports whether an outcome is not known, or nothing was written for
// want of a service.
func open(err error) bool {
	r, ok := errors.AsType[*ledger.Refusal](err)
	return ok && (r.Class == ledger.Unknown || r.Class == ledger.Unavailable)
}

// insist submits the identical bytes on one connection until it is answered.
func (a *appender) insist(c *client.Client, e events.Event) (acked, error) {
	for deadline := time.Now().Add(appendPatience); ; {
		ack, err := c.Submit(a.Context(), e, false)
		if err == nil {
			if ack.Existing {
				a.existing++
			}
			return acked{ack.EventID, ack.Hash, ack.Position, ack.Head}, nil
		}
		if !open(err) || time.Now().After(deadline) {
			return acked{}, err
		}
	}
}

// restart gives up when the service dies, as if the client had died too. A new
// client looks for the id before it does anything else.
func (a *appender) restart(c **client.Client, e events.Event) (acked, error) {
	for deadline := time.Now().Add(appendPatience); ; {
		ack, err := (*c).Submit(*a.round.Load(), e, false)
		if err == nil {
			return acked{ack.EventID, ack.Hash, ack.Position, ack.Head}, nil
		}
		if !open(err) || time.Now().After(deadline) {
			return acked{}, err
		}
		(*c).Close()
		if *c, err = a.dial(); err != nil {
			return acked{}, err
		}
		at, err := a.locate(*c, e.ID)
		r, refused := errors.AsType[*ledger.Refusal](err)
		switch {
		case err == nil && at.Hash != e.Hash().String():
			return acked{}, fmt.Errorf("another event has its id: %s", at.Hash)
		case err == nil:
			a.found++
			return acked{id: e.ID, hash: at.Hash, position: at.Position}, nil
		case refused && r.Code == ledger.CodeNotFound:
			a.absent++
		default:
			return acked{}, err
		}
	}
}

// locate asks for an event until the service answers: it listens before it has
// read its history.
func (a *appender) locate(c *client.Client, id string) (protocol.Located, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(appendPatience); ; <-tick.C {
		at, err := c.Locate(a.Context(), id)
		if !open(err) || time.Now().After(deadline) {
			return at, err
		}
	}
}

// TestKill is item 5 of the first issue: the service is killed with SIGKILL
// while 8 clients append. What was acknowledged is there, once and in order;
// what was not answered is settled by asking again.
func TestKill(t *testing.T) {
	l := servicetest.New(t)
	p := startProcess(t, l.Folder.Dir, "127.0.0.1:0")
	address := strings.TrimPrefix(p.url, "nats://")
	var round atomic.Pointer[context.Context]
	var count atomic.Int64
	next := func() context.CancelFunc {
		ctx, cancel := context.WithCancel(t.Context())
		round.Store(&ctx)
		return cancel
	}
	cancel := next()
	stop := make(chan struct{})
	var group sync.WaitGroup
	appenders := make([]*appender, killClients)
	for i := range appenders {
		chain, err := l.Chain(fmt.Sprintf("TASK-%d", i+1))
		if err != nil {
			t.Fatal(err)
		}
		a := &appender{T: t, ledger: l, chain: chain, round: &round, stop: stop, count: &count, patient: i%2 == 0,
			config: l.Config(t, p.url, filepath.Join(t.TempDir(), "head"))}
		a.config.Timeout = time.Second
		appenders[i] = a
		group.Go(a.run)
	}
	for range killRounds {
		awaitCount(t, &count, count.Load()+rand.Int64N(40))
		p.kill(t)
		cancel()
		cancel = next()
		p = startProcess(t, l.Folder.Dir, address)
	}
	awaitCount(t, &count, count.Load()+killClients)
	close(stop)
	group.Wait()
	cancel()
	p.stop(t)
	checkKilled(t, l, appenders)
}

// awaitCount waits until so many events are acknowledged.
func awaitCount(t *testing.T, count *atomic.Int64, want int64) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for ctx := servicetest.Within(t); count.Load() < want && !t.Failed(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%d events acknowledged, want %d", count.Load(), want)
		}
	}
}

// checkKilled reads the history back and holds it against what clients know.
func checkKilled(t *testing.T, l *servicetest.Ledger, appenders []*appender) {
	t.Helper()
	r, err := server.OpenReader(servicetest.Within(t), servicetest.Options(l.Folder.Dir))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var heads []evidence.Head
	key, err := l.Folder.ServiceKey()
	if err != nil {
		t.Fatal(err)
	}
	total, existing, found, absent := 0, 0, 0, 0
	for _, a := range appenders {
		total, existing, found, absent = total+len(a.acked), existing+a.existing, found+a.found, absent+a.absent
		remembered, err := evidence.NewHeadFile(a.config.HeadPath, servicetest.Name, a.config.Identity, key).Load()
		if err != nil {
			t.Fatal(err)
		}
		heads = append(heads, remembered)
		for _, e := range a.acked {
			if e.head == "" {
				continue
			}
			head, err := evidence.OpenHead([]byte(e.head), servicetest.Name, a.config.Identity, key)
			if err != nil {
				t.Fatalf("head of %s: %v", e.id, err)
			}
			if uint64(e.position) > head.Size {
				t.Errorf("event at %d is acknowledged with a head of size %d", e.position, head.Size)
			}
			heads = append(heads, head)
		}
	}
	_, audit, err := ledger.Verify(servicetest.Within(t), r, servicetest.Name, heads, 0)
	if err != nil || audit.Fault != nil || audit.Heads != len(heads) {
		t.Fatalf("audit: %v, fault %+v, %d of %d heads hold", err, audit.Fault, audit.Heads, len(heads))
	}
	if want := uint64(total) + 1; audit.Events != want {
		t.Errorf("history has %d events, want %d: genesis and what was acknowledged", audit.Events, want)
	}
	checkOrder(t, r, appenders)
	t.Logf("%d events by %d clients over %d kills; resubmitted and there %d, found by id %d, not found by id %d",
		total, len(appenders), killRounds, existing, found, absent)
	if existing+found+absent == 0 {
		t.Error("no outcome was ever unknown: the service was not killed at work")
	}
}

// checkOrder finds each acknowledged event at its position, once.
func checkOrder(t *testing.T, r journal.Reader, appenders []*appender) {
	t.Helper()
	stored := map[string]events.Event{}
	at := map[string]events.Position{}
	err := r.Replay(servicetest.Within(t), 1, func(m journal.Record) error {
		e, err := events.ParseStored(m.Header, m.Data)
		if _, twice := stored[e.ID]; twice {
			err = fmt.Errorf("event %s is there twice", e.ID)
		}
		stored[e.ID], at[e.ID] = e, m.Position
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range appenders {
		last := events.Position(0)
		for i, want := range a.acked {
			e, there := stored[want.id]
			if !there || e.Hash().String() != want.hash || at[want.id] != want.position || e.Sequence != uint64(i+1) || want.position <= last {
				t.Errorf("acknowledged %+v as number %d after position %d; there %t at %d with sequence %d", want, i+1, last, there, at[want.id], e.Sequence)
			}
			last = want.position
		}
	}
}
