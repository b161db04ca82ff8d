package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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

// Why following ends.
var (
	errEnough = errors.New("enough")
	errMoved  = errors.New("service moved")
)

// movedStep is how often a watch looks whether the service moved.
const movedStep = 250 * time.Millisecond

// newWatchCommand builds "deed watch".
func newWatchCommand(e *Env, f *flags) *cobra.Command {
	var o watching
	cmd := &cobra.Command{
		Use: "watch [TASK]", Short: "Follow the events of the ledger, or of a task", Args: cobra.MaximumNArgs(1),
		Long: `Print events as they are appended, until interrupted. With -o json it is one object
per line. --since begins after a position that was seen before; 0 begins at the
first event. A service that stops and comes up again is followed.`,
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
	fs.StringVar(&o.until, "until", "", "end once TASK is in this state: "+either(projections.States()[1:]))
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
		return choose("--until", projections.State(o.until), projections.States()[1:])
	}
	return nil
}

// follower is a watch under way.
type follower struct {
	watching
	since   events.Position // newest position that needs no printing
	tip     events.Position // last position when the watch began
	printed uint64
}

func (s *session) watch(ctx context.Context, o watching) error {
	if err := o.check(); err != nil {
		return err
	}
	c, err := s.dial()
	if err != nil {
		return err
	}
	if o.task != "" {
		state, err := s.task(ctx, o.task)
		if err != nil {
			return err
		}
		if state.Task.Sequence == 0 {
			s.note("there is no task %s yet: waiting for it", o.task)
		}
	}
	r, err := c.Reader(ctx)
	if err != nil {
		return err
	}
	w := &follower{watching: o}
	w.tip, err = r.Last(ctx)
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	w.since = w.tip
	if o.since >= 0 {
		if events.Position(o.since) > w.tip {
			return fmt.Errorf("%w: --since %d lies after the ledger's last position %d", errUsage, o.since, w.tip)
		}
		w.since = events.Position(o.since)
	}
	for {
		err := s.followHere(ctx, func(here context.Context, r journal.Reader) error { return s.follow(here, r, w) })
		switch {
		case errors.Is(err, errEnough), errors.Is(err, context.Canceled) && ctx.Err() != nil:
			return nil // asked for, or interrupted by whoever watches
		case !errors.Is(err, errMoved) && classify(err).exit != ExitUnavailable:
			return err
		}
		if err := s.redial(ctx); err != nil {
			return nil // interrupted while nothing ran
		}
	}
}

// followHere follows until enough was seen, or until another service than the
// one that is connected says where it listens: errMoved.
func (s *session) followHere(ctx context.Context, follow func(context.Context, journal.Reader) error) error {
	here, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	url := s.url
	go func() {
		tick := time.NewTicker(movedStep)
		defer tick.Stop()
		for {
			select {
			case <-here.Done():
				return
			case <-tick.C:
			}
			if running, err := s.folder.Running(); err == nil && running.URL != url {
				cancel(errMoved)
			}
		}
	}()
	r, err := s.client.Reader(here)
	if err == nil {
		err = errors.Join(follow(here, r), r.Close())
	}
	if err != nil && errors.Is(context.Cause(here), errMoved) && !errors.Is(err, errEnough) {
		return errMoved
	}
	return err
}

// redial connects to whatever service comes up; an error means that ctx ended.
func (s *session) redial(ctx context.Context) error {
	tick := time.NewTicker(movedStep)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		s.close()
		s.client = nil
		if _, err := s.dial(); err == nil {
			return nil
		}
	}
}

// follow prints events until enough were seen. To know the task's state after
// each event it folds the log from the start: the service may be ahead of, or
// behind, what is read here.
func (s *session) follow(ctx context.Context, r journal.Reader, w *follower) error {
	from, folded := w.since+1, projections.NewLedger(s.folder.Ledger)
	if w.until != "" {
		from = 1
	}
	return r.Follow(ctx, from, func(stored journal.Record) error {
		record, err := openRecord(stored)
		if err != nil {
			return err
		}
		mine := w.task == "" || record.Event.Source.Task == w.task
		if w.until != "" { // a compromised key moves tasks too
			if err := folded.Apply(record); err != nil && mine {
				return fmt.Errorf("%w: position %d: %w", journal.ErrCorrupt, record.Position, err)
			}
		}
		if record.Position > w.since {
			w.since = record.Position
			if mine {
				w.printed++
				if err := s.entry(record, record.Position); err != nil {
					return err
				}
			}
		}
		reached := w.until != "" && record.Position >= w.tip && folded.Task(w.task).State == projections.State(w.until)
		if reached || w.count > 0 && w.printed == w.count {
			return errEnough
		}
		return nil
	})
}
