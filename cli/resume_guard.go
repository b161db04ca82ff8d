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
	"github.com/deedledger/deed/workspace"
	"github.com/deedledger/deed/workspace/guard"
)

// maxGuardFindings is how many findings one resume records.
const maxGuardFindings = 20

// taskGuard is what the guard found for a task of a ledger.
type taskGuard struct {
	Task     string                `json:"task"`
	Head     string                `json:"head"`
	Fatal    int                   `json:"fatal"`
	Pending  int                   `json:"pending"`
	Hints    int                   `json:"hints"`
	Findings []guard.PackedFinding `json:"findings"`
	// Closed are how many of the fatal ones a person has closed in the ledger:
	// they stop nobody. Recorded are how many were recorded now.
	Closed   int           `json:"closed,omitzero"`
	Recorded int           `json:"recorded,omitzero"`
	Skipped  guard.Skipped `json:"skipped"`

	found    []guard.Finding
	dirty    []string // raw paths that are not committed here
	measured guard.Measurement
}

// guardTask holds what the ledger has of a task against the worktree at hand,
// before somebody goes on with the work. What is fatal refuses, with exit code
// 1. Where it lies in what is committed, so that everybody has it, it is
// recorded as a fatal finding: a person closes it or changes the guard.
//
// held says that the author goes on already: nothing is recorded or refused.
func (s *session) guardTask(ctx context.Context, t *projections.Task, held bool) (*taskGuard, error) {
	g, err := s.lookAtTask(ctx, t)
	if err != nil {
		return nil, err
	}
	fatal := slices.DeleteFunc(slices.Clone(g.found), func(f guard.Finding) bool { return f.Code.Level() != 'R' })
	open := slices.DeleteFunc(slices.Clone(fatal), func(f guard.Finding) bool { return closedBefore(t, guardFinding(f)) })
	g.Closed = len(fatal) - len(open)
	for _, f := range g.found {
		if held || f.Code.Level() == 'W' {
			s.note("%s", f.String())
		}
	}
	if held || len(open) == 0 {
		return g, nil
	}
	if !s.flags.dryRun {
		if err := s.recordGuard(ctx, t, g, open); err != nil {
			return nil, err
		}
	}
	return nil, s.refuseGuard(t, g, open)
}

// guardWork is guardTask for who goes on with the work, or holds its lease;
// nil for whoever does not.
func (s *session) guardWork(ctx context.Context, t *projections.Task, a author) (*taskGuard, error) {
	if l := t.Lease; l != nil {
		if l.Purpose != events.PurposeWork || l.Actor != a.actor.Name {
			return nil, nil
		}
		return s.guardTask(ctx, t, true)
	}
	if !slices.Contains(ledger.NewRules().Claims(t), events.PurposeWork) || !a.actor.Has(events.RoleImplementer) {
		return nil, nil
	}
	return s.guardTask(ctx, t, false)
}

// lookAtTask crosses a task's claims with the worktree.
func (s *session) lookAtTask(ctx context.Context, t *projections.Task) (*taskGuard, error) {
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return nil, err
	}
	g := &taskGuard{Task: t.ID}
	if g.Head, err = repo.Head(ctx); err != nil {
		return nil, err
	}
	claims := guard.TaskClaims(t, max(t.Admitted, s.env.Now().UnixNano()))
	if t.Result != nil {
		here, err := contains(ctx, repo, g.Head, t.Result.Data.Head)
		if err != nil {
			return nil, err
		}
		if !here {
			claims.Done = nil
			s.note("this worktree does not have the result's commit %s: what it claims was not looked at", t.Result.Data.Head)
		}
	}
	m, err := s.measureFrom(ctx, repo, t)
	if err != nil {
		return nil, err
	}
	w, left, err := guard.Look(ctx, repo.Top(), claims, m, nil)
	if err != nil {
		return nil, err
	}
	g.found, g.Skipped, g.measured = guard.Check(claims, w), left, m
	ghosts, err := ghostSteps(ctx, repo, t)
	if err != nil {
		return nil, err
	}
	g.found = slices.Concat(ghosts, g.found)
	dirty, err := repo.Dirty(ctx)
	if err != nil {
		return nil, err
	}
	g.dirty, g.Findings = dirty.Paths(), guard.Packed(g.found)
	g.Fatal, g.Pending, g.Hints = guard.Count(g.found, 'R'), guard.Count(g.found, 'W'), guard.Count(g.found, 'N')
	return g, nil
}

// measureFrom measures the worktree from the base of the open attempt, where
// that is here.
func (s *session) measureFrom(ctx context.Context, repo *workspace.Repo, t *projections.Task) (guard.Measurement, error) {
	base := ""
	if a := t.Attempt(); a != nil {
		base = a.Snapshot.BaseCommit
	}
	m, err := guard.Measure(ctx, repo.Top(), base)
	if errors.Is(err, workspace.ErrMissingObject) && base != "" {
		return guard.Measure(ctx, repo.Top(), "")
	}
	return m, err
}

// ghostSteps are R1 for steps: the commit that shows one has no such path. A
// commit that is not here is no finding: it may only have to be fetched.
func ghostSteps(ctx context.Context, repo *workspace.Repo, t *projections.Task) ([]guard.Finding, error) {
	var found []guard.Finding
	for _, step := range guard.DoneSteps(t) {
		if _, err := repo.ResolveCommit(ctx, step.Commit); err != nil {
			return nil, withHint(fmt.Errorf("%w: step %s names commit %s, which is not in this repository", errMissing, plain(step.Title), step.Commit), "fetch it first")
		}
		if step.Path == "" {
			continue
		}
		tree, err := repo.TreePaths(ctx, step.Commit)
		if err != nil {
			return nil, err
		}
		if !guard.Has(tree, step.Path) {
			found = append(found, guard.Finding{Code: guard.R1, Claim: step.Title, Path: step.Path, Text: "its evidence is not in commit " + step.Commit})
		}
	}
	return found, nil
}

// guardFinding is a finding as a ledger has it.
func guardFinding(f guard.Finding) events.Finding {
	text := f.Text
	if f.Line > 0 {
		text += fmt.Sprintf(", first in line %d", f.Line)
	}
	if f.Claim != "" {
		text += " — " + f.Claim
	}
	if f.Reason != "" {
		text += " (reason: " + f.Reason + ")"
	}
	return events.Finding{Severity: "fatal", Rule: "guard-" + string(f.Code), Text: printable(text, events.MaxText), Path: boundary.EncodePath(f.Path)}
}

// closedBefore reports whether a person has closed the same finding.
func closedBefore(t *projections.Task, f events.Finding) bool {
	return slices.ContainsFunc(t.Findings, func(k projections.Finding) bool { return !k.Open && k.Data == f })
}

// recordGuard records what is fatal in what is committed.
func (s *session) recordGuard(ctx context.Context, t *projections.Task, g *taskGuard, open []guard.Finding) error {
	for _, f := range open {
		if g.Recorded == maxGuardFindings {
			s.note("%d more are not recorded before these are closed", len(open)-g.Recorded)
			return nil
		}
		if slices.Contains(g.dirty, f.Path) {
			continue
		}
		finding := guardFinding(f)
		if _, err := s.recordFinding(ctx, t, &finding); err != nil {
			return err
		}
		g.Recorded++
	}
	return nil
}

// refuseGuard prints what is fatal and returns the refusal.
func (s *session) refuseGuard(t *projections.Task, g *taskGuard, open []guard.Finding) error {
	err := s.result("resume-guard", g, func(w *textWriter) {
		w.line("%s: R=%d W=%d N=%d", t.ID, g.Fatal, g.Pending, g.Hints)
		for _, f := range open {
			w.line("  %s", f.String())
		}
	})
	if err != nil {
		return err
	}
	err = fmt.Errorf("%w: %s of task %s", errGuard, counted(len(open), "fatal finding"), t.ID)
	if g.Recorded > 0 {
		return told{withHint(err, "it is recorded; an owner or reviewer closes it: deed finding acknowledge %s --finding ID --reason TEXT; a guard that is wrong: deed decision unfreeze, deed approach unban", t.ID)}
	}
	return told{withHint(err, "mend what is not committed here, or let the owner change the guard: deed decision unfreeze %s, deed approach unban %s", t.ID, t.ID)}
}
