package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/signer"
	"github.com/spf13/cobra"
)

// newKeyCompromiseCommand builds "deed key compromise".
func newKeyCompromiseCommand(e *Env, f *flags) *cobra.Command {
	var since uint64
	var reason string
	cmd := &cobra.Command{
		Use: "compromise KEYID --since POS --reason R", Short: "Say that somebody else may have used a key", Args: cobra.ExactArgs(1),
		Long: `Say that somebody else may have used a key since a position. It signs nothing more.
Receipts and approvals that it signed since count as absent, and their tasks go back to
where the rest of their proof reaches; a task that builds on what else it signed is
escalated, since a person has to look; a lease that it holds is interrupted. What is
delivered stays so, and is marked suspect. What it signed before stays valid.

See first whom it concerns: deed key affected KEYID --since POS. An admin whose own key it
is rotates it first. Where the key was rotated since that position, nobody but its holder
knows who did it: the key that followed goes on, until it is called compromised too.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			if _, err := signer.ParseKeyID(args[0]); err != nil {
				return fmt.Errorf("%w: %w", errUsage, err)
			}
			var held steady
			var followed events.Position
			ack, err := s.appendRegistry(ctx, s.author, func(a author) (events.Payload, error) {
				holder, err := holderOf(&a.registry, args[0])
				if err != nil {
					return nil, err
				}
				followed = rotatedSince(holder, args[0], events.Position(since))
				d := &events.KeyCompromise{Actor: holder.Name, Key: args[0], Since: events.Position(since), Reason: reason}
				return d, steadyActor(&held, &a.registry, holder.Name)
			})
			if err != nil {
				return err
			}
			if followed != 0 {
				s.note("it was rotated at position %d: if its holder did not do that, the key that followed is somebody else's, and goes on until it is called compromised too", followed)
			}
			return s.acked(ack, "key %s is compromised since %d; see whom it concerns: deed key affected %s", args[0], since, args[0])
		}),
	}
	cmd.Flags().Uint64Var(&since, "since", 0, "first position at which somebody else may have used it")
	cmd.Flags().StringVar(&reason, "reason", "", "why, one line")
	return administers(cmd, f)
}

// rotatedSince returns where an actor's key was rotated at a position or later,
// 0 where it was not: a thief may have done it.
func rotatedSince(a *projections.Actor, key string, since events.Position) events.Position {
	for _, k := range a.Ended {
		if k.ID == key && k.Cause == "rotated" && k.Position >= since {
			return k.Position
		}
	}
	return 0
}

// holderOf returns the actor who holds or held a key.
func holderOf(g *projections.Registry, id string) (*projections.Actor, error) {
	for _, a := range g.Actors {
		for _, text := range a.Keys {
			if key, err := signer.ParsePublicKey(text); err == nil && string(key.ID()) == id {
				return a, nil
			}
		}
	}
	return nil, withHint(fmt.Errorf("%w: no actor has or had key %s", errMissing, id), "deed actor list -o json shows the keys")
}

// affected is what a key, or all keys of an actor, signed.
type affected struct {
	Actor string          `json:"actor"`
	Since events.Position `json:"since"`
	// Tasks are sorted by when the first of their events came.
	Tasks  []affectedTask  `json:"tasks"`
	Events []affectedEvent `json:"events"` // in order of history

	position events.Position // the last one that was read
}

// affectedTask is a task with events of the key.
type affectedTask struct {
	Task  string            `json:"task"`
	State projections.State `json:"state,omitzero"` // where a service says it
	// Receipts and Approvals are the ids of those events among them.
	Receipts  []string `json:"receipts"`
	Approvals []string `json:"approvals"`
	Events    int      `json:"events"`
}

// affectedEvent is one event of the key.
type affectedEvent struct {
	Position events.Position `json:"position"`
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Task     string          `json:"task,omitzero"`
	Key      string          `json:"keyid"`
}

// newAffectedCommand builds "deed key affected" and "deed actor affected".
func newAffectedCommand(e *Env, f *flags, byKey bool) *cobra.Command {
	var since uint64
	what := map[bool]string{true: "KEYID", false: "ACTOR"}[byKey]
	cmd := &cobra.Command{
		Use: "affected " + what, Short: "List what a key signed, and whom it concerns", Args: cobra.ExactArgs(1),
		Long: `List the tasks, receipts, approvals and other events that ` + map[bool]string{true: "a key", false: "an actor"}[byKey] + ` signed since a position:
of --since, else of where it is known to be compromised, else from the start. It only
reads, and the log needs no service.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			d, err := s.affected(ctx, args[0], byKey, events.Position(since))
			if err != nil {
				return err
			}
			return s.answer(d.position, "affected", d, func(w *textWriter) { w.affected(d) })
		}),
	}
	if !byKey {
		cmd.Short = "List what an actor signed, and whom it concerns"
	}
	cmd.Flags().Uint64Var(&since, "since", 0, "begin at this position")
	return cmd
}

func (s *session) affected(ctx context.Context, name string, byKey bool, since events.Position) (d affected, err error) {
	r, live, err := s.history(ctx)
	if err != nil {
		return affected{}, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	book := projections.NewLedger(s.folder.Ledger)
	var all []events.Record
	var last events.Position
	err = r.Replay(ctx, 1, func(stored journal.Record) error {
		record, err := openRecord(stored)
		if err != nil {
			return err
		}
		last = record.Position
		if record.Event.Source.Task == "" {
			_ = book.Registry.Apply(record) // an audit says what is wrong with it
		}
		if byKey && record.Event.SignKeyID == name || !byKey && record.Event.AuthID == name {
			all = append(all, record)
		}
		return nil
	})
	if err != nil {
		return affected{}, err
	}
	d, err = scopeAffected(&book.Registry, name, byKey, since)
	if err != nil {
		return affected{}, err
	}
	d.position = last
	d.gather(all)
	for i := range d.Tasks {
		if live {
			if t, err := s.task(ctx, d.Tasks[i].Task); err == nil {
				d.Tasks[i].State = t.Task.State
			}
		}
	}
	return d, nil
}

// scopeAffected finds whose events are asked for, and from where on.
func scopeAffected(g *projections.Registry, name string, byKey bool, since events.Position) (affected, error) {
	d := affected{Actor: name, Since: since, Tasks: []affectedTask{}, Events: []affectedEvent{}}
	if !byKey {
		if g.Actor(name) == nil {
			return d, withHint(fmt.Errorf("%w: there is no actor %q", errMissing, name), "deed actor list")
		}
		return d, nil
	}
	a, err := holderOf(g, name)
	if err != nil {
		return d, err
	}
	d.Actor = a.Name
	if c := g.Compromised(name); c != nil && since == 0 {
		d.Since = c.Since
	}
	return d, nil
}

// gather sorts the records at d.Since and later by task.
func (d *affected) gather(records []events.Record) {
	index := map[string]int{}
	for _, r := range records {
		if r.Position < d.Since {
			continue
		}
		task := r.Event.Source.Task
		d.Events = append(d.Events, affectedEvent{Position: r.Position, ID: r.Event.ID, Type: r.Event.Type.Short(), Task: task, Key: r.Event.SignKeyID})
		if task == "" {
			continue
		}
		i, ok := index[task]
		if !ok {
			i = len(d.Tasks)
			index[task] = i
			d.Tasks = append(d.Tasks, affectedTask{Task: task, Receipts: []string{}, Approvals: []string{}})
		}
		t := &d.Tasks[i]
		t.Events++
		switch r.Event.Type {
		case events.ReceiptRecorded:
			t.Receipts = append(t.Receipts, r.Event.ID)
		case events.ApprovalRecorded:
			t.Approvals = append(t.Approvals, r.Event.ID)
		}
	}
}

// affected writes for people what a key or an actor signed.
func (w *textWriter) affected(d affected) {
	w.line("%s signed %d events since position %d", d.Actor, len(d.Events), d.Since)
	rows := make([][]string, len(d.Tasks))
	for i, t := range d.Tasks {
		rows[i] = []string{t.Task, t.State.String(), fmt.Sprint(t.Events), fmt.Sprint(len(t.Receipts)), fmt.Sprint(len(t.Approvals))}
	}
	if len(rows) > 0 {
		w.table([]string{"TASK", "STATE", "EVENTS", "RECEIPTS", "APPROVALS"}, rows)
	}
	list := make([][]string, len(d.Events))
	for i, e := range d.Events {
		list[i] = []string{fmt.Sprint(e.Position), e.Type, first(e.Task, "-"), e.ID}
	}
	if len(list) > 0 {
		w.table([]string{"POSITION", "TYPE", "TASK", "EVENT"}, list)
	}
}
