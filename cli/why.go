package cli

import (
	"context"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

// whyData is the data of "deed why".
type whyData struct {
	Task     string              `json:"task"`
	State    projections.State   `json:"state"`
	Since    int64               `json:"since,string"`
	Position events.Position     `json:"position"`
	Waiting  projections.Waiting `json:"waiting_on"`
	// OpenEffects are the keys of effects that nobody has settled.
	OpenEffects []string                `json:"openEffects"`
	Findings    []projections.Finding   `json:"findings"` // open ones
	Blocked     *projections.Block      `json:"blocked,omitempty"`
	Escalation  *projections.Escalation `json:"escalation,omitempty"`
	Repair      *projections.Repair     `json:"repair,omitempty"`
	Stale       bool                    `json:"stale"`
	Unproven    []projections.Item      `json:"unproven"` // items without a pass
	// Next is what may happen now, and by whom.
	Next []ledger.NextEvent `json:"next"`
}

// newWhyCommand builds "deed why".
func newWhyCommand(e *Env, f *flags) *cobra.Command {
	return &cobra.Command{
		Use: "why [TASK]", Short: "Say why a task does not go on, and what may happen next", Args: cobra.MaximumNArgs(1),
		Long: `Say where a task stands, whom it waits for, what stops it, and which events are legal
now, and by whom. An event that is listed can still be refused for what it says.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			state, err := s.existing(ctx, task)
			if err != nil {
				return err
			}
			return s.result("why", whyOf(state), func(w *textWriter) { w.why(state) })
		}),
	}
}

// whyOf picks what stops and what moves a task.
func whyOf(state protocol.TaskState) whyData {
	t := state.Task
	d := whyData{
		Task: t.ID, State: t.State, Since: t.Since, Position: state.Position, Waiting: state.Waiting, OpenEffects: append([]string{}, t.OpenEffects()...),
		Findings: []projections.Finding{}, Blocked: t.Blocked, Repair: t.Repair, Stale: t.Stale(), Unproven: []projections.Item{}, Next: state.Next,
	}
	if t.State == projections.Escalated {
		d.Escalation = t.Escalation
	}
	for _, f := range t.Findings {
		if f.Open {
			d.Findings = append(d.Findings, f)
		}
	}
	for _, item := range state.Items {
		if item.Status != projections.ItemPass {
			d.Unproven = append(d.Unproven, item)
		}
	}
	return d
}

// why writes what stops and what moves a task, for people.
func (w *textWriter) why(state protocol.TaskState) {
	t, d := state.Task, whyOf(state)
	w.line("task %s is %s since %s", t.ID, t.State, when(t.Since))
	if waiting := waitsFor(d.Waiting); waiting != "" {
		w.line("  waits for %s; answerable: %s; until %s", waiting, first(d.Waiting.Owner, "nobody yet"), when(d.Waiting.Deadline))
	}
	w.troubles(t)
	for _, key := range d.OpenEffects {
		e := t.Effect(key)
		w.line("  effect    %s %s is %s: nobody knows it to be settled", string(e.Intent.Kind), key, string(e.Status()))
	}
	for _, item := range d.Unproven {
		w.line("  unproven  %s is %s: %s", item.ID, string(item.Status), item.Text)
	}
	if len(d.Next) == 0 {
		w.line("nothing may happen next")
		return
	}
	w.line("what may happen next:")
	rows := make([][]string, len(d.Next))
	for i, n := range d.Next {
		moves, by := "", n.By
		if n.Moves {
			moves = "moves on"
		}
		if n.Note != "" {
			by += " (" + n.Note + ")"
		}
		rows[i] = []string{"  " + n.Event, moves, by}
	}
	w.table([]string{"  EVENT", "", "BY"}, rows)
}
