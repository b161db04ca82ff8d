package server_test

import (
	"context"
	"errors"
	"flag"
	"path/filepath"
	"testing"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections/projectionstest"
)

var pauseFor = flag.Duration("pause", 0, "how long the paused writer of TestPausedWriter sleeps beyond the takeover; one minute is the heavy form")

// frozen is a stream whose next append stops where the process would have been
// stopped: after the writer has decided, and looked at its lease.
type frozen struct {
	journal.Journal
	arm   chan struct{} // one token: the next append stops
	asked chan struct{} // it stopped
	thaw  chan struct{} // it goes on
}

func newFrozen() *frozen {
	return &frozen{arm: make(chan struct{}, 1), asked: make(chan struct{}), thaw: make(chan struct{})}
}

func (f *frozen) Append(ctx context.Context, m journal.Message, e journal.Expect) (at events.Position, err error) {
	select {
	case <-f.arm:
		close(f.asked)
		<-f.thaw
		ctx = context.Background() // whoever slept does not know that time passed
	default:
	}
	return f.Journal.Append(ctx, m, e)
}

// TestPausedWriter: the writer stops in the middle of an append, another one
// takes over and writes, and the first wakes: nothing is accepted from it, it
// says so, and it stands by.
func TestPausedWriter(t *testing.T) {
	o := single(t)
	l := servicetest.NewExternal(t, o)
	ice := newFrozen()
	options := servicetest.ExternalOptions(l.Folder.Dir, o)
	options.External.Wrap = func(j journal.Journal) journal.Journal { ice.Journal = j; return ice }
	first := runExternal(t, options)
	awaitTrue(t, "leading", first.Writer().Leading)
	config := l.ExternalConfig(t, o, filepath.Join(t.TempDir(), "head"))
	config.Timeout = 300 * time.Millisecond // of two instances one does not answer for a while
	c := servicetest.Dial(t, config)
	tasks := chain(t, l, "TASK-1")
	submitAll(t, c, tasks, 3)

	stale, err := chain(t, l, "TASK-2").Next()
	if err != nil {
		t.Fatal(err)
	}
	ice.arm <- struct{}{}
	answered := make(chan error, 1)
	go func() {
		_, err := first.Writer().Submit(context.Background(), ledger.Request{Export: stale.Export()})
		answered <- err
	}()
	<-ice.asked
	first.Suspend() // the whole process stands still: it renews nothing

	second := runExternal(t, servicetest.ExternalOptions(l.Twin(t).Dir, o))
	submitAll(t, c, tasks, 5)
	if !second.Writer().Leading() {
		t.Fatal("nobody took over")
	}
	if *pauseFor > 0 {
		<-time.After(*pauseFor)
	}
	submitAll(t, c, tasks, 1)
	close(ice.thaw)
	first.Resume()
	err = <-answered
	if r, ok := errors.AsType[*ledger.Refusal](err); !ok || r.Class != ledger.Conflict && r.Class != ledger.Unavailable {
		t.Errorf("the paused writer answers %v, want that nothing was written", err)
	}
	awaitTrue(t, "stood by", func() bool { return !first.Writer().Leading() })
	submitAll(t, c, tasks, 20) // both take requests again
	if first.Writer().Leading() || !second.Writer().Leading() {
		t.Error("the writer that was paused leads again")
	}
	if _, err := c.Locate(servicetest.Within(t), stale.ID); err == nil {
		t.Error("the ledger has what the paused writer was to append")
	}
	wantEvents(t, c, 1+3+5+1+20)
}

// TestHeartbeatsAreHandedOn: a lease lives as long as its holder says so, to
// whichever instance.
func TestHeartbeatsAreHandedOn(t *testing.T) {
	o := single(t)
	l := servicetest.NewExternal(t, o)
	first := runExternal(t, servicetest.ExternalOptions(l.Folder.Dir, o))
	awaitTrue(t, "leading", first.Writer().Leading)
	second := runExternal(t, servicetest.ExternalOptions(l.Twin(t).Dir, o))
	awaitTrue(t, "level", func() bool { return second.Writer().Reach(t.Context(), 1) == nil })
	c := servicetest.Dial(t, l.ExternalConfig(t, o, ""))
	// A heartbeat for a lease that is none is refused by the writer, through either.
	for range 20 {
		err := c.Renew(servicetest.Within(t), ledger.Heartbeat{Task: "TASK-1", Fence: 1, Number: 1}, l.Story.Key(projectionstest.Founder))
		if class, _ := refusal(err); class == ledger.Unavailable || class == "" {
			t.Fatalf("heartbeat: %v", err)
		}
	}
}
