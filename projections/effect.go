package projections

import (
	"slices"

	"github.com/deedledger/deed/events"
)

// Status is the status of an effect or of one of its parts.
type Status string

// The statuses of effects and parts. Partial is an effect's only.
const (
	StatusIntended    Status = "intended"
	StatusWithdrawn   Status = "withdrawn"
	StatusDispatched  Status = "dispatched"
	StatusConfirmed   Status = "confirmed"
	StatusFailed      Status = "failed"
	StatusUnknown     Status = "unknown"
	StatusConflict    Status = "conflict"
	StatusPartial     Status = "partial"
	StatusCompensated Status = "compensated"
)

// Effect is one intended change to the outside world.
type Effect struct {
	Signed
	Attempt string         `json:"attempt"`
	Fence   uint64         `json:"fence"` // run that intended it
	Purpose events.Purpose `json:"purpose"`
	Intent  events.Intent  `json:"intent"`
	// Payload is the digest of the intent's data: the same key with another
	// payload is a fault.
	Payload   string   `json:"payload"`
	Approvers []string `json:"approvers,omitempty"`
	Withdrawn bool     `json:"withdrawn,omitempty"`
	Tries     []Try    `json:"tries,omitempty"`
	Parts     []Part   `json:"parts"`
}

// Try is one dispatch of an effect.
type Try struct {
	Signed
	Number int64  `json:"try"`
	Fence  uint64 `json:"fence"`
	Token  string `json:"token"`
	Host   string `json:"host"`
	Boot   string `json:"boot"`
}

// Part is what can succeed or fail by itself.
type Part struct {
	Name       string       `json:"name"`
	Status     Status       `json:"status"`
	Try        int64        `json:"try,omitzero"`
	ExternalID string       `json:"externalId,omitzero"`
	Basis      events.Basis `json:"basis,omitzero"`
	Evidence   string       `json:"evidence,omitzero"`
	// By and Late say who recorded the outcome, and whether that run had
	// already lost its lease.
	By   string `json:"by,omitzero"`
	Late bool   `json:"late,omitempty"`
}

// Status returns the effect's status, which follows from those of its parts. A
// withdrawn effect that turns out to have happened is not withdrawn.
func (e *Effect) Status() Status {
	has := map[Status]bool{}
	for _, p := range e.Parts {
		has[p.Status] = true
	}
	for _, s := range [...]Status{StatusDispatched, StatusConflict, StatusUnknown} {
		if has[s] {
			return s
		}
	}
	switch {
	case has[StatusConfirmed] && (has[StatusFailed] || has[StatusIntended] || has[StatusCompensated]):
		return StatusPartial
	case has[StatusConfirmed]:
		return StatusConfirmed
	case has[StatusCompensated]:
		return StatusCompensated
	case e.Withdrawn:
		return StatusWithdrawn
	case has[StatusFailed]:
		return StatusFailed
	}
	return StatusIntended
}

// Open reports whether nobody can yet say that the effect is settled:
// dispatched, unknown, or partly applied and not compensated.
func (e *Effect) Open() bool {
	switch e.Status() {
	case StatusDispatched, StatusUnknown, StatusConflict, StatusPartial:
		return true
	}
	return false
}

// Ambiguous reports whether it is open what happened outside.
func (e *Effect) Ambiguous() bool { return e.Open() && e.Status() != StatusPartial }

// Part returns the named part, nil when there is none.
func (e *Effect) Part(name string) *Part {
	for i := range e.Parts {
		if e.Parts[i].Name == name {
			return &e.Parts[i]
		}
	}
	return nil
}

// Effect returns the effect with the given key, nil when the task has none.
func (t *Task) Effect(key string) *Effect {
	for i := range t.Effects {
		if t.Effects[i].Intent.Key == key {
			return &t.Effects[i]
		}
	}
	return nil
}

// MergedBy returns the newest effect that is confirmed to have brought the
// current result to the target branch, nil when Deed itself merged nothing.
func (t *Task) MergedBy() *Effect {
	for i := len(t.Effects) - 1; i >= 0 && t.Result != nil; i-- {
		e := &t.Effects[i]
		if e.Intent.Kind == events.EffectMerge && e.Intent.Git != nil && e.Intent.Git.Merged == t.Result.Data.Head && e.Status() == StatusConfirmed {
			return e
		}
	}
	return nil
}

// OpenEffects returns the keys of all open effects in order of intent.
func (t *Task) OpenEffects() []string {
	var keys []string
	for i := range t.Effects {
		if t.Effects[i].Open() {
			keys = append(keys, t.Effects[i].Intent.Key)
		}
	}
	return keys
}

// applyEffect folds the events of effects.
func (t *Task) applyEffect(r events.Record, p events.Payload) {
	switch d := p.(type) {
	case *events.Intent:
		t.intend(r, d)
	case *events.EffectApproval:
		e := t.Effect(d.Key)
		e.Approvers = append(e.Approvers, r.Event.AuthID)
	case *events.EffectWithdrawal:
		t.Effect(d.Key).Withdrawn = true
	case *events.Dispatch:
		t.dispatch(r, d)
	case *events.Confirmation:
		t.settle(r, d.Key, d.Part, Part{Status: StatusConfirmed, Try: d.Try, ExternalID: d.ExternalID, Basis: d.Basis, Evidence: d.Evidence})
	case *events.Failure:
		t.settle(r, d.Key, d.Part, Part{Status: StatusFailed, Try: d.Try, Basis: d.Basis, Evidence: d.Evidence})
	case *events.Unknown:
		s := StatusUnknown
		if d.Conflict {
			s = StatusConflict
		}
		t.settle(r, d.Key, d.Part, Part{Status: s, Try: d.Try, Evidence: d.Reason})
	case *events.Compensation:
		part := *t.Effect(d.Key).Part(d.Part)
		part.Status, part.Basis, part.Evidence = StatusCompensated, d.Basis, d.Evidence
		t.settle(r, d.Key, d.Part, part)
	}
}

func (t *Task) intend(r events.Record, d *events.Intent) {
	parts := []Part{{Status: StatusIntended}}
	if len(d.Parts) > 0 {
		parts = parts[:0]
		for _, name := range d.Parts {
			parts = append(parts, Part{Name: name, Status: StatusIntended})
		}
	}
	var purpose events.Purpose
	if t.Lease != nil {
		purpose = t.Lease.Purpose
	}
	t.Effects = append(t.Effects, Effect{
		Signed: signed(r), Attempt: r.Event.Subject, Fence: r.Event.Fence, Purpose: purpose,
		Intent: *d, Payload: events.Sum(r.Event.Data).String(), Parts: parts,
	})
	t.contribute(r.Event.AuthID)
}

// dispatch starts a try: every part that is not yet applied is under way.
func (t *Task) dispatch(r events.Record, d *events.Dispatch) {
	e := t.Effect(d.Key)
	e.Tries = append(e.Tries, Try{Signed: signed(r), Number: d.Try, Fence: r.Event.Fence, Token: d.Token, Host: d.Host, Boot: d.Boot})
	for i := range e.Parts {
		if s := e.Parts[i].Status; s == StatusIntended || s == StatusFailed {
			e.Parts[i].Status, e.Parts[i].Try = StatusDispatched, d.Try
		}
	}
	t.contribute(r.Event.AuthID)
}

// settle records an outcome. When it closes the last open effect of a task
// that is being cancelled, the task ends.
func (t *Task) settle(r events.Record, key, name string, outcome Part) {
	part := t.Effect(key).Part(name)
	status, changes := part.settled(outcome)
	if !changes {
		return
	}
	outcome.Name, outcome.By, outcome.Status, outcome.Try = name, r.Event.AuthID, status, max(outcome.Try, part.Try)
	outcome.Late = r.Event.Fence != 0 && (t.Lease == nil || t.Lease.Fence != r.Event.Fence)
	*part = outcome
	if t.Cancelling && len(t.OpenEffects()) == 0 {
		t.Escalation = nil
		t.enter(r, Cancelled)
	}
}

// settled returns the status that an outcome gives to p, and false where it
// changes nothing: what is known of a newer try, or known already, is not
// undone by a late outcome. Proof against proof is a conflict, which only a
// person settles.
func (p *Part) settled(outcome Part) (Status, bool) {
	confirmed := outcome.Status == StatusConfirmed
	switch {
	case outcome.Basis == events.BasisPerson || outcome.Status == StatusCompensated || outcome.Status == StatusConflict:
		return outcome.Status, true
	case outcome.Try < p.Try && confirmed && outcome.ExternalID != p.ExternalID:
		return StatusConflict, true // an older try did happen, and a newer one was made
	case outcome.Try < p.Try:
		return p.Status, false
	case p.Status == StatusConfirmed && outcome.Status == StatusFailed:
		return StatusConflict, true
	case p.Status == StatusConfirmed && confirmed && outcome.ExternalID != p.ExternalID:
		return StatusConflict, true
	case p.Status == StatusConfirmed || p.Status == StatusCompensated || p.Status == StatusConflict:
		return p.Status, false
	case p.Status == StatusFailed && outcome.Status == StatusUnknown:
		return p.Status, false
	}
	return outcome.Status, true
}

// contribute notes that an actor took part in making what is to be verified.
func (t *Task) contribute(actor string) {
	if i, found := slices.BinarySearch(t.Contributors, actor); !found {
		t.Contributors = slices.Insert(t.Contributors, i, actor)
	}
}
