package client

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/deedledger/deed/ledger"
)

// ErrLeaseLost says that a lease is gone, or may be: from then on nothing may
// be started under it.
var ErrLeaseLost = errors.New("the lease is lost")

// Keeper renews one lease. Every field is required unless it says so.
type Keeper struct {
	// Renew sends one heartbeat and returns what came of it; see Client.Renew.
	Renew func(context.Context) error
	Now   func() time.Time
	// Term is how long the lease lives after a renewal; Every is the pause
	// between two.
	Term, Every time.Duration
	// Missed is told of a heartbeat that failed while the lease may still
	// live. Optional.
	Missed func(error)

	sent atomic.Pointer[time.Time] // when the newest good renewal was sent
}

// Begin renews once.
//
// Errors: those of Renew.
func (k *Keeper) Begin(ctx context.Context) error {
	sent := k.Now()
	if err := k.Renew(ctx); err != nil {
		return err
	}
	k.sent.Store(&sent)
	return nil
}

// Run renews after Begin until ctx ends, which is no error, or until the lease
// is lost. A heartbeat that was lost on its way ends nothing: the holder goes
// on until its own deadline, a term after the newest good renewal was sent.
// The ledger counts from when it arrived, so that it never ends first.
//
// Errors: [ErrLeaseLost], with the ledger's refusal where there is one.
func (k *Keeper) Run(ctx context.Context) error {
	pause := time.NewTicker(k.Every)
	defer pause.Stop()
	for {
		deadline := time.NewTimer(k.left())
		select {
		case <-ctx.Done():
			deadline.Stop()
			return nil
		case <-deadline.C:
			return fmt.Errorf("%w: it could not be renewed for its whole term", ErrLeaseLost)
		case <-pause.C:
			deadline.Stop()
			if k.left() <= 0 { // both came at once
				return fmt.Errorf("%w: it could not be renewed for its whole term", ErrLeaseLost)
			}
		}
		if err := k.again(ctx); err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// patience is how long the answer to one heartbeat is waited for, unless the
// pause is longer, before the next one is sent.
const patience = 10 * time.Second

// again sends one heartbeat and waits for no longer than the lease can live.
func (k *Keeper) again(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, min(k.left(), max(k.Every, patience)))
	defer cancel()
	sent := k.Now()
	err := k.Renew(limited)
	r, answered := errors.AsType[*ledger.Refusal](err)
	switch {
	case err == nil:
		k.sent.Store(&sent)
	case answered && r.Class == ledger.Refused:
		return fmt.Errorf("%w: %w", ErrLeaseLost, err)
	case ctx.Err() != nil:
	case k.left() <= 0:
		return fmt.Errorf("%w: it could not be renewed for its whole term: %w", ErrLeaseLost, err)
	case k.Missed != nil:
		k.Missed(err)
	}
	return nil
}

// left returns how long the lease surely lives yet. It counts the longer of
// the time that this process saw passing and that which the wall clock shows:
// the first stands still while a machine sleeps.
func (k *Keeper) left() time.Duration {
	now, sent := k.Now(), *k.sent.Load()
	return k.Term - max(now.Sub(sent), now.Round(0).Sub(sent.Round(0)))
}

// Held reports whether the lease surely lives yet, as far as its holder can
// know without asking. It may be called beside Run, after Begin.
func (k *Keeper) Held() bool { return k.left() > 0 }
