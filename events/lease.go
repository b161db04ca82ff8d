package events

// Purpose is what a lease may be used for.
type Purpose string

// The purposes of a lease.
const (
	PurposeWork    Purpose = "work"
	PurposeRecover Purpose = "recover"
	PurposeRelease Purpose = "release"
)

// Claimant returns the role that claims a lease for p.
func (p Purpose) Claimant() Role {
	switch p {
	case PurposeRecover:
		return RoleController
	case PurposeRelease:
		return RoleOperator
	}
	return RoleImplementer
}

// Limits of a lease's term, in seconds.
const (
	MinTerm = 1
	MaxTerm = 86_400
)

// Claim is the data of lease.claimed. The event's fencetoken is the number of
// the new run.
type Claim struct {
	Purpose     Purpose `json:"purpose"`
	TermSeconds int64   `json:"termSeconds"`
	World       World   `json:"world"`
}

// Type returns LeaseClaimed.
func (*Claim) Type() Type { return LeaseClaimed }

// Validate checks c; see [Payload].
func (c *Claim) Validate() error {
	var v validation
	v.oneOf("purpose", string(c.Purpose), string(PurposeWork), string(PurposeRecover), string(PurposeRelease))
	v.number("termSeconds", c.TermSeconds, MinTerm, MaxTerm)
	v.within("world", c.World.validate)
	return v.err
}

// Release is the data of lease.released.
type Release struct {
	Reason string `json:"reason"` // context, quota, shift or other
	// To is the only actor that may claim for one lease term.
	To   string `json:"to,omitzero"`
	Note string `json:"note,omitzero"`
}

// Type returns LeaseReleased.
func (*Release) Type() Type { return LeaseReleased }

// Validate checks r; see [Payload].
func (r *Release) Validate() error {
	var v validation
	v.oneOf("reason", r.Reason, "context", "quota", "shift", "other")
	if r.To != "" {
		v.actor("to", r.To)
	}
	v.text("note", r.Note, MaxText)
	return v.err
}

// Recovery is the data of recovery.decided. The ledger recomputes decision
// and matches from history and world, and refuses any other.
type Recovery struct {
	Decision string `json:"decision"`
	// Matches are all rows of the recovery table that apply, first one first.
	Matches []string `json:"matches"`
	World   World    `json:"world"`
}

// Type returns RecoveryDecided.
func (*Recovery) Type() Type { return RecoveryDecided }

// Validate checks r; see [Payload].
func (r *Recovery) Validate() error {
	var v validation
	v.line("decision", r.Decision, false)
	v.count("matches", len(r.Matches), 1, 16)
	v.lines("matches", r.Matches, 16)
	v.that(len(r.Matches) == 0 || r.Matches[0] == r.Decision, "matches", "the first match must be the decision")
	v.within("world", r.World.validate)
	return v.err
}
