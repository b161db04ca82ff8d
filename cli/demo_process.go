package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/deedledger/deed/server"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// demoPoll is how often the demo looks whether something has happened.
const demoPoll = 50 * time.Millisecond

// await calls holds until it reports true, with a pause in between.
func await(ctx context.Context, pause time.Duration, holds func() (bool, error)) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		if ok, err := holds(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// run is one process of the demo that has ended.
type run struct {
	actor string
	args  []string
	exit  int
	kind  string
	data  jsontext.Value
	said  string // stderr
}

// decode reads the run's result.
func (r run) decode(v any) error {
	if err := json.Unmarshal(r.data, v); err != nil {
		return fmt.Errorf("read result of deed %s: %w", strings.Join(r.args, " "), err)
	}
	return nil
}

// failure is what the command said on error.
func (r run) failure() failure {
	var f failure
	_ = json.Unmarshal(r.data, &f)
	return f
}

// environment returns what every process of the demo gets: its own DEED_HOME,
// git without any configuration of the user, and Go with the user's build
// cache and no network.
func (d *demo) environment(actor string) []string {
	var env []string
	for _, entry := range d.env.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "DEED_") && !strings.HasPrefix(name, "GIT_") && name != "GOFLAGS" {
			env = append(env, entry)
		}
	}
	mail := actor + "@example.org"
	return append(env,
		"DEED_HOME="+filepath.Join(d.dir, "home"), "TMPDIR="+d.temp(), "DEED_DIR="+d.ledger, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME="+actor, "GIT_AUTHOR_EMAIL="+mail, "GIT_COMMITTER_NAME="+actor, "GIT_COMMITTER_EMAIL="+mail,
		"GOCACHE="+d.goCache, "GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local", "GOWORK=off")
}

// temp is where the demo's processes put temporary files: a process that is
// killed leaves some, which go with the folder.
func (d *demo) temp() string { return filepath.Join(d.dir, "tmp") }

// process prepares a process in a group of its own, which ends with ctx.
func (d *demo) process(ctx context.Context, actor, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, d.environment(actor)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// deed runs one command of deed as an actor, in a process of its own.
func (d *demo) deed(ctx context.Context, actor, dir string, args ...string) (run, error) {
	var stdout, stderr bytes.Buffer
	r := run{actor: actor, args: args}
	cmd := d.process(ctx, actor, dir, d.env.Executable, append([]string{"-o", "json", "--as", actor}, args...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		r.exit, err = exit.ExitCode(), nil
	}
	if err != nil {
		return r, fmt.Errorf("run deed %s: %w", strings.Join(args, " "), errors.Join(err, context.Cause(ctx)))
	}
	r.said = stderr.String()
	var e struct {
		Schema string         `json:"schema"`
		Kind   string         `json:"kind"`
		Data   jsontext.Value `json:"data"`
	}
	first, _, _ := bytes.Cut(stdout.Bytes(), []byte("\n"))
	if err := json.Unmarshal(first, &e); err != nil {
		return r, fmt.Errorf("run deed %s: exit %d, no result: %s", strings.Join(args, " "), r.exit, plain(r.said))
	}
	r.kind, r.data = e.Kind, e.Data
	return r, nil
}

// must runs a command that has to succeed.
func (d *demo) must(ctx context.Context, actor, dir string, args ...string) (run, error) {
	r, err := d.deed(ctx, actor, dir, args...)
	if err == nil && r.exit != 0 {
		err = fmt.Errorf("%w: %s runs deed %s: exit %d: %s", errPromise, actor, strings.Join(args, " "), r.exit, plain(r.said))
	}
	return r, err
}

// program runs another program and returns what it printed.
func (d *demo) program(ctx context.Context, actor, dir, name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := d.process(ctx, actor, dir, name, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("run %s %s: %w: %s", name, strings.Join(args, " "), errors.Join(err, context.Cause(ctx)), plain(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// cleanTime bounds how long the demo's service may take to stop.
const cleanTime = 20 * time.Second

// clean stops the service, by force if need be, and removes the folder unless
// it is to be kept.
func (d *demo) clean(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer cancel()
	var errs []error
	if folder, err := server.OpenFolder(d.ledger); err == nil {
		if r, err := d.deed(ctx, "owner", d.dir, "down"); err != nil || r.exit != 0 {
			errs = append(errs, err, d.killService(ctx, folder))
		}
	}
	if !d.keep {
		// What a killed process left behind may be writing its last.
		errs = append(errs, await(ctx, demoPoll, func() (bool, error) { return os.RemoveAll(d.dir) == nil, nil }))
	}
	return errors.Join(errs...)
}

// killService ends a service that does not stop by itself, while the folder is
// held by a process.
func (d *demo) killService(ctx context.Context, f server.Folder) error {
	busy, err := f.InUse()
	if err != nil || !busy {
		return err
	}
	running, err := f.Running()
	if err != nil {
		return err
	}
	if err := syscall.Kill(running.PID, syscall.SIGKILL); err != nil {
		return fmt.Errorf("stop service: %w", err)
	}
	return awaitFree(ctx, &f, running.PID)
}
