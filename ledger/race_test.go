package ledger_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/internal/natstest"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections/projectionstest"
)

const racers = 8

// outcome is what one racer was told.
type outcome struct {
	event events.Event
	ack   ledger.Ack
	err   error
}

// race lets every racer submit its event at the same moment.
func race(submit [racers]func() (ledger.Ack, error), signed [racers]events.Event) []outcome {
	out := make([]outcome, racers)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range out {
		wg.Go(func() {
			<-start
			out[i].event = signed[i]
			out[i].ack, out[i].err = submit[i]()
		})
	}
	close(start)
	wg.Wait()
	return out
}

// judge fails unless one racer won the position, and all others were told of a
// conflict with the winner's event as the new head.
func judge(t *testing.T, out []outcome, position events.Position, sequence uint64) {
	t.Helper()
	var winner *outcome
	for i := range out {
		if out[i].err == nil {
			if winner != nil {
				t.Fatalf("two winners: %+v and %+v", winner.ack, out[i].ack)
			}
			winner = &out[i]
		}
	}
	if winner == nil {
		t.Fatalf("no winner of position %d: %v", position, out[0].err)
	}
	if winner.ack.Position != position || winner.ack.Existing {
		t.Fatalf("the winner has %+v, want position %d", winner.ack, position)
	}
	for _, o := range out {
		if o.err == nil {
			continue
		}
		r := wantRefusal(t, o.err, ledger.Conflict, ledger.CodeHead)
		if r.Head != winner.event.Hash().String() || r.Sequence != sequence {
			t.Fatalf("a loser was told %d %s, the new head is %d %s", r.Sequence, r.Head, sequence, winner.event.Hash())
		}
	}
}

// sign returns one event per racer, all on the same head.
func sign(h *ledgertest.House, round int) (signed [racers]events.Event) {
	actors := ledgertest.Invited()
	for i := range signed {
		signed[i] = h.Next("TASK-1", actors[i], finding(fmt.Sprintf("round %d, racer %d", round, i)))
	}
	return signed
}

// raceClients lets clients race through one writer.
func raceClients(t *testing.T, h *ledgertest.House, rounds int) {
	t.Helper()
	h.Do("TASK-1", ledgertest.Founder, projectionstest.Contract(1))
	first := h.Last()
	for round := range rounds {
		signed := sign(h, round)
		var submit [racers]func() (ledger.Ack, error)
		for i := range submit {
			submit[i] = func() (ledger.Ack, error) { return h.Submit(signed[i]) }
		}
		judge(t, race(submit, signed), first+events.Position(round)+1, uint64(round)+2)
	}
	if audit := h.Audit(); audit.Events != uint64(first)+uint64(rounds) {
		t.Errorf("%d events, want %d", audit.Events, uint64(first)+uint64(rounds))
	}
}

func TestRaceClientsMemory(t *testing.T) {
	t.Parallel()
	raceClients(t, ledgertest.Found(t, "acme", memory(t, "acme")), 300)
}

func TestRaceClientsJetStream(t *testing.T) {
	t.Parallel()
	raceClients(t, ledgertest.Found(t, natstest.Ledger, natstest.Journal(t)), 300)
}

// raceWriters lets eight writers, each with its own way to the journal, race:
// what a stale second service would do. The journal's expectations alone
// decide.
func raceWriters(t *testing.T, h *ledgertest.House, rounds int, open func() journal.Journal) {
	t.Helper()
	h.Do("TASK-1", ledgertest.Founder, projectionstest.Contract(1))
	first := h.Last()
	var writers [racers]*ledger.Writer
	for i := range writers {
		w, err := ledger.Open(t.Context(), h.Config(open()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Close)
		writers[i] = w
	}
	for round := range rounds {
		// Whoever lost the round before has read the winner's event by now,
		// and the winner knows its own.
		actors := ledgertest.Invited()
		var signed [racers]events.Event
		var submit [racers]func() (ledger.Ack, error)
		for i, w := range writers {
			w.View(func(b *ledger.Book) {
				signed[i] = h.Sign(b.State, "TASK-1", actors[i], finding(fmt.Sprintf("round %d, racer %d", round, i)))
			})
			submit[i] = func() (ledger.Ack, error) {
				return w.Submit(context.Background(), ledger.Request{Export: signed[i].Export()})
			}
		}
		judge(t, race(submit, signed), first+events.Position(round)+1, uint64(round)+2)
	}
	for i, w := range writers {
		if err := w.Broken(); err != nil {
			t.Errorf("writer %d: %v", i, err)
		}
	}
	if audit := h.Audit(); audit.Events != uint64(first)+uint64(rounds) {
		t.Errorf("%d events, want %d", audit.Events, uint64(first)+uint64(rounds))
	}
}

func TestRaceWritersMemory(t *testing.T) {
	t.Parallel()
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	raceWriters(t, h, 40, func() journal.Journal { return h.Journal })
}

func TestRaceWritersJetStream(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t, natstest.Config(t))
	open := func(make func(context.Context) (*jetstream.Journal, error)) journal.Journal {
		j, err := make(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = j.Close() })
		return j
	}
	h := ledgertest.Found(t, natstest.Ledger, open(func(ctx context.Context) (*jetstream.Journal, error) {
		return jetstream.Create(ctx, natstest.Connect(t, server), natstest.Settings())
	}))
	raceWriters(t, h, 20, func() journal.Journal {
		return open(func(ctx context.Context) (*jetstream.Journal, error) {
			return jetstream.Open(ctx, natstest.Connect(t, server), natstest.Settings())
		})
	})
}

// TestRaceTasks appends to eight tasks side by side: nobody is in another's
// way, and groups of them share a head.
func TestRaceTasks(t *testing.T) {
	t.Parallel()
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	const each = 20
	failed := make(chan error, racers)
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			task := fmt.Sprintf("TASK-%d", i)
			if _, err := h.Try(task, ledgertest.Founder, projectionstest.Contract(1)); err != nil {
				failed <- err
				return
			}
			for n := range each {
				if _, err := h.Try(task, ledgertest.Auditor, finding(fmt.Sprint(n))); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	if audit := h.Audit(); audit.Events < racers*(each+1) {
		t.Errorf("%d events", audit.Events)
	}
}
