package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

// stuckDefault is the silence of --stuck without a duration.
const stuckDefault = 30 * time.Minute

// taskFilters are the filters of "deed task list" as they were typed. All
// that are set must match.
type taskFilters struct {
	states    []string
	actor     string
	waitingOn string
	stuck     string
	commit    string
	risk      string
	since     string
}

// taskSieve are checked filters.
type taskSieve struct {
	taskFilters
	silence time.Duration // of --stuck, 0 without
	after   int64         // of --since, unix ns
}

// newTaskListCommand builds "deed task list".
func newTaskListCommand(e *Env, f *flags) *cobra.Command {
	var o taskFilters
	cmd := &cobra.Command{
		Use: "list", Short: "List tasks and whom they wait for", Args: cobra.NoArgs,
		Long: `List tasks, where they stand and whom they wait for. Filters can be combined: what is
listed matches all of them.

A task is stuck when somebody holds its lease and has recorded nothing for the given
time, by the service's clock, or when the deadline of its state has passed. Heartbeats
are no record. Nothing is taken from anybody because of it: ask the holder, or interrupt
the attempt as a controller.`,
		RunE: e.action(f, func(ctx context.Context, s *session, _ []string) error { return s.listTasks(ctx, o) }),
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&o.states, "state", nil, "in one of these states: "+either(projections.States()[1:]))
	fs.StringVar(&o.actor, "actor", "", "whose lease this actor holds, or in whose work it took part")
	fs.StringVar(&o.waitingOn, "waiting-on", "", "that wait for this role, or for this actor")
	fs.StringVar(&o.stuck, "stuck", "", "with a lease whose holder has recorded nothing for so long, 30m unless --stuck=1h says another time, or past its deadline")
	fs.Lookup("stuck").NoOptDefVal = stuckDefault.String()
	fs.StringVar(&o.commit, "commit", "", "whose base, result or delivery is this commit; at least 7 digits")
	fs.StringVar(&o.risk, "risk", "", "whose contract has this risk tier: "+either(riskTiers()))
	fs.StringVar(&o.since, "since", "", "in which something happened since then: a duration such as 2h, or a time such as 2026-01-31T09:00:00Z")
	return cmd
}

// riskTiers are those that a contract can have.
func riskTiers() []string { return []string{"read-only", "code", "preview", "production"} }

func (s *session) listTasks(ctx context.Context, o taskFilters) error {
	sieve, err := o.check()
	if err != nil {
		return err
	}
	c, err := s.dial()
	if err != nil {
		return err
	}
	tasks, err := c.Tasks(ctx)
	if err != nil {
		return err
	}
	if err := s.knowsActors(ctx, o); err != nil {
		return err
	}
	if sieve.after, err = o.after(tasks.Clock); err != nil {
		return err
	}
	tasks.Tasks = slices.DeleteFunc(tasks.Tasks, func(t protocol.Summary) bool { return !sieve.lets(t, tasks.Clock) })
	return s.answer(tasks.Position, "tasks", tasks, func(w *textWriter) {
		rows := make([][]string, len(tasks.Tasks))
		for i, t := range tasks.Tasks {
			rows[i] = []string{t.Task, t.State.String(), t.Attempt, t.Actor, waitsFor(t.Waiting) + overdue(t.Overdue), clipped(t.Goal)}
		}
		w.table([]string{"TASK", "STATE", "ATTEMPT", "LEASE", "WAITS FOR", "GOAL"}, rows)
	})
}

// check refuses values that no task can have, and names those that it can.
func (o taskFilters) check() (taskSieve, error) {
	sieve := taskSieve{taskFilters: o}
	for _, state := range o.states {
		if err := choose("--state", projections.State(state), projections.States()[1:]); err != nil {
			return sieve, err
		}
	}
	if o.risk != "" {
		if err := choose("--risk", o.risk, riskTiers()); err != nil {
			return sieve, err
		}
	}
	if o.stuck != "" {
		d, err := time.ParseDuration(o.stuck)
		if err != nil || d <= 0 {
			return sieve, fmt.Errorf("%w: --stuck %q, want a duration such as %v", errUsage, o.stuck, stuckDefault)
		}
		sieve.silence = d
	}
	digits := strings.Trim(o.commit, "0123456789abcdef")
	if n := len(o.commit); o.commit != "" && (digits != "" || n < 7 || n > 64) {
		return sieve, fmt.Errorf("%w: --commit %q, want 7 to 64 digits of a commit's id, 0-9 and a-f", errUsage, o.commit)
	}
	for flag, name := range map[string]string{"--actor": o.actor, "--waiting-on": o.waitingOn} {
		if name != "" && !events.ValidActor(name) {
			return sieve, fmt.Errorf("%w: %s %q is no actor name", errUsage, flag, name)
		}
	}
	_, err := o.after(0)
	return sieve, err
}

// after returns the stamp that --since means at an instant of the service's
// clock, 0 without the flag.
func (o taskFilters) after(clock int64) (int64, error) {
	if o.since == "" {
		return 0, nil
	}
	if d, err := time.ParseDuration(o.since); err == nil && d >= 0 {
		return clock - int64(d), nil
	}
	for _, form := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(form, o.since); err == nil && at.Year() > 1970 && at.Year() < 2200 {
			return at.UnixNano(), nil
		}
	}
	return 0, fmt.Errorf("%w: --since %q, want a duration such as 2h, or a time such as 2026-01-31T09:00:00Z or 2026-01-31", errUsage, o.since)
}

// knowsActors refuses the name of somebody whom the ledger does not know: an
// empty list would look like an answer.
func (s *session) knowsActors(ctx context.Context, o taskFilters) error {
	role := slices.Contains(events.Roles(), events.Role(o.waitingOn))
	if o.actor == "" && (o.waitingOn == "" || role) {
		return nil
	}
	g, err := s.registry(ctx)
	if err != nil {
		return err
	}
	names := make([]string, len(g.Actors))
	for i, a := range g.Actors {
		names[i] = a.Name
	}
	if o.actor != "" {
		if err := choose("--actor", o.actor, names); err != nil {
			return err
		}
	}
	if o.waitingOn == "" || role {
		return nil
	}
	for _, r := range events.Roles() {
		names = append(names, string(r))
	}
	return choose("--waiting-on", o.waitingOn, names)
}

// lets reports whether a task passes every filter.
func (v taskSieve) lets(t protocol.Summary, clock int64) bool {
	silent := t.Heard != 0 && clock-t.Heard >= int64(v.silence)
	begins := func(commit string) bool { return strings.HasPrefix(commit, v.commit) }
	switch {
	case len(v.states) > 0 && !slices.Contains(v.states, string(t.State)),
		v.actor != "" && t.Actor != v.actor && !slices.Contains(t.Actors, v.actor),
		v.waitingOn != "" && !waitsOn(t.Waiting, v.waitingOn),
		v.silence > 0 && !silent && t.Overdue == 0,
		v.commit != "" && !slices.ContainsFunc(t.Commits, begins),
		v.risk != "" && t.Risk != v.risk,
		t.Admitted < v.after:
		return false
	}
	return true
}

// waitsOn reports whether a task waits for a role, or for an actor by name.
func waitsOn(w projections.Waiting, name string) bool {
	return slices.Contains(w.Roles, events.Role(name)) || slices.Contains(w.Actors, name)
}
