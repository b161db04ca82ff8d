package projections

import "github.com/deedledger/deed/events"

// The decisions of a recovery, in the order of the recovery table.
const (
	EscalateContractChanged = "escalate_contract_changed"
	EscalateEffectUnknown   = "escalate_effect_unknown"
	CompensateEffect        = "compensate_effect"
	ReAuthorize             = "re_authorize"
	EscalateFinding         = "escalate_finding"
	CreateRebaseRepair      = "create_rebase_repair"
	NewAttemptInputsChanged = "new_attempt_inputs_changed"
	RepairFromFailure       = "repair_from_failure"
	Reverify                = "reverify"
	ResumeBoundedStep       = "resume_bounded_step"
)

// RecoveryDecisions returns every decision in the order of the table.
func RecoveryDecisions() []string {
	return []string{
		EscalateContractChanged, EscalateEffectUnknown, CompensateEffect, ReAuthorize, EscalateFinding,
		CreateRebaseRepair, NewAttemptInputsChanged, RepairFromFailure, Reverify, ResumeBoundedStep,
	}
}

// nextSteps says what a person can do after a decision that escalates.
func nextStep(decision string) string {
	switch decision {
	case EscalateContractChanged:
		return "read the new contract, then resolve with new-attempt or cancel"
	case EscalateEffectUnknown:
		return "look outside whether the effect happened, state it with effect settle, then resolve"
	case ReAuthorize:
		return "read what changed in policy or rights, then resolve and pin the new digests, or new-attempt or cancel"
	case EscalateFinding:
		return "read the open findings, acknowledge or mend them, then resolve"
	}
	return ""
}

// recover folds recovery.decided.
func (t *Task) recover(r events.Record, d *events.Recovery) {
	from := t.Before
	switch d.Decision {
	case EscalateContractChanged, EscalateEffectUnknown, ReAuthorize, EscalateFinding:
		t.escalate(r, d.Decision, nextStep(d.Decision))
	default:
		t.endRun(r)
		t.recoverOn(r, d.Decision)
	}
	t.Decisions = append(t.Decisions, Recovery{Signed: signed(r), Decision: d.Decision, Matches: d.Matches, From: from, To: t.State, World: d.World})
}

// repairAgain queues a repair of what failed. One that was accepted before the
// interruption goes on, uncounted.
func (t *Task) repairAgain(r events.Record) {
	if p := t.Repair; p != nil && p.Accepted && p.Kind == "code" && p.Compensate == "" {
		t.enter(r, RepairQueued)
	} else {
		t.queueRepair(r, Repair{Kind: "code", Items: t.failedItems(), Reason: "a check failed on the current input"})
	}
	if t.State == RepairQueued {
		t.Before = None // else a person may still resume to it
	}
}

// recoverOn leads to the state of a decision that does not escalate.
func (t *Task) recoverOn(r events.Record, decision string) {
	switch decision {
	case CompensateEffect:
		key := ""
		for i := range t.Effects {
			if t.Effects[i].Status() == StatusPartial && key == "" {
				key = or(t.Effects[i].Intent.Compensates, t.Effects[i].Intent.Key)
			}
		}
		t.Repair = &Repair{Kind: "code", Compensate: key, Reason: "an effect is partly applied"}
		t.Before = None
		t.enter(r, RepairQueued)
	case CreateRebaseRepair:
		t.Repair = &Repair{Kind: "rebase", Reason: "the base or the target moved"}
		t.Before = None
		t.voidApprovals("base moved")
		t.enter(r, RepairQueued)
	case NewAttemptInputsChanged:
		t.Repair = &Repair{Kind: "inputs", Reason: "pinned inputs changed"}
		t.Before = None
		t.voidApprovals("inputs changed")
		t.enter(r, RepairQueued)
	case RepairFromFailure:
		t.voidApprovals("failing receipt")
		t.repairAgain(r)
	case Reverify:
		t.Before = None
		t.voidApprovals("verified again")
		t.enter(r, AwaitingVerification)
	case ResumeBoundedStep:
		t.resume(r)
	}
}
