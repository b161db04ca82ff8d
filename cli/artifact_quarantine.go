package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

// ruleQuarantine is the rule of findings that tell the owner of a quarantine.
const ruleQuarantine = "artifact-quarantined"

// newArtifactQuarantineCommand builds "deed artifact quarantine".
func newArtifactQuarantineCommand(e *Env, f *flags) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "quarantine DIGEST [TASK] --reason TEXT", Short: "Show an artifact to nobody any more", Args: cobra.RangeArgs(1, 2),
		Long: "Quarantine an artifact: nobody gets its bytes but an admin who asks for it as such, and a pass or a step that rests\n" +
			"on it alone is no proof any more. The bytes are kept. A finding tells the owner, and stays open until a person\n" +
			"closes it; given again after an interruption, the command records what is missing.",
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			if err := errors.Join(artifactDigest(args[0]), needs("--reason", reason)); err != nil {
				return err
			}
			task, err := s.taskArg(ctx, args[1:])
			if err != nil {
				return err
			}
			return s.quarantineArtifact(ctx, task, events.Quarantine{Digest: args[0], Reason: reason})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why")
	return writes(cmd, f)
}

// quarantineArtifact records a quarantine and the finding that tells of it.
func (s *session) quarantineArtifact(ctx context.Context, task string, q events.Quarantine) error {
	untold := false // it is quarantined, and no finding says so
	ack, err := s.append(ctx, task, func(state protocol.TaskState, _ author) (draft, error) {
		untold = state.Task != nil && state.Task.Quarantined(q.Digest) && !toldOf(state, q.Digest)
		return draft{payload: &q}, exists(state)
	})
	if err != nil && !untold {
		return err
	}
	told := &events.Finding{Severity: "check", Rule: ruleQuarantine, Text: printable("artifact "+q.Digest+" is quarantined: "+q.Reason, events.MaxText)}
	owner := ""
	finding, err := s.append(ctx, task, func(state protocol.TaskState, _ author) (draft, error) {
		owner = state.Waiting.Owner
		if c := state.Task.Contract(); c != nil {
			owner = c.Contract.Owners.Product
		}
		if toldOf(state, q.Digest) {
			return draft{}, errFindingKnown
		}
		return draft{payload: told}, exists(state)
	})
	if err != nil && !errors.Is(err, errFindingKnown) {
		return withHint(err, "the artifact is quarantined; give the command again to tell the owner of it")
	}
	if untold {
		ack = finding
	}
	return s.result("ack", ack, func(w *textWriter) {
		w.acked(ack, "quarantined artifact %s of %s", q.Digest, task)
		w.line("  %s is told by finding %s", first(owner, "nobody"), finding.EventID)
	})
}

// toldOf reports whether a finding names an artifact as quarantined.
func toldOf(state protocol.TaskState, digest string) bool {
	for _, f := range state.Task.Findings {
		if f.Data.Rule == ruleQuarantine && strings.Contains(f.Data.Text, digest) {
			return true
		}
	}
	return false
}
