package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/runner"
	"github.com/deedledger/deed/runner/testreport"
	"github.com/deedledger/deed/workspace"
)

// ruleSource names refusals of a run that a receipt cannot rest on.
const ruleSource = "receipt.recorded/source"

// ruleProducers is the rule of an outcome that two workflows claim to give.
const ruleProducers = "two-producers"

// receiptImport is what receipt import adds to a receipt: one check's outcome
// from a run elsewhere.
type receiptImport struct {
	check, status string
	source        events.ReceiptSource
	report        *testreport.Report // nil without one
	shown         bool               // evidence was given
	clean         func(string) string
}

// fit gives a receipt the import's source and outcomes. It looks at the task as
// it is now, so that what another import recorded meanwhile counts.
func (i *receiptImport) fit(r *events.Receipt, t *projections.Task, a author) error {
	if i.source.Commit != r.Head {
		return refuseStale(ruleSource, "the run tested commit %s, the result's head is %s", i.source.Commit, r.Head)
	}
	if err := i.unused(t); err != nil {
		return err
	}
	if err := i.fresh(t); err != nil {
		return err
	}
	item, err := i.find(t.Contract().Contract)
	if err != nil {
		return err
	}
	source := i.source
	r.Source, r.Checks = &source, nil
	room := window{receiptWindow, notesWindow, i.clean}
	for _, c := range item.Checks {
		o := unproven(item, c)
		if c.ID == i.check {
			room.fill(&o, i.judged(c, t))
			room.compare(&o, t)
		} else if before := i.before(c.ID, t, a); before != nil {
			o = *before
		}
		r.Checks = append(r.Checks, o)
	}
	return nil
}

// judged is the outcome of the run. A pass proves nothing where another workflow
// reports the same check: the name alone does not say which one is meant. A failure
// stays one, whoever else reports.
func (i *receiptImport) judged(c events.Check, t *projections.Task) runner.Outcome {
	got := i.outcome(c)
	if got.Result != runner.ResultPass {
		return got
	}
	for n := range t.Receipts {
		r := &t.Receipts[n]
		src := r.Data.Source
		if src == nil || src.Kind != "import" || !t.Current(r) || reported(r, c.ID) == nil {
			continue
		}
		if src.Provider != i.source.Provider || src.Workflow != i.source.Workflow {
			got.Result, got.Class, got.Rule = runner.ResultInconclusive, runner.ClassInconclusive, ruleProducers
			got.Reason = fmt.Sprintf("%s of %s reports this check too, in receipt %s", src.Workflow, src.Provider, r.EventID)
			return got
		}
	}
	return got
}

// unused refuses a run that was used for something else: another commit, another
// attempt or result, or a later try of the run.
func (i *receiptImport) unused(t *projections.Task) error {
	for n := range t.Receipts {
		r := &t.Receipts[n]
		src := r.Data.Source
		if !i.sameRun(src) {
			continue
		}
		switch {
		case src.Commit != i.source.Commit:
			return refuse(ledger.CodeRule, ruleSource, "run %s is of commit %s, says receipt %s", src.RunID, src.Commit, r.EventID)
		case t.Result == nil || r.Data.Binding.Result != t.Result.Hash:
			return refuse(ledger.CodeRule, ruleSource, "run %s was used for another result, in receipt %s", src.RunID, r.EventID)
		case src.Workflow != i.source.Workflow:
			return refuse(ledger.CodeRule, ruleSource, "run %s is of workflow %s, says receipt %s", src.RunID, src.Workflow, r.EventID)
		case src.RunAttempt >= i.source.RunAttempt && reported(r, i.check) != nil:
			return refuseState(ruleSource, "try %d of run %s is recorded for check %s, in receipt %s", src.RunAttempt, src.RunID, i.check, r.EventID)
		}
	}
	return nil
}

// fresh refuses a report whose bytes an earlier attempt or result had already.
func (i *receiptImport) fresh(t *projections.Task) error {
	if i.report == nil || i.report.Bytes == 0 {
		return nil
	}
	digest := i.report.SHA256
	for n := range t.Receipts {
		r := &t.Receipts[n]
		if r.Data.Binding.Result == t.Result.Hash {
			continue
		}
		for _, c := range r.Data.Checks {
			had := c.Artifact == digest || slices.ContainsFunc(c.Evidence, func(e events.Evidence) bool { return e.Artifact == digest })
			if had {
				return refuse(ledger.CodeRule, ruleSource, "the report has the bytes of one in receipt %s, of an earlier result", r.EventID)
			}
		}
	}
	for _, a := range t.Artifacts {
		if a.Data.Digest == digest && a.Position < t.Result.Position {
			return refuse(ledger.CodeRule, ruleSource, "the report has the bytes of an artifact that is older than the result, event %s", a.EventID)
		}
	}
	return nil
}

// before is what an earlier receipt of the very try of the run by the same actor
// says of another check.
func (i *receiptImport) before(check string, t *projections.Task, a author) *events.CheckOutcome {
	for n := len(t.Receipts) - 1; n >= 0; n-- {
		r := &t.Receipts[n]
		if src := r.Data.Source; i.sameRun(src) && src.RunAttempt == i.source.RunAttempt && r.Actor == a.actor.Name && t.Current(r) {
			if o := reported(r, check); o != nil {
				return o
			}
		}
	}
	return nil
}

// reported returns what a receipt says of a check that ran; nil for nothing.
func reported(r *projections.Receipt, check string) *events.CheckOutcome {
	for n := range r.Data.Checks {
		if c := &r.Data.Checks[n]; c.ID == check && c.Rule != ruleNotRun {
			return c
		}
	}
	return nil
}

// bindWorkflow holds that the workflow is the one that stood at the base of the
// change: one that the change brings or edits could prove anything.
func (i *receiptImport) bindWorkflow(ctx context.Context, repo *workspace.Repo, base, head string) error {
	path, err := boundary.DecodePath(i.source.Workflow)
	if err != nil {
		return err
	}
	shown := boundary.DisplayPath(path)
	was, err := repo.BlobDigest(ctx, base, path)
	if errors.Is(err, workspace.ErrNoSuchFile) {
		return refuse(ledger.CodeBoundary, ruleSource, "workflow %s is not in the base %s: the change under test brings it, or it is another file", shown, base)
	}
	if err != nil {
		return err
	}
	is, err := repo.BlobDigest(ctx, head, path)
	switch {
	case err != nil && !errors.Is(err, workspace.ErrNoSuchFile):
		return err
	case is != was:
		return refuse(ledger.CodeBoundary, ruleSource, "workflow %s is not the one of the base %s: the change under test edits it", shown, base)
	}
	i.source.WorkflowCommit = base
	return nil
}
