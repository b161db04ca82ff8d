package cli_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/deedledger/deed/cli"
)

// signal is a writer that tells of its first write.
type signal struct {
	once  sync.Once
	first chan struct{}
}

func (s *signal) Write(b []byte) (int, error) {
	s.once.Do(func() { close(s.first) })
	return len(b), nil
}

// renewing runs lease renew until it ends, and returns once it has begun.
func renewing(ctx context.Context, s *stage) chan int {
	out, ended := &signal{first: make(chan struct{})}, make(chan int, 1)
	go func() {
		e := s.env(&bytes.Buffer{}, &bytes.Buffer{})
		e.Stdout = out
		root := cli.New(e)
		root.SetArgs([]string{"--as", "impl-a", "lease", "renew", task, "--every", "5ms"})
		ended <- cli.Report(e, root, root.ExecuteContext(ctx))
	}()
	select {
	case <-out.first:
	case code := <-ended:
		ended <- code
	}
	return ended
}

// TestRenewUntilStopped renews until its context ends.
func TestRenewUntilStopped(t *testing.T) {
	s := newStage(t)
	s.work("impl-a")
	ctx, cancel := context.WithCancel(t.Context())
	ended := renewing(ctx, s)
	cancel()
	if code := <-ended; code != 0 {
		t.Fatalf("exit code %d", code)
	}
	s.cmd("impl-a", "lease", "renew", task).succeeds()
}

// TestRenewUntilLost renews until a controller takes the lease away.
func TestRenewUntilLost(t *testing.T) {
	s := newStage(t)
	s.work("impl-a")
	ended := renewing(t.Context(), s)
	s.cmd("control-1", "attempt", "interrupt", task).succeeds()
	if code := <-ended; code != 4 {
		t.Fatalf("exit code %d", code)
	}
	s.cmd("impl-a", "lease", "renew", task).exits(4)
}

// TestRenewTogether lets processes of one lease renew it at once, half of
// them with a clock that is an hour behind: nobody loses the lease.
func TestRenewTogether(t *testing.T) {
	s := newStage(t)
	s.work("impl-a")
	ctx := t.Context()
	var codes [8]int
	var runs []func()
	for i := range codes {
		runs = append(runs, func() {
			e := s.env(&bytes.Buffer{}, &bytes.Buffer{})
			if i%2 == 1 {
				e.Now = func() time.Time { return time.Now().Add(-time.Hour) }
			}
			root := cli.New(e)
			root.SetArgs([]string{"--as", "impl-a", "lease", "renew", task})
			codes[i] = cli.Report(e, root, root.ExecuteContext(ctx))
		})
	}
	together(runs...)
	if codes != [8]int{} {
		t.Errorf("exit codes %v", codes)
	}
}
