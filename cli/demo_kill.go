package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/runner"
	"github.com/deedledger/deed/workspace"
)

// demoAct is one act of the demo.
type demoAct = func(context.Context) error

// victim is a process of the demo that is to be killed at a place.
type victim struct {
	actor string
	args  []string
	// reached is the file that says that the process is at the place.
	reached string
	env     []string
	// ready, where there is one, must hold too before the kill.
	ready func() (bool, error)
}

// kill starts deed as an actor, waits until the process says that it stands at
// its place, and kills its whole process group with SIGKILL.
func (d *demo) kill(ctx context.Context, v victim) error {
	ctx, cancel := context.WithCancel(ctx)
	cmd := d.process(ctx, v.actor, d.work, d.env.Executable, append([]string{"--as", v.actor}, v.args...)...)
	cmd.Env = append(cmd.Env, v.env...)
	if err := cmd.Start(); err != nil {
		cancel()
		return fmt.Errorf("start %s: %w", v.actor, err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	defer func() { cancel(); <-ended }()
	err := await(ctx, demoPoll, func() (bool, error) {
		select {
		case <-ended:
			return false, fmt.Errorf("%w: %s ended before it could be killed", errPromise, v.actor)
		default:
		}
		if _, err := os.Stat(v.reached); err != nil {
			return false, nil
		}
		if v.ready == nil {
			return true, nil
		}
		return v.ready()
	})
	if err != nil {
		return err
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill %s: %w", v.actor, err)
	}
	<-ended
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		return fmt.Errorf("%w: %s ended as %s, not by SIGKILL", errPromise, v.actor, cmd.ProcessState)
	}
	d.report.Killed++
	return nil
}

// reachedFile is where the process that is killed says that it has come to its
// place.
func (d *demo) reachedFile(who string) string { return filepath.Join(d.dir, who+".reached") }

// killAt kills deed at a place of its own.
func (d *demo) killAt(ctx context.Context, actor, place string, args []string) error {
	file := d.reachedFile(actor)
	return d.kill(ctx, victim{actor: actor, reached: file, args: append([]string{"--demo-stop", place + "=" + file}, args...)})
}

// killCall kills deed while its call of the outside world stands at a place.
// The call dies with it; the demo goes on when that is certain.
func (d *demo) killCall(ctx context.Context, actor, place, world string, args []string) error {
	file := d.reachedFile(actor)
	if err := os.WriteFile(worldStop(world), []byte(place+"="+file), 0o600); err != nil {
		return fmt.Errorf("kill %s: %w", actor, err)
	}
	started := func() (bool, error) { return d.lockIs(ctx, runner.Lock.Started) }
	if err := d.kill(ctx, victim{actor: actor, args: args, reached: file, ready: started}); err != nil {
		return err
	}
	if err := await(ctx, demoPoll, func() (bool, error) { return d.lockIs(ctx, runner.Lock.CallDead) }); err != nil {
		return err
	}
	if err := os.Remove(worldStop(world)); err != nil {
		return fmt.Errorf("kill %s: %w", actor, err)
	}
	return nil
}

// lockIs looks at the lock of the task's newest effect.
func (d *demo) lockIs(ctx context.Context, holds func(runner.Lock) bool) (bool, error) {
	t, err := d.task(ctx)
	if err != nil {
		return false, err
	}
	if len(t.Effects) == 0 {
		return false, fmt.Errorf("%w: a call without an intent", errPromise)
	}
	repo, err := workspace.Open(ctx, d.work)
	if err != nil {
		return false, err
	}
	key := t.Effects[len(t.Effects)-1].Intent.Key
	path, err := lockPath(repo, key)
	if err != nil {
		return false, err
	}
	lock, err := runner.ReadLock(path, key)
	if err != nil {
		return false, err
	}
	return holds(lock), nil
}

// killEffect kills impl-a at a place of its effect.
func (d *demo) killEffect(ctx context.Context) error {
	args, err := d.effectArgs(events.EffectPreview)
	if err != nil {
		return err
	}
	d.tell("impl-a", "publishes a preview: intent and dispatch are in the ledger before the call is made")
	point := d.point
	if point.name == "mid-recovery" {
		point = d.plain()
	}
	switch point.place {
	case placeActing, placeActed:
		err = d.killCall(ctx, "impl-a", point.place, d.world, args)
	default:
		err = d.killAt(ctx, "impl-a", point.place, args)
	}
	if err != nil {
		return err
	}
	if point.name == defaultPoint {
		d.tell("impl-a", "is killed with SIGKILL after the call acted: the preview is out, its outcome is not recorded")
	} else {
		d.tell("impl-a", "is killed with SIGKILL %s", point.when)
	}
	return d.afterKill(ctx, point)
}

// plain is the kill point of a demo that is asked for none.
func (d *demo) plain() killPoint {
	p, _ := findPoint(defaultPoint)
	return p
}

// afterKill compares ledger and world with what must be known of the effect.
func (d *demo) afterKill(ctx context.Context, point killPoint) error {
	t, err := d.task(ctx)
	if err != nil {
		return err
	}
	lines, err := readWorld(d.world)
	if err != nil {
		return err
	}
	status := projections.Status("not intended")
	if len(t.Effects) > 0 {
		status = t.Effects[0].Status()
	}
	if (len(lines) == 1) != point.acted || (status == projections.StatusDispatched) != point.open {
		return fmt.Errorf("%w: after the kill the effect is %s and the outside world has %d lines", errPromise, status, len(lines))
	}
	if point.open {
		d.answer("the ledger knows: dispatched, outcome open")
	} else {
		d.answer("the ledger knows: %s", string(status))
	}
	return nil
}

// takeAway lets a controller end the lease of the killed one. By itself it
// would end with its term.
func (d *demo) takeAway(ctx context.Context) error {
	d.tell(d.controller, "takes the lease away from the dead process; by itself it would end with its term")
	if _, err := d.must(ctx, d.controller, d.work, "attempt", "interrupt", demoTask); err != nil {
		return err
	}
	return d.now(ctx)
}

// killRecovery kills control-1 between its claim and its decision.
func (d *demo) killRecovery(ctx context.Context) error {
	d.tell("control-1", "claims a recover lease, asks the probe, and decides")
	args := []string{"recover", demoTask}
	if d.noProbe {
		args = append(args, "--no-probe")
	}
	if err := d.killAt(ctx, "control-1", d.point.place, args); err != nil {
		return err
	}
	d.tell("control-1", "is killed with SIGKILL %s", d.point.when)
	d.controller = d.point.second
	return d.now(ctx)
}

// killResult kills impl-a while it hands over.
func (d *demo) killResult(ctx context.Context) error {
	if err := d.commit(ctx, "impl-a", demoWhole, "greet: greet everybody where no name is given"); err != nil {
		return err
	}
	d.tell("impl-a", "finishes the work and records the result")
	if err := d.killAt(ctx, "impl-a", d.point.place, d.resultArgs()); err != nil {
		return err
	}
	d.tell("impl-a", "is killed with SIGKILL %s", d.point.when)
	return d.now(ctx)
}

// killVerify kills verify-1 while its check runs.
func (d *demo) killVerify(ctx context.Context) error {
	file := filepath.Join(d.temp(), "check.reached") // where a confined check may write
	d.tell(d.verifier, "runs the pinned test")
	args := []string{"receipt", "run", demoTask, "--env", "GOCACHE", "--env", "GOFLAGS", "--env", demoStopVariable, "--writable", d.goCache, "--writable", d.temp()}
	if err := d.kill(ctx, victim{actor: d.verifier, args: args, reached: file, env: []string{demoStopVariable + "=" + file}}); err != nil {
		return err
	}
	d.tell(d.verifier, "is killed with SIGKILL %s", d.point.when)
	d.verifier = d.point.second
	return d.now(ctx)
}

// deploy kills op-1 in a release run, inside its deployment.
func (d *demo) deploy(ctx context.Context) error {
	d.heading("Release")
	args, err := d.effectArgs(events.EffectProductionDeploy)
	if err != nil {
		return err
	}
	d.tell("op-1", "claims a release run and intends a deployment, which always needs somebody's word")
	if _, err := d.must(ctx, "op-1", d.work, "lease", "claim", demoTask, "--purpose", "release", "--term", "5m"); err != nil {
		return err
	}
	r, err := d.deed(ctx, "op-1", d.work, args...)
	if err == nil && r.exit != ExitPending {
		err = fmt.Errorf("%w: an unapproved deployment ends with exit %d", errPromise, r.exit)
	}
	if err != nil {
		return err
	}
	t, err := d.task(ctx)
	if err != nil {
		return err
	}
	d.tell("rev-1", "approves the deployment")
	if _, err := d.must(ctx, "rev-1", d.work, "effect", "approve", demoTask, t.Effects[len(t.Effects)-1].Intent.Key); err != nil {
		return err
	}
	d.tell("op-1", "deploys")
	if err := d.killCall(ctx, "op-1", d.point.place, d.worldOf(events.EffectProductionDeploy), args); err != nil {
		return err
	}
	d.tell("op-1", "is killed with SIGKILL %s", d.point.when)
	return d.now(ctx)
}

// deployAgain lets op-2 run the very same deployment.
func (d *demo) deployAgain(ctx context.Context) error {
	d.operator = d.point.second
	d.tell(d.operator, "claims a release run and runs the very same deployment")
	if _, err := d.must(ctx, d.operator, d.work, "lease", "claim", demoTask, "--purpose", "release", "--term", "5m"); err != nil {
		return err
	}
	return d.runEffect(ctx, d.operator, events.EffectProductionDeploy, true)
}

// runEffect lets an actor run an effect to its end, and demands whether it was
// there already.
func (d *demo) runEffect(ctx context.Context, actor string, kind events.EffectKind, there bool) error {
	args, err := d.effectArgs(kind)
	if err != nil {
		return err
	}
	r, err := d.must(ctx, actor, d.work, args...)
	if err != nil {
		return err
	}
	var done effectDone
	if err := r.decode(&done); err != nil {
		return err
	}
	switch {
	case done.Called && there:
		return fmt.Errorf("%w: the effect was called again", errPromise)
	case !done.Called && !there:
		return fmt.Errorf("%w: the effect was not called", errPromise)
	case there:
		d.answer("already confirmed, nothing was called")
	default:
		d.answer("called once, and confirmed")
	}
	return nil
}

// publish lets impl-a publish without a crash.
func (d *demo) publish(ctx context.Context) error {
	d.tell("impl-a", "publishes a preview")
	return d.runEffect(ctx, "impl-a", events.EffectPreview, false)
}

// handOver lets impl-a finish without a crash.
func (d *demo) handOver(ctx context.Context) error {
	err := d.commit(ctx, "impl-a", demoWhole, "greet: greet everybody where no name is given")
	return errors.Join(err, d.recordResult(ctx, "impl-a"))
}
