package cli_test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/signer"
)

// gate stands before the service, and stops at the first request that names a
// subject: it passes on neither that request nor anything later, or with deaf the
// request but no answer.
type gate struct {
	listener net.Listener
	service  string
	subject  string
	deaf     bool
	reached  chan struct{} // closed at the request
	open     atomic.Bool   // let everything pass
	once     sync.Once
	conns    sync.WaitGroup
}

func newGate(t *testing.T, service, subject string, deaf bool) *gate {
	t.Helper()
	u, err := url.Parse(service)
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	g := &gate{listener: listener, service: u.Host, subject: subject, deaf: deaf, reached: make(chan struct{})}
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			g.conns.Go(func() { g.serve(conn) })
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-accepting; g.conns.Wait() })
	return g
}

func (g *gate) url() string { return "nats://" + g.listener.Addr().String() }

func (g *gate) serve(conn net.Conn) {
	defer conn.Close()
	service, err := net.Dial("tcp", g.service)
	if err != nil {
		return
	}
	defer service.Close()
	var shut atomic.Bool
	g.conns.Go(func() {
		defer conn.Close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := service.Read(buffer)
			if err != nil {
				return
			}
			if shut.Load() {
				continue
			}
			if _, err := conn.Write(buffer[:n]); err != nil {
				return
			}
		}
	})
	buffer, seen := make([]byte, 64<<10), []byte{}
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return
		}
		seen = append(seen, buffer[:n]...)
		if !g.open.Load() && bytes.Contains(seen, []byte(g.subject+" ")) {
			shut.Store(true)
			if g.deaf {
				_, _ = service.Write(buffer[:n])
			}
			g.once.Do(func() { close(g.reached) })
			_, _ = io.Copy(io.Discard, conn) // until the process is dead
			return
		}
		if _, err := service.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// joiner is a machine that joins the stage's ledger.
type joiner struct {
	*stage
	actor, home, token string
}

// newJoiner invites an actor to join through an address.
func (s *stage) newJoiner(actor, address string) *joiner {
	s.t.Helper()
	j := &joiner{stage: s, actor: actor, home: filepath.Join(s.t.TempDir(), "machine"), token: filepath.Join(s.t.TempDir(), "token")}
	invite := s.deed(s.home, "--dir", s.dir, "--as", "owner", "actor", "invite", actor, "--kind", "agent", "--principal", "p", "--roles", "implementer",
		"--url", address, "--token-out", j.token)
	if out, err := invite.CombinedOutput(); err != nil {
		s.t.Fatalf("invite: %v\n%s", err, out)
	}
	return j
}

// deed is the real command with a home of its own.
func (s *stage) deed(home string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(s.t.Context(), deedProgram(), args...)
	cmd.Env = []string{"DEED_HOME=" + home, "HOME=" + home, "PATH=" + os.Getenv("PATH"), noRaceSleep}
	cmd.Dir = s.t.TempDir()
	return cmd
}

// join runs the command to its end, which has to be a good one.
func (j *joiner) join() string {
	j.t.Helper()
	out, err := j.deed(j.home, "actor", "join", "--token-file", j.token).CombinedOutput()
	if err != nil {
		j.t.Fatalf("join: %v\n%s", err, out)
	}
	return string(out)
}

// keys are the actor's keys in the ledger.
func (j *joiner) keys() []string {
	j.t.Helper()
	g, err := j.dial(j.local.URL()).Registry(j.t.Context())
	must(j.t, err)
	return g.Registry.Actor(j.actor).Keys
}

// file is a file of the machine.
func (j *joiner) file(name string) string { return filepath.Join(j.home, name) }

// joined checks what has to be there in the end: one key, the ledger's, and a
// context with which the machine reads and asks as the actor.
func (j *joiner) joined() {
	j.t.Helper()
	public, err := signer.ReadPublicKeyFile(j.file("config/keys/" + j.actor + ".key.pub"))
	must(j.t, err)
	key, err := signer.ReadKeyFile(j.file("config/keys/"+j.actor+".key"), nil)
	must(j.t, err)
	if keys := j.keys(); !slices.Equal(keys, []string{public.String()}) || !key.Public().Equal(public) {
		j.t.Errorf("the ledger has keys %s, the machine %s", keys, public)
	}
	if out, err := j.deed(j.home, "status").CombinedOutput(); err != nil {
		j.t.Errorf("status: %v\n%s", err, out)
	}
	entries, err := os.ReadDir(j.file("config/keys"))
	if err != nil || len(entries) != 2 {
		j.t.Errorf("key files %v, %v", entries, err)
	}
}

// TestJoinKilled kills the command where it asks or writes, and runs it again.
func TestJoinKilled(t *testing.T) {
	s := newStage(t)
	for name, c := range map[string]struct {
		request string
		deaf    bool
		key     bool // there is a key then
		claimed bool
	}{
		"before-the-head": {"query.status", false, false, false},
		"before-the-key":  {"query.registry", false, false, false},
		"before-claim":    {"submit", false, true, false},
		"after-claim":     {"submit", true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.with(t)
			g := newGate(t, s.local.URL(), "deed.stage.v1."+c.request, c.deaf)
			j := s.newJoiner(name, g.url())
			cmd := j.deed(j.home, "actor", "join", "--token-file", j.token)
			must(t, cmd.Start())
			<-g.reached
			if c.claimed {
				until(t, "the claim is in the ledger", func() bool { return len(j.keys()) == 1 })
			}
			must(t, cmd.Process.Kill())
			_ = cmd.Wait()
			before, err := os.ReadFile(j.file("config/keys/" + name + ".key"))
			if (err == nil) != c.key || (len(j.keys()) == 1) != c.claimed {
				t.Fatalf("key file %t, claims %s", err == nil, j.keys())
			}
			if _, err := os.Stat(j.file("config/contexts/stage.json")); err == nil {
				t.Error("a context before the end")
			}
			g.open.Store(true)
			if out := j.join(); strings.Contains(out, "before: nothing was claimed") != c.claimed {
				t.Errorf("said %s", out)
			}
			j.joined()
			after, err := os.ReadFile(j.file("config/keys/" + name + ".key"))
			must(t, err)
			if c.key && !bytes.Equal(before, after) {
				t.Error("a second key was made")
			}
		})
	}
}

// with is the stage as a subtest sees it.
func (s *stage) with(t *testing.T) *stage {
	other := *s
	other.t = t
	return &other
}

// TestJoinLeftovers takes away what a process that died had not written yet.
func TestJoinLeftovers(t *testing.T) {
	s := newStage(t)
	j := s.newJoiner("impl-new", s.local.URL())
	j.join()
	j.joined()
	folders, err := filepath.Glob(j.file("data/joined/*"))
	if err != nil || len(folders) != 1 {
		t.Fatalf("folders %s, %v", folders, err)
	}
	key, err := os.ReadFile(j.file("config/keys/impl-new.key"))
	must(t, err)
	for _, missing := range [][]string{
		{"config/keys/impl-new.key.pub"}, {"config/context"}, {"config"}, {"config/contexts", "data", "state"},
	} {
		for _, name := range missing {
			if name == "config" { // all but the keys
				must(t, os.Rename(j.file("config/keys"), j.file("keys")))
			}
			must(t, os.RemoveAll(j.file(name)))
			if name == "config" {
				must(t, os.Mkdir(j.file("config"), 0o700))
				must(t, os.Rename(j.file("keys"), j.file("config/keys")))
			}
		}
		if out := j.join(); !strings.Contains(out, "before: nothing was claimed") {
			t.Errorf("without %s: %s", missing, out)
		}
		j.joined()
	}
	again, err := os.ReadFile(j.file("config/keys/impl-new.key"))
	must(t, err)
	if !bytes.Equal(key, again) {
		t.Error("a second key was made")
	}
	for _, file := range []string{"remote.json", "client.json", "ledger.json"} {
		info, err := os.Stat(filepath.Join(folders[0], file))
		must(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %s", file, info.Mode())
		}
	}
}

// TestJoinTogether joins from several processes of one machine at once: one key,
// one claim, and each says that it is done.
func TestJoinTogether(t *testing.T) {
	s := newStage(t)
	j := s.newJoiner("impl-new", s.local.URL())
	var running []*exec.Cmd
	var said []*bytes.Buffer
	for range 4 {
		cmd, out := j.deed(j.home, "actor", "join", "--token-file", j.token), &bytes.Buffer{}
		cmd.Stdout, cmd.Stderr = out, out
		must(t, cmd.Start())
		running, said = append(running, cmd), append(said, out)
	}
	claimed := 0
	for i, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Errorf("join: %v\n%s", err, said[i])
		}
		if !strings.Contains(said[i].String(), "before: nothing was claimed") {
			claimed++
		}
	}
	if claimed != 1 {
		t.Errorf("%d of them claimed", claimed)
	}
	j.joined()
}

// TestJoinOtherHistory offers the token services that do not continue what the
// inviter saw: a copy of an earlier folder, and one that went another way.
func TestJoinOtherHistory(t *testing.T) {
	s := newStage(t)
	must(t, s.local.Close())
	copied := filepath.Join(t.TempDir(), "copy")
	must(t, os.CopyFS(copied, os.DirFS(s.dir)))
	s.start()
	for _, name := range []string{"one", "two"} {
		s.registry("owner", &events.Invitation{Actor: name, Kind: events.KindAgent, Principal: "p", Roles: []events.Role{events.RolePlanner}, TokenHash: events.Sum([]byte(name)).String()})
	}
	j := s.newJoiner("impl-new", s.local.URL())
	must(t, s.local.Close())
	original := s.dir
	s.dir = copied
	secureCopy(t, copied)
	s.start()
	refused := func(want string) {
		t.Helper()
		cmd := j.deed(j.home, "actor", "join", "--token-file", j.token, "--url", s.local.URL())
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 10 || !strings.Contains(string(out), want) {
			t.Errorf("exit code %d, want 10 and %q\n%s", cmd.ProcessState.ExitCode(), want, out)
		}
		if _, err := os.Stat(j.file("config")); err == nil {
			t.Error("something was written")
		}
	}
	refused("shorter")
	for _, name := range []string{"three", "four", "five", "six"} {
		s.registry("owner", &events.Invitation{Actor: name, Kind: events.KindAgent, Principal: "p", Roles: []events.Role{events.RolePlanner}, TokenHash: events.Sum([]byte(name)).String()})
	}
	refused("not the one that was acknowledged")
	must(t, s.local.Close())
	s.dir = original
	s.start()
}

// secureCopy gives a copied folder's private files the mode they had.
func secureCopy(t *testing.T, dir string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = os.Chmod(path, 0o600)
		}
		return err
	}))
}
