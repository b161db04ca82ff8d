package natstest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream/embedded"
)

// ClusterSize is how many servers a cluster has.
const ClusterSize = 3

// ConfVariable asks a test binary to be one server of a cluster instead; see
// [Main].
const ConfVariable = "DEED_TEST_NATS_CONF"

// nowhere is an address where nothing ever listens, by port 1 to 3. A cluster
// counts the routes that it is told of to know how large it will be.
const nowhere = "nats-route://127.0.0.1:%d"

// Cluster is three servers that keep one system, with the accounts of an
// embedded server.
type Cluster struct {
	// ServicePassword and ClientPassword are the users' passwords.
	ServicePassword, ClientPassword string

	t         testing.TB
	ledger    string
	processes bool
	nodes     [ClusterSize]*node
	stores    [ClusterSize]string
}

// node is one running server.
type node struct {
	url, route string
	stop       func() error // in order
	kill       func() error // at once: SIGKILL of its process
}

// StartCluster runs three servers in this process until the test ends, for a
// ledger of the name.
func StartCluster(t testing.TB, ledger string) *Cluster { return startCluster(t, ledger, false) }

// StartProcesses runs three servers in processes of their own, which can be
// killed. The test binary's TestMain must begin with [Main].
func StartProcesses(t testing.TB, ledger string) *Cluster { return startCluster(t, ledger, true) }

func startCluster(t testing.TB, ledger string, processes bool) *Cluster {
	t.Helper()
	c := &Cluster{
		ServicePassword: strings.Repeat("s", embedded.MinPasswordBytes), ClientPassword: strings.Repeat("c", embedded.MinPasswordBytes),
		t: t, ledger: ledger, processes: processes,
	}
	for i := range c.nodes {
		c.stores[i] = t.TempDir()
	}
	t.Cleanup(func() {
		for _, n := range c.nodes {
			if n != nil {
				_ = n.kill()
			}
		}
	})
	for i := range c.nodes {
		c.Start(i)
	}
	return c
}

// Start starts a server that does not run, on new ports: those that it had
// may be somebody else's by now.
func (c *Cluster) Start(i int) {
	c.t.Helper()
	run := inProcess
	if c.processes {
		run = ofProcess
	}
	n, err := run(c.conf(i))
	if err != nil {
		c.t.Fatalf("start server %d: %v", i, err)
	}
	c.nodes[i] = n
}

// Stop stops a server in order.
func (c *Cluster) Stop(i int) { c.end(i, func(n *node) error { return n.stop() }) }

// Kill kills a server's process. In this process it is Stop.
func (c *Cluster) Kill(i int) { c.end(i, func(n *node) error { return n.kill() }) }

func (c *Cluster) end(i int, how func(*node) error) {
	c.t.Helper()
	n := c.nodes[i]
	c.nodes[i] = nil
	if err := how(n); err != nil {
		c.t.Fatalf("end server %d: %v", i, err)
	}
}

// URL returns the addresses of the servers that run.
func (c *Cluster) URL() string {
	var urls []string
	for _, n := range c.nodes {
		if n != nil {
			urls = append(urls, n.url)
		}
	}
	return strings.Join(urls, ",")
}

// conf returns the configuration of a server that joins those that run.
func (c *Cluster) conf(i int) string {
	var routes []string
	for _, n := range c.nodes {
		if n != nil {
			routes = append(routes, n.route)
		}
	}
	for len(routes) < ClusterSize {
		routes = append(routes, fmt.Sprintf(nowhere, len(routes)+1))
	}
	return fmt.Sprintf(`server_name: deed-%d
listen: "127.0.0.1:-1"
jetstream { store_dir: %q }
cluster { name: deed, listen: "127.0.0.1:-1", routes: [ "%s" ] }
`, i+1, c.stores[i], strings.Join(routes, `", "`)) + embedded.Accounts(c.ledger, c.ServicePassword, c.ClientPassword)
}

// tryTimeout bounds one question to a system that may have no leader: then
// nobody answers at all.
const tryTimeout = 2 * time.Second

// Await returns once the system keeps streams of three copies: it has a leader
// that sees every server.
func (c *Cluster) Await() {
	c.t.Helper()
	c.ask("the cluster is not ready", func(ctx context.Context, js natsjs.JetStream) error {
		_, err := js.CreateStream(ctx, natsjs.StreamConfig{Name: "READY", Replicas: ClusterSize, Storage: natsjs.MemoryStorage})
		if err != nil {
			return err
		}
		return js.DeleteStream(ctx, "READY")
	})
}

// ask puts a question until it is answered. A test that has no answer fails.
func (c *Cluster) ask(failed string, question func(context.Context, natsjs.JetStream) error) {
	c.t.Helper()
	nc := c.Dial(embedded.ServiceUser)
	defer nc.Close()
	js, err := natsjs.New(nc)
	if err != nil {
		c.t.Fatal(err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ctx := Within(c.t); ; <-tick.C {
		try, cancel := context.WithTimeout(ctx, tryTimeout)
		err := question(try, js)
		cancel()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			c.t.Fatalf("%s: %v", failed, err)
		}
	}
}

// Dial connects as a user of the system, and tries for ever to connect again.
func (c *Cluster) Dial(user string) *nats.Conn {
	c.t.Helper()
	password := c.ServicePassword
	if user == embedded.ClientUser {
		password = c.ClientPassword
	}
	nc, err := nats.Connect(c.URL(), nats.UserInfo(user, password), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond),
		nats.ReconnectBufSize(-1), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		c.t.Fatalf("connect: %v", err)
	}
	c.t.Cleanup(nc.Close)
	return nc
}

// Leader returns which server leads the ledger's stream, once one does.
func (c *Cluster) Leader() (leader int) {
	c.t.Helper()
	c.ask("nobody leads the stream", func(ctx context.Context, js natsjs.JetStream) error {
		s, err := js.Stream(ctx, journal.StreamName(c.ledger))
		if err != nil {
			return err
		}
		name := ""
		if s.CachedInfo().Cluster != nil {
			name = s.CachedInfo().Cluster.Leader
		}
		leader = slices.Index([]string{"deed-1", "deed-2", "deed-3"}, name)
		if leader < 0 || c.nodes[leader] == nil {
			return fmt.Errorf("its leader is %q", name)
		}
		return nil
	})
	return leader
}

// Serve runs a server of a configuration in this process until the test ends,
// and returns its address.
func Serve(t testing.TB, conf string) (url string) {
	t.Helper()
	n, err := inProcess(conf)
	if err != nil {
		t.Fatalf("start server: %v", err)
	}
	t.Cleanup(func() { _ = n.stop() })
	return n.url
}

// inProcess runs a server of a configuration in this process.
func inProcess(conf string) (*node, error) {
	s, err := serve(conf)
	if err != nil {
		return nil, err
	}
	stop := func() error { s.Shutdown(); s.WaitForShutdown(); return nil }
	n := &node{url: s.ClientURL(), stop: stop, kill: stop}
	if at := s.ClusterAddr(); at != nil {
		n.route = "nats-route://" + at.String()
	}
	return n, nil
}

func serve(conf string) (*server.Server, error) {
	o := new(server.Options)
	if err := o.ProcessConfigString(conf); err != nil {
		return nil, err
	}
	o.NoSigs, o.NoLog, o.DisableJetStreamBanner = true, true, true
	s, err := server.NewServer(o)
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		s.Shutdown()
		return nil, errors.New("not ready in a minute")
	}
	return s, nil
}

// ofProcess runs a server of a configuration in a process of this binary.
func ofProcess(conf string) (*node, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "deed-nats-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) // it is read before the first line comes
	file := filepath.Join(dir, "nats.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(executable)
	cmd.Env, cmd.Stderr = append(cmd.Environ(), ConfVariable+"="+file), os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	n := &node{
		stop: func() error { return errors.Join(stdin.Close(), cmd.Wait()) },
		kill: func() error { _ = cmd.Process.Kill(); _ = cmd.Wait(); return nil },
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err == nil {
		_, err = fmt.Sscan(line, &n.url, &n.route)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("server in a process: %w", err), n.kill())
	}
	return n, nil
}

// Main runs a server where a file is named, which is the value of ConfVariable
// in the environment, and reports whether it did: then the binary ends. The
// server ends with standard input, which ends with the test.
func Main(file string) (served bool) {
	if file == "" {
		return false
	}
	conf, err := os.ReadFile(file)
	if err == nil {
		var s *server.Server
		if s, err = serve(string(conf)); err == nil {
			fmt.Println(s.ClientURL(), "nats-route://"+s.ClusterAddr().String())
			_, err = io.Copy(io.Discard, os.Stdin)
			s.Shutdown()
			s.WaitForShutdown()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "nats server:", err)
	}
	return true
}
