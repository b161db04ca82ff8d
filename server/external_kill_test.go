package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/internal/natstest"
	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/ledger"
)

var (
	killTurns   = flag.Int("kills", 2, "TestKillInstances: how often an instance is killed")
	killLeaders = flag.Int("leaders", 0, "TestKillInstances: how often the leader of the stream is killed and, at every second time, stopped")
)

// command is an instance in a process of its own: deed serve.
type command struct {
	cmd       *exec.Cmd
	complaint bytes.Buffer
}

// buildDeed builds the real command.
func buildDeed(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "deed")
	if out, err := exec.Command("go", "build", "-o", path, "github.com/deedledger/deed/cmd/deed").CombinedOutput(); err != nil {
		t.Fatalf("build deed: %v\n%s", err, out)
	}
	return path
}

// serveCommand runs an instance until it is killed or told to end, and returns
// once it serves.
func serveCommand(t *testing.T, deed, dir string, o servicetest.Outside) *command {
	t.Helper()
	p := &command{cmd: exec.Command(deed, "serve", "-o", "json", "--dir", dir, "--nats", o.URL, "--user", o.Service.User,
		"--password-file", o.Service.PasswordFile, "--lease-term", "2s")}
	p.cmd.Env, p.cmd.Stderr = []string{"DEED_HOME=" + dir + "-home", "PATH=" + os.Getenv("PATH")}, &p.complaint
	stdout, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil { // nobody waited for it yet
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	})
	var line struct{ Kind string }
	if err := json.NewDecoder(stdout).Decode(&line); err != nil || line.Kind != "service" {
		_ = p.cmd.Wait()
		t.Fatalf("serve: kind %q, error %v\n%s", line.Kind, err, &p.complaint)
	}
	return p
}

// kill ends the process with SIGKILL.
func (p *command) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatalf("kill instance: %v", err)
	}
	_ = p.cmd.Wait() // killed, it says
}

// stop ends the process in order.
func (p *command) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("stop instance: %v", err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Fatalf("stop instance: %v\n%s", err, &p.complaint)
	}
}

// outage is 8 clients of two instances on a cluster, and what goes wrong there.
type outage struct {
	*testing.T
	cluster   *natstest.Cluster
	outside   servicetest.Outside
	url       atomic.Pointer[string] // of the servers that run
	deed      string
	dirs      [2]string
	running   [2]*command
	round     atomic.Pointer[context.Context] // ends with every kill
	cancel    context.CancelFunc
	count     atomic.Int64
	appenders []*appender
}

// next ends what clients that die with an instance were doing.
func (o *outage) next() {
	ctx, cancel := context.WithCancel(o.Context())
	o.round.Store(&ctx)
	if o.cancel != nil {
		o.cancel()
	}
	o.cancel = cancel
}

// more waits for so many more acknowledgements.
func (o *outage) more(n int64) {
	o.Helper()
	awaitCount(o.T, &o.count, o.count.Load()+n)
}

// moved notes where the servers are: one that came back has another address.
func (o *outage) moved() {
	url := o.cluster.URL()
	o.outside.URL = url
	o.url.Store(&url)
}

func (o *outage) serve(i int) {
	o.Helper()
	o.running[i] = serveCommand(o.T, o.deed, o.dirs[i], o.outside)
}

// TestKillInstances: the instances that serve one ledger are killed with
// SIGKILL in turn while 8 clients append, and so is the server that leads the
// stream: what was acknowledged is there, once and at its place.
func TestKillInstances(t *testing.T) {
	cluster := natstest.StartProcesses(t, servicetest.Name)
	cluster.Await()
	o := &outage{T: t, cluster: cluster, deed: buildDeed(t),
		outside: servicetest.Passwords(t, cluster.URL(), cluster.ServicePassword, cluster.ClientPassword)}
	l := servicetest.NewExternal(t, o.outside)
	o.dirs = [2]string{l.Folder.Dir, l.Twin(t).Dir}
	o.moved()
	o.next()
	defer func() { o.cancel() }()
	o.serve(0)
	stop := make(chan struct{})
	var group sync.WaitGroup
	for i := range killClients {
		chain, err := l.Chain(fmt.Sprintf("TASK-%d", i+1))
		if err != nil {
			t.Fatal(err)
		}
		a := &appender{T: t, ledger: l, chain: chain, round: &o.round, stop: stop, count: &o.count, patient: i%2 == 0, outside: func() string { return *o.url.Load() },
			config: l.ExternalConfig(t, o.outside, filepath.Join(t.TempDir(), "head"))}
		a.config.Timeout = 2 * time.Second // of what was asked of an instance that died
		o.appenders = append(o.appenders, a)
		group.Go(a.run)
	}
	o.more(killClients)
	o.serve(1)
	for turn := range *killTurns {
		o.more(killClients)
		o.running[turn%2].kill(t)
		o.next()
		o.more(killClients) // the other one writes
		o.serve(turn % 2)
	}
	for turn := range *killLeaders {
		o.more(killClients)
		leader := cluster.Leader()
		[]func(int){cluster.Kill, cluster.Stop}[turn%2](leader)
		o.moved()
		o.next()
		o.more(killClients) // two servers keep on
		cluster.Start(leader)
		o.moved()
	}
	o.more(killClients)
	close(stop)
	group.Wait()
	o.check(l)
	for _, p := range o.running {
		p.stop(t)
	}
}

// check audits the history that a client reads, and holds it against what all
// clients know.
func (o *outage) check(l *servicetest.Ledger) {
	o.Helper()
	c := servicetest.Dial(o.T, l.ExternalConfig(o.T, o.outside, ""))
	r, err := c.Reader(servicetest.Within(o.T))
	if err != nil {
		o.Fatal(err)
	}
	defer r.Close()
	heads, total := o.heads(l)
	_, audit, err := ledger.Verify(servicetest.Within(o.T), r, servicetest.Name, heads, 0)
	if err != nil || audit.Fault != nil || audit.Heads != len(heads) {
		o.Fatalf("audit: %v, fault %+v, %d of %d heads hold", err, audit.Fault, audit.Heads, len(heads))
	}
	if want := uint64(total) + 1; audit.Events != want {
		o.Errorf("history has %d events, want %d: genesis and what was acknowledged", audit.Events, want)
	}
	checkOrder(o.T, r, o.appenders)
	existing, found, absent := 0, 0, 0
	for _, a := range o.appenders {
		existing, found, absent = existing+a.existing, found+a.found, absent+a.absent
	}
	o.Logf("%d events by %d clients over %d kills of an instance and %d ends of a leader; resubmitted and there %d, found by id %d, not found by id %d",
		total, len(o.appenders), *killTurns, *killLeaders, existing, found, absent)
}

// heads opens every head that clients got or remember.
func (o *outage) heads(l *servicetest.Ledger) (heads []evidence.Head, total int) {
	o.Helper()
	key, err := l.Folder.ServiceKey()
	if err != nil {
		o.Fatal(err)
	}
	for _, a := range o.appenders {
		total += len(a.acked)
		remembered, err := evidence.NewHeadFile(a.config.HeadPath, servicetest.Name, a.config.Identity, key).Load()
		if err != nil {
			o.Fatal(err)
		}
		heads = append(heads, remembered)
		for _, e := range a.acked {
			if e.head == "" {
				continue
			}
			head, err := evidence.OpenHead([]byte(e.head), servicetest.Name, a.config.Identity, key)
			if err != nil || e.position > events.Position(head.Size) {
				o.Fatalf("event at %d: head of size %d, error %v", e.position, head.Size, err)
			}
			heads = append(heads, head)
		}
	}
	return heads, total
}
