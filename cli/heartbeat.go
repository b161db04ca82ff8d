package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
)

// hold renews a lease of this session's key now, and then every third of its
// term until stop is called. The context that it returns ends with
// client.ErrLeaseLost as its cause when the ledger says that the lease is gone, or
// when a whole term has passed since the newest good renewal was sent: from
// then on nothing may be started under it.
func (s *session) hold(ctx context.Context, task string, l *projections.Lease) (held context.Context, stop func(), err error) {
	term := time.Duration(l.TermSeconds) * time.Second
	k := s.keeper(task, l, term/3)
	// A ledger that does not answer is waited for no longer than the pause.
	begin, end := context.WithTimeout(ctx, max(term/3, time.Second))
	defer end()
	if err := k.Begin(begin); err != nil {
		return nil, nil, fmt.Errorf("renew the lease of task %s: %w", task, err)
	}
	held, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cancel(k.Run(held))
	}()
	s.held = k
	return held, func() { cancel(nil); <-ended }, nil
}

// keeper returns what renews a lease.
func (s *session) keeper(task string, l *projections.Lease, every time.Duration) *client.Keeper {
	return &client.Keeper{
		Renew: func(ctx context.Context) error { return s.renew(ctx, task, l.Fence) },
		Now:   s.env.Now, Term: time.Duration(l.TermSeconds) * time.Second, Every: every,
	}
}

// renew sends one heartbeat. Its number is the time, so that the numbers of
// the processes that share a lease rise together.
func (s *session) renew(ctx context.Context, task string, fence uint64) error {
	key, err := s.signingKey()
	if err != nil {
		return err
	}
	c, err := s.dial()
	if err != nil {
		return err
	}
	return c.Renew(ctx, ledger.Heartbeat{Task: task, Fence: int64(fence), Number: s.env.Now().UnixMicro()}, key)
}
