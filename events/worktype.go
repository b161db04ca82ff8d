package events

// The event types that record how the work of a task goes.
const (
	TaskPaused          Type = "dev.deed.task.paused.v1"
	TaskUnpaused        Type = "dev.deed.task.unpaused.v1"
	PlanRecorded        Type = "dev.deed.plan.recorded.v1"
	StepIssued          Type = "dev.deed.step.issued.v1"
	StepCompleted       Type = "dev.deed.step.completed.v1"
	StepFailed          Type = "dev.deed.step.failed.v1"
	ProgressRecorded    Type = "dev.deed.progress.recorded.v1"
	BoundaryViolated    Type = "dev.deed.boundary.violated.v1"
	DecisionRecorded    Type = "dev.deed.decision.recorded.v1"
	DecisionFrozen      Type = "dev.deed.decision.frozen.v1"
	DecisionUnfrozen    Type = "dev.deed.decision.unfrozen.v1"
	DecisionWithdrawn   Type = "dev.deed.decision.withdrawn.v1"
	ApproachBanned      Type = "dev.deed.approach.banned.v1"
	ApproachUnbanned    Type = "dev.deed.approach.unbanned.v1"
	ArtifactRecorded    Type = "dev.deed.artifact.recorded.v1"
	ArtifactQuarantined Type = "dev.deed.artifact.quarantined.v1"
	CostRecorded        Type = "dev.deed.cost.recorded.v1"
	DefectReported      Type = "dev.deed.defect.reported.v1"
)

// workTypes returns the types of this file in the order of the constants.
func workTypes() []Type {
	return []Type{
		TaskPaused, TaskUnpaused, PlanRecorded, StepIssued, StepCompleted, StepFailed, ProgressRecorded, BoundaryViolated,
		DecisionRecorded, DecisionFrozen, DecisionUnfrozen, DecisionWithdrawn, ApproachBanned, ApproachUnbanned,
		ArtifactRecorded, ArtifactQuarantined, CostRecorded, DefectReported,
	}
}

// newWorkPayload is the part of newPayload for the types of this file.
func newWorkPayload(t Type) Payload {
	switch t {
	case TaskPaused:
		return new(Pause)
	case TaskUnpaused:
		return new(Unpause)
	case PlanRecorded:
		return new(Plan)
	case StepIssued:
		return new(StepIssue)
	case StepCompleted:
		return new(StepCompletion)
	case StepFailed:
		return new(StepFailure)
	case ProgressRecorded:
		return new(Progress)
	case BoundaryViolated:
		return new(Violation)
	case DecisionRecorded:
		return new(Decision)
	case DecisionFrozen:
		return new(Freeze)
	case DecisionUnfrozen:
		return new(Thaw)
	case DecisionWithdrawn:
		return new(Retraction)
	case ApproachBanned:
		return new(Ban)
	case ApproachUnbanned:
		return new(Unban)
	case ArtifactRecorded:
		return new(Artifact)
	case ArtifactQuarantined:
		return new(Quarantine)
	case CostRecorded:
		return new(Cost)
	case DefectReported:
		return new(DefectReport)
	}
	return nil
}
