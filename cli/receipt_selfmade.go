package cli

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/workspace"
)

// ruleSelfmade names findings on references that the work under test wrote.
const ruleSelfmade = "self-referential"

// selfmade lists the expected outputs that base..head writes: a test that compares
// with what the same change made proves that the code does what it does. Files
// that the contract pins are the contract's.
func selfmade(ctx context.Context, repo *workspace.Repo, base, head string, c events.Contract) ([]string, error) {
	changes, err := repo.Changes(ctx, base, head)
	if err != nil {
		return nil, err
	}
	var pinned, list []string
	for _, item := range c.Acceptance {
		for _, check := range item.Checks {
			for _, f := range check.Files {
				pinned = append(pinned, f.Path)
			}
		}
	}
	for _, change := range changes {
		if change.Status != 'D' && isExpectedOutput(change.Path) && !slices.Contains(pinned, boundary.EncodePath(change.Path)) {
			list = append(list, change.Path)
		}
	}
	return list, nil
}

// isExpectedOutput tells by its name whether a file is an expected output.
func isExpectedOutput(name string) bool {
	lower := strings.ToLower(name)
	for _, folder := range strings.Split(path.Dir(lower), "/") {
		switch folder {
		case "testdata", "__snapshots__", "snapshots", "golden", "goldens", "expected", "approved", "baseline", "baselines", "__image_snapshots__":
			return true
		}
	}
	base := path.Base(lower)
	for _, mark := range []string{".golden", ".snap", ".expected", ".approved", ".reference", ".baseline"} {
		if strings.HasSuffix(base, mark) || strings.Contains(base, mark+".") {
			return true
		}
	}
	return false
}

// markSelfmade finds out what the result wrote of its own references, and records
// it for a person to look at.
func (b *receiptBuilder) markSelfmade(ctx context.Context, repo *workspace.Repo) error {
	result := b.task.Result.Data
	list, err := selfmade(ctx, repo, result.Base, result.Head, b.task.Contract().Contract)
	if err != nil || len(list) == 0 {
		return err
	}
	b.selfmade = fmt.Sprintf("%s: %s was written by this very change", ruleSelfmade, boundary.DisplayPath(list[0]))
	if len(list) > 1 {
		b.selfmade = fmt.Sprintf("%s: %s and %d more expected outputs were written by this very change", ruleSelfmade, boundary.DisplayPath(list[0]), len(list)-1)
	}
	text := fmt.Sprintf("on %.12s: %s; a pass that compares with it proves that the code does what it does", result.Head, b.selfmade)
	_, err = b.session.recordFinding(ctx, b.task, &events.Finding{Severity: "check", Rule: ruleSelfmade, Text: printable(plain(text), events.MaxText)})
	return err
}

// noteSelfmade marks the outcomes that passed.
func (b *receiptBuilder) noteSelfmade(checks []events.CheckOutcome) {
	for i := range checks {
		if o := &checks[i]; b.selfmade != "" && o.Outcome == events.OutcomePass && len(o.Notes) < 16 {
			o.Notes = append(o.Notes, printable(plain(b.selfmade), noteWindow))
		}
	}
}
