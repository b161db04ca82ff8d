package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/projections"
	"github.com/spf13/cobra"
)

// watching is what "deed watch" looks for.
type watching struct {
	task  string
	since int64 // position, -1 for now
	until string
	count uint64
}

// errEnough ends a watch.
var errEnough = errors.New("enough")

// newWatchCommand builds "deed watch".
func newWatchCommand(e *Env, f *flags) *cobra.Command {
	var o watching
	cmd := &cobra.Command{
		Use: "watch [TASK]", Short: "Follow the events of the ledger, or of a task", Args: cobra.MaximumNArgs(1),
		Long: `Print events as they are appended, until interrupted. With -o json it is one object
per line. --since begins after a position that was seen before; 0 begins at the
first event. Interruptions of the service are outlived.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := taskFilter(args)
			if err != nil {
				return err
			}
			o.task = task
			return s.watch(ctx, o)
		}),
	}
	fs := cmd.Flags()
	fs.Int64Var(&o.since, "since", -1, "begin after this position; default: now")
	fs.StringVar(&o.until, "until", "", "end once TASK is in this state")
	fs.Uint64Var(&o.count, "count", 0, "end after this many events; 0 for no limit")
	return cmd
}

// check refuses what cannot be watched.
func (o watching) check() error {
	if o.since < -1 {
		return fmt.Errorf("%w: --since %d is no position", errUsage, o.since)
	}
	if o.until == "" {
		return nil
	}
	if o.task == "" {
		return fmt.Errorf("%w: --until needs a TASK", errUsage)
	}
	if !slices.Contains(projections.States()[1:], projections.State(o.until)) {
		names := make([]string, 0, 16)
		for _, state := range projections.States()[1:] {
			names = append(names, state.String())
		}
		return fmt.Errorf("%w: --until %q is no state: %s", errUsage, o.until, strings.Join(names, ", "))
	}
	return nil
}

func (s *session) watch(ctx context.Context, o watching) error {
	if err := o.check(); err != nil {
		return err
	}
	c, err := s.dial()
	if err != nil {
		return err
	}
	r, err := c.Reader(ctx)
	if err != nil {
		return err
	}
	err = s.follow(ctx, r, o)
	if errors.Is(err, errEnough) || errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil // asked for, or interrupted by whoever watches
	}
	return errors.Join(err, r.Close())
}

// follow prints events until enough were seen. To know the task's state after
// each event it folds the log from the start: the service may be ahead of, or
// behind, what is read here.
func (s *session) follow(ctx context.Context, r journal.Reader, o watching) error {
	tip, err := r.Last(ctx)
	if err != nil {
		return err
	}
	since := tip
	if o.since >= 0 {
		since = events.Position(o.since)
	}
	genesis, err := events.ParseHash(s.folder.Identity)
	if err != nil {
		return fmt.Errorf("read %s: %w", s.folder.Dir, err)
	}
	from, folded := since+1, projections.NewTask(s.folder.Ledger, o.task, genesis)
	if o.until != "" {
		from = 1
	}
	printed := uint64(0)
	return r.Follow(ctx, from, func(stored journal.Record) error {
		record, err := openRecord(stored)
		if err != nil {
			return err
		}
		mine := o.task == "" || record.Event.Source.Task == o.task
		if mine && o.until != "" {
			if err := folded.Apply(record); err != nil {
				return fmt.Errorf("%w: position %d: %w", journal.ErrCorrupt, record.Position, err)
			}
		}
		if mine && record.Position > since {
			if err := s.entry(record); err != nil {
				return err
			}
			printed++
		}
		reached := o.until != "" && record.Position >= tip && folded.State == projections.State(o.until)
		if reached || o.count > 0 && printed == o.count {
			return errEnough
		}
		return nil
	})
}
