package projections

import (
	"fmt"
	"maps"
	"slices"

	"github.com/deedledger/deed/events"
)

// Ledger is the state of a whole ledger: its registry, its tasks, and what is
// unique across tasks.
type Ledger struct {
	Name     string
	Registry Registry
	Tasks    map[string]*Task
	// Keys maps an effect's key to the task that holds it, for ever.
	Keys map[string]string
	// External maps an outside id (see ExternalKey) to the effect key it
	// belongs to.
	External map[string]string
	// Position and Admitted are those of the last record.
	Position events.Position
	Admitted int64

	// signed are the events on whose author a task's state rests, by key id.
	signed map[string][]authored
}

// NewLedger returns the state before genesis.
func NewLedger(name string) *Ledger {
	return &Ledger{Name: name, Tasks: map[string]*Task{}, Keys: map[string]string{}, External: map[string]string{}, signed: map[string][]authored{}}
}

// ExternalKey names an outside id within its kind and target.
func ExternalKey(kind events.EffectKind, target, id string) string {
	return string(kind) + "\x00" + target + "\x00" + id
}

// Apply folds one record, which must be at the next position. An error of a
// source blocks that source and is returned; the ledger itself goes on to the
// next position. ErrGap and ErrDuplicate at the ledger's own level change
// nothing.
func (l *Ledger) Apply(r events.Record) error {
	if r.Position <= l.Position {
		return fmt.Errorf("apply to ledger %s: %w: position %d after %d", l.Name, ErrDuplicate, r.Position, l.Position)
	}
	if r.Position != l.Position+1 {
		return fmt.Errorf("apply to ledger %s: %w: position %d after %d", l.Name, ErrGap, r.Position, l.Position)
	}
	if r.Event.Source.Ledger != l.Name {
		return fmt.Errorf("apply to ledger %s: %w: event of ledger %s", l.Name, ErrReference, r.Event.Source.Ledger)
	}
	l.Position, l.Admitted = r.Position, r.Admitted
	if r.Event.Source.Task == "" {
		if err := l.Registry.Apply(r); err != nil {
			return err
		}
		l.indexRegistry(r)
		return nil
	}
	t := l.Tasks[r.Event.Source.Task]
	if t == nil {
		t = l.NewTask(r.Event.Source.Task)
		l.Tasks[t.ID] = t
	}
	if err := t.Apply(r); err != nil {
		return err
	}
	l.index(t, r)
	return nil
}

// Block stops a source at the next position, where a message is stored that
// is no record: broken bytes, a bad signature, a type that this version does
// not know. The ledger goes on to the position after it. Errors: ErrGap,
// ErrDuplicate.
func (l *Ledger) Block(s events.Source, b Block) error {
	switch {
	case b.Position <= l.Position:
		return fmt.Errorf("block %s: %w: position %d after %d", s, ErrDuplicate, b.Position, l.Position)
	case b.Position != l.Position+1:
		return fmt.Errorf("block %s: %w: position %d after %d", s, ErrGap, b.Position, l.Position)
	}
	l.Position = b.Position
	if s.Task == "" {
		if l.Registry.Blocked == nil {
			l.Registry.Blocked = &b
		}
		return nil
	}
	if l.Tasks[s.Task] == nil {
		l.Tasks[s.Task] = l.NewTask(s.Task)
	}
	if t := l.Tasks[s.Task]; t.Blocked == nil {
		t.Blocked = &b
	}
	return nil
}

// NewTask returns the state that a task of this ledger has before its first
// event.
func (l *Ledger) NewTask(id string) *Task {
	genesis, _ := events.ParseHash(l.Registry.Identity)
	return NewTask(l.Name, id, genesis)
}

// Task returns the state of a task, empty when it has no event yet.
func (l *Ledger) Task(id string) *Task {
	if t := l.Tasks[id]; t != nil {
		return t
	}
	return l.NewTask(id)
}

// index keeps what is unique across tasks.
func (l *Ledger) index(t *Task, r events.Record) {
	if weighty(r.Event.Type) && l.signed != nil {
		l.signed[r.Event.SignKeyID] = append(l.signed[r.Event.SignKeyID], authored{r.Position, r.Event.Type, t})
	}
	switch r.Event.Type {
	case events.ResultRecorded:
		t.Result.Unmapped = l.unmapped(t.Result.Data.Authors)
	case events.EffectIntended:
		e := &t.Effects[len(t.Effects)-1]
		l.Keys[e.Intent.Key] = t.ID
	case events.EffectConfirmed:
		for i := range t.Effects {
			e := &t.Effects[i]
			for _, p := range e.Parts {
				if p.ExternalID != "" {
					l.External[ExternalKey(e.Intent.Kind, e.Intent.Target, p.ExternalID)] = e.Intent.Key
				}
			}
		}
	}
}

// TaskIDs returns the ids of all tasks, sorted.
func (l *Ledger) TaskIDs() []string { return slices.Sorted(maps.Keys(l.Tasks)) }

// Digests are the digests of a ledger's states at a position.
type Digests struct {
	Position events.Position   `json:"position"`
	Registry string            `json:"registry"`
	Tasks    map[string]string `json:"tasks"`
}

// Digests returns the digest of every state of l.
func (l *Ledger) Digests() (Digests, error) {
	d := Digests{Position: l.Position, Tasks: map[string]string{}}
	h, err := l.Registry.Digest()
	if err != nil {
		return Digests{}, fmt.Errorf("digest registry: %w", err)
	}
	d.Registry = h.String()
	for id, t := range l.Tasks {
		h, err := t.Digest()
		if err != nil {
			return Digests{}, fmt.Errorf("digest task %s: %w", id, err)
		}
		d.Tasks[id] = h.String()
	}
	return d, nil
}
