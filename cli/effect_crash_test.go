package cli_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/deedledger/deed/cli"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/runner"
)

// The variables that make TestDeedProcess a process of its own: what to run,
// where, and after which calls of NewID or Random to stop for ever.
const processVariable = "DEED_TEST_PROCESS"

// process is one run of deed in a process of its own.
type process struct {
	Args []string          `json:"args"`
	Dir  string            `json:"dir"`
	Vars map[string]string `json:"vars"`
	// StopID and StopToken stop before the n-th id, or before a token is made;
	// 0 never stops. Reached is the file that says so.
	StopID    int64  `json:"stopId"`
	StopToken bool   `json:"stopToken"`
	Reached   string `json:"reached"`
	// Path is a folder in which programs are found first.
	Path string `json:"-"`
	// Go is a file that lets a stopped process go on; "" never does.
	Go string `json:"go"`
}

// TestDeedProcess is no test of its own: other tests run it as a process that
// they can kill.
func TestDeedProcess(t *testing.T) {
	text := os.Getenv(processVariable)
	if text == "" {
		return
	}
	var p process
	must(t, json.Unmarshal([]byte(text), &p))
	stop := func() {
		must(t, os.WriteFile(p.Reached, nil, 0o600))
		until(t, "it may go on", func() bool {
			_, err := os.Stat(p.Go)
			return p.Go != "" && err == nil
		})
	}
	var ids atomic.Int64
	e := &cli.Env{
		Stdin: strings.NewReader(""), Stdout: os.Stdout, Stderr: os.Stderr, Getenv: func(name string) string { return p.Vars[name] },
		Environ: func() []string { return nil }, Dir: p.Dir, Executable: deedProgram(), PID: os.Getpid(), Host: "stage", Now: time.Now,
		NewID: func() string {
			if ids.Add(1) == p.StopID {
				stop()
			}
			return newID()
		},
		Random: stopReader{p.StopToken, stop}, Version: "0.0.0",
	}
	root := cli.New(e)
	root.SetArgs(p.Args)
	os.Exit(cli.Report(e, root, root.ExecuteContext(context.Background())))
}

// stopReader is crypto/rand, or a place to stop at.
type stopReader struct {
	stops bool
	stop  func()
}

func (r stopReader) Read(b []byte) (int, error) {
	if r.stops {
		r.stop()
	}
	return io.ReadFull(rand.Reader, b)
}

// spawn starts deed in a process group of its own.
func (s *stage) spawn(actor string, p process, args ...string) *exec.Cmd {
	s.t.Helper()
	p.Args, p.Dir, p.Vars, p.Reached = append([]string{"--as", actor}, args...), s.repo, s.vars(), filepath.Join(s.world, "reached")
	text, err := json.Marshal(p)
	must(s.t, err)
	cmd := exec.CommandContext(s.t.Context(), os.Args[0], "-test.run=^TestDeedProcess$")
	cmd.Env = append(os.Environ(), noRaceSleep, processVariable+"="+string(text))
	if p.Path != "" {
		cmd.Env = append(cmd.Env, "PATH="+p.Path+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdout, cmd.Stderr = &bytes.Buffer{}, &bytes.Buffer{}
	must(s.t, cmd.Start())
	return cmd
}

// killAt waits until a process has reached its point, and kills its group.
func (s *stage) killAt(cmd *exec.Cmd) {
	s.t.Helper()
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	until(s.t, "the point is reached", func() bool {
		select {
		case <-ended:
			s.t.Fatalf("the process ended before its point: %s%s", cmd.Stdout, cmd.Stderr)
		default:
		}
		_, err := os.Stat(filepath.Join(s.world, "reached"))
		return err == nil
	})
	must(s.t, syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
	<-ended
}

// TestEffectKilledAtEachPoint: an implementer is killed by SIGKILL
// at each of five points; a controller recovers; another implementer runs the
// same command again. The outside world changes at most once, and exactly once
// in the end.
func TestEffectKilledAtEachPoint(t *testing.T) {
	for _, point := range []struct {
		name   string
		stop   process
		mode   string
		status projections.Status // of the effect after recovery, "" for none
		calls  int                // before the second implementer
		second int                // exit code of its run
	}{
		{"before intent", process{StopID: 1}, "reply", "", 0, 0},
		{"after intent", process{StopToken: true}, "reply", projections.StatusIntended, 0, 0},
		{"before it acts", process{}, "before", projections.StatusFailed, 0, 0},
		{"after it acted", process{}, "after", projections.StatusConfirmed, 1, 0},
		{"after the reply", process{StopID: 3}, "reply", projections.StatusConfirmed, 1, 0},
	} {
		t.Run(point.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.work("impl-a")
			s.mode(point.mode)
			s.killAt(s.spawn("impl-a", point.stop, s.effectArgs()...))
			if got := s.count("calls"); got != point.calls {
				t.Fatalf("%d calls after the kill, want %d", got, point.calls)
			}
			s.interrupt()
			until(t, "the call is dead", s.dead)
			s.cmd("control-1", "recover", task, "--dry-run").succeeds()
			r := s.recovers("control-1")
			if r.Decision != projections.ResumeBoundedStep || r.To != projections.Snapshotted {
				t.Fatalf("decision %s to %s, probes %v", r.Decision, r.To, r.Probes)
			}
			if got := s.effectStatus(); got != point.status {
				t.Fatalf("status %q after recovery, want %q", got, point.status)
			}
			s.mode("reply")
			s.work("impl-b")
			s.cmd("impl-b", s.effectArgs()...).exits(point.second)
			if got := s.count("calls"); got != 1 {
				t.Errorf("%d calls in the end, want 1", got)
			}
			s.intentFirst()
		})
	}
}

// dead reports whether no process of the stage's call is left, as its lock
// proves; a call that never began has none.
func (s *stage) dead() bool {
	s.t.Helper()
	for _, e := range s.state().Effects {
		path := filepath.Join(s.repo, ".git", "deed", "effects", events.Sum([]byte(e.Intent.Key)).String()+".lock")
		lock, err := runner.ReadLock(path, e.Intent.Key)
		if !errors.Is(err, os.ErrNotExist) && (err != nil || !lock.CallDead()) {
			return false
		}
	}
	return true
}

// recoverResult is the result of deed recover.
type recoverResult struct {
	Decision string            `json:"decision"`
	Matches  []string          `json:"matches"`
	To       projections.State `json:"to"`
	Existing bool              `json:"existing"`
	Probes   []struct {
		Status   projections.Status `json:"status"`
		Evidence string             `json:"evidence"`
	} `json:"probes"`
}

// recovers runs deed recover.
func (s *stage) recovers(actor string, flags ...string) (r recoverResult) {
	s.t.Helper()
	s.cmd(actor, append([]string{"-o", "json", "recover", task}, flags...)...).succeeds().data(&r)
	return r
}

// effectStatus returns the status of the task's only effect, "" without one.
func (s *stage) effectStatus() projections.Status {
	s.t.Helper()
	effects := s.state().Effects
	switch len(effects) {
	case 0:
		return ""
	case 1:
		return effects[0].Status()
	}
	s.t.Fatalf("%d effects, want at most 1", len(effects))
	return ""
}

// intentFirst demands that the intent, and then a dispatch, came before every
// outcome.
func (s *stage) intentFirst() {
	s.t.Helper()
	e := s.state().Effects[0]
	for _, try := range e.Tries {
		if try.Position <= e.Position {
			s.t.Errorf("try %d at position %d, intent at %d", try.Number, try.Position, e.Position)
		}
	}
}

// TestDispatchIsAcknowledgedBeforeTheCall holds the order that makes a crash
// decidable: while the call runs, its dispatch is in the ledger, with the token
// that the call was given.
func TestDispatchIsAcknowledgedBeforeTheCall(t *testing.T) {
	s := newStage(t)
	s.work("impl-a")
	s.mode("after")
	cmd := s.spawn("impl-a", process{}, s.effectArgs()...)
	until(t, "the call acted", func() bool { return s.count("calls") == 1 })
	e := s.state().Effects[0]
	if e.Status() != projections.StatusDispatched || len(e.Tries) != 1 {
		t.Fatalf("status %s with %d tries while the call runs", e.Status(), len(e.Tries))
	}
	text, err := os.ReadFile(filepath.Join(s.world, "calls"))
	must(t, err)
	if fields := strings.Fields(string(text)); fields[0] != e.Intent.Key || fields[1] != e.Tries[0].Token {
		t.Errorf("the call was given %v, the ledger has %s %s", fields, e.Intent.Key, e.Tries[0].Token)
	}
	// The same key while the first call is under way.
	s.cmd("impl-a", s.effectArgs()...).exits(cli.ExitEffect)
	s.killAt(cmd)
	if s.count("calls") != 1 {
		t.Errorf("%d calls", s.count("calls"))
	}
}

// TestBlindProbeEscalates: where the probe cannot tell, nothing is called
// again and a person decides.
func TestBlindProbeEscalates(t *testing.T) {
	s := newStage(t)
	s.work("impl-a")
	s.mode("after")
	s.killAt(s.spawn("impl-a", process{}, s.effectArgs()...))
	s.interrupt()
	must(t, os.WriteFile(filepath.Join(s.world, "blind"), nil, 0o600))
	first := s.recovers("control-1")
	if first.Decision != projections.EscalateEffectUnknown || first.To != projections.Escalated {
		t.Fatalf("decision %s to %s", first.Decision, first.To)
	}
	again := s.recovers("control-2")
	if !again.Existing || again.Decision != first.Decision || len(s.state().Decisions) != 1 {
		t.Errorf("second recovery: %+v, %d decisions", again, len(s.state().Decisions))
	}
	if s.count("calls") != 1 {
		t.Errorf("%d calls, want 1", s.count("calls"))
	}
	key := s.state().Effects[0].Intent.Key
	s.cmd("control-1", "effect", "settle", task, key, "--outcome", "confirmed", "--external-id", "id-1", "--evidence", "looked").exits(cli.ExitRefused)
	s.cmd("owner", "effect", "settle", task, key[:8], "--outcome", "confirmed", "--external-id", "id-1", "--evidence", "saw it in the console").succeeds()
	if got := s.effectStatus(); got != projections.StatusConfirmed {
		t.Errorf("status %s after a person's word", got)
	}
}

// TestForeignProbeIsNotRun: a probe that the contract does not list is another
// actor's command, and is not run unless it is allowed.
func TestForeignProbeIsNotRun(t *testing.T) {
	s := newStage(t)
	probe := filepath.Join(s.world, "other-probe")
	must(t, os.WriteFile(probe, []byte(probeScript), 0o700))
	s.work("impl-a")
	s.mode("after")
	args := slices.Clone(s.effectArgs())
	args[slices.Index(args, "--probe")+1] = probe
	s.killAt(s.spawn("impl-a", process{}, args...))
	s.interrupt()
	if r := s.recovers("control-1"); r.Decision != projections.EscalateEffectUnknown || s.count("probes") != 0 {
		t.Fatalf("decision %s, %d probes", r.Decision, s.count("probes"))
	}
	key := s.state().Effects[0].Intent.Key
	s.cmd("control-1", "effect", "probe", task, key, "--record", "--allow-probe").succeeds()
	if got := s.effectStatus(); got != projections.StatusConfirmed || s.count("probes") != 1 {
		t.Errorf("status %s, %d probes", got, s.count("probes"))
	}
}

// TestTwoRecoverersAtOnce: one decision, one call, whoever recovers too.
func TestTwoRecoverersAtOnce(t *testing.T) {
	for _, second := range []string{"control-1", "control-2"} {
		t.Run("control-1 and "+second, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.work("impl-a")
			s.mode("after")
			s.killAt(s.spawn("impl-a", process{}, s.effectArgs()...))
			s.interrupt()
			var one, two command
			ctx := t.Context()
			together(
				func() { one = runDeed(ctx, s, "control-1", []string{"recover", task}) },
				func() { two = runDeed(ctx, s, second, []string{"recover", task}) },
			)
			if one.code != 0 && two.code != 0 {
				t.Fatalf("nobody recovered: %s%s", one.stderr, two.stderr)
			}
			state := s.state()
			if len(state.Decisions) != 1 || s.count("calls") != 1 || s.effectStatus() != projections.StatusConfirmed {
				t.Errorf("%d decisions, %d calls, effect %s\n%s%s", len(state.Decisions), s.count("calls"), s.effectStatus(), one.stderr, two.stderr)
			}
		})
	}
}

// TestTwoRunsAtOnce: the same effect from two processes is one call.
func TestTwoRunsAtOnce(t *testing.T) {
	s := newStage(t)
	s.work("impl-a")
	var codes [4]int
	ctx := t.Context()
	var runs []func()
	for i := range codes {
		runs = append(runs, func() { codes[i] = runDeed(ctx, s, "impl-a", s.effectArgs()).code })
	}
	together(runs...)
	for _, code := range codes {
		if code != 0 && code != cli.ExitEffect && code != cli.ExitConflict {
			t.Errorf("exit code %d", code)
		}
	}
	if !slices.Contains(codes[:], 0) || s.count("calls") != 1 || s.effectStatus() != projections.StatusConfirmed {
		t.Errorf("codes %v, %d calls, effect %s", codes, s.count("calls"), s.effectStatus())
	}
}
