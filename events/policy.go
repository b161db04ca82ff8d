package events

import "cmp"

// MaxPolicy bounds the text of a policy, in bytes.
const MaxPolicy = 16 << 10

// Automation says how much agents and CI may do by themselves at one risk
// tier. It limits nobody else.
type Automation string

// The levels of automation, from the narrowest to the widest.
const (
	AutomationOff      Automation = "off"           // findings and outcomes of effects
	AutomationEvidence Automation = "evidence-only" // also receipts, artifacts, costs, progress
	AutomationDraft    Automation = "draft"         // also work, with effects up to a commit
	AutomationAuto     Automation = "auto"          // no limit but the rules
)

// Automations returns every level, from the narrowest to the widest.
func Automations() []Automation {
	return []Automation{AutomationOff, AutomationEvidence, AutomationDraft, AutomationAuto}
}

// Tiers holds the level of automation of each risk tier; "" is auto.
type Tiers struct {
	ReadOnly   Automation `json:"read-only,omitzero"`
	Code       Automation `json:"code,omitzero"`
	Preview    Automation `json:"preview,omitzero"`
	Production Automation `json:"production,omitzero"`
}

// Of returns the level of a risk tier: auto where none is set. Where the tier
// is not known, the narrowest level of any tier holds.
func (t Tiers) Of(tier string) Automation {
	levels := map[string]Automation{"read-only": t.ReadOnly, "code": t.Code, "preview": t.Preview, "production": t.Production}
	if level, ok := levels[tier]; ok {
		return cmp.Or(level, AutomationAuto)
	}
	for _, narrow := range Automations() {
		for _, level := range levels {
			if level == narrow {
				return narrow
			}
		}
	}
	return AutomationAuto
}

func (t Tiers) validate(v *validation) {
	for _, f := range [...]struct {
		tier  string
		level Automation
	}{{"read-only", t.ReadOnly}, {"code", t.Code}, {"preview", t.Preview}, {"production", t.Production}} {
		if f.level != "" {
			v.oneOf(f.tier, string(f.level), "off", "evidence-only", "draft", "auto")
		}
	}
}

// Policy is the data of policy.published: what is forbidden beyond the rules
// from its position on. It replaces the policy before it as a whole.
type Policy struct {
	// Cedar is a list of Cedar statements, each with the effect forbid; "" is
	// none.
	Cedar      string `json:"cedar"`
	Automation Tiers  `json:"automation,omitzero"`
	Reason     string `json:"reason"`
}

// Type returns PolicyPublished.
func (*Policy) Type() Type { return PolicyPublished }

// Validate checks p; see [Payload]. Whether Cedar parses is a rule of package
// ledger.
func (p *Policy) Validate() error {
	var v validation
	v.text("cedar", p.Cedar, MaxPolicy)
	v.within("automation", p.Automation.validate)
	v.line("reason", p.Reason, false)
	return v.err
}
