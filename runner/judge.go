package runner

import "slices"

// EffectVerdict is what the evidence says of a call that may have happened.
type EffectVerdict string

// The verdicts. Only EffectAbsentProven permits another dispatch.
const (
	EffectConfirmed    EffectVerdict = "confirmed"
	EffectAbsentProven EffectVerdict = "absent-proven" // or harmless to try again
	EffectUnknown      EffectVerdict = "unknown"
	EffectConflict     EffectVerdict = "conflict"
)

// Evidence is what is known of a dispatched effect.
type Evidence struct {
	Tokens   []string // the tokens of all our tries
	Digest   string   // of our payload; "" when it has none that a provider could show
	Probe    ProbeResult
	CallDead bool // see [Lock.CallDead]: of every try
	// Dedupes says that the provider answers every later call of our key with
	// what the first one made.
	Dedupes bool
	// Fenced says that the provider refuses calls below the highest fence that
	// it was shown, and that the probe showed it a higher one than every try
	// had: what it does not have now no old call can add.
	Fenced bool
}

// Judge weighs the evidence and names the rule that decided. It is pure.
//
// That a provider refuses old fences is not enough by itself: the old call may
// have acted and not be visible yet, so the probe must be complete as well; and
// until the provider is shown a higher fence it refuses nothing.
//
//	found with another digest                      conflict
//	found with a token that is not ours            conflict
//	found without an external id                   unknown
//	found with our token                           confirmed
//	found without a token, with our digest         confirmed
//	found with neither                             unknown
//	absent, and the provider dedupes               absent-proven
//	absent, complete, and the old call is dead     absent-proven
//	absent, complete, and the old call is fenced   absent-proven
//	everything else                                unknown
//
// An empty value of the probe says nothing; it equals nothing.
func Judge(e Evidence) (EffectVerdict, string) {
	p := e.Probe
	if p.Status == ProbeAbsent {
		switch {
		case e.Dedupes:
			return EffectAbsentProven, "absent-provider-dedupes"
		case !p.Complete:
			return EffectUnknown, "absent-not-complete"
		case e.CallDead:
			return EffectAbsentProven, "absent-complete-call-dead"
		case e.Fenced:
			return EffectAbsentProven, "absent-complete-call-fenced"
		}
		return EffectUnknown, "absent-call-may-run"
	}
	if p.Status != ProbeFound {
		return EffectUnknown, "probe-unknown"
	}
	sameDigest := p.Digest != "" && p.Digest == e.Digest
	switch {
	case p.Digest != "" && e.Digest != "" && !sameDigest:
		return EffectConflict, "found-other-digest"
	case p.Token != "" && !slices.Contains(e.Tokens, p.Token):
		return EffectConflict, "found-other-token"
	case p.ExternalID == "":
		return EffectUnknown, "found-without-id"
	case p.Token != "":
		return EffectConfirmed, "found-our-token"
	case sameDigest:
		return EffectConfirmed, "found-our-digest"
	}
	return EffectUnknown, "found-unmarked"
}
