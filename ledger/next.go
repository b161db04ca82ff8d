package ledger

import (
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// NextEvent is an event that may happen next, and who may say it.
type NextEvent struct {
	Event string `json:"event"` // the row's name
	By    string `json:"by"`
	// Moves says that it can lead to another state.
	Moves bool   `json:"moves"`
	Note  string `json:"note,omitzero"`
}

// Next returns what may happen to a task now, by the table and by what the
// task's state says about each row. An event that is listed can still be
// refused for what it contains.
func (r *Rules) Next(t *projections.Task) []NextEvent {
	var next []NextEvent
	for _, row := range Table() {
		if t.Blocked != nil || !slices.Contains(row.In, t.State) || !possible(&row, t) {
			continue
		}
		next = append(next, NextEvent{Event: row.Name(), By: describe(row.By), Moves: len(row.To) > 0, Note: row.Note})
	}
	return next
}

// possible reports whether a row that fits the state also fits the rest of
// the task.
func possible(row *Row, t *projections.Task) bool {
	switch {
	case t.Stale() && !row.Stale, t.Pause != nil && !whilePaused(row.Type):
		return false
	case row.Advance && t.FatalFinding() != nil && row.Type != events.ApprovalRecorded:
		return false
	case t.Cancelling && checkCancelling(&scene{Submission: Submission{Event: events.Event{Type: row.Type}}, task: t, row: row}) != nil:
		return false
	}
	switch row.Type {
	case events.ContractAccepted:
		return slices.ContainsFunc(t.Contracts, func(v projections.ContractVersion) bool { return !v.Accepted })
	case events.AttemptOpened:
		return t.Contract() != nil && len(t.OpenEffects()) == 0 && (t.State != projections.RepairQueued || acceptedRepair(t, "rebase", "inputs"))
	case events.LeaseClaimed:
		return claimable(row, t)
	case events.ResultRecorded:
		return len(t.OpenEffects()) == 0
	case events.ApprovalRecorded:
		return t.Violated() == nil
	case events.ReceiptRecorded:
		return t.Result != nil
	case events.RepairRequested:
		return t.Disproven()
	case events.RepairAccepted:
		return t.Repair != nil && !t.Repair.Accepted
	case events.DeliveryRecorded:
		return t.Quorum() && t.Verdict() == projections.ItemPass && len(t.OpenEffects()) == 0
	case events.FindingAcknowledged:
		return slices.ContainsFunc(t.Findings, func(f projections.Finding) bool { return f.Open })
	}
	return possibleWork(row.Type, t) && possibleEffect(row.Type, t)
}

// claimable reports whether a lease of the row's purpose could be claimed in
// a world in which nothing drifted.
func claimable(row *Row, t *projections.Task) bool {
	if t.Lease != nil || t.Attempt() == nil {
		return false
	}
	if row.Variant == string(events.PurposeRecover) {
		return true
	}
	if t.State == projections.RepairQueued {
		if !acceptedRepair(t, "code") {
			return false
		}
		e := t.Effect(t.Repair.Compensate)
		release := e != nil && e.Purpose == events.PurposeRelease
		return release == (row.Variant == string(events.PurposeRelease))
	}
	if t.State == projections.Approved && len(t.Quarantine) > 0 && t.Verdict() != projections.ItemPass {
		return false
	}
	return !slices.ContainsFunc(t.Effects, func(e projections.Effect) bool { return e.Ambiguous() })
}

// acceptedRepair reports whether an accepted repair of one of the kinds waits.
func acceptedRepair(t *projections.Task, kinds ...string) bool {
	return t.Repair != nil && t.Repair.Accepted && slices.Contains(kinds, t.Repair.Kind)
}

// possibleEffect reports whether the task has an effect that an event of the
// type can be about. Types that are not about effects pass.
func possibleEffect(kind events.Type, t *projections.Task) bool {
	has := func(test func(*projections.Effect) bool) bool {
		return slices.ContainsFunc(t.Effects, func(e projections.Effect) bool { return test(&e) })
	}
	part := func(statuses ...projections.Status) bool {
		return has(func(e *projections.Effect) bool {
			return slices.ContainsFunc(e.Parts, func(p projections.Part) bool { return slices.Contains(statuses, p.Status) })
		})
	}
	switch kind {
	case events.EffectApproved:
		return has(func(e *projections.Effect) bool { return e.Status() == projections.StatusIntended })
	case events.EffectWithdrawn:
		return has(func(e *projections.Effect) bool {
			return e.Status() == projections.StatusIntended || e.Status() == projections.StatusFailed
		})
	case events.EffectDispatched:
		return has(func(e *projections.Effect) bool {
			return !e.Withdrawn && (e.Status() == projections.StatusIntended || e.Status() == projections.StatusFailed || retryable(e))
		})
	case events.EffectConfirmed: // also what nobody expected any more: see isNews
		return part(projections.StatusDispatched, projections.StatusUnknown, projections.StatusConflict, projections.StatusFailed, projections.StatusConfirmed)
	case events.EffectFailed, events.EffectUnknown:
		return part(projections.StatusDispatched, projections.StatusUnknown, projections.StatusConflict)
	case events.EffectCompensated:
		return part(projections.StatusConfirmed)
	}
	return true
}
