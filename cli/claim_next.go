package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace"
)

// offer is a lease that waits for somebody.
type offer struct {
	task    string
	purpose events.Purpose
	since   int64 // ns of the admission stamp since which it waits
}

// claimNext claims the lease that has waited longest among those that the
// author's roles may claim. Whoever is faster at one of them leaves the next
// one: the ledger gives a lease once.
func (s *session) claimNext(ctx context.Context, args []string, purpose events.Purpose, term time.Duration) error {
	if len(args) > 0 {
		return fmt.Errorf("%w: give a TASK or --next", errUsage)
	}
	if purpose != "" {
		if err := choose("--purpose", purpose, purposes()); err != nil {
			return err
		}
	}
	a, err := s.author(ctx)
	if err != nil {
		return err
	}
	tasks, err := s.client.Tasks(ctx)
	if err != nil {
		return err
	}
	list := offers(tasks, a.actor, purpose)
	for _, o := range list {
		done, err := s.claim(ctx, o.task, o.purpose, term)
		switch {
		case err == nil:
			return s.showClaim(done, term)
		case !passedOver(err):
			return err
		}
		s.note("passed over %s for %s: %v", o.task, string(o.purpose), err)
	}
	err = fmt.Errorf("%w: no task waits for a lease that %s may claim here", errPending, a.actor.Name)
	if len(list) > 0 {
		err = fmt.Errorf("%w: none of %s that waits for a lease could be claimed here", errPending, counted(len(list), "task"))
	}
	return withHint(err, "deed task list shows whom the tasks wait for")
}

// passedOver reports whether a claim was refused for what one task is, so that
// another one may do.
func passedOver(err error) bool {
	if errors.Is(err, workspace.ErrHistoryIncomplete) || errors.Is(err, workspace.ErrMissingObject) {
		return true // its repository is another one, or not whole here
	}
	r, ok := errors.AsType[*ledger.Refusal](err)
	return ok && (r.Class == ledger.Refused || r.Class == ledger.Conflict)
}

// offers returns the leases that wait for an actor, the one that has waited
// longest first; of two equal ones the task's name decides. purpose "" is any.
func offers(tasks protocol.Tasks, actor *projections.Actor, purpose events.Purpose) []offer {
	var list []offer
	for _, t := range tasks.Tasks {
		reserved := t.Reserved != nil && t.Reserved.To != actor.Name && tasks.Clock < t.Reserved.Until
		for _, p := range t.Claims {
			if reserved && p != events.PurposeRecover || purpose != "" && p != purpose || !actor.Has(p.Claimant()) {
				continue
			}
			list = append(list, offer{t.Task, p, t.Since})
		}
	}
	slices.SortFunc(list, func(a, b offer) int {
		return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.task, b.task), cmp.Compare(a.purpose, b.purpose))
	})
	return list
}
