package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/go-json-experiment/json"
)

// demoTask is the demo's task; demoTerm is the term of the lease that runs out.
const (
	demoTask = "TASK-481"
	demoTerm = "3s"
)

// acts returns the demo's acts in their order.
func (d *demo) acts() []func(context.Context) error {
	acts := []func(context.Context) error{d.createProject, d.createLedger, d.agree, d.begin, d.crash, d.expire, d.recover}
	if !d.noProbe {
		acts = append(acts, d.takeOver, d.verify, d.approve, d.deliver)
	} else {
		acts = append(acts, d.stop)
	}
	return append(acts, d.audit, d.check)
}

// begin lets impl-a do half of the work.
func (d *demo) begin(ctx context.Context) error {
	d.heading("Work, an effect, and a crash at the worst moment")
	d.tell("impl-a", "opens an attempt, commits half of the work, and claims the lease for %s", demoTerm)
	if _, err := d.must(ctx, "impl-a", d.work, "attempt", "open", demoTask); err != nil {
		return err
	}
	if err := d.commit(ctx, "impl-a", demoHalf, "greet: greet by name"); err != nil {
		return err
	}
	if _, err := d.must(ctx, "impl-a", d.work, "lease", "claim", demoTask, "--purpose", "work", "--term", demoTerm); err != nil {
		return err
	}
	return d.now(ctx)
}

func (d *demo) commit(ctx context.Context, actor, text, message string) error {
	if err := d.write(d.work, "greet.go", text); err != nil {
		return err
	}
	_, err := d.program(ctx, actor, d.work, "git", "commit", "-q", "-a", "-m", message)
	return err
}

// effectArgs returns the command line of the demo's effect: the same for
// whoever runs it.
func (d *demo) effectArgs() ([]string, error) {
	probe, err := json.Marshal([]string{d.env.Executable, "demo-world", "probe", d.world})
	if err != nil {
		return nil, fmt.Errorf("write probe: %w", err)
	}
	file := filepath.Join(d.dir, "probe.json")
	if err := os.WriteFile(file, probe, 0o600); err != nil {
		return nil, fmt.Errorf("write probe: %w", err)
	}
	return []string{
		"effect", "run", demoTask, "--kind", "preview", "--target", "preview.example.org", "--probe-file", file, "--timeout", "30s",
		"--", d.env.Executable, "demo-world", "publish", "--hang", d.world,
	}, nil
}

// crash kills impl-a after its call acted and before anybody was told.
func (d *demo) crash(ctx context.Context) error {
	args, err := d.effectArgs()
	if err != nil {
		return err
	}
	d.tell("impl-a", "publishes a preview: intent and dispatch are in the ledger before the call is made")
	if err := d.killAfterAct(ctx, args); err != nil {
		return err
	}
	d.tell("impl-a", "is killed with SIGKILL after the call acted: the preview is out, its outcome is not recorded")
	t, err := d.task(ctx)
	if err != nil {
		return err
	}
	if len(t.Effects) != 1 || t.Effects[0].Status() != projections.StatusDispatched {
		return fmt.Errorf("%w: the effect is not dispatched after the kill", errPromise)
	}
	d.answer("the ledger knows: dispatched, outcome open")
	d.tell("impl-b", "wants to go on at once")
	return d.refused(ctx, "impl-b", "claim the lease while impl-a's is not settled", "lease", "claim", demoTask, "--purpose", "work", "--term", "2m")
}

// killAfterAct runs deed as impl-a, and kills its whole process group once the
// outside world has changed.
func (d *demo) killAfterAct(ctx context.Context, args []string) error {
	ctx, cancel := context.WithCancel(ctx)
	cmd := d.process(ctx, "impl-a", d.work, d.env.Executable, append([]string{"--as", "impl-a"}, args...)...)
	if err := cmd.Start(); err != nil {
		cancel()
		return fmt.Errorf("start effect: %w", err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	defer func() { cancel(); <-ended }()
	if err := awaitPosted(ctx, d.world, ended); err != nil {
		return err
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill impl-a: %w", err)
	}
	return nil
}

// now tells where the task stands.
func (d *demo) now(ctx context.Context) error {
	if d.json {
		return nil
	}
	t, err := d.task(ctx)
	if err == nil {
		d.answer("%s is %s", demoTask, t.State)
	}
	return err
}

// task reads the task in a process of its own.
func (d *demo) task(ctx context.Context) (*projections.Task, error) {
	r, err := d.must(ctx, "owner", d.project, "task", "show", demoTask)
	if err != nil {
		return nil, err
	}
	var state protocol.TaskState
	if err := r.decode(&state); err != nil {
		return nil, err
	}
	return state.Task, nil
}

// expireLimit bounds the wait for the end of the lease.
const expireLimit = 30 * time.Second

// expire waits until the service ends the lease that nobody renews.
func (d *demo) expire(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, expireLimit, fmt.Errorf("%w: the lease does not end", errPromise))
	defer cancel()
	err := await(ctx, demoPoll, func() (bool, error) {
		t, err := d.task(ctx)
		return err == nil && t.State == projections.Interrupted, err
	})
	if err != nil {
		return err
	}
	d.tell("service", "ends impl-a's lease, which nobody renewed: the attempt is interrupted")
	return nil
}

// recover lets the controller decide.
func (d *demo) recover(ctx context.Context) error {
	d.heading("Recovery and takeover")
	args := []string{"recover", demoTask}
	if d.noProbe {
		args = append(args, "--no-probe")
	}
	d.tell("control-1", "recovers: measures the repository and asks what became of the preview")
	r, err := d.must(ctx, "control-1", d.work, args...)
	if err != nil {
		return err
	}
	var done recovered
	if err := r.decode(&done); err != nil {
		return err
	}
	d.report.Decision = done.Decision
	for _, p := range done.Probes {
		d.answer("the probe finds our token in the outside world: %s, not to be repeated", string(p.Status))
	}
	d.answer("decision %s: %s -> %s", done.Decision, done.From, done.To)
	want := projections.ResumeBoundedStep
	if d.noProbe {
		want = projections.EscalateEffectUnknown
	}
	if done.Decision != want {
		return fmt.Errorf("%w: decision %s, want %s", errPromise, done.Decision, want)
	}
	return nil
}

// stop shows that nobody goes on before a person has looked.
func (d *demo) stop(ctx context.Context) error {
	d.tell("impl-b", "wants to go on")
	return d.refused(ctx, "impl-b", "claim the lease of an escalated task", "lease", "claim", demoTask, "--purpose", "work")
}

// takeOver lets impl-b finish what impl-a began.
func (d *demo) takeOver(ctx context.Context) error {
	if _, err := d.must(ctx, "impl-b", d.work, "lease", "claim", demoTask, "--purpose", "work", "--term", "5m"); err != nil {
		return err
	}
	r, err := d.must(ctx, "impl-b", d.work, "packet", "resume", demoTask)
	if err != nil {
		return err
	}
	d.tell("impl-b", "claims the lease and reads the resume packet (%d bytes, no transcript)", len(r.data))
	args, err := d.effectArgs()
	if err != nil {
		return err
	}
	d.tell("impl-b", "runs the very same effect command again")
	if r, err = d.must(ctx, "impl-b", d.work, args...); err != nil {
		return err
	}
	var done effectDone
	if err := r.decode(&done); err != nil {
		return err
	}
	if done.Called {
		return fmt.Errorf("%w: the effect was called again", errPromise)
	}
	d.answer("already confirmed, nothing was called")
	d.tell("impl-a", "comes back to life and hands over its half as if nothing had happened")
	if err := d.refused(ctx, "impl-a", "record a result after the takeover", "result", "record", demoTask, "--map", "*=A1"); err != nil {
		return err
	}
	if err := d.commit(ctx, "impl-b", demoWhole, "greet: greet everybody where no name is given"); err != nil {
		return err
	}
	d.tell("impl-b", "finishes the work and records the result")
	if _, err = d.must(ctx, "impl-b", d.work, "result", "record", demoTask, "--map", "*=A1", "--summary", "greet by name, and everybody without one"); err != nil {
		return err
	}
	return d.now(ctx)
}

// verify lets somebody else run the real test.
func (d *demo) verify(ctx context.Context) error {
	d.heading("Proof, approval, delivery")
	d.tell("impl-b", "wants to write the receipt for its own work")
	if err := d.refused(ctx, "impl-b", "write the receipt for its own work", "receipt", "run", demoTask); err != nil {
		return err
	}
	d.tell("verify-1", "runs the pinned test on a clean checkout of exactly that commit")
	r, err := d.must(ctx, "verify-1", d.project, "receipt", "run", demoTask, "--env", "GOCACHE", "--env", "GOFLAGS")
	if err != nil {
		return err
	}
	var done struct {
		Checks []events.CheckOutcome `json:"checks"`
	}
	if err := r.decode(&done); err != nil {
		return err
	}
	for _, c := range done.Checks {
		d.answer("check %s: %s, %d tests ran, %d ms", c.ID, string(c.Outcome), c.Executed, c.DurationMS)
	}
	return d.now(ctx)
}

// approve lets a person approve what was proven.
func (d *demo) approve(ctx context.Context) error {
	d.tell("rev-1", "reads the review packet and approves exactly this commit, tree and proof")
	if _, err := d.must(ctx, "rev-1", d.project, "packet", "review", demoTask); err != nil {
		return err
	}
	if _, err := d.must(ctx, "rev-1", d.project, "approve", demoTask); err != nil {
		return err
	}
	return d.now(ctx)
}

// deliver merges and records the delivery.
func (d *demo) deliver(ctx context.Context) error {
	d.tell("op-1", "merges with git and delivers: the ledger compares the merged tree with the approved one")
	if _, err := d.program(ctx, "op-1", d.project, "git", "merge", "-q", "--ff-only", "greet"); err != nil {
		return err
	}
	if _, err := d.must(ctx, "op-1", d.project, "deliver", demoTask); err != nil {
		return err
	}
	return d.now(ctx)
}

// digests are what audit verify and replay say of the states that they came to.
type digests struct {
	Events  events.Position `json:"events"`
	Digests struct {
		Tasks map[string]string `json:"tasks"`
	} `json:"digests"`
	Tasks []struct {
		Task   string `json:"task"`
		Digest string `json:"digest"`
	} `json:"tasks"`
}

// audit verifies the whole history and folds it again: both must come to the
// state that the service shows.
func (d *demo) audit(ctx context.Context) error {
	d.heading("Anyone can check")
	t, err := d.task(ctx)
	if err != nil {
		return err
	}
	shown, err := t.Digest()
	if err != nil {
		return err
	}
	var found digests
	for _, args := range [][]string{{"audit", "verify"}, {"replay"}} {
		r, err := d.must(ctx, "owner", d.project, args...)
		if err != nil {
			return err
		}
		if err := r.decode(&found); err != nil {
			return err
		}
	}
	if len(found.Tasks) != 1 || found.Tasks[0].Digest != shown.String() || found.Digests.Tasks[demoTask] != shown.String() {
		return fmt.Errorf("%w: audit and replay come to another state than the service shows", errPromise)
	}
	d.report.Audit, d.report.Events = "ok", found.Events
	d.tell("auditor", "verifies every signature, link and head of %d events, and replays them to the same state", uint64(found.Events))
	return nil
}

// takeovers counts the work runs that another actor began than the one before.
func takeovers(t *projections.Task) int {
	n, last := 0, ""
	for _, r := range t.Runs {
		if r.Purpose != events.PurposeWork {
			continue
		}
		if last != "" && r.Actor != last {
			n++
		}
		last = r.Actor
	}
	return n
}

// check compares what happened with what was promised: it counts the outside
// world's lines itself.
func (d *demo) check(ctx context.Context) error {
	lines, err := readWorld(d.world)
	if err != nil {
		return err
	}
	t, err := d.task(ctx)
	if err != nil {
		return err
	}
	d.report.State, d.report.Delivered = t.State, t.State == projections.Delivered
	d.report.EffectsExecuted, d.report.Takeovers, d.report.Refusals = len(lines), takeovers(t), d.refusals
	status, end, refused := projections.StatusConfirmed, projections.Delivered, 3
	if d.noProbe {
		status, end, refused = projections.StatusDispatched, projections.Escalated, 2
	}
	var broken []string
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			broken = append(broken, fmt.Sprintf(format, args...))
		}
	}
	expect(t.State == end, "the task is %s, not %s", t.State, end)
	expect(len(lines) == 1, "the outside world changed %d times, not once", len(lines))
	expect(len(d.refusals) == refused, "%d refusals, not %d", len(d.refusals), refused)
	if len(t.Effects) == 1 && len(t.Effects[0].Tries) == 1 && len(lines) == 1 {
		e := t.Effects[0]
		expect(e.Status() == status, "the effect is %s, not %s", e.Status(), status)
		expect(lines[0].Key == e.Intent.Key && lines[0].Token == e.Tries[0].Token && lines[0].Commit == e.Intent.Commit,
			"the outside world's line is not that of the effect")
	} else {
		expect(false, "not exactly one effect with one try")
	}
	if len(broken) > 0 {
		return fmt.Errorf("%w: %s", errPromise, strings.Join(broken, "; "))
	}
	return nil
}
