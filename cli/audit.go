package cli

import (
	"context"
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/spf13/cobra"
)

// newAuditCommand builds "deed audit".
func newAuditCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "audit", Short: "Verify a ledger's whole history"}
	var heads []string
	var upTo uint64
	verify := &cobra.Command{
		Use: "verify", Short: "Verify every event, and every head that is known", Args: cobra.NoArgs,
		Long: `Take every message of the log as if it were new: exact headers, signatures, chains,
authors and rules at each position, and the root of the tree at every head that is
known: those that the service kept, the newest one seen from here, and those of
--head. The first fault is named, with its position, or with the range between two
heads where only the tree tells; the exit code is then 10.

Nothing is written, no private key is read and no effect is called. Where no service
runs the stopped folder is read.`,
		RunE: e.action(f, func(ctx context.Context, s *session, _ []string) error {
			return s.audit(ctx, heads, events.Position(upTo))
		}),
	}
	verify.Flags().StringArrayVar(&heads, "head", nil, "file with a signed head that history must contain; may be repeated")
	verify.Flags().Uint64Var(&upTo, "up-to", 0, "stop after this position; 0 for all")
	cmd.AddCommand(verify)
	return cmd
}

func (s *session) audit(ctx context.Context, heads []string, upTo events.Position) error {
	book, audit, _, err := s.verified(ctx, heads, upTo)
	if err != nil {
		return err
	}
	if upTo > book.State.Position && audit.Fault == nil {
		return fmt.Errorf("%w: position %d: the log ends at %d", errMissing, upTo, book.State.Position)
	}
	if err := s.answer(events.Position(audit.Events), "audit", audit, func(w *textWriter) { w.audit(audit) }); err != nil {
		return err
	}
	return faulty(audit)
}

// faulty returns the fault of an audit, which was printed, as an error.
func faulty(audit ledger.Audit) error {
	f := audit.Fault
	switch {
	case f == nil:
		return nil
	case f.Position == 0:
		return told{fmt.Errorf("%w: positions %d to %d: %s", errAudit, f.From, f.To, f.Reason)}
	}
	return told{fmt.Errorf("%w: position %d: %s", errAudit, f.Position, f.Reason)}
}

// audit writes an audit for people.
func (w *textWriter) audit(a ledger.Audit) {
	word := "verified"
	if a.Fault != nil {
		word = "NOT VERIFIED"
	}
	w.line("ledger %s: %s", a.Ledger, word)
	w.line("  identity  %s", a.Identity)
	w.line("  events    %d", a.Events)
	w.line("  root      %s", a.Root)
	w.line("  heads     %d hold", a.Heads)
	if f := a.Fault; f != nil {
		if f.Position != 0 {
			w.line("  first bad event: position %d", f.Position)
		} else {
			w.line("  first bad range: positions %d to %d", f.From, f.To)
		}
		if f.EventID != "" {
			w.line("    event   %s", f.EventID)
		}
		if f.Subject != "" {
			w.line("    subject %s", f.Subject)
		}
		w.line("    reason  %s", f.Reason)
	}
	for _, note := range a.Notes {
		w.line("  note: %s", note)
	}
}
