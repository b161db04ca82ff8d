package ledger

import (
	"slices"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// recoveryRows are the rows of the recovery table in order of precedence.
// Read-only.
var recoveryRows = [...]struct {
	decision string
	applies  func(*recovery) bool
}{
	{projections.EscalateContractChanged, (*recovery).contractChanged},
	{projections.EscalateEffectUnknown, (*recovery).effectUnknown},
	{projections.CompensateEffect, (*recovery).partial},
	{projections.ReAuthorize, (*recovery).rightsChanged},
	{projections.EscalateFinding, func(r *recovery) bool { return r.task.FatalFinding() != nil }},
	{projections.CreateRebaseRepair, (*recovery).baseMoved},
	{projections.NewAttemptInputsChanged, (*recovery).inputsChanged},
	{projections.RepairFromFailure, func(r *recovery) bool { return r.task.Result != nil && r.task.Verdict() == projections.ItemFail }},
	{projections.Reverify, func(r *recovery) bool {
		return r.task.Result != nil && r.task.Repair == nil && r.task.Verdict() != projections.ItemPass
	}},
	{projections.ResumeBoundedStep, func(*recovery) bool { return true }},
}

// recovery is what the recovery table looks at.
type recovery struct {
	registry *projections.Registry
	task     *projections.Task
	world    events.World
	admitted int64
}

// Matches returns every row of the recovery table that applies to a task in a
// world at a time, in order of precedence; the first one is the decision. The
// last row always applies, so the list is never empty. The task must have an
// open attempt.
func Matches(l *projections.Ledger, t *projections.Task, w events.World, admitted int64) []string {
	r := &recovery{registry: &l.Registry, task: t, world: w, admitted: admitted}
	var matches []string
	for _, row := range recoveryRows {
		if row.applies(r) {
			matches = append(matches, row.decision)
		}
	}
	return matches
}

func (r *recovery) contractChanged() bool {
	c := r.task.Contract()
	return c == nil || r.task.Stale() || expired(c.Contract.Expires, r.admitted)
}

func (r *recovery) effectUnknown() bool {
	return slices.ContainsFunc(r.task.Effects, func(e projections.Effect) bool { return e.Ambiguous() })
}

func (r *recovery) partial() bool {
	return slices.ContainsFunc(r.task.Effects, func(e projections.Effect) bool { return e.Status() == projections.StatusPartial })
}

func (r *recovery) pinned() events.Snapshot { return r.task.Attempt().Snapshot }

func (r *recovery) rightsChanged() bool {
	pinned := r.pinned()
	identity := r.registry.Actor(pinned.Rights.Identity)
	return r.world.Inputs.Policy != pinned.Inputs.Policy || r.registry.Policy != pinned.Inputs.Policy ||
		r.world.Inputs.Boundary != pinned.Inputs.Boundary || len(r.world.Missing) > 0 ||
		identity == nil || identity.Revoked != 0 || len(identity.Keys) > 0 && !identity.Signs() || r.task.Doubtful()
}

func (r *recovery) baseMoved() bool {
	if !r.world.BaseKept || !r.world.BaseOnTarget {
		return true
	}
	// What is merged already needs no trial, wherever the target went since.
	return r.task.Result != nil && r.task.Repair == nil && r.task.MergedBy() == nil && r.world.MergeTree != r.task.Result.Data.Tree
}

func (r *recovery) inputsChanged() bool {
	pinned, now := r.pinned().Inputs, r.world.Inputs
	return len(r.world.Foreign) > 0 ||
		now.RuntimeImage != pinned.RuntimeImage || now.Schema != pinned.Schema ||
		!slices.Equal(now.Tools, pinned.Tools) || !slices.Equal(now.Skills, pinned.Skills) ||
		!slices.Equal(now.Flags, pinned.Flags) || r.lockfilesChanged(pinned.Lockfiles, now.Lockfiles)
}

// lockfilesChanged reports whether a lockfile outside the contract's scope is
// not what the attempt pinned. One that the work itself may change is not a
// drift.
func (r *recovery) lockfilesChanged(pinned, now []events.PinnedFile) bool {
	var scope boundary.Boundary
	if c := r.task.Contract(); c != nil {
		scope = scopeOf(r.registry, c.Contract)
	}
	outside := func(list []events.PinnedFile) map[string]string {
		m := map[string]string{}
		for _, f := range list {
			if !inScope(scope, f.Path) {
				m[f.Path] = f.Digest
			}
		}
		return m
	}
	a, b := outside(pinned), outside(now)
	if len(a) != len(b) {
		return true
	}
	for path, digest := range a {
		if b[path] != digest {
			return true
		}
	}
	return false
}
