package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

// verdict is a reviewer's yes or no as the command line says it.
type verdict struct {
	word    string // approve or reject
	packet  string // digest of the packet that was read
	note    string
	defects []events.Defect
}

// packetHelp says what --packet is for.
const packetHelp = "digest of the review packet that you read: refused as stale when it is another one by now; see deed packet review"

// newApproveCommand builds "deed approve".
func newApproveCommand(e *Env, f *flags) *cobra.Command {
	v := verdict{word: "approve"}
	cmd := &cobra.Command{
		Use: "approve TASK", Short: "Approve exactly the current result as a reviewer", Args: cobra.MaximumNArgs(1),
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			return s.review(ctx, args, v)
		}),
	}
	cmd.Flags().StringVar(&v.packet, "packet", "", packetHelp)
	cmd.Flags().StringVar(&v.note, "note", "", "a remark")
	return writes(cmd, f)
}

// newRejectCommand builds "deed reject".
func newRejectCommand(e *Env, f *flags) *cobra.Command {
	v := verdict{word: "reject"}
	var defects []string
	cmd := &cobra.Command{
		Use: "reject TASK --defect SEVERITY:ITEM:PATH:TEXT", Short: "Reject the current result as a reviewer", Args: cobra.MaximumNArgs(1),
		Long: "Reject the current result and name at least one defect.\n\n" +
			"SEVERITY is low, medium, high or critical; ITEM and PATH may be empty: --defect 'high:A1::the case of zero is missing'.",
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			v := v
			for _, text := range defects {
				d, err := parseDefect(text)
				if err != nil {
					return err
				}
				v.defects = append(v.defects, d)
			}
			if len(v.defects) == 0 {
				return fmt.Errorf("%w: a rejection names at least one --defect SEVERITY:ITEM:PATH:TEXT", errUsage)
			}
			return s.review(ctx, args, v)
		}),
	}
	cmd.Flags().StringArrayVar(&defects, "defect", nil, "SEVERITY:ITEM:PATH:TEXT; SEVERITY is "+either(defectSeverities()))
	cmd.Flags().StringVar(&v.packet, "packet", "", packetHelp)
	cmd.Flags().StringVar(&v.note, "note", "", "a remark")
	return writes(cmd, f)
}

// parseDefect reads "SEVERITY:ITEM:PATH:TEXT".
func parseDefect(text string) (events.Defect, error) {
	part := strings.SplitN(text, ":", 4)
	if len(part) != 4 || strings.TrimSpace(part[3]) == "" {
		return events.Defect{}, fmt.Errorf("%w: --defect %q, want SEVERITY:ITEM:PATH:TEXT", errUsage, text)
	}
	if err := choose("severity of --defect", part[0], defectSeverities()); err != nil {
		return events.Defect{}, err
	}
	d := events.Defect{Severity: part[0], Acceptance: part[1], Text: strings.TrimSpace(part[3])}
	if part[2] != "" {
		path, err := boundary.CleanPath(part[2])
		if err != nil {
			return events.Defect{}, fmt.Errorf("%w: --defect %q: %w", errUsage, text, err)
		}
		d.Path = boundary.EncodePath(path)
	}
	return d, nil
}

// reviewed is the result of approve and reject.
type reviewed struct {
	ledger.Ack
	Verdict string `json:"verdict"`
	Result  string `json:"result"`
	Head    string `json:"head"`
	Tree    string `json:"tree"`
	Packet  string `json:"packet"`
	// State is the task's, read back afterwards; None with --dry-run.
	State projections.State `json:"state,omitzero"`
	// Assurance is same-principal-degraded in a solo ledger where it is.
	Assurance string `json:"assurance,omitzero"`
	// Unmapped counts the identities in the range that belong to no actor.
	Unmapped int `json:"unmapped,omitzero"`
}

// review appends a verdict on the current contract, result, head and tree. It
// names the digest of the review packet of the same moment.
func (s *session) review(ctx context.Context, args []string, v verdict) error {
	task, err := s.taskArg(ctx, args)
	if err != nil {
		return err
	}
	var same steady
	var done reviewed
	done.Ack, err = s.append(ctx, task, func(state protocol.TaskState, a author) (draft, error) {
		if err := exists(state); err != nil {
			return draft{}, err
		}
		c, r := state.Task.Contract(), state.Task.Result
		if c == nil || r == nil {
			return draft{}, refuseState("approval.recorded", "task %s has no result to review", task)
		}
		packet, err := s.client.Packet(ctx, protocol.Ask{Task: task, Packet: "review", Actor: a.actor.Name, Role: events.RoleReviewer})
		if err != nil {
			return draft{}, err
		}
		if v.packet != "" && v.packet != packet.Digest {
			err := refuseStale("approval.recorded/packet", "the review packet is %s by now, not the one that you read", packet.Digest)
			return draft{}, withHint(err, "read it again, then decide: deed packet review %s", task)
		}
		done.Assurance, done.Unmapped = approvalAssurance(state.Task, a), len(state.Task.Unmapped())
		done.Verdict, done.Result, done.Head, done.Tree, done.Packet = v.word, r.Hash, r.Data.Head, r.Data.Tree, packet.Digest
		return draft{payload: &events.Approval{
			Verdict: v.word, Contract: c.Digest, Result: r.Hash, Head: r.Data.Head, Tree: r.Data.Tree,
			Packet: packet.Digest, Defects: v.defects, Note: v.note, Assurance: approvalAssurance(state.Task, a),
		}}, same.hold("the result or what is known about it", c.Digest, r.Hash, packet.Digest)
	})
	if err != nil {
		return err
	}
	if !s.flags.dryRun {
		after, err := s.task(ctx, task)
		if err != nil {
			return err
		}
		if err := tookEffect(after.Task, done.Ack, v.word); err != nil {
			return err
		}
		done.State = after.Task.State
	}
	past := map[string]string{"approve": "approved", "reject": "rejected"}[v.word]
	return s.result("approval", done, func(w *textWriter) {
		w.acked(done.Ack, "%s %s: head %s, tree %s, packet %s; now %s", past, task, done.Head, done.Tree, done.Packet, done.State)
		if done.Assurance != "" {
			w.line("  assurance %s: one principal did the work and judged it", done.Assurance)
		}
		if done.Unmapped > 0 {
			w.line("  %d identities in the range belong to no actor: a second reviewer is needed, or an admin maps them: deed actor map ACTOR --git EMAIL", done.Unmapped)
		}
	})
}
