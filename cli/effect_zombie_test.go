package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/deedledger/deed/cli"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
)

// A provider that keeps the promise that the file provider names, and its
// probe. A provider that refuses old fences learns of new ones from calls and
// from probes.
const (
	promiseScript = `#!/bin/sh
cd "$(dirname "$0")" || exit 1
promise=$(cat provider)
id=id-1 token=$DEED_TOKEN
case $promise in
dedupes)
  if line=$(grep "^$DEED_IDEMPOTENCY_KEY " calls 2>/dev/null); then
    set -- $line; printf '{"externalId":"id-1","token":"%s","digest":""}' "$2" > "$DEED_RESULT_FILE"; exit 0
  fi ;;
fences)
  floor=$(cat floor 2>/dev/null || echo 0)
  [ "$DEED_FENCE" -lt "$floor" ] && exit 9
  echo "$DEED_FENCE" > floor ;;
esac
printf '%s %s %s\n' "$DEED_IDEMPOTENCY_KEY" "$DEED_TOKEN" "$DEED_EFFECT_COMMIT" >> calls
printf '{"externalId":"id-1","token":"%s","digest":""}' "$DEED_TOKEN" > "$DEED_RESULT_FILE"
`
	promiseProbe = `#!/bin/sh
cd "$(dirname "$0")" || exit 1
[ "$(cat provider)" = fences ] && echo "$DEED_FENCE" > floor
if line=$(grep "^$DEED_IDEMPOTENCY_KEY " calls 2>/dev/null); then
  set -- $line
  printf '{"status":"found","externalId":"id-1","token":"%s"}\n' "$2"
else
  printf '{"status":"absent","complete":%s}\n' "$(cat complete)"
fi
`
)

// zombie is one variant of the run that wakes after a takeover.
type zombie struct {
	provider  events.Provider
	complete  bool
	elsewhere bool // the takeover happens on another host, which has no lock
	resumes   bool // recovery lets the next one try again
	locked    bool // the next one's call is held off by the zombie's lock
}

// TestZombieWakesBetweenDispatchAndCall is DESIGN 7.5: a run stands still after
// its dispatch was recorded and before its call is made; it loses its lease,
// recovery decides, the next one goes on where it may; then it wakes, and it
// does call. The outside world never changes twice.
func TestZombieWakesBetweenDispatchAndCall(t *testing.T) {
	slots := make(chan struct{}, 2)
	for _, z := range []zombie{
		{"", true, false, false, false},
		{"", false, false, false, false},
		{"", true, true, false, false},
		{"", false, true, false, false},
		{events.ProviderDedupes, false, true, true, false},
		{events.ProviderDedupes, true, true, true, false},
		{events.ProviderDedupes, false, false, true, true},
		{events.ProviderFences, true, true, true, false},
		{events.ProviderFences, false, true, false, false},
		{events.ProviderFences, true, false, true, true},
		{events.ProviderFences, false, false, false, false},
	} {
		t.Run(fmt.Sprintf("provider=%s complete=%t elsewhere=%t", z.provider, z.complete, z.elsewhere), func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			z.play(t)
		})
	}
}

// play plays one variant.
func (z zombie) play(t *testing.T) {
	s := newStage(t)
	s.promise(z.provider, z.complete)
	args := s.effectArgs()
	if z.provider != "" {
		args = s.effectArgs("--provider", string(z.provider))
	}
	s.workFor("impl-a", "1h") // no heartbeat comes before the end of the test
	cmd, wake := s.stopped("impl-a", "call", args)
	here := s.repo
	if z.elsewhere {
		here = filepath.Join(s.world, "clone")
		s.git("clone", "-q", s.repo, here)
	}
	s.interrupt()
	decision := s.at(here, "control-1", "recover", task).succeeds()
	if got := s.state().State == projections.Snapshotted; got != z.resumes {
		t.Fatalf("resumes %t, want %t: %s", got, z.resumes, decision.stdout)
	}
	switch {
	case !z.resumes:
		s.at(here, "impl-b", "lease", "claim", task, "--purpose", "work").exits(cli.ExitState)
	case z.locked:
		s.at(here, "impl-b", "lease", "claim", task, "--purpose", "work").succeeds()
		s.at(here, "impl-b", args...).exits(cli.ExitEffect)
	default:
		s.at(here, "impl-b", "lease", "claim", task, "--purpose", "work").succeeds()
		s.at(here, "impl-b", args...).succeeds()
	}
	wake()
	_ = cmd.Wait()
	want := 1
	if z.provider == events.ProviderFences && (z.locked || !z.resumes) {
		want = 0 // the probe of the recovery has shown the provider a higher fence
	}
	if got := s.count("calls"); got != want {
		t.Errorf("%d changes of the outside world after the zombie woke, want %d\n%s%s", got, want, cmd.Stdout, cmd.Stderr)
	}
	if z.resumes {
		s.at(here, "impl-b", args...).succeeds()
		want = 1
	}
	status := projections.StatusConfirmed
	if want == 0 {
		status = projections.StatusUnknown
	}
	if got := s.count("calls"); got != want || s.effectStatus() != status {
		t.Errorf("%d changes in the end, want %d, effect %s\n%s%s", got, want, s.effectStatus(), cmd.Stdout, cmd.Stderr)
	}
}

// promise makes the outside world one that keeps a promise.
func (s *stage) promise(p events.Provider, complete bool) {
	s.t.Helper()
	for name, text := range map[string]string{"act": promiseScript, "probe": promiseProbe} {
		must(s.t, os.WriteFile(filepath.Join(s.world, name), []byte(text), 0o700))
	}
	must(s.t, os.WriteFile(filepath.Join(s.world, "provider"), []byte(p), 0o600))
	must(s.t, os.WriteFile(filepath.Join(s.world, "complete"), fmt.Append(nil, complete), 0o600))
}

// stopped starts a process and returns when it stands still at a place; wake
// lets it go on.
func (s *stage) stopped(actor, place string, args []string) (cmd *exec.Cmd, wake func()) {
	s.t.Helper()
	file := filepath.Join(s.world, "stopped")
	cmd = s.spawn(actor, process{}, append([]string{"--demo-stop", place + "=" + file}, args...)...)
	until(s.t, "the process stands still", func() bool {
		_, err := os.Stat(file)
		return err == nil
	})
	return cmd, func() { must(s.t, os.Remove(file)) }
}

// at runs deed in a worktree; one that is not the stage's own is on another
// host.
func (s *stage) at(dir, actor string, args ...string) command {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	e := s.env(&stdout, &stderr)
	if e.Dir = dir; dir != s.repo {
		e.Host = "elsewhere"
	}
	root := cli.New(e)
	root.SetArgs(append([]string{"--as", actor}, args...))
	code := cli.Report(e, root, root.ExecuteContext(s.t.Context()))
	return command{s.t, args, code, stdout.String(), stderr.String()}
}

// TestZombieLooksBeforeItCalls: a run that stood still before its last look at
// the lease calls nothing. That is certain, and recorded as a late fact.
func TestZombieLooksBeforeItCalls(t *testing.T) {
	s := newStage(t)
	s.workFor("impl-a", "1h")
	cmd, wake := s.stopped("impl-a", "after:effect.dispatched", s.effectArgs())
	s.interrupt()
	wake()
	_ = cmd.Wait()
	part := s.state().Effects[0].Parts[0]
	if s.count("calls") != 0 || part.Status != projections.StatusFailed || !part.Late || part.Basis != events.BasisReply {
		t.Errorf("%d calls, part %+v\n%s", s.count("calls"), part, cmd.Stderr)
	}
	if r := s.recovers("control-1"); r.Decision != projections.ResumeBoundedStep {
		t.Errorf("decision %s", r.Decision)
	}
}

// TestFencedOutRun slept and woke, through the command line: whatever W1 tries
// after the takeover is refused as of an old run and changes nothing, and W2
// does not fire an effect that W1 has open.
func TestFencedOutRun(t *testing.T) {
	s := newStage(t)
	s.workFor("impl-a", "1h")
	s.cmd("impl-a", s.effectArgs("--occurrence", "1")...).succeeds()
	old := s.state().Fence
	s.interrupt()
	s.recovers("control-1")
	s.workFor("impl-b", "1h")
	before := s.state()
	for _, args := range [][]string{
		{"result", "record", task, "--map", "*=A1"}, {"lease", "renew", task}, {"lease", "release", task, "--reason", "shift"}, s.effectArgs("--occurrence", "2"),
	} {
		s.cmd("impl-a", args...).exits(cli.ExitRefused)
	}
	if err := s.sayStale("impl-a", &events.Release{Reason: "shift"}, old); err == nil {
		t.Error("W1 released with its old fence")
	}
	if err := s.sayStale("impl-a", &events.Dispatch{Key: before.Effects[0].Intent.Key, Try: 2, Token: "t", Host: "h", Boot: "b"}, old); err == nil {
		t.Error("W1 dispatched with its old fence")
	}
	after := s.state()
	if after.Sequence != before.Sequence || after.Lease == nil || after.Lease.Actor != "impl-b" || after.Lease.Fence != before.Lease.Fence {
		t.Errorf("sequence %d after %d, lease %+v", after.Sequence, before.Sequence, after.Lease)
	}
}

// sayStale submits an event with a fence and returns the refusal.
func (s *stage) sayStale(actor string, p events.Payload, fence uint64) error {
	s.t.Helper()
	sealed, err := evidence.Seal(s.taskEvent(actor, p, s.state().Attempt().ID, fence), s.keys[actor])
	must(s.t, err)
	_, err = s.dial(s.local.URL()).Submit(s.t.Context(), sealed, false)
	if r, ok := errors.AsType[*ledger.Refusal](err); ok && r.Code != ledger.CodeFence {
		s.t.Errorf("%s: %v, want a refusal as of an old run", p.Type(), err)
	}
	return err
}
