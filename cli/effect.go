package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/runner"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace"
	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
)

// probeLimit is the default time limit of a probe.
const probeLimit = 30 * time.Second

// newEffectCommand builds "deed effect".
func newEffectCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "effect", Short: "Change the outside world at most once",
		Long: `An effect is a change to the outside world, such as a preview or a deployment.
Its intent and its dispatch are in the ledger before anything is called, so that
no crash, retry or takeover makes the same call twice. Where nobody can know
whether a call happened, a person decides.`,
	}
	cmd.AddCommand(
		newEffectRunCommand(e, f), newEffectCommitCommand(e, f), newEffectMergeCommand(e, f), newEffectCompensateCommand(e, f), newEffectListCommand(e, f), newEffectProbeCommand(e, f),
		newEffectApproveCommand(e, f), newEffectWithdrawCommand(e, f), newEffectSettleCommand(e, f),
	)
	return cmd
}

// effectFlags are the flags of "deed effect run" that need reading.
type effectFlags struct {
	kind, probe, probeFile, provider string
	env                              []string
}

// newEffectRunCommand builds "deed effect run".
func newEffectRunCommand(e *Env, f *flags) *cobra.Command {
	c, ef := &call{}, &effectFlags{}
	cmd := &cobra.Command{
		Use: "run [TASK] --kind KIND --target TARGET [flags] -- COMMAND [ARG…]", Short: "Make a call under a lease, at most once",
		Long: `All flags stand before --, the command and its own flags after it.

The command is an argument list, no shell reads it. It runs in the root of the
worktree with a small environment: PATH, a fresh HOME and TMPDIR, what --env
names, and
  DEED_IDEMPOTENCY_KEY  the effect's key          DEED_FENCE  the run's number
  DEED_TOKEN            a token of this one try, to carry to the provider
  DEED_RESULT_FILE      where to write {"externalId":"…","token":"…","digest":"…"}
  DEED_EFFECT_COMMIT, DEED_EFFECT_TARGET, DEED_EFFECT_KIND, DEED_PAYLOAD_DIGEST
  DEED_EFFECT_PARTS     with --part: the parts that this try is for

An exit status proves nothing. A reply that carries the token, or else the
probe, does: it prints {"status":"found|absent|unknown","externalId":"…",
"token":"…","digest":"…","complete":false}. An effect with --part is only
settled by its probe, which is asked for each part in DEED_EFFECT_PART.

Exit codes: 0 confirmed, or confirmed before and not called · 3 proven not to
have happened, try again, or the outcome could not be recorded · 7 withdrawn ·
8 waits for approval · 21 nobody knows whether it happened.`,
	}
	cmd.SetHelpFunc(flagsFirst)
	cmd.RunE = e.action(f, func(ctx context.Context, s *session, args []string) error {
		dash := cmd.ArgsLenAtDash()
		if dash < 0 || dash == len(args) || dash > 1 {
			return withHint(fmt.Errorf("%w: no command to call: effect run [TASK] --kind KIND --target TARGET -- COMMAND [ARG…]", errUsage), "all flags stand before --, the command after it")
		}
		var err error
		if c.task, err = s.taskArg(ctx, args[:dash]); err != nil {
			return err
		}
		c.command = args[dash:]
		if err := s.readEffectFlags(ctx, c, ef); err != nil {
			return err
		}
		return s.runEffect(ctx, c)
	})
	d := &c.intent
	p := cmd.Flags()
	p.StringVar(&ef.kind, "kind", "", "what is done: "+either(effectKinds()))
	p.StringVar(&d.Target, "target", "", "what is changed, such as an environment or a package")
	p.StringVar(&d.Key, "effect-key", "", "idempotency key; derived from task, kind, target, occurrence and input where left out")
	p.StringVar(&d.Occurrence, "occurrence", "", "tells wanted repetitions apart")
	p.StringVar(&d.Commit, "commit", "", "commit that is acted on (default HEAD)")
	p.StringVar(&d.InputDigest, "input", "", "digest of what the effect depends on; derived from commit, contract and payload where left out")
	p.StringVar(&d.PayloadDigest, "payload", "", "digest of what is applied, as a provider can show it; derived from the command where left out")
	p.StringArrayVar(&d.Parts, "part", nil, "part that can succeed or fail by itself (repeat)")
	p.StringVar(&ef.probe, "probe", "", "command, split at spaces, that tells whether the effect happened and changes nothing")
	p.StringVar(&ef.provider, "provider", "", "what the provider promises: dedupes (a second call with a key changes nothing) or fences (refuses a DEED_FENCE below the highest that a call or probe showed it)")
	p.StringVar(&ef.probeFile, "probe-file", "", "file with the probe's argument list as a JSON array")
	p.StringArrayVar(&ef.env, "env", nil, "environment variable to pass on, by name (repeat)")
	p.DurationVar(&c.timeout, "timeout", runner.DefaultTimeout, "time limit of the call")
	return writes(cmd, f)
}

// readEffectFlags checks the flags and finds the worktree.
func (s *session) readEffectFlags(ctx context.Context, c *call, ef *effectFlags) (err error) {
	d := &c.intent
	d.Kind = events.EffectKind(ef.kind)
	switch {
	case !slices.Contains(effectKinds(), d.Kind):
		return choose("--kind", d.Kind, effectKinds())
	case d.Target == "":
		return fmt.Errorf("%w: --target is missing", errUsage)
	case ef.provider != "" && !slices.Contains(events.Providers(), events.Provider(ef.provider)):
		return choose("--provider", events.Provider(ef.provider), events.Providers())
	case ef.probe != "" && ef.probeFile != "":
		return fmt.Errorf("%w: --probe and --probe-file exclude each other", errUsage)
	case c.timeout <= 0 || c.timeout > runner.MaxTimeout:
		return fmt.Errorf("%w: --timeout %s, want up to %s", errUsage, c.timeout, runner.MaxTimeout)
	}
	d.Provider = events.Provider(ef.provider)
	d.Probe = strings.Fields(ef.probe)
	if ef.probeFile != "" {
		if d.Probe, err = s.readProbe(ef.probeFile); err != nil {
			return err
		}
	}
	if c.env, err = s.passed(ef.env); err != nil {
		return err
	}
	c.repo, err = workspace.Open(ctx, s.env.Dir)
	return err
}

// maxProbeFile bounds the file of a probe's arguments, in bytes.
const maxProbeFile = 64 << 10

// readProbe reads a probe's argument list from a file.
func (s *session) readProbe(name string) (argv []string, err error) {
	text, err := s.readInput(name, maxProbeFile)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &argv); err != nil || len(argv) == 0 {
		return nil, fmt.Errorf("%w: --probe-file %s holds no JSON array of arguments", errUsage, name)
	}
	return argv, nil
}

// newEffectListCommand builds "deed effect list".
func newEffectListCommand(e *Env, f *flags) *cobra.Command {
	return &cobra.Command{
		Use: "list [TASK]", Short: "List a task's effects and what is known of each", Args: cobra.MaximumNArgs(1),
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			state, err := s.existing(ctx, task)
			if err != nil {
				return err
			}
			return s.listEffects(state.Position, state.Task)
		}),
	}
}

// effectItem is one effect in a list.
type effectItem struct {
	projections.Effect
	Status projections.Status `json:"status"`
	Open   bool               `json:"open"`
}

func (s *session) listEffects(at events.Position, t *projections.Task) error {
	items := make([]effectItem, len(t.Effects))
	for i, e := range t.Effects {
		status := e.Status()
		if status == projections.StatusWithdrawn { // and so is every part, whatever it was before
			e.Parts = slices.Clone(e.Parts)
			for n := range e.Parts {
				e.Parts[n].Status = status
			}
		}
		items[i] = effectItem{e, status, e.Open()}
	}
	return s.answer(at, "effects", items, func(w *textWriter) {
		var rows [][]string
		for _, e := range items {
			for _, p := range e.Parts {
				rows = append(rows, []string{
					shortKey(e.Intent.Key), string(e.Intent.Kind), e.Intent.Target, p.Name, string(p.Status),
					fmt.Sprint(len(e.Tries)), e.Actor, p.ExternalID, p.Evidence,
				})
			}
		}
		w.table([]string{"KEY", "KIND", "TARGET", "PART", "STATUS", "TRIES", "BY", "OUTSIDE ID", "EVIDENCE"}, rows)
	})
}

// shortKey returns the beginning of a derived key, which commands take for
// the whole.
func shortKey(key string) string {
	if _, err := events.ParseHash(key); err == nil {
		return key[:12]
	}
	return key
}

// newEffectApproveCommand builds "deed effect approve".
func newEffectApproveCommand(e *Env, f *flags) *cobra.Command {
	return writes(&cobra.Command{
		Use: "approve TASK KEY", Short: "Allow an effect that needs it", Args: cobra.ExactArgs(2),
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			_, seen, err := s.effectOf(ctx, args[0], args[1])
			if err != nil {
				return err
			}
			key, payload := seen.Intent.Key, seen.Intent.PayloadDigest
			ack, err := s.append(ctx, args[0], func(state protocol.TaskState, _ author) (draft, error) {
				e := state.Task.Effect(key)
				if e == nil || e.Intent.PayloadDigest != payload {
					return draft{}, refuseStale("effect.approved", "effect %s is not what was looked at", key)
				}
				return draft{payload: &events.EffectApproval{Key: key, PayloadDigest: payload}, subject: e.Attempt}, nil
			})
			if err != nil {
				return err
			}
			return s.acked(ack, "approved effect %s: %s %s", shortKey(key), string(seen.Intent.Kind), seen.Intent.Target)
		}),
	}, f)
}

// newEffectWithdrawCommand builds "deed effect withdraw".
func newEffectWithdrawCommand(e *Env, f *flags) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "withdraw TASK KEY --reason TEXT", Short: "Give up an effect that was never dispatched, or failed", Args: cobra.ExactArgs(2),
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			_, seen, err := s.effectOf(ctx, args[0], args[1])
			if err != nil {
				return err
			}
			key := seen.Intent.Key
			ack, err := s.append(ctx, args[0], func(state protocol.TaskState, a author) (draft, error) {
				e := state.Task.Effect(key)
				if e == nil || e.Status() != seen.Status() {
					return draft{}, refuseStale("effect.withdrawn", "effect %s is not what was looked at", key)
				}
				d := draft{payload: &events.EffectWithdrawal{Key: key, Reason: reason}, subject: e.Attempt}
				if l := state.Task.Lease; l != nil && l.Actor == a.actor.Name && l.Purpose != events.PurposeRecover {
					d.fence = l.Fence
				}
				return d, nil
			})
			if err != nil {
				return err
			}
			return s.acked(ack, "withdrew effect %s", shortKey(key))
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why (required)")
	return writes(cmd, f)
}

// newEffectProbeCommand builds "deed effect probe".
func newEffectProbeCommand(e *Env, f *flags) *cobra.Command {
	var record bool
	var o probeOptions
	cmd := &cobra.Command{
		Use: "probe TASK KEY", Short: "Ask an effect's own probe whether it happened", Args: cobra.ExactArgs(2),
		Long: `Runs the probe that the intent names, without a shell and with a small
environment. It is somebody else's command: it runs only where the contract's
scope lists its program or its whole line under commands, or with --allow-probe.
With --record a conclusive answer is recorded, by a controller, an operator, or
the run that made the call. Exit code 21: the probe could not tell.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			o.record = record
			return s.probeCommand(ctx, args[0], args[1], o)
		}),
	}
	cmd.Flags().BoolVar(&record, "record", false, "record a conclusive answer")
	probeFlags(cmd, &o)
	return writes(cmd, f)
}

func (s *session) probeCommand(ctx context.Context, task, key string, o probeOptions) error {
	state, e, err := s.effectOf(ctx, task, key)
	if err != nil {
		return err
	}
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return err
	}
	if len(e.Tries) == 0 {
		return refuseState("probe", "effect %s was never dispatched", e.Intent.Key)
	}
	o.all, o.record = true, o.record && !s.flags.dryRun
	if o.record {
		a, err := s.author(ctx)
		if err != nil {
			return err
		}
		if newest := e.Tries[len(e.Tries)-1]; newest.Actor == a.actor.Name {
			o.fence = newest.Fence
		}
	}
	answers, err := s.probeEffect(ctx, repo, state.Task, e, o)
	if err != nil {
		return err
	}
	err = s.answer(state.Position, "probe", answers, func(w *textWriter) {
		for _, a := range answers {
			w.line("effect %s%s: %s, %s", shortKey(a.Key), prefixedBy(" part ", a.Part), string(a.Status), a.fate(o.record))
			w.line("  %s", a.Evidence)
		}
	})
	if err != nil {
		return err
	}
	return unknownAmong(task, answers)
}

// settlement is what a person states about an effect.
type settlement struct {
	outcome, part, externalID, evidence string
}

// newEffectSettleCommand builds "deed effect settle".
func newEffectSettleCommand(e *Env, f *flags) *cobra.Command {
	var st settlement
	cmd := &cobra.Command{
		Use: "settle TASK KEY --outcome confirmed|failed|compensated --external-id ID --evidence TEXT", Short: "State as a person what became of an effect",
		Args: cobra.ExactArgs(2),
		Long: `State what became of an effect that nobody else can know: confirmed, with the
--external-id under which it exists; failed, it did not happen; compensated, with the
--external-id of what undid it. Your name stands under the evidence for ever.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			_, seen, err := s.effectOf(ctx, args[0], args[1])
			if err != nil {
				return err
			}
			key, status := seen.Intent.Key, seen.Status()
			ack, err := s.append(ctx, args[0], func(state protocol.TaskState, _ author) (draft, error) {
				e := state.Task.Effect(key)
				if e == nil || e.Status() != status {
					return draft{}, refuseStale("settle", "effect %s is not what was looked at", key)
				}
				p, err := st.payload(e)
				return draft{payload: p, subject: e.Attempt}, err
			})
			if err != nil {
				return err
			}
			return s.acked(ack, "settled effect %s: %s", shortKey(key), st.outcome)
		}),
	}
	p := cmd.Flags()
	p.StringVar(&st.outcome, "outcome", "", "what became of it: "+either(settledOutcomes()))
	p.StringVar(&st.part, "part", "", "the part concerned")
	p.StringVar(&st.externalID, "external-id", "", "the provider's id of what exists, or of what undid it")
	p.StringVar(&st.evidence, "evidence", "", "what was looked at, and what it showed (required)")
	return writes(cmd, f)
}

// payload returns the event that states an outcome with a person's word.
func (st settlement) payload(e *projections.Effect) (events.Payload, error) {
	if err := choose("--outcome", st.outcome, settledOutcomes()); err != nil {
		return nil, err
	}
	part := e.Part(st.part)
	if part == nil {
		return nil, fmt.Errorf("%w: effect %s has no part %q", errMissing, e.Intent.Key, st.part)
	}
	if st.evidence == "" {
		return nil, fmt.Errorf("%w: --evidence is missing: say what was looked at, and what it showed", errUsage)
	}
	if st.externalID == "" && st.outcome != "failed" {
		return nil, fmt.Errorf("%w: --external-id is missing: an effect that is %s has the provider's id", errUsage, st.outcome)
	}
	switch st.outcome {
	case "confirmed":
		for _, t := range e.Tries {
			if t.Number == part.Try {
				return &events.Confirmation{
					Key: e.Intent.Key, Try: t.Number, Part: st.part, ExternalID: st.externalID, Token: t.Token,
					Basis: events.BasisPerson, Evidence: st.evidence,
				}, nil
			}
		}
		return nil, refuseState("settle", "effect %s was never dispatched", e.Intent.Key)
	case "failed":
		return &events.Failure{Key: e.Intent.Key, Try: max(part.Try, 1), Part: st.part, Basis: events.BasisPerson, Evidence: st.evidence}, nil
	case "compensated":
		return &events.Compensation{Key: e.Intent.Key, Part: st.part, By: st.externalID, Basis: events.BasisPerson, Evidence: st.evidence}, nil
	}
	return nil, choose("--outcome", st.outcome, settledOutcomes())
}
