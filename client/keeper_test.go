package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/ledger"
)

// errNetwork stands for a heartbeat that was lost on its way.
var errNetwork = errors.New("no answer")

// beats are the answers to heartbeats, in order; the last one is for all later
// ones. Each takes a second.
type beats []error

// keeper returns a keeper of a lease of a minute whose heartbeats are answered
// so, and how many were sent.
func (b beats) keeper() (*client.Keeper, *int) {
	sent := new(int)
	return &client.Keeper{
		Renew: func(ctx context.Context) error {
			*sent++
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
			return b[min(*sent, len(b))-1]
		},
		Now: time.Now, Term: time.Minute, Every: 20 * time.Second,
	}, sent
}

// TestKeeperDeadline is about heartbeats: one lost on its way it ends
// nothing until a term after the newest good one was sent.
func TestKeeperDeadline(t *testing.T) {
	refused := &ledger.Refusal{Class: ledger.Refused, Code: ledger.CodeFence}
	for name, c := range map[string]struct {
		answers beats
		after   time.Duration // from the first sending to the loss
		sent    int
	}{
		"never again":             {beats{nil, errNetwork}, time.Minute, 3},
		"lost once, then never":   {beats{nil, errNetwork, nil, errNetwork}, 41*time.Second + time.Minute, 5},
		"refused at once":         {beats{nil, refused}, 22 * time.Second, 2},
		"lost once, then refused": {beats{nil, errNetwork, refused}, 42 * time.Second, 3},
		"overtaken, then refused": {beats{nil, &ledger.Refusal{Class: ledger.Conflict, Code: ledger.CodeHead}, refused}, 42 * time.Second, 3},
		"unavailable to the end":  {beats{nil, &ledger.Refusal{Class: ledger.Unavailable, Code: ledger.CodeBusy}}, time.Minute, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k, sent := c.answers.keeper()
				begin := time.Now()
				if err := k.Begin(t.Context()); err != nil {
					t.Fatal(err)
				}
				err := k.Run(t.Context())
				if !errors.Is(err, client.ErrLeaseLost) {
					t.Fatalf("ended with %v, want a lost lease", err)
				}
				if got := time.Since(begin); got != c.after || *sent != c.sent {
					t.Errorf("lost after %s and %d heartbeats, want %s and %d", got, *sent, c.after, c.sent)
				}
			})
		})
	}
}

// TestKeeperStops ends without an error when it is told to.
func TestKeeperStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, sent := beats{nil}.keeper()
		if err := k.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := k.Run(ctx); err != nil || *sent < 100 {
			t.Errorf("ended with %v after %d heartbeats", err, *sent)
		}
	})
}

// TestKeeperBegins hands on why the first heartbeat failed.
func TestKeeperBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, _ := beats{errNetwork}.keeper()
		if err := k.Begin(t.Context()); !errors.Is(err, errNetwork) {
			t.Errorf("%v", err)
		}
	})
}

// TestKeeperSleeps: a machine that slept knows from the wall clock that its
// lease may be over, though its timers counted waking time only.
func TestKeeperSleeps(t *testing.T) {
	for name, c := range map[string]struct {
		slept time.Duration
		held  bool
	}{
		"awake": {0, true}, "a nap": {59 * time.Second, true}, "a term": {time.Minute, false}, "five minutes": {5 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			var slept time.Duration
			start := time.Now()
			k := &client.Keeper{
				Renew: func(context.Context) error { return nil },
				// Add moves both readings, Round drops the one that counts waking time.
				Now:  func() time.Time { return start.Round(0).Add(slept) },
				Term: time.Minute, Every: time.Hour,
			}
			if err := k.Begin(t.Context()); err != nil {
				t.Fatal(err)
			}
			slept = c.slept
			if got := k.Held(); got != c.held {
				t.Errorf("held %t", got)
			}
			if c.held {
				return
			}
			if err := k.Run(t.Context()); !errors.Is(err, client.ErrLeaseLost) {
				t.Errorf("woke up with %v", err)
			}
		})
	}
}
