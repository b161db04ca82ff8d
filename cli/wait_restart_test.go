package cli_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// real runs the real command as a process with a DEED_HOME.
type real struct {
	t    *testing.T
	home string
}

func (r real) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(r.t.Context(), deedProgram(), args...)
	cmd.Dir = r.home
	cmd.Env = append(os.Environ(), noRaceSleep, "DEED_HOME="+r.home, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	return cmd
}

func (r real) run(args ...string) {
	r.t.Helper()
	if out, err := r.command(args...).CombinedOutput(); err != nil {
		r.t.Fatalf("deed %v: %v\n%s", args, err, out)
	}
}

// restart kills the service and starts another one.
func (r real) restart() {
	r.t.Helper()
	pid, err := servicePID(filepath.Join(r.home, "data", "ledgers", "acme", "run.json"))
	must(r.t, err)
	must(r.t, kill(pid))
	r.run("up")
}

// TestWaitOutlivesTheService: a wait that has begun goes on while the service
// is killed and started again, before, between and after the events that it
// waits for.
func TestWaitOutlivesTheService(t *testing.T) {
	t.Parallel()
	r := real{t, t.TempDir()}
	t.Cleanup(func() { stopServices(r.home) })
	must(t, exec.CommandContext(t.Context(), "git", "init", "-q", "-b", "main", r.home).Run())
	r.run("key", "new", "olga")
	r.run("ledger", "create", "acme", "--admin", "olga", "--principal", "olga")
	r.run("up")
	wait := r.command("wait", "T-1", "--for", "Cancelled")
	var stdout bytes.Buffer
	wait.Stdout = &stdout
	stderr, err := wait.StderrPipe()
	must(t, err)
	must(t, wait.Start())
	note, err := bufio.NewReader(stderr).ReadString('\n') // from here on it follows
	if err != nil || !strings.Contains(note, "waiting for it") {
		t.Fatalf("wait said %q: %v", note, err)
	}
	rest := make(chan string, 1)
	go func() { text, _ := io.ReadAll(stderr); rest <- string(text) }()
	r.restart()
	draft := filepath.Join(r.home, "contract.json")
	must(t, os.WriteFile(draft, []byte(`{"goal": "g", "acceptance": [{"id": "A1", "text": "t", "checks": [{"command": ["true"]}]}], "scope": {"include": ["src/**"]}}`), 0o600))
	r.run("contract", "propose", "T-1", "-f", draft)
	r.restart()
	r.run("actor", "invite", "new", "--kind", "agent", "--principal", "p", "--roles", "implementer")
	r.restart()
	r.run("cancel", "T-1", "--reason", "no need")
	said := <-rest
	if err := wait.Wait(); err != nil || !strings.Contains(stdout.String(), "task T-1 is Cancelled\n") {
		t.Errorf("wait ended with %v: %s%s", err, stdout.String(), said)
	}
}
