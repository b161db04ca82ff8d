package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	// pipeGrace is how long output may stay open after the command's group was killed.
	pipeGrace = time.Second
	// defaultPath is where programs are looked for when the caller lists no PATH.
	defaultPath = "/usr/local/bin:/usr/bin:/bin"
)

// process is one command to run in a group of its own.
type process struct {
	argv    []string
	dir     string
	env     []string // the whole environment
	timeout time.Duration
	stdout  io.Writer
	stderr  io.Writer // may equal stdout: then the order of writes is kept
	lock    *os.File  // inherited as descriptor 3; nil for none
	// confined says that argv launches a program that restricts itself first and
	// tells on descriptor 3 why it could not; there is no lock then.
	confined bool
	started  func(group int)
}

// ending is how a process ended.
type ending struct {
	startErr    error  // it never ran
	exitCode    int    // -1 unless it exited by itself
	signal      string // what killed it, else ""
	timedOut    bool
	interrupted bool // the context ended
	duration    time.Duration
}

// run starts the process and returns when it has ended and its group was killed.
func (p process) run(ctx context.Context) ending {
	failed := func(err error) ending { return ending{startErr: err, exitCode: -1, interrupted: ctx.Err() != nil} }
	if err := ctx.Err(); err != nil {
		return failed(err)
	}
	cmd, err := p.command()
	if err != nil {
		return failed(err)
	}
	guard, err := newLeash()
	if err != nil {
		return failed(err)
	}
	defer guard.release()
	confinement, err := p.watch(cmd)
	if err != nil {
		return failed(err)
	}
	begin := time.Now()
	child := startOnThread(cmd)
	err = <-child.started
	confinement.started()
	if err != nil {
		return failed(fmt.Errorf("start command: %w", err))
	}
	group := cmd.Process.Pid
	guard.hold(group)
	if p.started != nil {
		p.started(group)
	}
	end := ending{}
	end.timedOut, end.interrupted = awaitEnd(ctx, child.exited, p.timeout)
	// Until Wait the dead leader keeps the group's number from being used again.
	killGroup(group)
	<-child.exited
	killGroup(group)
	guard.release()
	close(child.reap)
	end.fill(cmd, <-child.waited)
	end.duration = time.Since(begin)
	if text := confinement.failure(); text != "" {
		return failed(fmt.Errorf("%w: %s", ErrConfine, text))
	}
	return end
}

// watcher hears from a launched program why it could not confine itself.
type watcher struct {
	read, write *os.File
	heard       chan string
}

// maxFailure bounds what a launched program may tell.
const maxFailure = 1 << 10

// watch gives a command that confines itself the descriptor to tell on. The
// kernel closes it when the program becomes the command, so that the command
// cannot write to it.
func (p process) watch(cmd *exec.Cmd) (*watcher, error) {
	if !p.confined {
		return &watcher{}, nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfine, err)
	}
	cmd.ExtraFiles = []*os.File{write}
	return &watcher{read, write, make(chan string, 1)}, nil
}

// started closes this process's end for writing and begins to listen.
func (w *watcher) started() {
	if w.read == nil {
		return
	}
	_ = w.write.Close()
	go func() {
		text, _ := io.ReadAll(io.LimitReader(w.read, maxFailure))
		w.heard <- strings.TrimSpace(string(text))
		_ = w.read.Close()
	}()
}

// failure is what the program told, "" when it became the command. It is asked
// once the program has ended.
func (w *watcher) failure() string {
	if w.read == nil {
		return ""
	}
	return <-w.heard
}

// child is a command that runs, and the steps of its end.
type child struct {
	started chan error    // one value: whether it started
	exited  chan struct{} // closed when it has exited and is not yet reaped
	reap    chan struct{} // closed by the caller to let it be reaped
	waited  chan error    // one value: what Wait gave
}

// startOnThread starts a command from a thread that stays until the command was reaped:
// the kernel sends the parent-death signal when the starting thread ends.
func startOnThread(cmd *exec.Cmd) child {
	c := child{make(chan error, 1), make(chan struct{}), make(chan struct{}), make(chan error, 1)}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		c.started <- err
		if err != nil {
			return
		}
		awaitExit(cmd.Process.Pid)
		close(c.exited)
		<-c.reap
		c.waited <- cmd.Wait()
	}()
	return c
}

// awaitEnd waits for the exit, the time limit or the context, whichever is first.
func awaitEnd(ctx context.Context, exited <-chan struct{}, limit time.Duration) (timedOut, interrupted bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-exited:
	case <-timer.C:
		timedOut = true
	case <-ctx.Done():
		interrupted = true
	}
	return timedOut, interrupted
}

func (e *ending) fill(cmd *exec.Cmd, waitErr error) {
	e.exitCode = -1
	if cmd.ProcessState == nil {
		e.startErr = errors.Join(e.startErr, waitErr)
		return
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled():
		e.signal = signalName(status.Signal())
	case !e.timedOut && !e.interrupted:
		e.exitCode = cmd.ProcessState.ExitCode()
	}
}

func (p process) command() (*exec.Cmd, error) {
	if len(p.argv) == 0 || p.argv[0] == "" {
		return nil, fmt.Errorf("start command: %w", exec.ErrNotFound)
	}
	program, err := lookProgram(p.argv[0], p.dir, p.env)
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{
		Path: program, Args: p.argv, Dir: p.dir, Env: p.env,
		Stdout: p.stdout, Stderr: p.stderr, WaitDelay: pipeGrace,
		SysProcAttr: groupAttributes(),
	}
	if p.lock != nil {
		cmd.ExtraFiles = []*os.File{p.lock}
	}
	return cmd, nil
}

// lookProgram finds a program as execvp would with the command's own PATH and folder,
// not this process's.
func lookProgram(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, isProgram(name)
	}
	search := ""
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			search = value
		}
	}
	for _, folder := range filepath.SplitList(search) {
		if candidate := filepath.Join(folder, name); filepath.IsAbs(folder) && isProgram(candidate) == nil {
			return candidate, nil
		}
	}
	return "", fmt.Errorf("find program %q: %w", name, exec.ErrNotFound)
}

func isProgram(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("find program: %w", err)
	case info.IsDir() || info.Mode()&0o111 == 0:
		return fmt.Errorf("find program %q: %w", path, os.ErrPermission)
	}
	return nil
}

// leash is a shell outside the group that kills the group once this process is gone:
// then the write end of its pipe closes.
type leash struct {
	cmd  *exec.Cmd
	pipe *os.File
}

const leashScript = `read -r group && { read -r line; kill -s STOP -- "-$group"; kill -s KILL -- "-$group"; }`

func newLeash() (*leash, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("guard command: %w", err)
	}
	cmd := &exec.Cmd{
		Path: "/bin/sh", Env: []string{}, Args: []string{"sh", "-c", leashScript}, Dir: "/",
		Stdin: read, SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("guard command: %w", err), read.Close(), write.Close())
	}
	_ = read.Close()
	return &leash{cmd: cmd, pipe: write}, nil
}

// hold tells the guard which group it guards.
func (l *leash) hold(group int) { _, _ = fmt.Fprintln(l.pipe, group) }

// release ends the guard without letting it act. The second call does nothing.
func (l *leash) release() {
	if l.pipe == nil {
		return
	}
	_ = l.cmd.Process.Kill()
	_ = l.cmd.Wait()
	_ = l.pipe.Close()
	l.pipe = nil
}

// killGroup stops the group before it kills it: signals reach the members one after the
// other, and a script must not see its child die and go on to its next line.
func killGroup(group int) {
	_ = syscall.Kill(-group, syscall.SIGSTOP)
	_ = syscall.Kill(-group, syscall.SIGKILL)
}

// baseEnvironment is what every command gets; later entries win.
func baseEnvironment(home string, extra []string) []string {
	env := []string{"PATH=" + defaultPath, "HOME=" + home, "TMPDIR=" + home, "LANG=C", "LC_ALL=C"}
	return append(env, extra...)
}
