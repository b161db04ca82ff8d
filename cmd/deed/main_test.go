package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the tests run deed as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("DEED_TEST_MAIN") != "" {
		os.Exit(run())
	}
	os.Exit(m.Run())
}

// TestASignalEndsACommandThatWaits: the first signal asks a command to end,
// and one that cannot hear it, as it waits for input, ends at a later one.
func TestASignalEndsACommandThatWaits(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0], "event", "append", "--type", "finding.recorded", "--task", "T-1", "-")
			cmd.Env = append(os.Environ(), "DEED_TEST_MAIN=1", "DEED_HOME="+t.TempDir())
			in, err := cmd.StdinPipe() // held open and silent
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					_ = cmd.Process.Signal(signal)
					continue
				case err = <-ended:
				}
				break
			}
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok || ctx.Err() != nil {
				t.Fatalf("ended with %v, context %v", err, ctx.Err())
			}
			if status, _ := exit.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != signal {
				t.Errorf("ended with %v, want by %v", err, signal)
			}
		})
	}
}
