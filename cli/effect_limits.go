package cli

import (
	"context"

	"github.com/deedledger/deed/projections"
)

// withinLimits refuses an effect while the boundary is not the one that the
// attempt pinned, and a free effect whose command the boundary does not list.
// What undoes an effect is not held up; one that somebody has to approve is
// bounded by that approval, which names the command's digest.
func (s *session) withinLimits(ctx context.Context, c *call, t *projections.Task) error {
	if t.Attempt() == nil || t.Contract() == nil || c.intent.Compensates != "" {
		return nil
	}
	if e := t.Effect(c.intent.Key); e != nil && e.Status() != projections.StatusIntended && e.Status() != projections.StatusFailed {
		return nil // it is open or over: what is said of it comes first
	}
	l, err := s.attemptLimits(ctx, c.repo, t)
	if err == nil {
		err = l.pinned(t)
	}
	if err != nil {
		return err
	}
	if c.intent.Git != nil || l.policy == nil || needsApproval(t, &projections.Effect{Intent: c.intent}) {
		return nil
	}
	_, err = l.allowsCommand(c.command)
	return withHint(err, "an effect that needs no approval runs a command that contract and policy list: deed boundary lint, deed contract show %s", t.ID)
}
