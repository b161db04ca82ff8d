package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/runner"
	"github.com/deedledger/deed/server/protocol"
)

// recordLimit bounds how long a call's outcome may take to be recorded, also
// after an interrupt.
const recordLimit = 30 * time.Second

// effectDone is the result of "deed effect run".
type effectDone struct {
	Key    string             `json:"key"`
	Status projections.Status `json:"status"`
	// Called says whether this command made the call.
	Called bool               `json:"called"`
	Try    int64              `json:"try,omitzero"`
	Parts  []projections.Part `json:"parts"`
}

// runEffect takes an effect from intent to outcome. The order decides what a
// crash leaves behind: the intent, then the lock, then the dispatch, which the
// ledger has acknowledged before anything is called, then the call, then its
// outcome. Whatever is open already is never called again here.
func (s *session) runEffect(ctx context.Context, c *call) error {
	state, err := s.existing(ctx, c.task)
	if err != nil {
		return err
	}
	if err := c.complete(ctx, state.Task); err != nil {
		return err
	}
	if err := s.withinLimits(ctx, c, state.Task); err != nil {
		return err
	}
	e := state.Task.Effect(c.intent.Key)
	if e == nil {
		if e, err = s.intend(ctx, c); err != nil || s.flags.dryRun {
			return err
		}
		if state, err = s.existing(ctx, c.task); err != nil {
			return err
		}
	}
	if err := c.sameIntent(e); err != nil {
		return err
	}
	if e.Status() == projections.StatusConfirmed {
		return s.effectResult(e, false)
	}
	if err := dispatchable(state.Task, e); err != nil {
		return err
	}
	a, err := s.author(ctx)
	if err != nil {
		return err
	}
	l, err := lease(state.Task, a)
	if err != nil {
		return err
	}
	if s.flags.dryRun {
		_, _, err := s.dispatch(ctx, c, l.Fence)
		return err
	}
	return s.callUnder(ctx, c, l)
}

// intend appends the intent, or finds that the very same one is there. With
// --dry-run it prints the answer instead.
func (s *session) intend(ctx context.Context, c *call) (*projections.Effect, error) {
	ack, err := s.append(ctx, c.task, func(state protocol.TaskState, a author) (draft, error) {
		l, err := lease(state.Task, a)
		if err != nil {
			return draft{}, err
		}
		return draft{payload: &c.intent, fence: l.Fence}, nil
	})
	if err != nil {
		return nil, err
	}
	if s.flags.dryRun {
		return nil, s.acked(ack, "intended effect %s", shortKey(c.intent.Key))
	}
	_, e, err := s.effectOf(ctx, c.task, c.intent.Key)
	return e, err
}

// dispatchable refuses whatever must not be called now.
func dispatchable(t *projections.Task, e *projections.Effect) error {
	key := e.Intent.Key
	switch status := e.Status(); status {
	case projections.StatusWithdrawn, projections.StatusCompensated:
		return refuseState("effect.dispatched", "effect %s is %s: nothing was called; another one needs another --occurrence", key, status)
	case projections.StatusDispatched, projections.StatusUnknown, projections.StatusConflict:
		return settleHint(fmt.Errorf("%w: effect %s is %s: nothing was called", errEffect, shortKey(key), status), t.ID, e)
	case projections.StatusPartial:
		for _, p := range e.Parts {
			if p.Status != projections.StatusConfirmed && p.Status != projections.StatusFailed {
				return settleHint(fmt.Errorf("%w: effect %s is partly applied: nothing was called", errEffect, shortKey(key)), t.ID, e)
			}
		}
	case projections.StatusIntended, projections.StatusFailed, projections.StatusConfirmed:
	}
	if needsApproval(t, e) {
		err := fmt.Errorf("%w: an effect of kind %s needs approval, nothing was called", errPending, e.Intent.Kind)
		return withHint(err, "an owner or reviewer allows it: deed effect approve %s %s --as <owner|reviewer>; then run the same command again", t.ID, keyWord(e))
	}
	return nil
}

// needsApproval reports whether an effect waits for somebody's word: its kind
// always needs one, or the contract or what the attempt pinned of the
// repository's policy does not list it.
func needsApproval(t *projections.Task, e *projections.Effect) bool {
	contract, a, kind := t.Contract(), t.Attempt(), e.Intent.Kind
	listed := contract != nil && slices.Contains(contract.Contract.Scope.Effects, kind) &&
		(a == nil || slices.Contains(a.Snapshot.Rights.Effects, kind) && !slices.Contains(a.Snapshot.Rights.Approvals, kind))
	return len(e.Approvers) == 0 && (kind.ReleaseOnly() || !listed)
}

// callUnder makes the call while the lease is held and renewed.
func (s *session) callUnder(ctx context.Context, c *call, l *projections.Lease) error {
	if err := underNobody(ctx, c.repo, c.intent.Git); err != nil {
		return err
	}
	held, stop, err := s.hold(ctx, c.task, l)
	if err != nil {
		return err
	}
	defer stop()
	path, err := lockPath(c.repo, c.intent.Key)
	if err != nil {
		return err
	}
	lock, err := runner.AcquireLock(path, c.intent.Key)
	if errors.Is(err, runner.ErrEffectRunning) {
		err = fmt.Errorf("%w: effect %s is in progress: %w: nothing was called", errEffect, shortKey(c.intent.Key), err)
		return withHint(err, "wait until the other process here has ended, then look: deed effect list %s", c.task)
	}
	if err != nil {
		return err
	}
	t, e, err := s.dispatch(held, c, l.Fence)
	if err != nil {
		return errors.Join(fmt.Errorf("dispatch effect %s, nothing was called: %w", c.intent.Key, err), lock.Release())
	}
	// A process that was stopped meanwhile learns here that others have gone
	// on. What happens after this look nobody can exclude, and no rule of
	// recovery counts on it.
	if err := s.begin(held, t, l.Fence); err != nil {
		return s.report(ctx, c, e, ending{notStarted: errors.Join(err, lock.Release())})
	}
	return s.report(ctx, c, e, s.perform(held, c, e, lock))
}

// dispatch records that a call is about to be made. Only after it returns
// without an error may anything be called. It returns the task as it is after
// the acknowledgement. With --dry-run it prints the answer instead.
func (s *session) dispatch(ctx context.Context, c *call, fence uint64) (*projections.Task, *projections.Effect, error) {
	token, err := s.token()
	if err != nil {
		return nil, nil, err
	}
	boot := "unknown"
	if here, err := runner.Here(); err == nil {
		boot = here.Boot
	}
	var try int64
	ack, err := s.append(ctx, c.task, func(state protocol.TaskState, a author) (draft, error) {
		l, err := lease(state.Task, a)
		if err != nil {
			return draft{}, err
		}
		if l.Fence != fence {
			return draft{}, refuse(ledger.CodeFence, "lease", "fence %d is old: the live one is %d", fence, l.Fence)
		}
		_, e := state.Task, state.Task.Effect(c.intent.Key)
		if e == nil {
			return draft{}, fmt.Errorf("%w: effect %s", errMissing, c.intent.Key)
		}
		if err := errors.Join(c.sameIntent(e), dispatchable(state.Task, e)); err != nil {
			return draft{}, err
		}
		try = int64(len(e.Tries)) + 1
		d := &events.Dispatch{Key: c.intent.Key, Try: try, Token: token, Host: s.env.Host, Boot: boot}
		return draft{payload: d, fence: fence, subject: e.Attempt}, nil
	})
	if err != nil {
		return nil, nil, err
	}
	if s.flags.dryRun {
		return nil, nil, s.acked(ack, "dispatched effect %s", shortKey(c.intent.Key))
	}
	state, e, err := s.effectOf(context.WithoutCancel(ctx), c.task, c.intent.Key)
	if err == nil && (len(e.Tries) == 0 || e.Tries[len(e.Tries)-1].Token != token) {
		err = refuseStale("effect.dispatched", "try %d is not the newest one", try)
	}
	return state.Task, e, err
}

// begin looks at the lease once more before a dispatched call is made. An
// error means that this try calls nothing, for certain.
func (s *session) begin(held context.Context, t *projections.Task, fence uint64) error {
	switch {
	case held.Err() != nil:
		return fmt.Errorf("begin call: %w", context.Cause(held))
	case t.Lease == nil || t.Lease.Fence != fence:
		return fmt.Errorf("begin call: %w: fence %d is not the live one", client.ErrLeaseLost, fence)
	case !s.held.Held():
		return fmt.Errorf("begin call: %w: its term has passed", client.ErrLeaseLost)
	}
	return s.reach(placeCall)
}

// perform makes the call.
func (s *session) perform(held context.Context, c *call, e *projections.Effect, lock *runner.EffectLock) ending {
	newest := e.Tries[len(e.Tries)-1]
	env := slices.Concat(s.childEnv(), effectEnv(e.Intent, ""), partsEnv(e), c.env)
	if e.Intent.Git != nil {
		var err error
		if c.command, err = branchCommand(held, c.repo, c.task, e); err != nil {
			return ending{notStarted: errors.Join(err, lock.Release())}
		}
		env = append(env, "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1")
	}
	out, err := runner.RunEffect(held, lock, runner.EffectCall{
		Key: e.Intent.Key, Fence: fmt.Sprint(newest.Fence), Token: newest.Token, Command: c.command,
		Dir: c.repo.Top(), Timeout: c.timeout, Env: env,
	})
	end := ending{out: out, notStarted: out.NotStarted, lost: errors.Is(context.Cause(held), client.ErrLeaseLost)}
	if err != nil {
		end.notStarted = err
	}
	s.noteOutput(s.clean(out.Output.Window()))
	return end
}

// report records the outcome of a call: a fact, also when the lease is gone or
// the command was interrupted meanwhile.
func (s *session) report(ctx context.Context, c *call, e *projections.Effect, end ending) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordLimit+c.timeout)
	defer cancel()
	fence := e.Tries[len(e.Tries)-1].Fence
	if _, now, err := s.effectOf(ctx, c.task, e.Intent.Key); err == nil {
		end.overtaken = len(now.Tries) > len(e.Tries)
	}
	for _, f := range s.judgeCall(ctx, c, e, end) {
		if err := s.recordOutcome(ctx, c.task, e.Intent.Key, f, fence); err != nil {
			err = fmt.Errorf("effect %s was called; its outcome, %s, could not be recorded: %w", shortKey(e.Intent.Key), f.status, err)
			return withHint(err, "it stays open and is not called again; ask its probe: deed effect probe %s %s --record; or settle it as the owner with deed effect settle", c.task, keyWord(e))
		}
	}
	_, e, err := s.effectOf(ctx, c.task, e.Intent.Key)
	if err != nil {
		return err
	}
	switch e.Status() {
	case projections.StatusConfirmed:
		return s.effectResult(e, true)
	case projections.StatusFailed:
		return fmt.Errorf("%w: effect %s: %s", errNotApplied, shortKey(e.Intent.Key), e.Parts[0].Evidence)
	default:
		return settleHint(fmt.Errorf("%w: effect %s is %s: %s", errEffect, shortKey(e.Intent.Key), e.Status(), unsettled(e)), c.task, e)
	}
}

// unsettled returns what is known of the first part that is not confirmed.
func unsettled(e *projections.Effect) string {
	for _, p := range e.Parts {
		if p.Status != projections.StatusConfirmed {
			return p.Evidence
		}
	}
	return ""
}

// effectResult prints an effect that is there.
func (s *session) effectResult(e *projections.Effect, called bool) error {
	done := effectDone{Key: e.Intent.Key, Status: e.Status(), Called: called, Try: int64(len(e.Tries)), Parts: e.Parts}
	return s.result("effect", done, func(w *textWriter) {
		if called {
			w.line("confirmed: %s %s", string(e.Intent.Kind), e.Intent.Target)
		} else {
			w.line("already confirmed, nothing was called: %s %s", string(e.Intent.Kind), e.Intent.Target)
		}
		w.line("  key %s", shortKey(e.Intent.Key))
		for _, p := range e.Parts {
			w.line("  %s%s", prefixed(p.Name, ": "), p.ExternalID)
		}
	})
}

// prefixedBy returns a name after a text, nothing for no name.
func prefixedBy(before, name string) string {
	if name == "" {
		return ""
	}
	return before + name
}

// prefixed returns a name and what follows it, nothing for no name.
func prefixed(name, after string) string {
	if name == "" {
		return ""
	}
	return name + after
}
