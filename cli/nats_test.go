package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deedledger/deed/internal/natstest"
)

// home is one person on one machine, with the real command.
type home struct {
	t   *testing.T
	dir string
}

func newHome(t *testing.T) home { return home{t, t.TempDir()} }

func (h home) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(h.t.Context(), deedProgram(), args...)
	cmd.Dir, cmd.Env = h.dir, []string{"DEED_HOME=" + h.dir, "PATH=" + os.Getenv("PATH")}
	return cmd
}

// run runs a command, which must end with an exit code, and returns what it
// prints.
func (h home) run(exit int, args ...string) (stdout string) {
	h.t.Helper()
	var out, complaint bytes.Buffer
	cmd := h.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &complaint
	_ = cmd.Run() // the state has the exit code
	if got := cmd.ProcessState.ExitCode(); got != exit {
		h.t.Fatalf("deed %s: exit %d, want %d\n%s%s", strings.Join(args, " "), got, exit, &out, &complaint)
	}
	return out.String()
}

// serve runs an instance until the test ends, and returns once it serves.
func (h home) serve(args ...string) *exec.Cmd {
	h.t.Helper()
	cmd := h.command(append([]string{"serve", "-o", "json"}, args...)...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var line struct{ Kind string }
	if err := json.NewDecoder(stdout).Decode(&line); err != nil || line.Kind != "service" {
		_ = cmd.Wait()
		h.t.Fatalf("serve: kind %q, error %v\n%s", line.Kind, err, &complaint)
	}
	return cmd
}

// TestExternalNATS: a ledger on an operator's NATS, two instances on two
// machines, a client on a third; the instance that writes is killed.
func TestExternalNATS(t *testing.T) {
	c := natstest.Config(t)
	c.Ledger, c.Listen = "acme", "127.0.0.1:0"
	nats := natstest.Start(t, c)
	password := func(h home, text string) string {
		file := filepath.Join(h.dir, "password")
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	one, two, third := newHome(t), newHome(t), newHome(t)
	service := func(h home) []string {
		return []string{"--nats", nats.URL(), "--user", "service", "--password-file", password(h, c.ServicePassword)}
	}
	one.run(0, "key", "new", "ann")
	one.run(2, "ledger", "create", "acme", "--admin", "ann", "--creds", "x.creds")
	one.run(2, "ledger", "create", "acme", "--admin", "ann", "--nats", "http://127.0.0.1")
	one.run(0, append([]string{"ledger", "create", "acme", "--admin", "ann"}, service(one)...)...)
	folder := filepath.Join(one.dir, "data", "ledgers", "acme")
	two.run(0, "key", "new", "ann")
	two.run(7, append([]string{"ledger", "create", "acme", "--admin", "ann"}, service(two)...)...)

	first := one.serve("--lease-term", "2s")
	one.run(5, "status") // nobody said how clients get in
	copied := filepath.Join(two.dir, "copied")
	if err := os.Mkdir(copied, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ledger.json", "service.key"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(copied, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	two.serve(append([]string{"--lease-term", "2s", "--dir", copied}, service(two)...)...)

	third.run(0, "context", "add", "acme", "--nats", nats.URL(), "--user", "client", "--password-file", password(third, c.ClientPassword),
		"--ledger-file", filepath.Join(folder, "ledger.json"))
	key, err := os.ReadFile(filepath.Join(one.dir, "config", "keys", "ann.key"))
	if err == nil {
		err = os.MkdirAll(filepath.Join(third.dir, "config", "keys"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(third.dir, "config", "keys", "ann.key"), key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	third.run(0, "status")
	third.run(7, "serve") // the ledger's service runs elsewhere
	third.invite("before")
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	third.invite("after")
	third.run(0, "audit", "verify")
	if log := third.run(0, "log", "-o", "json"); strings.Count(log, "actor.invited") != 2 {
		t.Errorf("the log has not two invitations:\n%s", log)
	}
}

// invite invites an actor; while nobody writes it tries again.
func (h home) invite(actor string) {
	h.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var complaint bytes.Buffer
	for deadline := time.Now().Add(2 * time.Minute); ; <-tick.C {
		complaint.Reset()
		cmd := h.command("actor", "invite", actor, "--kind", "agent", "--roles", "implementer", "--principal", "of-"+actor, "--as", "ann", "--local",
			"--token-out", filepath.Join(h.dir, fmt.Sprintf("token-%s-%d", actor, time.Now().UnixNano())))
		cmd.Stdout, cmd.Stderr = &complaint, &complaint
		if cmd.Run() == nil {
			return
		}
		if exit := cmd.ProcessState.ExitCode(); exit != 3 || time.Now().After(deadline) {
			h.t.Fatalf("invite %s: exit %d\n%s", actor, exit, &complaint)
		}
	}
}
