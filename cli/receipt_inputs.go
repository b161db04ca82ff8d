package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace"
)

// The rules of findings on what checks gave; a person looks at them.
const (
	ruleShrunk = "tests-shrunk"
	ruleFlaky  = "check-flaky"
)

// environment measures where this verifier runs.
func (s *session) environment(ctx context.Context, t *projections.Task) events.Environment {
	return events.Environment{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Image: s.env.Getenv("DEED_IMAGE"),
		Tools: s.toolVersions(ctx, toolNames(t.Attempt().Snapshot.Inputs.Tools)),
	}
}

// inputs lists what a receipt rests on and the ledger does not hold, one line
// each: image, tools, and the boundary file at the tip of the target. The
// ledger itself is asked once more when the receipt is written.
func (b *receiptBuilder) inputs(ctx context.Context, repo *workspace.Repo, env events.Environment) ([]string, error) {
	list := []string{"image " + env.Image}
	for _, t := range env.Tools {
		list = append(list, "tool "+t.Name+" "+t.Version)
	}
	tip, err := targetTip(ctx, repo, b.task.Contract().Contract.Target)
	if errors.Is(err, workspace.ErrUnknownRevision) {
		tip, err = b.task.Result.Data.Base, nil
	}
	if err != nil {
		return nil, err
	}
	digest, err := repo.BlobDigest(ctx, tip, boundary.PolicyPath)
	if err != nil && !errors.Is(err, workspace.ErrNoSuchFile) {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	return append(list, "policy "+digest), nil
}

// unchanged refuses a run during which an input changed.
func unchanged(before, after []string) error {
	for _, line := range before {
		if !slices.Contains(after, line) {
			what, _, _ := strings.Cut(line, " ")
			return refuseStale("receipt.recorded/inputs", "an input changed while the checks ran: %s was %q, now %q", what, line, strings.Join(after, "; "))
		}
	}
	if len(before) != len(after) {
		return refuseStale("receipt.recorded/inputs", "an input appeared while the checks ran: %q", strings.Join(after, "; "))
	}
	return nil
}

// reportFindings records what of the outcomes a person should look at, before
// the receipt: a run that is killed between the two records it once more, and
// what is recorded already is not repeated.
func (b *receiptBuilder) reportFindings(ctx context.Context) error {
	for _, o := range b.outcomes() {
		for _, f := range findingsOf(o, b.task) {
			known := false
			_, err := b.session.append(ctx, b.task.ID, func(state protocol.TaskState, _ author) (draft, error) {
				if _, err := b.hold(state); err != nil {
					return draft{}, err
				}
				known = slices.ContainsFunc(state.Task.Findings, func(k projections.Finding) bool { return k.Data == f })
				if known {
					return draft{}, errFindingKnown
				}
				return draft{payload: &f}, nil
			})
			if err != nil && !known {
				return fmt.Errorf("record finding %s: %w", f.Rule, err)
			}
		}
	}
	return nil
}

// findingsOf returns the findings on an outcome.
func findingsOf(o events.CheckOutcome, t *projections.Task) []events.Finding {
	var list []events.Finding
	say := func(rule, text string) {
		text = fmt.Sprintf("check %s on %.12s: %s", o.ID, t.Result.Data.Head, text)
		list = append(list, events.Finding{Severity: "check", Rule: rule, Text: printable(text, events.MaxText)})
	}
	if text, less := shrunk(&o, t); less {
		say(ruleShrunk, text)
	}
	if o.Flaky {
		say(ruleFlaky, "not the same each time on the same input: "+strings.Join(o.Notes, "; "))
	}
	return list
}
