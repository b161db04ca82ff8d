package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
	"github.com/spf13/cobra"
)

// entry is one event of a log, as one line.
type entry struct {
	Position events.Position `json:"position"`
	Admitted int64           `json:"admitted,string"` // ns
	Type     events.Type     `json:"type"`
	Task     string          `json:"task,omitzero"`
	Actor    string          `json:"actor"`
	Subject  string          `json:"subject,omitzero"`
	Fence    uint64          `json:"fence,omitzero"`
	ID       string          `json:"id"`
	Hash     string          `json:"hash"`
	Text     string          `json:"text"` // what it says, in a few words
}

// newLogCommand builds "deed log".
func newLogCommand(e *Env, f *flags) *cobra.Command {
	var o logged
	cmd := &cobra.Command{
		Use: "log [TASK]", Short: "Print the events of the ledger, or of a task, in order", Args: cobra.MaximumNArgs(1),
		Long: `Print the events of the ledger, or of one task, in order of their positions. With
-o json it is one object per line. --since leaves off what was seen before, --limit
what comes after so many events. Signatures are not checked here: deed audit verify
does. Where no service runs the stopped folder is read.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := taskFilter(args)
			if err != nil {
				return err
			}
			o.task = task
			return s.log(ctx, o)
		}),
	}
	cmd.Flags().Uint64Var(&o.since, "since", 0, "begin after this position")
	cmd.Flags().Uint64Var(&o.limit, "limit", 0, "end after this many events; 0 for no limit")
	return cmd
}

// logged is what "deed log" prints.
type logged struct {
	task  string // "" for all
	since uint64 // position
	limit uint64 // events, 0 for all
}

// taskFilter returns the task that events must be of, "" for any.
func taskFilter(args []string) (string, error) {
	if len(args) == 0 {
		return "", nil
	}
	if !events.ValidTask(args[0]) {
		return "", fmt.Errorf("%w: %q is no task name", errUsage, args[0])
	}
	return args[0], nil
}

func (s *session) log(ctx context.Context, o logged) error {
	if o.since >= 1<<53 {
		return fmt.Errorf("%w: --since %d is no position", errUsage, o.since)
	}
	r, _, err := s.history(ctx)
	if err != nil {
		return err
	}
	found, printed := false, uint64(0)
	last, err := r.Last(ctx)
	if err != nil {
		return errors.Join(err, r.Close())
	}
	err = r.Replay(ctx, 1, func(stored journal.Record) error {
		record, err := openRecord(stored)
		if err != nil || o.task != "" && record.Event.Source.Task != o.task {
			return err
		}
		found = true
		switch {
		case uint64(record.Position) <= o.since:
			return nil
		case o.limit > 0 && printed == o.limit, record.Position > last:
			return errEnough
		}
		printed++
		return s.entry(record, last)
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	if err == nil && !found && o.task != "" {
		err = fmt.Errorf("%w: there is no task %q", errMissing, o.task)
	}
	if err == nil {
		s.note("as of position %d", last)
	}
	return errors.Join(err, r.Close())
}

// entry prints one event as one line, of a list that reflects a position.
func (s *session) entry(r events.Record, at events.Position) error {
	e := r.Event
	d := entry{
		Position: r.Position, Admitted: r.Admitted, Type: e.Type, Task: e.Source.Task, Actor: e.AuthID, Subject: e.Subject,
		Fence: e.Fence, ID: e.ID, Hash: e.Hash().String(), Text: describe(e),
	}
	if s.json {
		return s.answer(at, "event", d, nil)
	}
	return s.item("event", d, func(w *textWriter) {
		w.line("%6d  %s  %-24s %-12s %-12s %s", d.Position, when(d.Admitted), d.Type.Short(), first(d.Task, "registry"), d.Actor, d.Text)
	})
}
