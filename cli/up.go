package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

const (
	// upStep is how often a service that starts is asked.
	upStep = 20 * time.Millisecond
	// logTail is how much of a failed service's log is shown, in bytes.
	logTail = 1500
	// logKeep is the size in bytes above which a log is set aside at start.
	logKeep = 8 << 20
)

// serviceVariables are the environment variables that a background service
// inherits; it needs nothing else. Read-only.
var serviceVariables = [...]string{"PATH", "HOME", "TMPDIR", "TZ", "LANG", "LC_ALL", "DEED_HOME", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK", "GOCOVERDIR", "GORACE"}

// newUpCommand builds "deed up".
func newUpCommand(e *Env, f *flags) *cobra.Command {
	var listen string
	var wait time.Duration
	cmd := &cobra.Command{
		Use: "up", Short: "Start the ledger's service in the background", Args: cobra.NoArgs,
		Long: `Start the service of a ledger in the background and wait until it answers. Its log
is service.log in the ledger's folder. A service that runs already is left alone. A
service that was killed leaves nothing to clean up: deed up starts the next one.
Each start takes a free port; machines that joined need the same one again: name it with
--listen 127.0.0.1:PORT.`,
		RunE: e.action(f, func(ctx context.Context, s *session, _ []string) error {
			ctx, cancel := context.WithTimeout(ctx, wait)
			defer cancel()
			return s.up(ctx, listen)
		}),
	}
	cmd.Flags().StringVar(&listen, "listen", listenDefault, "loopback address; port 0 takes a free one")
	cmd.Flags().DurationVar(&wait, "wait", 2*time.Minute, "how long to wait until the service answers")
	return cmd
}

// childError is the end of a service that did not come up.
type childError struct{ exit int }

// Error names the exit code.
func (c *childError) Error() string {
	return fmt.Sprintf("start service: it ended with exit code %d", c.exit)
}

func (s *session) up(ctx context.Context, listen string) error {
	f, err := s.open()
	if err != nil {
		return err
	}
	if err := s.ours(f); err != nil {
		return err
	}
	busy, err := f.InUse()
	if err != nil {
		return err
	}
	child := &service{folder: f}
	if !busy {
		if err := child.start(s.env, listen); err != nil {
			return err
		}
	}
	status, running, err := s.await(ctx, child)
	if err != nil {
		return err
	}
	where := served{Ledger: status.Ledger, Identity: status.Identity, Dir: f.Dir, URL: running.URL, PID: running.PID, Started: running.PID == child.pid}
	return s.result("service", where, func(w *textWriter) {
		if !where.Started {
			w.line("ledger %s runs already at %s (process %d)", where.Ledger, where.URL, where.PID)
			return
		}
		w.line("ledger %s runs at %s (process %d)", where.Ledger, where.URL, where.PID)
	})
}

// await returns once the folder's service answers: the child, or, where there
// is none or another one was faster, whatever runs.
func (s *session) await(ctx context.Context, child *service) (protocol.Status, server.Running, error) {
	tick := time.NewTicker(upStep)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return protocol.Status{}, server.Running{}, fmt.Errorf("wait for service of %s: %w: it may still come up: see %s", child.folder.Dir, ctx.Err(), child.folder.LogPath())
		case <-child.done:
			if err := child.failed(); err != nil {
				for _, line := range child.tail() {
					fmt.Fprintln(s.env.Stderr, "service: "+line)
				}
				return protocol.Status{}, server.Running{}, err
			}
		case <-tick.C:
		}
		running, err := child.folder.Running()
		if err != nil || child.pid != 0 && running.PID != child.pid {
			continue // not there yet, or what a killed service left
		}
		s.close()
		s.client = nil
		c, err := s.dial()
		if err == nil {
			var status protocol.Status
			if status, err = c.Status(ctx); err == nil {
				return status, running, nil
			}
		}
		if classify(err).exit != ExitUnavailable {
			return protocol.Status{}, server.Running{}, err
		}
	}
}

// service is a service in the background, as its starter sees it.
type service struct {
	folder *server.Folder
	pid    int           // 0 without a child
	done   chan struct{} // closed when the child has ended; nil without one
	exit   int           // after done
	begun  int64         // size of the log before the start
}

// start starts deed serve in a session of its own, so that it outlives the
// terminal, with the folder's log as its output.
func (c *service) start(e *Env, listen string) error {
	log, err := openLog(c.folder.LogPath())
	if err != nil {
		return err
	}
	defer log.Close()
	if info, err := log.Stat(); err == nil {
		c.begun = info.Size()
	}
	cmd := exec.Command(e.Executable, "serve", "--dir", c.folder.Dir, "--listen", listen)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.folder.Dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Env = []string{}
	for _, name := range serviceVariables {
		if v := e.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start service: %w", err)
	}
	c.pid, c.done = cmd.Process.Pid, make(chan struct{})
	go func() {
		_ = cmd.Wait() // the state has the exit code
		c.exit = cmd.ProcessState.ExitCode()
		close(c.done)
	}()
	return nil
}

// openLog opens the log for appending; a long one is set aside first.
func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > logKeep {
		if err := os.Rename(path, path+".old"); err != nil {
			return nil, fmt.Errorf("start service: %w", err)
		}
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start service: %w", err)
	}
	return file, nil
}

// failed returns how the child ended. It is nil where another service was
// faster and has the folder: that one is waited for instead.
func (c *service) failed() error {
	if busy, err := c.folder.InUse(); err == nil && busy && c.exit == ExitUnavailable {
		c.pid, c.done = 0, nil
		return nil
	}
	exit := c.exit
	if exit <= ExitDone { // a signal, or an end that nobody asked for
		exit = ExitUnavailable
	}
	return &childError{exit}
}

// tail returns the last lines that the child wrote, plain.
func (c *service) tail() []string {
	file, err := os.Open(c.folder.LogPath())
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	from := max(c.begun, info.Size()-logTail)
	text, err := io.ReadAll(io.NewSectionReader(file, from, info.Size()-from))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	if from > c.begun { // it begins within a line
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	lines := projections.PlainLines(string(text), logTail)
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}
