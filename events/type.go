package events

import "strings"

// Type is an event type, "dev.deed.<noun>.<verb>.v1".
type Type string

// The event types of this version.
const (
	LedgerCreated Type = "dev.deed.ledger.created.v1"
	ActorInvited  Type = "dev.deed.actor.invited.v1"
	KeyClaimed    Type = "dev.deed.key.claimed.v1"
	ActorRevoked  Type = "dev.deed.actor.revoked.v1"

	KeyRotated     Type = "dev.deed.key.rotated.v1"
	KeyCompromised Type = "dev.deed.key.compromised.v1"

	PolicyPublished   Type = "dev.deed.policy.published.v1"
	RulesUpgraded     Type = "dev.deed.rules.upgraded.v1"
	LedgerFrozen      Type = "dev.deed.ledger.frozen.v1"
	LedgerUnfrozen    Type = "dev.deed.ledger.unfrozen.v1"
	IntegrityReported Type = "dev.deed.integrity.reported.v1"
	QuarantineLifted  Type = "dev.deed.quarantine.lifted.v1"

	ContractProposed    Type = "dev.deed.contract.proposed.v1"
	ContractAccepted    Type = "dev.deed.contract.accepted.v1"
	ContractWithdrawn   Type = "dev.deed.contract.withdrawn.v1"
	TaskCancelled       Type = "dev.deed.task.cancelled.v1"
	AttemptOpened       Type = "dev.deed.attempt.opened.v1"
	AttemptInterrupted  Type = "dev.deed.attempt.interrupted.v1"
	AttemptEscalated    Type = "dev.deed.attempt.escalated.v1"
	EscalationResolved  Type = "dev.deed.escalation.resolved.v1"
	LeaseClaimed        Type = "dev.deed.lease.claimed.v1"
	LeaseReleased       Type = "dev.deed.lease.released.v1"
	ResultRecorded      Type = "dev.deed.result.recorded.v1"
	ReceiptRecorded     Type = "dev.deed.receipt.recorded.v1"
	RepairRequested     Type = "dev.deed.repair.requested.v1"
	RepairAccepted      Type = "dev.deed.repair.accepted.v1"
	ApprovalRecorded    Type = "dev.deed.approval.recorded.v1"
	DeliveryRecorded    Type = "dev.deed.delivery.recorded.v1"
	RecoveryDecided     Type = "dev.deed.recovery.decided.v1"
	EffectIntended      Type = "dev.deed.effect.intended.v1"
	EffectApproved      Type = "dev.deed.effect.approved.v1"
	EffectWithdrawn     Type = "dev.deed.effect.withdrawn.v1"
	EffectDispatched    Type = "dev.deed.effect.dispatched.v1"
	EffectConfirmed     Type = "dev.deed.effect.confirmed.v1"
	EffectFailed        Type = "dev.deed.effect.failed.v1"
	EffectUnknown       Type = "dev.deed.effect.unknown.v1"
	EffectCompensated   Type = "dev.deed.effect.compensated.v1"
	FindingRecorded     Type = "dev.deed.finding.recorded.v1"
	FindingAcknowledged Type = "dev.deed.finding.acknowledged.v1"
)

// Types returns every known type in the order of the constants, those of
// worktype.go last.
func Types() []Type {
	return append([]Type{
		LedgerCreated, ActorInvited, KeyClaimed, ActorRevoked, KeyRotated, KeyCompromised,
		PolicyPublished, RulesUpgraded, LedgerFrozen, LedgerUnfrozen, IntegrityReported, QuarantineLifted,
		ContractProposed, ContractAccepted, ContractWithdrawn, TaskCancelled,
		AttemptOpened, AttemptInterrupted, AttemptEscalated, EscalationResolved,
		LeaseClaimed, LeaseReleased, ResultRecorded, ReceiptRecorded,
		RepairRequested, RepairAccepted, ApprovalRecorded, DeliveryRecorded, RecoveryDecided,
		EffectIntended, EffectApproved, EffectWithdrawn, EffectDispatched,
		EffectConfirmed, EffectFailed, EffectUnknown, EffectCompensated,
		FindingRecorded, FindingAcknowledged,
	}, workTypes()...)
}

// Short returns "<noun>.<verb>" of a well-formed type, else t itself.
func (t Type) Short() string {
	s, ok := strings.CutPrefix(string(t), "dev.deed.")
	if !ok {
		return string(t)
	}
	if s, ok = strings.CutSuffix(s, ".v1"); !ok {
		return string(t)
	}
	return s
}

// TypeOf returns the known type with the short name "<noun>.<verb>", or "".
func TypeOf(short string) Type {
	t := Type("dev.deed." + short + ".v1")
	if !t.Known() {
		return ""
	}
	return t
}

// SchemaURN returns "urn:deed:schema:<noun>.<verb>:v1".
func (t Type) SchemaURN() string { return "urn:deed:schema:" + t.Short() + ":v1" }

// Known reports whether this version can decode the data of t.
func (t Type) Known() bool { return newPayload(t) != nil }

// wellFormed reports whether t is "dev.deed.<noun>.<verb>.v1" with a noun and
// a verb of 1 to 32 lower-case letters. A type that is not known to this
// version may still be carried, shown and verified.
func (t Type) wellFormed() bool {
	short := t.Short()
	if short == string(t) {
		return false
	}
	noun, verb, ok := strings.Cut(short, ".")
	for _, word := range [...]string{noun, verb} {
		ok = ok && len(word) >= 1 && len(word) <= 32
		for i := range len(word) {
			ok = ok && word[i] >= 'a' && word[i] <= 'z'
		}
	}
	return ok
}

// Registry reports whether t belongs to a ledger's registry, not to a task.
func (t Type) Registry() bool {
	switch t {
	case LedgerCreated, ActorInvited, KeyClaimed, ActorRevoked, KeyRotated, KeyCompromised,
		PolicyPublished, RulesUpgraded, LedgerFrozen, LedgerUnfrozen, IntegrityReported, QuarantineLifted:
		return true
	}
	return false
}

// newPayload returns a new, empty payload of type t, nil when t is unknown.
func newPayload(t Type) Payload {
	switch t {
	case LedgerCreated:
		return new(Genesis)
	case ActorInvited:
		return new(Invitation)
	case KeyClaimed:
		return new(KeyClaim)
	case ActorRevoked:
		return new(Revocation)
	case KeyRotated:
		return new(KeyRotation)
	case KeyCompromised:
		return new(KeyCompromise)
	case ContractProposed:
		return new(Contract)
	case ContractAccepted:
		return new(Acceptance)
	case ContractWithdrawn:
		return new(Withdrawal)
	case TaskCancelled:
		return new(Cancellation)
	case AttemptOpened:
		return new(Attempt)
	case LeaseClaimed:
		return new(Claim)
	case LeaseReleased:
		return new(Release)
	}
	return newOutcomePayload(t)
}

// newOutcomePayload is the second half of newPayload.
func newOutcomePayload(t Type) Payload {
	switch t {
	case AttemptInterrupted:
		return new(Interruption)
	case AttemptEscalated:
		return new(Escalation)
	case EscalationResolved:
		return new(Resolution)
	case ResultRecorded:
		return new(Result)
	case ReceiptRecorded:
		return new(Receipt)
	case RepairRequested:
		return new(RepairRequest)
	case RepairAccepted:
		return new(RepairAcceptance)
	case ApprovalRecorded:
		return new(Approval)
	case DeliveryRecorded:
		return new(Delivery)
	case RecoveryDecided:
		return new(Recovery)
	case FindingRecorded:
		return new(Finding)
	case FindingAcknowledged:
		return new(Acknowledgement)
	}
	return newEffectPayload(t)
}

// newEffectPayload is the third part of newPayload: section effects.
func newEffectPayload(t Type) Payload {
	switch t {
	case EffectIntended:
		return new(Intent)
	case EffectApproved:
		return new(EffectApproval)
	case EffectWithdrawn:
		return new(EffectWithdrawal)
	case EffectDispatched:
		return new(Dispatch)
	case EffectConfirmed:
		return new(Confirmation)
	case EffectFailed:
		return new(Failure)
	case EffectUnknown:
		return new(Unknown)
	case EffectCompensated:
		return new(Compensation)
	}
	return newSteeringPayload(t)
}

// newSteeringPayload is the part of newPayload for what steers a ledger.
func newSteeringPayload(t Type) Payload {
	switch t {
	case PolicyPublished:
		return new(Policy)
	case RulesUpgraded:
		return new(Upgrade)
	case LedgerFrozen:
		return new(LedgerFreeze)
	case LedgerUnfrozen:
		return new(LedgerThaw)
	case IntegrityReported:
		return new(Integrity)
	case QuarantineLifted:
		return new(Lift)
	}
	return newWorkPayload(t)
}
