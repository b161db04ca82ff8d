package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/workspace/guard"
	"github.com/spf13/cobra"
)

// newGuardAcknowledgeCommand builds "deed guard acknowledge".
func newGuardAcknowledgeCommand(e *Env, f *flags) *cobra.Command {
	var o guardOptions
	var path, by, reason string
	cmd := &cobra.Command{
		Use: "acknowledge W1|W2|W4 --by NAME --reason TEXT", Short: "Say that you have looked at what waits for a person", Args: cobra.ExactArgs(1),
		Long: `Record in .resume/acknowledged.json that a person has looked at findings of a W rule, and
why they may pass. It holds for exactly these findings: of W2 for these two commits, of W1
and W4 for these claims. Who says so is a claim and not proven; a ledger proves it.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			codes := []guard.Code{guard.W1, guard.W2, guard.W4}
			if err := choose("the rule", guard.Code(args[0]), codes); err != nil {
				return err
			}
			if err := needs("--by", strings.TrimSpace(by), "--reason", strings.TrimSpace(reason)); err != nil {
				return err
			}
			o := o
			o.dir = s.abs(first(o.dir, "."))
			said := guard.Acknowledgement{Code: guard.Code(args[0]), By: by, Reason: reason, At: events.FormatTime(s.env.Now())}
			return s.guardAcknowledge(ctx, o, said, path)
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&o.dir, "dir", "", "folder of the project (default: the working directory)")
	fs.StringVar(&path, "path", "", "the file that it is about, for W4 (default: all of them)")
	fs.StringVar(&by, "by", "", "who has looked")
	fs.StringVar(&reason, "reason", "", "why it may pass")
	return cmd
}

// guardAcknowledge records what a person says of the findings that a rule
// has now.
func (s *session) guardAcknowledge(ctx context.Context, o guardOptions, said guard.Acknowledgement, path string) error {
	stored, err := guard.ReadSnapshot(o.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	g, err := s.guardLook(ctx, o, stored)
	if err != nil {
		return err
	}
	old, err := guard.ReadAcknowledged(o.dir)
	if err != nil {
		return err
	}
	var added []guard.Acknowledgement
	for _, f := range g.found {
		if f.Code == said.Code && (path == "" || f.Path == path) {
			one := said
			one.Path, one.Claim, one.Text = boundary.EncodePath(f.Path), f.Claim, f.Text
			added = append(added, one)
		}
	}
	if len(added) == 0 {
		return withHint(fmt.Errorf("%w: there is no such finding of %s now", errMissing, string(said.Code)), "see deed guard check")
	}
	if err := guard.WriteAcknowledged(o.dir, g.found, old, added); err != nil {
		return err
	}
	return s.result("guard-acknowledged", added, func(w *textWriter) {
		for _, f := range guard.Acknowledge(g.found, added) {
			if slices.ContainsFunc(added, func(a guard.Acknowledgement) bool { return a.Code == f.Code }) && f.Acknowledged != "" {
				w.line("%s", f.String())
			}
		}
	})
}
