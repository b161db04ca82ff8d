package events

// EffectRef says which effect an event is about, and as far as it says so,
// which part and try, and where its evidence comes from.
type EffectRef struct {
	Key string
	// Part is "" for an effect without parts, and for an event that is about a
	// whole effect.
	Part string
	// Try is 0 for an event that is about no try.
	Try int64
	// Basis is "" for an event that is no outcome.
	Basis Basis
}

// Outcome reports whether the event says what became of one part.
func (r EffectRef) Outcome() bool { return r.Basis != "" }

// AboutEffect is the data of an event about an effect that exists: of every
// effect event but the intent.
type AboutEffect interface {
	Payload
	// Effect returns which effect the event is about.
	Effect() EffectRef
}

// Effect returns which effect was approved.
func (e *EffectApproval) Effect() EffectRef { return EffectRef{Key: e.Key} }

// Effect returns which effect was withdrawn.
func (e *EffectWithdrawal) Effect() EffectRef { return EffectRef{Key: e.Key} }

// Effect returns which effect is dispatched.
func (d *Dispatch) Effect() EffectRef { return EffectRef{Key: d.Key, Try: d.Try} }

// Effect returns which part was applied.
func (c *Confirmation) Effect() EffectRef { return EffectRef{c.Key, c.Part, c.Try, c.Basis} }

// Effect returns which part was proven not to be applied.
func (f *Failure) Effect() EffectRef { return EffectRef{f.Key, f.Part, f.Try, f.Basis} }

// Effect returns which part's outcome nobody knows. It has no evidence: it is
// for whoever looked, as with a probe, and found nothing conclusive.
func (u *Unknown) Effect() EffectRef { return EffectRef{u.Key, u.Part, u.Try, BasisProbe} }

// Effect returns which part was undone; a compensation is about no try.
func (c *Compensation) Effect() EffectRef { return EffectRef{c.Key, c.Part, 0, c.Basis} }
