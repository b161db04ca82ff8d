package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
)

// errLeaseLost is the cause of a context that ended because its lease did.
var errLeaseLost = errors.New("the lease is lost")

// hold renews a lease of this session's key now, and then every third of its
// term until stop is called. The context that it returns ends with
// errLeaseLost as its cause when the ledger says that the lease is gone, or
// when it could not be renewed for a whole term: from then on nothing may be
// started under it.
func (s *session) hold(ctx context.Context, task string, l *projections.Lease) (held context.Context, stop func(), err error) {
	term := time.Duration(l.TermSeconds) * time.Second
	if err := s.renew(ctx, task, l.Fence, term/3); err != nil {
		return nil, nil, fmt.Errorf("renew the lease of task %s: %w", task, err)
	}
	held, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.beat(held, task, l.Fence, term, cancel)
	}()
	return held, func() { cancel(nil); <-ended }, nil
}

// beat renews until ctx ends or the lease is lost.
func (s *session) beat(ctx context.Context, task string, fence uint64, term time.Duration, lost context.CancelCauseFunc) {
	tick := time.NewTicker(term / 3)
	defer tick.Stop()
	renewed := s.env.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := s.renew(ctx, task, fence, term/3)
		if err == nil {
			renewed = s.env.Now()
			continue
		}
		r, refused := errors.AsType[*ledger.Refusal](err)
		if refused && r.Class == ledger.Refused || s.env.Now().Sub(renewed) >= term {
			lost(errLeaseLost)
			return
		}
	}
}

// renew sends one heartbeat. Its number is the time, so that the numbers of
// the processes that share a lease rise together.
func (s *session) renew(ctx context.Context, task string, fence uint64, limit time.Duration) error {
	key, err := s.signingKey()
	if err != nil {
		return err
	}
	c, err := s.dial()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, max(limit, time.Second))
	defer cancel()
	return c.Renew(ctx, ledger.Heartbeat{Task: task, Fence: int64(fence), Number: s.env.Now().UnixMicro()}, key)
}
