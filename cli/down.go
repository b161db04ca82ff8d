package cli

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/deedledger/deed/server"
	"github.com/spf13/cobra"
)

// newDownCommand builds "deed down".
func newDownCommand(e *Env, f *flags) *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use: "down", Short: "Stop the ledger's service", Args: cobra.NoArgs,
		Long: `Stop the service of a ledger: what is under way is answered first. Where none runs
there is nothing to do.`,
		RunE: e.action(f, func(ctx context.Context, s *session, _ []string) error {
			ctx, cancel := context.WithTimeout(ctx, wait)
			defer cancel()
			return s.down(ctx)
		}),
	}
	cmd.Flags().DurationVar(&wait, "wait", time.Minute, "how long to wait until it has stopped")
	return cmd
}

func (s *session) down(ctx context.Context) error {
	f, err := s.open()
	if err != nil {
		return err
	}
	if err := s.ours(f); err != nil {
		return err
	}
	stopped := map[string]any{"ledger": f.Ledger, "dir": f.Dir, "stopped": false}
	if busy, err := f.InUse(); err != nil {
		return err
	} else if !busy {
		return s.result("stopped", stopped, func(w *textWriter) { w.line("no service of ledger %s runs", f.Ledger) })
	}
	running, err := f.Running()
	if err != nil {
		if errors.Is(err, server.ErrNotRunning) {
			return fmt.Errorf("%w: the folder is in use by a process that does not say where it listens: it starts, stops, or reads", server.ErrNotRunning)
		}
		return err
	}
	if err := s.answers(ctx, f); err != nil {
		return fmt.Errorf("stop process %d: %w", running.PID, err)
	}
	if err := syscall.Kill(running.PID, syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop process %d: %w", running.PID, err)
	}
	if err := awaitFree(ctx, f, running.PID); err != nil {
		return fmt.Errorf("stop process %d: %w", running.PID, err)
	}
	stopped["stopped"] = true
	return s.result("stopped", stopped, func(w *textWriter) { w.line("service of ledger %s stopped", f.Ledger) })
}

// answers checks that what listens is this ledger's service, by a head that it
// signs: only then is the process of run.json the one to stop. Whether its
// history is the one that was seen before is no reason to leave it running.
func (s *session) answers(ctx context.Context, f *server.Folder) error {
	c, err := s.connect(f, "")
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Status(ctx)
	return err
}

// awaitFree returns once a process no longer has the folder's history open.
// Another service may have it by then, which somebody started meanwhile.
func awaitFree(ctx context.Context, f *server.Folder, pid int) error {
	tick := time.NewTicker(upStep)
	defer tick.Stop()
	for {
		if busy, err := f.InUse(); err != nil || !busy {
			return err
		}
		if running, err := f.Running(); err == nil && running.PID != pid {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
