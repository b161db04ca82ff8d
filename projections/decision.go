package projections

import (
	"slices"

	"github.com/deedledger/deed/events"
)

// Decision is a recorded choice and what became of it.
type Decision struct {
	Signed
	Data events.Decision `json:"data"`
	// Frozen is set while the decision is frozen, whether or not the freeze has
	// expired.
	Frozen *Freeze `json:"frozen,omitempty"`
	// Withdrawn is the id of the event that withdrew the decision, Superseded
	// the name of the decision that took its place.
	Withdrawn  string `json:"withdrawn,omitempty"`
	Superseded string `json:"superseded,omitempty"`
}

// Freeze is the guard of a decision.
type Freeze struct {
	Signed
	Data events.Freeze `json:"data"`
}

// Ban is an approach that must not be taken.
type Ban struct {
	Signed
	Data events.Ban `json:"data"`
	// Lifted is the id of the event that lifted the ban.
	Lifted string `json:"lifted,omitempty"`
}

// Choice returns a recorded decision, nil when there is none.
func (t *Task) Choice(id string) *Decision {
	i := slices.IndexFunc(t.Choices, func(d Decision) bool { return d.Data.Decision == id })
	if i < 0 {
		return nil
	}
	return &t.Choices[i]
}

// Ban returns a banned approach, also where the ban was lifted; nil when there
// is none.
func (t *Task) Ban(approach string) *Ban {
	i := slices.IndexFunc(t.Bans, func(b Ban) bool { return b.Data.Approach == approach })
	if i < 0 {
		return nil
	}
	return &t.Bans[i]
}

// Standing reports whether d was neither withdrawn nor superseded.
func (d *Decision) Standing() bool { return d.Withdrawn == "" && d.Superseded == "" }

// Active reports whether d counts at an admission stamp, in ns.
func (d *Decision) Active(stamp int64) bool { return d.Standing() && !past(d.Data.Expires, stamp) }

// Guards reports whether d is active and its guard holds at an admission
// stamp, in ns.
func (d *Decision) Guards(stamp int64) bool {
	return d.Active(stamp) && d.Frozen != nil && !past(d.Frozen.Data.Expires, stamp)
}

// Holds reports whether the ban holds at an admission stamp, in ns.
func (b *Ban) Holds(stamp int64) bool { return b.Lifted == "" && !past(b.Data.Expires, stamp) }

// Guarded is a guard that holds: of a frozen decision or a banned approach.
type Guarded struct {
	Decision string       `json:"decision,omitzero"`
	Approach string       `json:"approach,omitzero"`
	Title    string       `json:"title"`
	Reason   string       `json:"reason"`
	EventID  string       `json:"eventId"` // that froze or banned
	Guard    events.Guard `json:"guard"`
}

// Guards returns every guard that holds at an admission stamp, in ns: those of
// decisions first, each in order of history. Pass the stamp of the position
// that is read.
func (t *Task) Guards(stamp int64) []Guarded {
	var list []Guarded
	for i := range t.Choices {
		if d := &t.Choices[i]; d.Guards(stamp) {
			f := d.Frozen
			list = append(list, Guarded{Decision: d.Data.Decision, Title: d.Data.Title, Reason: f.Data.Reason, EventID: f.EventID, Guard: f.Data.Guard})
		}
	}
	for i := range t.Bans {
		if b := &t.Bans[i]; b.Holds(stamp) {
			list = append(list, Guarded{Approach: b.Data.Approach, Title: b.Data.Title, Reason: b.Data.Reason, EventID: b.EventID, Guard: b.Data.Guard})
		}
	}
	return list
}

// decide folds the events about decisions.
func (t *Task) decide(r events.Record, p events.Payload) {
	switch d := p.(type) {
	case *events.Decision:
		if d.Supersedes != "" {
			t.Choice(d.Supersedes).Superseded = d.Decision
		}
		t.Choices = append(t.Choices, Decision{Signed: signed(r), Data: *d})
	case *events.Freeze:
		t.Choice(d.Decision).Frozen = &Freeze{Signed: signed(r), Data: *d}
	case *events.Thaw:
		t.Choice(d.Decision).Frozen = nil
	case *events.Retraction:
		t.Choice(d.Decision).Withdrawn = r.Event.ID
	}
}
