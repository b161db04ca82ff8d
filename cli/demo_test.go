package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/deedledger/deed/cli"
)

// demoOutput is the machine form of the demo.
type demoOutput struct {
	Delivered bool   `json:"delivered"`
	State     string `json:"state"`
	Decision  string `json:"decision"`
	Effects   int    `json:"effects_executed"`
	Takeovers int    `json:"takeovers"`
	Events    int    `json:"events"`
	Audit     string `json:"audit"`
	Refusals  []struct {
		Actor string `json:"actor"`
		Rule  string `json:"rule"`
	} `json:"refusals"`
}

// transcript keeps what a process writes, for reading while it runs.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends.
func (w *transcript) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

// String returns all of it.
func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// startDemo starts the real command's demo in a group of its own; temp is
// where its temporary folders go.
func startDemo(t *testing.T, temp string, args ...string) (cmd *exec.Cmd, stdout, stderr *transcript) {
	t.Helper()
	stdout, stderr = &transcript{}, &transcript{}
	cmd = exec.CommandContext(t.Context(), deedProgram(), append([]string{"demo"}, args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, noRaceSleep)
	cmd.Dir, cmd.Stdout, cmd.Stderr = temp, stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 30 * time.Second
	must(t, cmd.Start())
	t.Cleanup(func() { nothingLeft(t, temp) })
	return cmd, stdout, stderr
}

// nothingLeft demands that no process of the demo in temp is left.
func nothingLeft(t *testing.T, temp string) {
	t.Helper()
	until(t, "no process of the demo is left", func() bool {
		dirs, err := filepath.Glob("/proc/[0-9]*/cmdline")
		must(t, err)
		for _, file := range dirs {
			text, _ := os.ReadFile(file) // gone meanwhile
			if bytes.Contains(text, []byte(temp)) {
				return false
			}
		}
		return true
	})
}

// folders returns the demo's folders in temp.
func folders(t *testing.T, temp string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(temp, "deed-*"))
	must(t, err)
	return list
}

func TestDemo(t *testing.T) {
	for _, play := range []struct {
		flag string
		want demoOutput
		// refused are the actors who were refused something.
		refused string
	}{
		{"", demoOutput{Delivered: true, State: "Delivered", Decision: "resume_bounded_step", Effects: 1, Takeovers: 1, Audit: "ok"}, "impl-b impl-a impl-b"},
		{"--no-probe", demoOutput{State: "Escalated", Decision: "escalate_effect_unknown", Effects: 1, Audit: "ok"}, "impl-b impl-b"},
	} {
		t.Run("demo "+play.flag, func(t *testing.T) {
			t.Parallel()
			temp := t.TempDir()
			cmd, stdout, stderr := startDemo(t, temp, strings.Fields(play.flag+" -o json")...)
			if err := cmd.Wait(); err != nil {
				t.Fatalf("demo: %v\n%s%s", err, stdout, stderr)
			}
			var object struct {
				Schema string     `json:"schema"`
				Kind   string     `json:"kind"`
				Data   demoOutput `json:"data"`
			}
			must(t, json.Unmarshal([]byte(stdout.String()), &object))
			got := object.Data
			var refused []string
			for _, r := range got.Refusals {
				refused = append(refused, r.Actor)
			}
			if strings.Join(refused, " ") != play.refused {
				t.Errorf("refusals %v, want of %s", got.Refusals, play.refused)
			}
			if got.Events < 20 {
				t.Errorf("%d events", got.Events)
			}
			got.Refusals, got.Events = nil, 0
			if object.Schema != "deed.cli/v1" || object.Kind != "demo" || !equalOutput(got, play.want) {
				t.Errorf("got %+v, want %+v", got, play.want)
			}
			if left := folders(t, temp); len(left) != 0 || stderr.String() != "" {
				t.Errorf("left %v; stderr %q", left, stderr)
			}
		})
	}
}

// equalOutput compares outputs without their refusals.
func equalOutput(a, b demoOutput) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errors.Join(errX, errY) == nil && bytes.Equal(x, y)
}

// TestDemoForPeople holds the timeline to what a newcomer needs, and shows that
// --keep leaves a folder that can be looked at.
func TestDemoForPeople(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	cmd, stdout, stderr := startDemo(t, temp, "--keep", "kept")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("demo: %v\n%s%s", err, stdout, stderr)
	}
	text := stdout.String()
	for _, want := range []string{"killed with SIGKILL", "confirmed, not to be repeated", "already confirmed, nothing was called", "refused by receipt.recorded/role", "Delivered. 1 effect", "1 takeover"} {
		if !strings.Contains(text, want) {
			t.Errorf("the timeline does not say %q:\n%s", want, text)
		}
	}
	if strings.ContainsAny(text, "\x1b\r\t") {
		t.Errorf("the timeline drives a terminal: %q", text)
	}
	for _, name := range []string{"ledger/ledger.json", "project/greet.go", "outside-world"} {
		if _, err := os.Stat(filepath.Join(temp, "kept", name)); err != nil {
			t.Errorf("--keep: %v", err)
		}
	}
	again, _, _ := startDemo(t, temp, "--keep", "kept")
	if err := again.Wait(); err == nil {
		t.Error("a folder that exists was taken")
	}
}

// TestDemoNoticesABrokenPromise: the outside world changes once more than the
// ledger knows.
func TestDemoNoticesABrokenPromise(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	cmd, stdout, stderr := startDemo(t, temp, "--keep", "kept")
	world := filepath.Join(temp, "kept", "outside-world")
	until(t, "the outside world changes", func() bool {
		text, err := os.ReadFile(world)
		return err == nil && bytes.HasSuffix(text, []byte("\n"))
	})
	file, err := os.OpenFile(world, os.O_WRONLY|os.O_APPEND, 0o600)
	must(t, err)
	_, err = file.WriteString(`{"id":"preview-2","key":"other","token":"other","commit":"other"}` + "\n")
	must(t, errors.Join(err, file.Close()))
	err = cmd.Wait()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != cli.ExitFatal || !strings.Contains(stderr.String(), "a promise is broken") {
		t.Errorf("%v\n%s%s", err, stdout, stderr)
	}
}

// TestDemoInterrupted: at any moment an interrupt leaves no process and no
// folder.
func TestDemoInterrupted(t *testing.T) {
	for _, moment := range []string{"creates a ledger", "publishes a preview", "wants to go on", "recovers", "runs the pinned test"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			temp := t.TempDir()
			cmd, stdout, _ := startDemo(t, temp)
			until(t, "the moment has come", func() bool { return strings.Contains(stdout.String(), moment) })
			must(t, syscall.Kill(cmd.Process.Pid, syscall.SIGINT))
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != cli.ExitUnavailable {
				t.Errorf("an interrupted demo ends with exit code %d", code)
			}
			if left := folders(t, temp); len(left) != 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}
