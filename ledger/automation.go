package ledger

import (
	"cmp"
	"slices"

	"github.com/deedledger/deed/events"
)

// facts are what can always be said, whatever a policy says or a freeze stops:
// what became of an effect, and what somebody saw.
func facts() []string {
	return []string{"effect.confirmed", "effect.failed", "effect.unknown", "effect.compensated", "finding.recorded", "boundary.violated"}
}

// evidenceTypes are what evidence-only adds to the facts.
func evidenceTypes() []string {
	return []string{"receipt.recorded", "artifact.recorded", "cost.recorded", "progress.recorded", "defect.reported"}
}

// draftKinds are the effects up to which draft goes.
func draftKinds() []string {
	return []string{string(events.EffectNone), string(events.EffectPreview), string(events.EffectDraftPR), string(events.EffectCommit)}
}

// banByAutomation says whether the level of automation of a task's risk tier
// forbids an event of an agent or of CI. People are never limited by it.
func banByAutomation(tiers events.Tiers, q Question) *Ban {
	if q.Kind != events.KindAgent && q.Kind != events.KindCI {
		return nil
	}
	level := tiers.Of(q.Tier)
	short, reason := q.Type.Short(), ""
	switch level {
	case events.AutomationOff:
		reason = "agents and CI record findings and outcomes of effects only"
	case events.AutomationEvidence:
		if !slices.Contains(evidenceTypes(), short) {
			reason = "agents and CI record evidence only"
		}
	case events.AutomationDraft:
		if (q.Type == events.EffectIntended || q.Type == events.EffectDispatched) && !slices.Contains(draftKinds(), q.EffectKind) {
			reason = "agents and CI have no effect beyond a draft"
		}
	}
	if reason == "" {
		return nil
	}
	return &Ban{Policy: "automation", Reason: string(level) + " for risk tier " + cmp.Or(q.Tier, "unknown") + ": " + reason}
}
