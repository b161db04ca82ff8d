package journaltest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
)

// walkers are the two ways to read on from a position.
func walkers(j journal.Journal) map[string]func(context.Context, events.Position, func(journal.Record) error) error {
	return map[string]func(context.Context, events.Position, func(journal.Record) error) error{
		"Replay": j.Replay,
		"Follow": j.Follow,
	}
}

func testStarts(t *testing.T, open Open) {
	j := open()
	never := func(journal.Record) error { return errors.New("handled a record") }
	for name, walk := range walkers(j) {
		t.Run(name+" of an empty journal", func(t *testing.T) {
			wantErrors(t, walk(Within(t), 0, never), journal.ErrRefused)
			wantErrors(t, walk(Within(t), 2, never), journal.ErrCorrupt)
		})
	}
	if err := j.Replay(Within(t), 1, never); err != nil {
		t.Errorf("replay of an empty journal: %v", err)
	}
	Fill(t, j, 10)
	for name, walk := range walkers(j) {
		t.Run(name, func(t *testing.T) {
			wantErrors(t, walk(Within(t), 0, never), journal.ErrRefused)
			wantErrors(t, walk(Within(t), 12, never), journal.ErrCorrupt)
			wantErrors(t, walk(Within(t), 1<<63, never), journal.ErrCorrupt)
			for _, from := range []events.Position{1, 2, 7, 10} {
				next := from
				enough := errors.New("enough")
				err := walk(Within(t), from, func(r journal.Record) error {
					if r.Position != next {
						t.Errorf("position %d, want %d", r.Position, next)
					}
					next++
					if r.Position == 10 {
						return enough
					}
					return nil
				})
				if !errors.Is(err, enough) || next != 11 {
					t.Errorf("from %d: stopped before %d, error %v", from, next, err)
				}
			}
		})
	}
}

func testReplayStopsAtLast(t *testing.T, open Open) {
	j := open()
	next := Fill(t, j, 3)
	count := 0
	err := j.Replay(Within(t), 2, func(r journal.Record) error {
		// What is appended meanwhile is not part of this replay.
		mustAppend(t, j, NewMessage(fmt.Sprintf("meanwhile-%d", count), SubjectA), next)
		next.Last++
		next.SubjectLast = next.Last
		count++
		return nil
	})
	if err != nil || count != 2 {
		t.Errorf("%d records, error %v; want 2", count, err)
	}
	if err := j.Replay(Within(t), next.Last+1, func(journal.Record) error { return errors.New("handled") }); err != nil {
		t.Errorf("replay from the end: %v", err)
	}
}

func testFollowGoesOn(t *testing.T, open Open) {
	j := open()
	Fill(t, j, 3)
	ctx, cancel := context.WithCancel(Within(t))
	defer cancel()
	seen := make(chan journal.Record)
	ended := make(chan error, 1)
	go func() {
		ended <- j.Follow(ctx, 2, func(r journal.Record) error {
			select {
			case seen <- r:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	want := events.Position(2)
	receive := func() {
		t.Helper()
		select {
		case r := <-seen:
			if r.Position != want {
				t.Fatalf("position %d, want %d", r.Position, want)
			}
			want++
		case err := <-ended:
			t.Fatalf("follow ended: %v", err)
		}
	}
	receive()
	receive()
	next := journal.Expect{Last: 3, SubjectLast: 3}
	for i := range 20 {
		mustAppend(t, j, NewMessage(fmt.Sprintf("later-%d", i), SubjectA), next)
		next = journal.Expect{Last: next.Last + 1, SubjectLast: next.Last + 1}
		receive()
	}
	cancel()
	wantErrors(t, <-ended, context.Canceled)
}

func testHandlerError(t *testing.T, open Open) {
	j := open()
	Fill(t, j, 5)
	for name, walk := range walkers(j) {
		t.Run(name, func(t *testing.T) {
			count := 0
			broken := fmt.Errorf("broken: %w", journal.ErrUnavailable) // which is no reason to try again
			err := walk(Within(t), 1, func(journal.Record) error {
				if count++; count == 3 {
					return broken
				}
				return nil
			})
			if !errors.Is(err, broken) || count != 3 {
				t.Errorf("error %v after %d records", err, count)
			}
		})
	}
}

func testCloseEndsFollow(t *testing.T, open Open) {
	j := open()
	Fill(t, j, 1)
	seen, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		ended <- j.Follow(Within(t), 1, func(journal.Record) error { seen <- struct{}{}; return nil })
	}()
	<-seen
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	wantErrors(t, <-ended, journal.ErrClosed)
}
