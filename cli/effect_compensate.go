package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/runner"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

// newEffectCompensateCommand builds "deed effect compensate".
func newEffectCompensateCommand(e *Env, f *flags) *cobra.Command {
	c, ef := &call{}, &effectFlags{}
	cmd := &cobra.Command{
		Use: "compensate TASK KEY [flags] -- COMMAND [ARG…]", Short: "Undo what an effect applied, at most once",
		Long: `Undoes the confirmed parts of an effect, or those that --part names, under a
lease. All flags stand before --, the command and its own flags after it.

The undoing is an effect of its own, of the same kind and target, with its own key,
tokens, approval and probe: what is said in deed effect run --help holds. The command
and the probe find the key of what they undo in DEED_COMPENSATES, and the parts
in DEED_EFFECT_PARTS. Once a part is undone, effect.compensated says so of the
first effect. After a crash the same command goes on where it was: what is undone is
recorded and never undone twice.

Exit codes: those of deed effect run.`,
	}
	cmd.SetHelpFunc(flagsFirst)
	cmd.RunE = e.action(f, func(ctx context.Context, s *session, args []string) error {
		dash := cmd.ArgsLenAtDash()
		if dash != 2 || dash == len(args) {
			return withHint(fmt.Errorf("%w: effect compensate TASK KEY [flags] -- COMMAND [ARG…]", errUsage), "all flags stand before --, the command after it")
		}
		c.task, c.command = args[0], args[dash:]
		return s.compensate(ctx, c, ef, args[1])
	})
	p := cmd.Flags()
	p.StringArrayVar(&c.intent.Parts, "part", nil, "part to undo (repeat); default every one that is confirmed")
	p.StringVar(&ef.probe, "probe", "", "command, split at spaces, that tells whether it was undone and changes nothing")
	p.StringVar(&ef.probeFile, "probe-file", "", "file with the probe's argument list as a JSON array")
	p.StringVar(&ef.provider, "provider", "", "what the provider promises of the undoing: "+either(events.Providers()))
	p.StringArrayVar(&ef.env, "env", nil, "environment variable to pass on, by name (repeat)")
	p.DurationVar(&c.timeout, "timeout", runner.DefaultTimeout, "time limit of the call")
	return writes(cmd, f)
}

// compensate runs the effect that undoes another one, and records what it
// undid, whether or not all of it.
func (s *session) compensate(ctx context.Context, c *call, ef *effectFlags, key string) error {
	state, e, err := s.effectOf(ctx, c.task, key)
	if err != nil {
		return err
	}
	d := &c.intent
	ef.kind, d.Target, d.Commit, d.Compensates = string(e.Intent.Kind), e.Intent.Target, e.Intent.Commit, e.Intent.Key
	d.Occurrence = e.Intent.Occurrence
	if err := s.readEffectFlags(ctx, c, ef); err != nil {
		return err
	}
	if len(d.Parts) == 0 {
		if d.Parts, err = applied(e); err != nil {
			return err
		}
	}
	if err := c.complete(ctx, state.Task); err != nil {
		return err
	}
	ran := s.runEffect(ctx, c)
	if s.flags.dryRun {
		return ran
	}
	// What was undone is a fact, also when the command was interrupted.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordLimit)
	defer cancel()
	if err := s.recordUndone(ctx, c.task, ""); err != nil {
		err = fmt.Errorf("record what effect %s undid: %w", shortKey(d.Key), err)
		return errors.Join(ran, withHint(err, "the same command records it and undoes nothing again"))
	}
	return ran
}

// applied returns the parts of an effect that were ever proven to be there:
// the same ones before, while and after they are undone. An effect without
// parts has no names.
func applied(e *projections.Effect) ([]string, error) {
	var names []string
	for _, p := range e.Parts {
		if p.Status == projections.StatusConfirmed || p.Status == projections.StatusCompensated {
			names = append(names, p.Name)
		}
	}
	switch {
	case len(names) == 0:
		return nil, refuseState("effect.compensated", "effect %s is %s: there is nothing to undo", shortKey(e.Intent.Key), e.Status())
	case names[0] == "":
		return nil, nil
	}
	return names, nil
}

// recordUndone records effect.compensated for every part that another effect
// is confirmed to have undone. With a basis only what rests on it is recorded:
// who holds no lease may say what a probe said.
func (s *session) recordUndone(ctx context.Context, task string, only events.Basis) error {
	done := errors.New("nothing is left to record")
	for {
		_, err := s.append(ctx, task, func(state protocol.TaskState, a author) (draft, error) {
			d, e := nextUndone(state.Task, only)
			if d == nil {
				return draft{}, done
			}
			made := draft{payload: d, subject: e.Attempt}
			if l := state.Task.Lease; only == "" && l != nil && l.Actor == a.actor.Name {
				made.fence = l.Fence
			}
			return made, nil
		})
		switch {
		case errors.Is(err, done):
			return nil
		case err != nil:
			return err
		}
	}
}

// nextUndone returns the compensation of the first part that was undone and is
// not recorded as such, and its effect.
func nextUndone(t *projections.Task, only events.Basis) (*events.Compensation, *projections.Effect) {
	for i := range t.Effects {
		undo := &t.Effects[i]
		e := t.Effect(undo.Intent.Compensates)
		if e == nil {
			continue
		}
		for _, p := range undo.Parts {
			part := e.Part(p.Name)
			if part == nil || part.Status != projections.StatusConfirmed || p.Status != projections.StatusConfirmed || only != "" && p.Basis != only {
				continue
			}
			text := fmt.Sprintf("effect %s undid it: %s", shortKey(undo.Intent.Key), p.Evidence)
			return &events.Compensation{
				Key: e.Intent.Key, Part: p.Name, By: p.ExternalID, Basis: p.Basis, Evidence: projections.Plain(text, evidenceLimit),
			}, e
		}
	}
	return nil, nil
}

// partsEnv tells a call which parts its newest try is for.
func partsEnv(e *projections.Effect) []string {
	var names []string
	for _, p := range e.Parts {
		if p.Name != "" && p.Status == projections.StatusDispatched {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return nil
	}
	return []string{"DEED_EFFECT_PARTS=" + strings.Join(names, " ")}
}
