package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

// newPolicyCommand builds "deed policy".
func newPolicyCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "policy", Short: "Publish, show, test and explain what is forbidden beyond the rules"}
	cmd.AddCommand(newPolicyPublishCommand(e, f), newPolicyShowCommand(e, f), newPolicyTestCommand(e, f), newPolicyExplainCommand(e, f))
	return cmd
}

// draftPolicy is what a policy is made of on the command line.
type draftPolicy struct {
	automation []string
	reason     string
}

func (o *draftPolicy) flags(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&o.automation, "automation", nil,
		"how much agents and CI may do at a risk tier, TIER=LEVEL: "+either(events.Automations())+"; a tier that is not named is auto")
}

// policy reads the statements of a file and the levels of the flags.
func (s *session) policy(file string, o draftPolicy) (*events.Policy, error) {
	text, err := s.readInput(file, events.MaxPolicy)
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	p := &events.Policy{Cedar: string(text), Reason: o.reason}
	for _, pair := range o.automation {
		tier, level, _ := strings.Cut(pair, "=")
		field := map[string]*events.Automation{
			"read-only": &p.Automation.ReadOnly, "code": &p.Automation.Code,
			"preview": &p.Automation.Preview, "production": &p.Automation.Production,
		}[tier]
		if field == nil {
			return nil, fmt.Errorf("%w: --automation %q, want read-only, code, preview or production = level", errUsage, pair)
		}
		if err := choose("--automation "+tier, events.Automation(level), events.Automations()); err != nil {
			return nil, err
		}
		*field = events.Automation(level)
	}
	return p, nil
}

func newPolicyPublishCommand(e *Env, f *flags) *cobra.Command {
	var o draftPolicy
	cmd := &cobra.Command{
		Use: "publish FILE --reason R", Short: "Publish a policy", Args: cobra.ExactArgs(1),
		Long: `Publish a policy: a file of Cedar statements that forbid, or - for standard input. It
replaces the policy in force from its position on. It can only forbid what the rules
allow; one that permits, or that would close a way on to everybody, is refused. Open
attempts pinned the old policy: what they have is proven and approved again, once an
owner pins the new one with deed escalation resolve --repin.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			p, err := s.policy(args[0], o)
			if err != nil {
				return err
			}
			var same steady
			ack, err := s.appendRegistry(ctx, s.author, func(a author) (events.Payload, error) {
				return p, same.hold("the policy", a.registry.Policy)
			})
			if err != nil {
				return err
			}
			return s.acked(ack, "the policy is in force")
		}),
	}
	o.flags(cmd)
	cmd.Flags().StringVar(&o.reason, "reason", "", "why, one line")
	return administers(cmd, f)
}

// policyData is the data of "deed policy show".
type policyData struct {
	Digest     string                 `json:"digest"`
	Published  *projections.Published `json:"published,omitempty"`
	Genesis    string                 `json:"genesis"` // prose, which nothing evaluates
	Statements []ledger.Statement     `json:"statements"`
}

func newPolicyShowCommand(e *Env, f *flags) *cobra.Command {
	var at uint64
	cmd := &cobra.Command{
		Use: "show [--at POSITION]", Short: "Show the policy in force", Args: cobra.NoArgs,
		Long: `Show the policy in force, now or at a position of the history, which is verified for
that. The text of genesis is prose: its digest is pinned, nothing evaluates it.`,
		RunE: e.action(f, func(ctx context.Context, s *session, _ []string) error {
			g, err := s.registryAt(ctx, events.Position(at))
			if err != nil {
				return err
			}
			r := &g.Registry
			d := policyData{Digest: r.Policy, Published: r.Published, Genesis: r.Genesis.Policy, Statements: ledger.PolicyInForce(r).Statements()}
			return s.answer(g.Position, "policy", d, func(w *textWriter) { showPolicy(w, d) })
		}),
	}
	cmd.Flags().Uint64Var(&at, "at", 0, "position; default: now")
	return cmd
}

// registryAt reads the registry as it is, or as it was at a position.
func (s *session) registryAt(ctx context.Context, at events.Position) (protocol.RegistryState, error) {
	if at == 0 {
		return s.registryState(ctx)
	}
	book, audit, _, err := s.verified(ctx, nil, at)
	switch {
	case err != nil:
		return protocol.RegistryState{}, err
	case audit.Fault != nil:
		return protocol.RegistryState{}, fmt.Errorf("%w: %s", errAudit, audit.Fault.Reason)
	case book.State.Position < at:
		return protocol.RegistryState{}, fmt.Errorf("%w: position %d; the history ends at %d", errMissing, at, book.State.Position)
	}
	return protocol.RegistryState{Position: book.State.Position, Registry: book.State.Registry}, nil
}

func showPolicy(w *textWriter, d policyData) {
	w.line("policy %s", d.Digest)
	p := d.Published
	if p == nil {
		w.line("  none is published: the rules alone hold")
		return
	}
	w.line("  published at %d by %s: %s", p.Position, p.Actor, p.Data.Reason)
	for _, tier := range []string{"read-only", "code", "preview", "production"} {
		w.line("  automation at %s: %s", tier, p.Data.Automation.Of(tier))
	}
	for _, s := range d.Statements {
		w.line("")
		w.line("%s: %s", s.ID, first(s.Reason, "gives no reason"))
		for line := range strings.Lines(s.Text) {
			w.line("  %s", strings.TrimRight(line, "\n"))
		}
	}
}
