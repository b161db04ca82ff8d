package cli

import (
	"context"
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/spf13/cobra"
)

// steering is a verb of "deed ledger" that steers the whole ledger.
type steering struct {
	use, short, long string
	// payload makes the data; task is "" where no argument names one.
	payload func(task, reason string) events.Payload
	// done is what is printed once it is written.
	done string
}

// steeringCommands builds the verbs that stop a ledger and let it go on.
func steeringCommands(e *Env, f *flags) []*cobra.Command {
	verbs := []steering{
		{"freeze --reason R", "Stop nearly every append", `Freeze the ledger: until deed ledger unfreeze it takes nothing but what only ends things
or takes rights away (ledger.unfrozen, quarantine.lifted, integrity.reported,
actor.revoked, key.compromised, attempt.interrupted) and facts: outcomes of effects,
findings, violations of the boundary.`,
			func(_, reason string) events.Payload { return &events.LedgerFreeze{Reason: reason} }, "the ledger is frozen"},
		{"unfreeze --reason R", "Let a frozen ledger go on", "Let a frozen ledger take events again.",
			func(_, reason string) events.Payload { return &events.LedgerThaw{Reason: reason} }, "the ledger is not frozen any more"},
		{"quarantine [TASK] --reason R", "Report that history is not what it was", `Report that the history of a task, or without TASK of the whole ledger, is not what it
was: it takes no event until deed ledger lift.`,
			func(task, reason string) events.Payload {
				return &events.Integrity{Extent: extentOf(task), Task: task, Reason: reason}
			}, "it takes no events"},
		{"lift [TASK] --reason R", "End a quarantine", `End the quarantine of a task, or without TASK of the ledger or its registry: a person
has looked, and the history is what it should be.`, nil, "it takes events again"},
	}
	cmds := make([]*cobra.Command, len(verbs))
	for i, v := range verbs {
		cmds[i] = v.command(e, f)
	}
	return cmds
}

func (v steering) command(e *Env, f *flags) *cobra.Command {
	var reason string
	most := 0
	if v.use[0] == 'q' || v.use[0] == 'l' {
		most = 1
	}
	cmd := &cobra.Command{
		Use: v.use, Short: v.short, Long: v.long, Args: cobra.MaximumNArgs(most),
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task := ""
			if len(args) > 0 {
				task = args[0]
			}
			if task != "" && !events.ValidTask(task) {
				return fmt.Errorf("%w: %q is no task name ([A-Za-z0-9][A-Za-z0-9_-]{0,63})", errUsage, task)
			}
			return s.steer(ctx, v, task, reason)
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, one line")
	return administers(cmd, f)
}

// steer appends what a verb says, while nobody else steers.
func (s *session) steer(ctx context.Context, v steering, task, reason string) error {
	var same steady
	ack, err := s.appendRegistry(ctx, s.author, func(a author) (events.Payload, error) {
		g := &a.registry
		frozen := "no"
		if g.Frozen != nil {
			frozen = g.Frozen.EventID
		}
		if err := same.hold("what stops the ledger", frozen, fmt.Sprint(len(g.Quarantines))); err != nil {
			return nil, err
		}
		if v.payload == nil {
			return liftOf(g, task, reason), nil
		}
		return v.payload(task, reason), nil
	})
	if err != nil {
		return err
	}
	return s.acked(ack, "%s", v.done)
}

func extentOf(task string) events.Extent {
	if task == "" {
		return events.ExtentLedger
	}
	return events.ExtentTask
}

// liftOf ends the quarantine of a task, else that of the ledger, else that of
// the registry.
func liftOf(g *projections.Registry, task, reason string) *events.Lift {
	l := &events.Lift{Extent: extentOf(task), Task: task, Reason: reason}
	if task == "" && !g.InQuarantine(events.ExtentLedger, "") && g.InQuarantine(events.ExtentRegistry, "") {
		l.Extent = events.ExtentRegistry
	}
	return l
}
