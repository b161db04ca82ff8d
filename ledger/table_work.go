package ledger

import (
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// workers returns every role but the auditor's, who only reads, and the
// service's, which says what the writer saw.
func workers() []Author {
	return roles(slices.DeleteFunc(events.Roles(), func(r events.Role) bool { return r == events.RoleAuditor || r == events.RoleService })...)
}

// workRows are about how the work goes: pause, plans, steps, decisions,
// artifacts, costs and defects.
func workRows() []Row {
	executing := []projections.State{projections.Executing}
	return slices.Concat([]Row{
		{Type: events.TaskPaused, By: roles(events.RoleOwner, events.RoleController), In: live(), Stale: true,
			Note: "not while paused; then only what is marked paused happens"},
		{Type: events.TaskUnpaused, By: roles(events.RoleOwner, events.RoleController), In: live(), Stale: true,
			To:   []projections.State{projections.AwaitingReview, projections.RepairQueued, projections.Interrupted, projections.Escalated},
			Note: "leads where the receipts and acknowledgements that came meanwhile lead; else the same state"},
		{Type: events.PlanRecorded, By: []Author{holder(events.PurposeWork), {Role: events.RolePlanner}, {Role: events.RoleImplementer}},
			In: []projections.State{projections.Snapshotted, projections.Executing}, Note: "the newest counts; it authorises nothing"},
		{Type: events.StepIssued, By: []Author{holder(events.PurposeWork)}, In: executing, Note: "its id is new in the attempt"},
		{Type: events.StepCompleted, By: []Author{holder(events.PurposeWork)}, In: executing, Note: "the step is open"},
		{Type: events.StepFailed, By: []Author{holder(events.PurposeWork)}, In: executing, Note: "the step is open"},
		{Type: events.ProgressRecorded, By: []Author{holder(events.PurposeWork)}, In: executing},
		{Type: events.BoundaryViolated, By: roles(events.RoleService, events.RoleVerifier),
			In: []projections.State{projections.Executing, projections.AwaitingVerification}, Note: "blocks result, review, approval and delivery of that tree only"},
	}, decisionRows(), factRows())
}

func decisionRows() []Row {
	owner := roles(events.RoleOwner)
	return []Row{
		{Type: events.DecisionRecorded, By: roles(events.RoleOwner, events.RolePlanner, events.RoleImplementer, events.RoleReviewer), In: live(), Stale: true,
			Note: "its id is new; it supersedes no frozen decision"},
		{Type: events.DecisionFrozen, By: owner, In: live(), Stale: true, Note: "the decision stands and is not frozen"},
		{Type: events.DecisionUnfrozen, By: owner, In: live(), Stale: true, Note: "the decision is frozen"},
		{Type: events.DecisionWithdrawn, By: owner, In: live(), Stale: true, Note: "the decision stands"},
		{Type: events.ApproachBanned, By: owner, In: live(), Stale: true, Note: "its id is new"},
		{Type: events.ApproachUnbanned, By: owner, In: live(), Stale: true, Note: "the ban holds"},
	}
}

func factRows() []Row {
	return []Row{
		{Type: events.ArtifactRecorded, By: workers(), In: started(), Stale: true},
		{Type: events.ArtifactQuarantined, By: roles(events.RoleOwner, events.RoleVerifier, events.RoleOperator), In: started(), Stale: true,
			Note: "a pass or a step that rests on it alone is no proof any more"},
		{Type: events.CostRecorded, By: workers(), In: started(), Stale: true},
		{Type: events.DefectReported, By: workers(), In: started(), Stale: true},
	}
}
