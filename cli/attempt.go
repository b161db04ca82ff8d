package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

// newAttemptCommand builds "deed attempt".
func newAttemptCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "attempt", Short: "Start and interrupt tries at a contract"}
	cmd.AddCommand(newAttemptOpenCommand(e, f), newAttemptInterruptCommand(e, f))
	return cmd
}

func newAttemptOpenCommand(e *Env, f *flags) *cobra.Command {
	var id string
	var o snapshotOptions
	cmd := &cobra.Command{
		Use: "open TASK", Short: "Open an attempt and pin its inputs", Args: cobra.MaximumNArgs(1),
		Long: "Open an attempt at the accepted contract: pin base commit, lockfiles, tool versions, policy and boundary, " +
			"and bind this worktree to the task.\n\nThe base is a commit of the contract's target; default is where HEAD left it.\n\n" +
			"What no program can measure the environment states, here and at each claim: DEED_IMAGE the runtime image, " +
			"DEED_SCHEMA the version of the database's schema, DEED_FLAGS the feature flags, separated by commas.",
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			if id != "" && !events.ValidAttempt(id) {
				return fmt.Errorf("%w: --id %q, want [a-z0-9][a-z0-9-]{0,31}", errUsage, id)
			}
			return s.openAttempt(ctx, task, id, o)
		}),
	}
	cmd.Flags().StringVar(&id, "id", "", "id of the attempt, unique in the task for ever; default a1, a2, …")
	cmd.Flags().StringVar(&o.base, "base", "", "commit to start from")
	cmd.Flags().StringVar(&o.identity, "identity", "", "actor that answers for the work; default yourself")
	cmd.Flags().StringSliceVar(&o.capabilities, "capability", nil, "what the work needs: a capability of the capture policy, or an environment variable; values are never kept")
	cmd.Flags().StringVar(&o.model, "model", "", "id of the model that works")
	cmd.Flags().StringVar(&o.promptDigest, "prompt-digest", "", "SHA-256 of its instructions")
	return writes(cmd, f)
}

// opened is the result of attempt open.
type opened struct {
	ledger.Ack
	Attempt  string          `json:"attempt"`
	Snapshot events.Snapshot `json:"snapshot"`
}

func (s *session) openAttempt(ctx context.Context, task, id string, o snapshotOptions) error {
	var same steady
	var done opened
	var err error
	done.Ack, err = s.append(ctx, task, func(state protocol.TaskState, a author) (draft, error) {
		if err := exists(state); err != nil {
			return draft{}, err
		}
		c := state.Task.Contract()
		if c == nil {
			return draft{}, refuseState("attempt.opened", "no contract is accepted: deed contract accept %s", task)
		}
		if err := same.hold("the contract or the policy", c.Digest, state.Policy); err != nil {
			return draft{}, err
		}
		o := o
		o.identity = first(o.identity, a.actor.Name)
		snapshot, err := s.snapshot(ctx, state, c.Contract, o)
		done.Attempt, done.Snapshot = first(id, freeAttempt(state.Task)), snapshot
		return draft{subject: done.Attempt, payload: &events.Attempt{
			Contract: events.ContractRef{Version: c.Contract.Version, Digest: c.Digest}, Snapshot: snapshot,
		}}, err
	})
	if err != nil {
		return err
	}
	if err := s.bind(ctx, task); err != nil {
		return fmt.Errorf("attempt %s is open, but this worktree is not bound: %w", done.Attempt, err)
	}
	return s.result("attempt", done, func(w *textWriter) {
		w.acked(done.Ack, "opened attempt %s of %s from base %s", done.Attempt, task, done.Snapshot.BaseCommit)
	})
}

// freeAttempt returns the first of a1, a2, … that no attempt of the task has.
func freeAttempt(t *projections.Task) string {
	for n := len(t.Attempts) + 1; ; n++ {
		id := fmt.Sprintf("a%d", n)
		if !slices.ContainsFunc(t.Attempts, func(a projections.Attempt) bool { return a.ID == id }) {
			return id
		}
	}
}

func newAttemptInterruptCommand(e *Env, f *flags) *cobra.Command {
	var text string
	cmd := &cobra.Command{
		Use: "interrupt TASK", Short: "Take the lease from its holder as a controller", Args: cobra.MaximumNArgs(1),
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			var same steady
			ack, err := s.append(ctx, task, func(state protocol.TaskState, _ author) (draft, error) {
				if err := exists(state); err != nil {
					return draft{}, err
				}
				l := state.Task.Lease
				if l == nil {
					return draft{}, refuseState("attempt.interrupted", "task %s has no live lease", task)
				}
				return draft{payload: &events.Interruption{Cause: "controller", Fence: int64(l.Fence), Text: text}},
					same.hold("the lease", events.FormatFence(l.Fence))
			})
			if err != nil {
				return err
			}
			return s.acked(ack, "interrupted %s", task)
		}),
	}
	cmd.Flags().StringVar(&text, "text", "", "why")
	return writes(cmd, f)
}
