package ledger

import (
	"errors"
	"fmt"

	"github.com/deedledger/deed/events"
)

// Class is one of the answers to a write that is not done.
type Class string

// The classes. Refused: nothing was written. Conflict: re-read and decide
// again. Unknown: re-read for one's own event first. Corrupt: stop.
const (
	Refused     Class = "refused"
	Conflict    Class = "conflict"
	Unknown     Class = "unknown"
	Corrupt     Class = "corrupt"
	Unavailable Class = "unavailable"
)

// Code says which kind of rule answered, for exit codes and hints.
type Code string

// The codes of refusals.
const (
	CodeForm      Code = "form"           // not in the profile, or bad data
	CodeSignature Code = "signature"      // signature, key or author
	CodeRule      Code = "rule"           // role or another rule
	CodeState     Code = "state"          // not legal in this state
	CodeStale     Code = "stale"          // about something that has changed
	CodeEffect    Code = "effect-unknown" // an effect is open
	CodeBoundary  Code = "boundary"
	CodeNotFound  Code = "not-found"
	CodeHead      Code = "head"   // the source has moved on
	CodeFence     Code = "fence"  // no or an old lease
	CodeLimit     Code = "limit"  // too large
	CodeDamage    Code = "damage" // history is not what it was
	CodeSecret    Code = "secret" // it holds what looks like a secret
	CodeBusy      Code = "busy"
)

// Refusal is the typed answer to a write that was not done.
type Refusal struct {
	Class Class  `json:"class"`
	Code  Code   `json:"code"`
	Rule  string `json:"rule"` // the row or rule that answered
	Text  string `json:"text"`
	// Sequence and Head are the source's last ones, with a conflict.
	Sequence uint64 `json:"sequence,omitzero"`
	Head     string `json:"head,omitzero"`

	// violation is what the service records of a result that is refused.
	violation *events.Violation
}

// Error returns class, rule and text.
func (r *Refusal) Error() string { return fmt.Sprintf("%s by %s: %s", r.Class, r.Rule, r.Text) }

// refuse returns a refusal by a rule.
func refuse(code Code, rule, format string, args ...any) *Refusal {
	return &Refusal{Class: Refused, Code: code, Rule: rule, Text: fmt.Sprintf(format, args...)}
}

// AsRefusal returns the refusal in err; any other error is unavailable.
func AsRefusal(err error) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	return &Refusal{Class: Unavailable, Code: CodeBusy, Rule: "service", Text: err.Error()}
}

// Submission is an event as the rules see it: parsed, its signatures
// verified, at the place that it would take.
type Submission struct {
	Event    events.Event
	Payload  events.Payload
	Signers  []string // key ids, sorted
	Position events.Position
	Admitted int64 // unix nanoseconds
}
