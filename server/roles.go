package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/ledger"
)

// inspectDefault is how often the stream's settings are looked at.
const inspectDefault = 10 * time.Second

// roles makes an instance the writer while it holds the lease, and a standby
// that follows the stream else.
type roles struct {
	local *Local
	log   *slog.Logger
	end   context.CancelFunc
	group sync.WaitGroup

	following context.CancelFunc // nil while it does not follow
	followed  chan error
}

// share makes a writer's configuration that of one among several.
func (l *Local) share(w *ledger.Config, o Options) {
	w.Shared, w.May = true, l.keeper.may
	if o.External.Wrap != nil {
		l.guard.Journal = o.External.Wrap(l.journal)
	}
	w.Journal = l.guard
}

// startRoles takes part in the choice of the writer until stop.
func (l *Local) startRoles(o Options) *roles {
	ctx, cancel := context.WithCancel(context.Background())
	r := &roles{local: l, log: o.log(), end: cancel}
	turned := make(chan struct{}, 1)
	// The lease is renewed while an append waits for an answer: two goroutines.
	r.group.Go(func() { r.keep(ctx, turned) })
	r.group.Go(func() { r.play(ctx, turned) })
	r.group.Go(func() { r.watch(ctx, cmp.Or(o.External.Inspect, inspectDefault)) })
	return r
}

// stop ends the part that this instance takes; the lease stays.
func (r *roles) stop() {
	r.end()
	r.group.Wait()
}

// keep renews the lease, or waits for it.
func (r *roles) keep(ctx context.Context, turned chan<- struct{}) {
	k := r.local.keeper
	tick := time.NewTicker(k.term / 8)
	defer tick.Stop()
	for {
		if err := k.turn(ctx, r.able()); err != nil && ctx.Err() == nil {
			r.log.Warn("writer lease", "err", err)
		}
		select {
		case turned <- struct{}{}:
		default:
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// able reports whether this instance could write: its history is whole.
func (r *roles) able() bool {
	broken := r.local.writer.Broken()
	return broken == nil || ledger.AsRefusal(broken).Class != ledger.Corrupt
}

// play brings the writer in line with the lease.
func (r *roles) play(ctx context.Context, turned <-chan struct{}) {
	defer r.rest()
	w, k := r.local.writer, r.local.keeper
	for {
		var err error
		switch may, leading := k.may(), w.Leading(); {
		case may && !leading:
			r.rest()
			if err = w.Lead(ctx); err == nil {
				r.log.Info("this instance writes now", "instance", k.name, "epoch", k.holder().Epoch)
			}
		case !may && leading:
			err = w.Stand(ctx)
			r.log.Info("this instance stands by now", "instance", k.name)
		}
		if err != nil && ctx.Err() == nil {
			r.log.Warn("change of the writer", "err", err)
		}
		if !w.Leading() {
			r.follow(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-turned:
		}
	}
}

// follow folds what the writer appends, if it does not yet.
func (r *roles) follow(ctx context.Context) {
	if r.following != nil {
		select {
		case err := <-r.followed:
			r.following()
			r.following = nil
			r.log.Warn("follow the stream", "err", err)
		default:
			return
		}
	}
	if !r.able() {
		return
	}
	ctx, r.following = context.WithCancel(ctx)
	r.followed = make(chan error, 1)
	go func() { r.followed <- r.local.writer.Follow(ctx) }()
}

// rest ends following and waits for its end.
func (r *roles) rest() {
	if r.following == nil {
		return
	}
	r.following()
	<-r.followed
	r.following = nil
}

// watch looks at the stream's settings, and keeps heads of what others wrote.
func (r *roles) watch(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := r.local.guard.check(ctx, r.local.journal); err != nil {
			r.log.Error("stream settings", "err", err)
		}
		if err := r.local.catchUp(); err != nil && !errors.Is(err, journal.ErrUnavailable) {
			r.log.Error("keep head", "err", err)
		}
	}
}
