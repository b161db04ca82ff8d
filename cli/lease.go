package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

// newLeaseCommand builds "deed lease".
func newLeaseCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "lease", Short: "Claim, renew and release the right to act on a task"}
	cmd.AddCommand(newLeaseClaimCommand(e, f), newLeaseRenewCommand(e, f), newLeaseReleaseCommand(e, f))
	return cmd
}

func newLeaseClaimCommand(e *Env, f *flags) *cobra.Command {
	var purpose string
	var term time.Duration
	var next bool
	cmd := &cobra.Command{
		Use: "claim TASK --purpose work|recover|release", Short: "Claim the lease: start a run", Args: cobra.MaximumNArgs(1),
		Long: "Claim the lease of a task: start a run with the next fence, and bind this worktree to the task.\n\n" +
			"The world is measured here and now. A claim for work or release is refused while it is not what the attempt pinned.\n\n" +
			"With --next the task is the one that has waited longest for a lease that your roles may claim. Left out are tasks that " +
			"are paused, blocked, stale or reserved for somebody else, and those of which this worktree is not what their attempt " +
			"pinned. Exit code 8 when there is none.",
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			if err := checkTerm(term); err != nil {
				return err
			}
			if next {
				return s.claimNext(ctx, args, events.Purpose(purpose), term)
			}
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			done, err := s.claim(ctx, task, events.Purpose(purpose), term)
			if err != nil {
				return err
			}
			return s.showClaim(done, term)
		}),
	}
	cmd.Flags().StringVar(&purpose, "purpose", "", "what the run is for: "+either(purposes()))
	cmd.Flags().DurationVar(&term, "term", termDefault, "how long the lease lives without a renewal")
	cmd.Flags().BoolVar(&next, "next", false, "claim the task that has waited longest; --purpose is optional then")
	return writes(cmd, f)
}

// termDefault is the term of a lease that is claimed without --term.
const termDefault = 15 * time.Minute

// checkTerm refuses what is no term of a lease.
func checkTerm(term time.Duration) error {
	if term < events.MinTerm*time.Second || term > events.MaxTerm*time.Second || term%time.Second != 0 {
		return fmt.Errorf("%w: --term %v, want whole seconds from 1s to 24h", errUsage, term)
	}
	return nil
}

// claimed is the result of lease claim.
type claimed struct {
	ledger.Ack
	Task    string         `json:"task"`
	Fence   uint64         `json:"fence"`
	Attempt string         `json:"attempt"`
	Purpose events.Purpose `json:"purpose"`
	World   events.World   `json:"world"`
}

// claim claims a lease and binds the worktree. What it returns with an error
// is to be dropped.
func (s *session) claim(ctx context.Context, task string, purpose events.Purpose, term time.Duration) (claimed, error) {
	done := claimed{Task: task, Purpose: purpose}
	if err := choose("--purpose", purpose, purposes()); err != nil {
		return done, err
	}
	var same steady
	var err error
	done.Ack, err = s.append(ctx, task, func(state protocol.TaskState, _ author) (draft, error) {
		if err := exists(state); err != nil {
			return draft{}, err
		}
		world, err := s.measure(ctx, state)
		if err != nil {
			return draft{}, err
		}
		done.Fence, done.Attempt, done.World = state.Task.Fence+1, state.Task.Attempt().ID, world
		return draft{payload: &events.Claim{Purpose: purpose, TermSeconds: int64(term / time.Second), World: world}, fence: done.Fence},
			same.hold("the attempt or the contract", done.Attempt, contractDigest(state.Task))
	})
	if err != nil {
		return done, err
	}
	if err := s.bind(ctx, task); err != nil {
		return done, fmt.Errorf("the lease is yours with fence %d, but this worktree is not bound: %w", done.Fence, err)
	}
	return done, nil
}

func (s *session) showClaim(done claimed, term time.Duration) error {
	return s.result("lease", done, func(w *textWriter) {
		w.acked(done.Ack, "claimed %s for %s: fence %d, for %v", done.Task, string(done.Purpose), done.Fence, term)
	})
}

func newLeaseReleaseCommand(e *Env, f *flags) *cobra.Command {
	var r events.Release
	cmd := &cobra.Command{
		Use: "release TASK --reason context|quota|shift|other", Short: "Give the lease back", Args: cobra.MaximumNArgs(1),
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			if err := choose("--reason", r.Reason, releaseReasons()); err != nil {
				return err
			}
			var same steady
			ack, err := s.append(ctx, task, func(state protocol.TaskState, a author) (draft, error) {
				if err := exists(state); err != nil {
					return draft{}, err
				}
				l, err := lease(state.Task, a)
				if err != nil {
					return draft{}, err
				}
				return draft{payload: &r, fence: l.Fence}, same.hold("the lease", events.FormatFence(l.Fence))
			})
			if err != nil {
				return err
			}
			return s.acked(ack, "released the lease of %s%s", task, prefixedBy("; for one term only this actor may claim: ", r.To))
		}),
	}
	cmd.Flags().StringVar(&r.Reason, "reason", "", "why the run ends: "+either(releaseReasons()))
	cmd.Flags().StringVar(&r.To, "to", "", "actor who alone may claim for one lease term")
	cmd.Flags().StringVar(&r.Note, "note", "", "what the next one should know")
	return writes(cmd, f)
}

func newLeaseRenewCommand(e *Env, f *flags) *cobra.Command {
	var every time.Duration
	cmd := &cobra.Command{
		Use: "renew TASK", Short: "Give the lease a full term again", Args: cobra.MaximumNArgs(1),
		Long: "Send one heartbeat, or with --every one after another until a signal comes or the lease is lost. " +
			"A lost lease ends with exit code 4: stop the work at once. Heartbeats are no events.",
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			if every < 0 {
				return fmt.Errorf("%w: --every %v", errUsage, every)
			}
			return s.keepLease(ctx, task, every)
		}),
	}
	cmd.Flags().DurationVar(&every, "every", 0, "go on, with this pause between heartbeats")
	return cmd
}

// renewed is the result of lease renew: its first heartbeat was taken.
type renewed struct {
	Task  string `json:"task"`
	Fence uint64 `json:"fence"`
}

// renewLimit bounds the wait for the answer to the first heartbeat.
const renewLimit = 10 * time.Second

func (s *session) keepLease(ctx context.Context, task string, every time.Duration) error {
	a, err := s.author(ctx)
	if err != nil {
		return err
	}
	state, err := s.existing(ctx, task)
	if err != nil {
		return err
	}
	l, err := lease(state.Task, a)
	if err != nil {
		return err
	}
	k := s.keeper(task, l, every)
	begin, cancel := context.WithTimeout(ctx, renewLimit)
	defer cancel()
	if err := k.Begin(begin); err != nil {
		return fmt.Errorf("renew the lease of %s: %w", task, err)
	}
	done := renewed{task, l.Fence}
	err = s.item("lease-renewed", done, func(w *textWriter) { w.line("renewed the lease of %s, fence %d", task, l.Fence) })
	if err != nil || every == 0 {
		return err
	}
	k.Missed = func(err error) { s.note("the lease of %s was not renewed: %v", task, err) } // the service may be back before the term ends
	err = k.Run(ctx)
	if r, answered := errors.AsType[*ledger.Refusal](err); err != nil && (!answered || r.Class != ledger.Refused) {
		err = refuse(ledger.CodeFence, "heartbeat", "the lease of %s could not be renewed for its whole term: %v", task, err)
	}
	return err
}
