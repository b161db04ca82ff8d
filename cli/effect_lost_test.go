package cli_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/deedledger/deed/cli"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
)

// TestLostLeaseStopsTheCall: a run that lost its lease stops waiting and asks
// nobody; what it knows is recorded as a late fact, and a controller's probe
// settles it.
func TestLostLeaseStopsTheCall(t *testing.T) {
	s := newStage(t)
	s.workFor("impl-a", "2s")
	s.mode("after")
	ctx := t.Context()
	done := make(chan command, 1)
	go func() { done <- runDeed(ctx, s, "impl-a", s.effectArgs()) }()
	until(t, "the call acted", func() bool { return s.count("calls") == 1 })
	s.interrupt()
	(<-done).exits(cli.ExitEffect)
	part := s.state().Effects[0].Parts[0]
	if part.Status != projections.StatusUnknown || !part.Late || part.By != "impl-a" || s.count("probes") != 0 {
		t.Fatalf("part %+v, %d probes", part, s.count("probes"))
	}
	if r := s.recovers("control-1"); r.Decision != projections.ResumeBoundedStep {
		t.Errorf("decision %s", r.Decision)
	}
	if s.effectStatus() != projections.StatusConfirmed || s.count("calls") != 1 {
		t.Errorf("effect %s, %d calls", s.effectStatus(), s.count("calls"))
	}
}

// TestHeartbeatsKeepTheLease: a call that outlasts the term keeps its lease.
func TestHeartbeatsKeepTheLease(t *testing.T) {
	s := newStage(t)
	s.workFor("impl-a", "1s")
	s.mode("wait")
	ctx := t.Context()
	done := make(chan command, 1)
	go func() { done <- runDeed(ctx, s, "impl-a", s.effectArgs()) }()
	until(t, "the call acted", func() bool { return s.count("calls") == 1 })
	lease := s.state().Lease
	end := lease.Admitted + 3*lease.TermSeconds*1_000_000_000
	until(t, "three terms have passed", func() bool { return s.env(nil, nil).Now().UnixNano() > end })
	must(t, os.WriteFile(filepath.Join(s.world, "go"), nil, 0o600))
	(<-done).succeeds()
	if part := s.state().Effects[0].Parts[0]; part.Late || part.Status != projections.StatusConfirmed {
		t.Errorf("part %+v", part)
	}
}

// TestInterruptStillRecords: a call that a person interrupts is over, and its
// outcome is recorded all the same.
func TestInterruptStillRecords(t *testing.T) {
	s := newStage(t)
	s.work("impl-a")
	s.mode("after")
	ctx, interrupt := context.WithCancel(t.Context())
	done := make(chan command, 1)
	go func() { done <- runDeed(ctx, s, "impl-a", s.effectArgs()) }()
	until(t, "the call acted", func() bool { return s.count("calls") == 1 })
	interrupt()
	(<-done).succeeds()
	if part := s.state().Effects[0].Parts[0]; part.Status != projections.StatusConfirmed || part.Basis != events.BasisProbe {
		t.Errorf("part %+v", part)
	}
}

// TestOutcomeThatCannotBeRecorded: the service goes away during the call. The
// command says so; the effect stays open until a recovery asks.
func TestOutcomeThatCannotBeRecorded(t *testing.T) {
	s := newStage(t)
	s.work("impl-a")
	s.mode("wait")
	ctx := t.Context()
	done := make(chan command, 1)
	go func() { done <- runDeed(ctx, s, "impl-a", s.effectArgs()) }()
	until(t, "the call acted", func() bool { return s.count("calls") == 1 })
	must(t, s.local.Close())
	must(t, os.WriteFile(filepath.Join(s.world, "go"), nil, 0o600))
	c := (<-done).exits(cli.ExitUnavailable)
	if !strings.Contains(c.stderr, "could not be recorded") {
		t.Errorf("stderr %q", c.stderr)
	}
	s.start()
	if s.effectStatus() != projections.StatusDispatched {
		t.Fatalf("effect %s", s.effectStatus())
	}
	s.interrupt()
	s.recovers("control-1")
	if s.effectStatus() != projections.StatusConfirmed || s.count("calls") != 1 {
		t.Errorf("effect %s, %d calls", s.effectStatus(), s.count("calls"))
	}
}

// TestNothingIsCalledWithoutAcknowledgement: the service is gone when the
// dispatch is to be recorded.
func TestNothingIsCalledWithoutAcknowledgement(t *testing.T) {
	s := newStage(t)
	s.work("impl-a")
	cmd := s.spawn("impl-a", process{StopToken: true, Go: filepath.Join(s.world, "go")}, s.effectArgs()...)
	until(t, "the intent is recorded", func() bool {
		_, err := os.Stat(filepath.Join(s.world, "reached"))
		return err == nil
	})
	must(t, s.local.Close())
	must(t, os.WriteFile(filepath.Join(s.world, "go"), nil, 0o600))
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != cli.ExitUnavailable || s.count("calls") != 0 {
		t.Errorf("exit code %d, %d calls\n%s", code, s.count("calls"), cmd.Stderr)
	}
	s.start()
	if s.effectStatus() != projections.StatusIntended {
		t.Errorf("effect %s", s.effectStatus())
	}
}

// relay stands before the service and cuts the line instead of passing on the
// first answer after cut is set: the service has done its work, the client
// hears nothing.
type relay struct {
	listener net.Listener
	service  string
	cut      atomic.Bool
	cuts     atomic.Int64
	conns    sync.WaitGroup
}

func newRelay(t *testing.T, service string) *relay {
	t.Helper()
	u, err := url.Parse(service)
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	r := &relay{listener: listener, service: u.Host}
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			r.conns.Go(func() { r.serve(client) })
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-accepting; r.conns.Wait() })
	return r
}

func (r *relay) url() string { return "nats://" + r.listener.Addr().String() }

func (r *relay) serve(client net.Conn) {
	defer client.Close()
	service, err := net.Dial("tcp", r.service)
	if err != nil {
		return
	}
	defer service.Close()
	r.conns.Go(func() { _, _ = io.Copy(service, client); _ = service.Close() })
	buffer := make([]byte, 64<<10)
	for {
		n, err := service.Read(buffer)
		if err != nil || r.cut.CompareAndSwap(true, false) && r.cuts.Add(1) > 0 {
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// TestLostAcknowledgement, as a client sees it: the answer to a
// submission is lost after the event was written. The client submits the very
// same bytes again and learns its place; nothing is written twice. Somebody
// else's event at that place is a conflict, and nothing is resubmitted blindly.
func TestLostAcknowledgement(t *testing.T) {
	s := newStage(t)
	r := newRelay(t, s.local.URL())
	c := s.dial(r.url())
	before := s.state()
	note := &events.Finding{Severity: "hint", Rule: "note", Text: "seen"}
	sealed, err := evidence.Seal(s.taskEvent("impl-a", note, before.Attempt().ID, 0), s.keys["impl-a"])
	must(t, err)
	other, err := evidence.Seal(s.taskEvent("impl-b", note, before.Attempt().ID, 0), s.keys["impl-b"])
	must(t, err)
	r.cut.Store(true)
	ack, err := c.Submit(t.Context(), sealed, false)
	must(t, err)
	if r.cuts.Load() != 1 || !ack.Existing || ack.EventID != sealed.ID {
		t.Errorf("%d cuts, acknowledgement %+v", r.cuts.Load(), ack)
	}
	after := s.state()
	if after.Sequence != before.Sequence+1 || after.Head != sealed.Hash().String() || ack.Position != after.Position {
		t.Errorf("sequence %d after %d, position %d", after.Sequence, before.Sequence, ack.Position)
	}
	_, err = c.Submit(t.Context(), other, false)
	if refusal, ok := errors.AsType[*ledger.Refusal](err); !ok || refusal.Class != ledger.Conflict || refusal.Head != after.Head {
		t.Errorf("another event for the same place: %v", err)
	}
	changed := sealed
	changed.Data = other.Data
	changed.Time = "2030-01-01T00:00:00Z"
	if changed, err = evidence.Seal(changed, s.keys["impl-a"]); err == nil {
		_, err = c.Submit(t.Context(), changed, false)
	}
	if refusal, ok := errors.AsType[*ledger.Refusal](err); !ok || refusal.Class != ledger.Refused {
		t.Errorf("the same id with other bytes: %v", err)
	}
	if s.state().Sequence != after.Sequence {
		t.Error("something was written twice")
	}
}
