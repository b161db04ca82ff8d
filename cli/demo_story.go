package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace"
	"github.com/go-json-experiment/json"
)

// demoTask is the demo's task; demoTerm is the term of the lease that runs out.
const (
	demoTask = "TASK-481"
	demoTerm = "3s"
)

// begin lets impl-a do half of the work.
func (d *demo) begin(ctx context.Context) error {
	d.heading("Work, an effect, and a crash at the worst moment")
	term := "5m"
	if d.point.name == defaultPoint {
		term = demoTerm
	}
	d.tell("impl-a", "opens an attempt, commits half of the work, and claims the lease for %s", term)
	if _, err := d.must(ctx, "impl-a", d.work, "attempt", "open", demoTask); err != nil {
		return err
	}
	if err := d.commit(ctx, "impl-a", demoHalf, "greet: greet by name"); err != nil {
		return err
	}
	if _, err := d.must(ctx, "impl-a", d.work, "lease", "claim", demoTask, "--purpose", "work", "--term", term); err != nil {
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

// worldOf returns the file that stands for the outside world of one kind of
// effect.
func (d *demo) worldOf(kind events.EffectKind) string {
	if kind == events.EffectPreview {
		return d.world
	}
	return d.world + "-" + string(kind)
}

// probeOf returns the probe of the demo's effect of a kind.
func (d *demo) probeOf(kind events.EffectKind) []string {
	return []string{d.env.Executable, "demo-world", "probe", d.worldOf(kind)}
}

// probeLines returns the lines by which the contract allows the probes.
func (d *demo) probeLines() []string {
	var lines []string
	for _, kind := range []events.EffectKind{events.EffectPreview, events.EffectProductionDeploy} {
		words := d.probeOf(kind)
		for i, word := range words {
			words[i] = `"` + word + `"`
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

// effectArgs returns the command line of the demo's effect of a kind: the same
// for whoever runs it.
func (d *demo) effectArgs(kind events.EffectKind) ([]string, error) {
	world := d.worldOf(kind)
	probe, err := json.Marshal(d.probeOf(kind))
	if err != nil {
		return nil, fmt.Errorf("write probe: %w", err)
	}
	file := filepath.Join(d.dir, string(kind)+"-probe.json")
	if err := os.WriteFile(file, probe, 0o600); err != nil {
		return nil, fmt.Errorf("write probe: %w", err)
	}
	return []string{
		"effect", "run", demoTask, "--kind", string(kind), "--target", string(kind) + ".example.org", "--probe-file", file, "--timeout", "10m",
		"--", d.env.Executable, "demo-world", "publish", world,
	}, nil
}

// impatient shows that nobody else works while the dead one's lease lives.
func (d *demo) impatient(ctx context.Context) error {
	d.tell("impl-b", "wants to go on at once")
	return d.refused(ctx, "impl-b", "claim the lease while impl-a's is not settled", "lease", "claim", demoTask, "--purpose", "work", "--term", "2m")
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
	if !state.Task.State.Final() && len(state.Next) == 0 {
		return nil, fmt.Errorf("%w: nobody may do anything next in %s", errPromise, state.Task.State)
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
	d.tell(d.controller, "recovers: measures the repository and asks what became of the call")
	r, err := d.must(ctx, d.controller, d.work, args...)
	if err != nil {
		return err
	}
	var done recovered
	if err := r.decode(&done); err != nil {
		return err
	}
	d.report.Decision = done.Decision
	for _, p := range done.Probes {
		if p.Status == projections.StatusConfirmed {
			d.answer("the probe finds our token in the outside world: %s, not to be repeated", string(p.Status))
		} else {
			d.answer("the dead call's lock and the probe prove that nothing happened: %s, may be tried again", string(p.Status))
		}
	}
	d.answer("decision %s: %s -> %s", done.Decision, done.From, done.To)
	want := projections.ResumeBoundedStep
	if d.escalates() {
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
	if err := d.capture(ctx); err != nil {
		return err
	}
	if err := d.brief(ctx); err != nil {
		return err
	}
	d.worker = "impl-b"
	if err := d.drift(ctx); err != nil {
		return err
	}
	r, err := d.must(ctx, "impl-b", d.work, "resume", demoTask, "--term", "5m")
	if err != nil {
		return err
	}
	var taken resumed
	if err := r.decode(&taken); err != nil {
		return err
	}
	if taken.Guard == nil || taken.Guard.Fatal > 0 {
		return fmt.Errorf("%w: %s was resumed without a guard", errPromise, demoTask)
	}
	d.tell("impl-b", "resumes: R=%d W=%d N=%d; it has the lease, and the resume packet (%d bytes, no transcript)",
		taken.Guard.Fatal, taken.Guard.Pending, taken.Guard.Hints, len(taken.Packet.Packet))
	// After mid-result the whole work is committed: the same command would
	// publish another commit, which is another effect.
	committed := d.point.name == "mid-result"
	if !committed {
		d.tell("impl-b", "runs the very same effect command again")
		if err := d.runEffect(ctx, "impl-b", events.EffectPreview, d.point.acted); err != nil {
			return err
		}
	}
	d.tell("impl-a", "comes back to life and hands over its half as if nothing had happened")
	if err := d.refused(ctx, "impl-a", "record a result after the takeover", d.resultArgs()...); err != nil {
		return err
	}
	if !committed {
		if err := d.commit(ctx, "impl-b", demoWhole, "greet: greet everybody where no name is given"); err != nil {
			return err
		}
	}
	return d.recordResult(ctx, "impl-b")
}

// capture lets the controller look at what impl-a left on the disk: no word of
// impl-a goes into it.
func (d *demo) capture(ctx context.Context) error {
	r, err := d.must(ctx, d.controller, d.work, "capture", demoTask)
	if err != nil {
		return err
	}
	var f workspace.Facts
	if err := r.decode(&f); err != nil {
		return err
	}
	head, err := d.program(ctx, d.controller, d.work, "git", "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	if f.Precision != workspace.PrecisionContent || f.Head == nil || f.Head.Commit != head || f.Base == nil || f.Base.InHead != workspace.Yes {
		return fmt.Errorf("%w: the capture of %s does not say what is checked out", errPromise, demoTask)
	}
	w := f.Worktree
	d.tell(d.controller, "captures the facts of the worktree: %s by content, head %.8s with the attempt's base in it, %s",
		counted(f.Files, "file"), f.Head.Commit, counted(len(w.Staged)+len(w.Unstaged)+len(w.Untracked), "uncommitted change"))
	return nil
}

// brief lets the controller write what impl-b reads, from the ledger and
// from a fresh look at the worktree.
func (d *demo) brief(ctx context.Context) error {
	dir := filepath.Join(d.dir, "handoff")
	if _, err := d.must(ctx, d.controller, d.work, "packet", "resume", demoTask, "--handoff", dir); err != nil {
		return err
	}
	page, err := os.ReadFile(filepath.Join(dir, "HANDOFF.md"))
	if err != nil {
		return fmt.Errorf("read hand-over: %w", err)
	}
	if !bytes.Contains(page, []byte(demoForbidden)) {
		return fmt.Errorf("%w: HANDOFF.md does not name the frozen decision", errPromise)
	}
	d.tell(d.controller, "writes HANDOFF.md: what the disk says, what is claimed, what does not match; impl-b reads it (%d bytes)", len(page))
	return nil
}

// drift shows that nobody starts on work that breaks a frozen decision.
func (d *demo) drift(ctx context.Context) error {
	if err := d.write(d.work, "shout.go", demoDrift); err != nil {
		return err
	}
	d.tell("impl-b", "wants to resume in a worktree in which somebody left a file that prints")
	r, err := d.deed(ctx, "impl-b", d.work, "resume", demoTask, "--term", "5m")
	if err != nil {
		return err
	}
	var g taskGuard
	if err := r.decode(&g); err != nil {
		return err
	}
	if r.exit != ExitFatal || g.Fatal != 1 {
		return fmt.Errorf("%w: the guard let %s start: exit %d, %d fatal", errPromise, demoTask, r.exit, g.Fatal)
	}
	d.answer("do not start: %s %s: %s", string(g.Findings[0].Code), g.Findings[0].Path, g.Findings[0].Text)
	return os.Remove(filepath.Join(d.work, "shout.go"))
}

func (d *demo) resultArgs() []string {
	return []string{"result", "record", demoTask, "--map", "*=A1", "--summary", "greet by name, and everybody without one"}
}

// recordResult lets an implementer hand over.
func (d *demo) recordResult(ctx context.Context, actor string) error {
	d.tell(actor, "finishes the work and records the result")
	if _, err := d.must(ctx, actor, d.work, d.resultArgs()...); err != nil {
		return err
	}
	return d.now(ctx)
}

// verify lets somebody else run the real test.
func (d *demo) verify(ctx context.Context) error {
	d.heading("Proof, approval, delivery")
	d.tell(d.worker, "wants to write the receipt for its own work")
	if err := d.refused(ctx, d.worker, "write the receipt for its own work", "receipt", "run", demoTask); err != nil {
		return err
	}
	d.tell(d.verifier, "runs the pinned test on a clean checkout of exactly that commit")
	r, err := d.must(ctx, d.verifier, d.project, "receipt", "run", demoTask, "--env", "GOCACHE", "--env", "GOFLAGS", "--writable", d.goCache)
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
	if _, err := d.must(ctx, d.operator, d.work, "gate", "--head", "greet"); err != nil {
		return err
	}
	d.tell(d.operator, "asks the gate whether exactly the head of greet may be delivered: it may")
	d.tell(d.operator, "merges with git and delivers: the ledger compares the merged tree with the approved one")
	if _, err := d.program(ctx, d.operator, d.project, "git", "merge", "-q", "--ff-only", "greet"); err != nil {
		return err
	}
	if _, err := d.must(ctx, d.operator, d.project, "deliver", demoTask); err != nil {
		return err
	}
	return d.now(ctx)
}
