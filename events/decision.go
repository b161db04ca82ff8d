package events

// MaxGuard is how many entries each list of a guard may have.
const MaxGuard = 32

// Guard is what a machine can hold a change against. At least one list has an
// entry.
type Guard struct {
	// Contains are texts that must occur in the guarded files, Forbids texts
	// that must not.
	Contains []string `json:"contains,omitempty"`
	Forbids  []string `json:"forbids,omitempty"`
	// Keywords are words by which work on the matter is recognised.
	Keywords []string `json:"keywords,omitempty"`
	// Paths are patterns of the guarded files; none means every file.
	Paths []string `json:"paths,omitempty"`
}

// validate checks g. A ban has no text that must occur.
func (g *Guard) validate(v *validation, ban bool) {
	v.that(len(g.Contains)+len(g.Forbids)+len(g.Keywords)+len(g.Paths) > 0, "forbids", "the guard is empty")
	v.that(!ban || len(g.Contains) == 0, "contains", "a ban forbids, it demands nothing")
	v.lines("contains", g.Contains, MaxGuard)
	v.lines("forbids", g.Forbids, MaxGuard)
	v.lines("keywords", g.Keywords, MaxGuard)
	v.lines("paths", g.Paths, MaxGuard)
}

// Decision is the data of decision.recorded: a small, disputable record of a
// choice. It holds outward grounds, no reasoning.
type Decision struct {
	Decision     string     `json:"decision"` // unique in the task
	Title        string     `json:"title"`
	Choice       string     `json:"choice"`
	Alternatives []string   `json:"alternatives,omitempty"`
	Evidence     []Evidence `json:"evidence"`
	Owner        string     `json:"owner"` // actor or principal that answers for it
	Expires      string     `json:"expires,omitzero"`
	// Supersedes is the decision that this one takes the place of.
	Supersedes string `json:"supersedes,omitzero"`
}

// Type returns DecisionRecorded.
func (*Decision) Type() Type { return DecisionRecorded }

// Validate checks d; see [Payload].
func (d *Decision) Validate() error {
	var v validation
	v.name("decision", d.Decision)
	v.line("title", d.Title, false)
	v.need("choice", d.Choice, MaxText)
	v.lines("alternatives", d.Alternatives, 16)
	v.evidence("evidence", d.Evidence, 1)
	v.actor("owner", d.Owner)
	v.when("expires", d.Expires)
	if d.Supersedes != "" {
		v.name("supersedes", d.Supersedes)
	}
	v.that(d.Supersedes != d.Decision, "supersedes", "a decision cannot supersede itself")
	return v.err
}

// Freeze is the data of decision.frozen: from now on the guard holds.
type Freeze struct {
	Decision string `json:"decision"`
	Guard    Guard  `json:"guard"`
	Reason   string `json:"reason"`
	Expires  string `json:"expires,omitzero"` // of the guard
}

// Type returns DecisionFrozen.
func (*Freeze) Type() Type { return DecisionFrozen }

// Validate checks f; see [Payload].
func (f *Freeze) Validate() error {
	var v validation
	v.name("decision", f.Decision)
	v.within("guard", func(v *validation) { f.Guard.validate(v, false) })
	v.need("reason", f.Reason, MaxText)
	v.when("expires", f.Expires)
	return v.err
}

// Thaw is the data of decision.unfrozen: the decision stays, its guard ends.
type Thaw struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
}

// Type returns DecisionUnfrozen.
func (*Thaw) Type() Type { return DecisionUnfrozen }

// Validate checks t; see [Payload].
func (t *Thaw) Validate() error { return validateEnd("decision", t.Decision, t.Reason) }

// Retraction is the data of decision.withdrawn: decision and guard end.
type Retraction struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
}

// Type returns DecisionWithdrawn.
func (*Retraction) Type() Type { return DecisionWithdrawn }

// Validate checks r; see [Payload].
func (r *Retraction) Validate() error { return validateEnd("decision", r.Decision, r.Reason) }

// Ban is the data of approach.banned: a way that was tried or judged and must
// not be taken again.
type Ban struct {
	Approach string     `json:"approach"` // unique in the task
	Title    string     `json:"title"`
	Guard    Guard      `json:"guard"` // without contains
	Reason   string     `json:"reason"`
	Evidence []Evidence `json:"evidence,omitempty"`
	Expires  string     `json:"expires,omitzero"`
}

// Type returns ApproachBanned.
func (*Ban) Type() Type { return ApproachBanned }

// Validate checks b; see [Payload].
func (b *Ban) Validate() error {
	var v validation
	v.name("approach", b.Approach)
	v.line("title", b.Title, false)
	v.within("guard", func(v *validation) { b.Guard.validate(v, true) })
	v.need("reason", b.Reason, MaxText)
	v.evidence("evidence", b.Evidence, 0)
	v.when("expires", b.Expires)
	return v.err
}

// Unban is the data of approach.unbanned.
type Unban struct {
	Approach string `json:"approach"`
	Reason   string `json:"reason"`
}

// Type returns ApproachUnbanned.
func (*Unban) Type() Type { return ApproachUnbanned }

// Validate checks u; see [Payload].
func (u *Unban) Validate() error { return validateEnd("approach", u.Approach, u.Reason) }

// validateEnd checks the data of an event that ends something named.
func validateEnd(member, name, reason string) error {
	var v validation
	v.name(member, name)
	v.need("reason", reason, MaxText)
	return v.err
}
