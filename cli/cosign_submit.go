package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/spf13/cobra"
)

// administers adds --dry-run and --cosign-out to a command whose event may need
// the signatures of several admins.
func administers(cmd *cobra.Command, f *flags) *cobra.Command {
	cmd.Flags().StringVar(&f.cosignOut, "cosign-out", "", "where genesis demands several admins: write the signed event to this new file, for deed event cosign")
	return writes(cmd, f)
}

// half says that an event was signed and written to a file, for other admins.
type half struct{ cosigned }

func (h half) Error() string { return "the event waits for signatures in " + h.File }

func isHalf(err error) bool {
	_, ok := errors.AsType[half](err)
	return ok
}

// halfway prints where an event waits for signatures: that was asked for, and
// is no error.
func (s *session) halfway(err error) error {
	h, ok := errors.AsType[half](err)
	if !ok {
		return err
	}
	return s.cosignResult(h.cosigned, "signed, and in "+h.File)
}

// submitAdministered sends an event of the registry. One that needs more
// admins than its author is checked, and then written to the file of
// --cosign-out, or pending.
func (s *session) submitAdministered(ctx context.Context, e events.Event, p events.Payload, g *projections.Registry) (ledger.Ack, error) {
	several := g.Genesis.Threshold > 1 && ledger.NeedsThreshold(g, p)
	out := s.flags.cosignOut
	if !several {
		if out != "" {
			return ledger.Ack{}, withHint(fmt.Errorf("%w: --cosign-out: this takes one signature", errUsage), "leave --cosign-out out")
		}
		return s.submit(ctx, e, p.Type())
	}
	ack, err := s.client.Submit(ctx, e, true) // nobody is asked to sign what the rules refuse
	if !onlyShort(err) {
		return ack, err
	}
	if out == "" || s.flags.dryRun {
		return ledger.Ack{}, s.needsOthers(err)
	}
	c := cosignFile{Identity: g.Identity, Event: e, payload: p}
	if err := s.writeCosign(out, c); err != nil {
		return ledger.Ack{}, err
	}
	d := s.cosignedData(out, c)
	d.Signed, d.Threshold = []string{e.AuthID}, g.Genesis.Threshold
	return ledger.Ack{}, half{d}
}

// onlyShort reports whether an event lacks nothing but signatures.
func onlyShort(err error) bool {
	r, ok := errors.AsType[*ledger.Refusal](err)
	return ok && r.Class == ledger.Refused && strings.HasSuffix(r.Rule, ledger.RuleThreshold)
}

func (s *session) needsOthers(err error) error {
	r, _ := errors.AsType[*ledger.Refusal](err)
	return withHint(fmt.Errorf("%w: it needs more admins than its author: %s", errPending, r.Text),
		"run it again with --cosign-out FILE; another admin signs the file with deed event cosign FILE --as ADMIN, then anybody sends it with deed event submit FILE")
}

// newEventSubmitCommand builds "deed event submit".
func newEventSubmitCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "submit FILE", Short: "Send an event that enough admins signed", Args: cobra.ExactArgs(1),
		Long: `Send the event in FILE, which --cosign-out wrote and enough admins signed. No key is
needed. Sent twice it is there once: the second answer names its place. When the registry
has moved on meanwhile nothing is written and the exit code is 6: start anew.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error { return s.submitCosigned(ctx, args[0]) }),
	}
	return writes(cmd, f)
}

func (s *session) submitCosigned(ctx context.Context, name string) error {
	c, err := s.readCosign(name)
	if err != nil {
		return err
	}
	if c.Identity == unfounded {
		return withHint(fmt.Errorf("%w: a genesis has no ledger yet", errUsage), "create it on the service's machine: deed ledger create --genesis %s", s.cosignName(name))
	}
	g, err := s.registry(ctx)
	if err != nil {
		return err
	}
	if err := s.sameLedger(c, g); err != nil {
		return err
	}
	ack, err := s.client.Submit(ctx, c.Event, s.flags.dryRun)
	if r, ok := errors.AsType[*ledger.Refusal](err); ok && r.Class == ledger.Conflict {
		return withHint(err, "%s", startAnew)
	}
	if onlyShort(err) {
		r, _ := errors.AsType[*ledger.Refusal](err)
		return withHint(fmt.Errorf("%w: %s", errPending, r.Text), "another admin signs it: deed event cosign %s --as ADMIN", s.cosignName(name))
	}
	if err != nil {
		return actorHint(err)
	}
	return s.acked(ack, "%s is in the ledger", c.Event.Type.Short())
}

// newUpgradeCommand builds "deed ledger upgrade".
func newUpgradeCommand(e *Env, f *flags) *cobra.Command {
	var rules int64
	var reason string
	cmd := &cobra.Command{
		Use: "upgrade --rules N --reason R", Short: "Switch to a newer version of the rules", Args: cobra.NoArgs,
		Long: `Switch the ledger to a newer version of the rules, from the event's position on. What
was decided before stays as it was; a version never goes back. Binaries that lack the
version refuse the ledger from then on: update them first.`,
		RunE: e.action(f, func(ctx context.Context, s *session, _ []string) error {
			if rules < 1 {
				return fmt.Errorf("%w: --rules %d, want a version, 1 to %d", errUsage, rules, events.Rules)
			}
			var same steady
			ack, err := s.appendRegistry(ctx, s.author, func(a author) (events.Payload, error) {
				return &events.Upgrade{Rules: rules, Reason: reason}, same.hold("the version of the rules", fmt.Sprint(a.registry.RulesVersion()))
			})
			if err != nil {
				return err
			}
			return s.acked(ack, "version %d of the rules is in force", rules)
		}),
	}
	cmd.Flags().Int64Var(&rules, "rules", 0, "version to switch to")
	cmd.Flags().StringVar(&reason, "reason", "", "why, one line")
	return administers(cmd, f)
}
