package events

// Upgrade is the data of rules.upgraded: from its position on the given
// version of the rules holds.
type Upgrade struct {
	Rules  int64  `json:"rules"`
	Reason string `json:"reason"`
}

// Type returns RulesUpgraded.
func (*Upgrade) Type() Type { return RulesUpgraded }

// Validate checks u; see [Payload]. Whether a binary has that version is a
// rule of package ledger.
func (u *Upgrade) Validate() error {
	var v validation
	v.number("rules", u.Rules, 1, 1<<16)
	v.line("reason", u.Reason, false)
	return v.err
}

// LedgerFreeze is the data of ledger.frozen: almost nothing is appended until
// ledger.unfrozen.
type LedgerFreeze struct {
	Reason string `json:"reason"`
}

// Type returns LedgerFrozen.
func (*LedgerFreeze) Type() Type { return LedgerFrozen }

// Validate checks f; see [Payload].
func (f *LedgerFreeze) Validate() error {
	var v validation
	v.line("reason", f.Reason, false)
	return v.err
}

// LedgerThaw is the data of ledger.unfrozen.
type LedgerThaw struct {
	Reason string `json:"reason"`
}

// Type returns LedgerUnfrozen.
func (*LedgerThaw) Type() Type { return LedgerUnfrozen }

// Validate checks t; see [Payload].
func (t *LedgerThaw) Validate() error {
	var v validation
	v.line("reason", t.Reason, false)
	return v.err
}
