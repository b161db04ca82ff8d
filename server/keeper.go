package server

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
)

// leaseStore is what a keeper keeps its lease in; see [jetstream.LeaseStore].
type leaseStore interface {
	Get(ctx context.Context) (jetstream.Holder, uint64, error)
	Put(ctx context.Context, h jetstream.Holder, revision uint64) (uint64, error)
}

// keeper takes and renews the writer's lease for one instance. The holder
// counts its term from before it sent the renewal and gives up after three
// quarters of it; everybody else counts the whole of it from when they saw the
// entry change: so two instances never both believe in theirs while their
// clocks run, and no clock is compared with another.
type keeper struct {
	store leaseStore
	name  string
	term  time.Duration
	now   func() time.Time // with a monotonic reading
	// asleep makes turns do nothing; see [Local.Suspend].
	asleep atomic.Bool

	mu       sync.Mutex // guards what is below
	held     bool
	until    time.Time // while held
	epoch    uint64
	revision uint64 // of the entry last seen
	entry    jetstream.Holder
	since    time.Time // when that entry was first seen
}

func newKeeper(store leaseStore, name string, term time.Duration, now func() time.Time) *keeper {
	return &keeper{store: store, name: name, term: term, now: now}
}

// may reports whether this instance may write now.
func (k *keeper) may() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.held && k.now().Before(k.until)
}

// holder returns who held the lease when it was last looked at; the zero
// Holder when nobody did.
func (k *keeper) holder() jetstream.Holder {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.entry
}

// turn renews the lease, or looks at who has it and takes it when it is over.
// able says whether this instance could write; one that could not takes no
// lease, and gives up its own. An error says why neither was possible.
func (k *keeper) turn(ctx context.Context, able bool) error {
	if k.asleep.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, max(k.term/2, time.Second))
	defer cancel()
	if k.may() {
		if !able {
			return k.release(ctx)
		}
		return k.renew(ctx)
	}
	k.lose()
	free, err := k.look(ctx)
	if err != nil || !free || !able {
		return err
	}
	return k.take(ctx)
}

func (k *keeper) lose() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held = false
}

// renew writes the entry again. Whether it counts is known by its revision
// alone: when the answer was lost the next turn finds out.
func (k *keeper) renew(ctx context.Context) error {
	k.mu.Lock()
	entry, revision, sent := k.entry, k.revision, k.now()
	k.mu.Unlock()
	next, err := k.store.Put(ctx, entry, revision)
	if err == nil {
		k.hold(entry, next, sent)
		return nil
	}
	if !errors.Is(err, journal.ErrConflict) {
		return err
	}
	now, revision, gerr := k.store.Get(ctx)
	if gerr != nil {
		return gerr
	}
	if now.Name != k.name || now.Epoch != entry.Epoch {
		k.lose()
		k.saw(now, revision)
		return nil
	}
	k.mu.Lock() // an earlier renewal counted: the next one goes on from there
	defer k.mu.Unlock()
	k.revision = max(k.revision, revision)
	return nil
}

func (k *keeper) hold(entry jetstream.Holder, revision uint64, sent time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held, k.until = true, sent.Add(k.term*3/4)
	k.entry, k.revision, k.epoch, k.since = entry, revision, entry.Epoch, sent
}

// look reads the entry and reports whether the lease may be taken.
func (k *keeper) look(ctx context.Context) (free bool, err error) {
	entry, revision, err := k.store.Get(ctx)
	if err != nil {
		return false, err
	}
	k.saw(entry, revision)
	k.mu.Lock()
	defer k.mu.Unlock()
	over := k.now().Sub(k.since) >= max(k.entry.Term, k.term)
	return k.revision == 0 || k.entry.Name == "" || k.entry.Name == k.name || over, nil
}

// saw notes an entry. One with the revision that is known began when that was
// first seen; an older one, from a replica that lags, is no news.
func (k *keeper) saw(entry jetstream.Holder, revision uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if revision > k.revision || revision == 0 && k.revision == 0 {
		k.entry, k.revision, k.since = entry, revision, k.now()
	}
}

// take writes an entry of the next epoch. Who loses the race looks again.
func (k *keeper) take(ctx context.Context) error {
	k.mu.Lock()
	entry, revision, sent := jetstream.Holder{Name: k.name, Epoch: k.entry.Epoch + 1, Term: k.term}, k.revision, k.now()
	k.mu.Unlock()
	next, err := k.store.Put(ctx, entry, revision)
	if errors.Is(err, journal.ErrConflict) {
		return nil
	}
	if err != nil {
		return err
	}
	k.hold(entry, next, sent)
	return nil
}

// release gives the lease back, so that another instance need not wait.
func (k *keeper) release(ctx context.Context) error {
	k.mu.Lock()
	held, revision := k.held, k.revision
	entry := jetstream.Holder{Epoch: k.epoch}
	k.held = false
	k.mu.Unlock()
	if !held {
		return nil
	}
	next, err := k.store.Put(ctx, entry, revision)
	if err != nil {
		return err
	}
	k.saw(entry, next)
	return nil
}

// Suspend stops the renewals of this instance's lease, as a process that is
// stopped does; nothing else. Resume goes on. They are for drills of a takeover.
func (l *Local) Suspend() { l.keeper.asleep.Store(true) }

// Resume ends Suspend.
func (l *Local) Resume() { l.keeper.asleep.Store(false) }
