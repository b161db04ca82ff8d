package cli

import (
	"context"
	"fmt"

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
	// Overdue is how many whole terms the task has waited; 0 before its
	// deadline.
	Overdue int64 `json:"overdue,omitzero"`
	// OpenEffects are the keys of effects that nobody has settled.
	OpenEffects []string                `json:"openEffects"`
	Findings    []projections.Finding   `json:"findings"` // open ones
	Blocked     *projections.Block      `json:"blocked,omitempty"`
	Escalation  *projections.Escalation `json:"escalation,omitempty"`
	Repair      *projections.Repair     `json:"repair,omitempty"`
	Stale       bool                    `json:"stale"`
	Unproven    []projections.Item      `json:"unproven"` // items without a pass
	// Moves are the commands that lead on, Barred those of them that everybody
	// who could give them is forbidden; You are the caller's.
	Moves  []move       `json:"moves"`
	Barred []barredMove `json:"barred"`
	You    *yourMoves   `json:"you,omitempty"`
	// Next is all that is legal now, and by whom.
	Next []ledger.NextEvent `json:"next"`
}

// whyOptions say how much deed why prints, and when.
type whyOptions struct {
	all bool
	now int64 // unix ns
	// registry is what moves are held against, nil for the table alone; you is
	// an actor to answer to, "" for none.
	registry *projections.Registry
	you      string
}

// newWhyCommand builds "deed why".
func newWhyCommand(e *Env, f *flags) *cobra.Command {
	var o whyOptions
	cmd := &cobra.Command{
		Use: "why [TASK]", Short: "Say why a task does not go on, and what may happen next", Args: cobra.MaximumNArgs(1),
		Long: `Say where a task stands, which commands lead on and who may give them, whom it waits
for, and what stops it. A command that the policy in force forbids to everybody who could
give it is named as such, with the policy. --as ACTOR says which of them that actor may
give; no key is read. --all adds every event that is legal now, and by whom. What is
listed can still be refused for what it says.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			state, err := s.existing(ctx, task)
			if err != nil {
				return err
			}
			o := whyOptions{all: o.all, now: e.Now().UnixNano(), you: s.claimedName()}
			if o.registry, err = s.registry(ctx); err != nil {
				return err
			}
			if r := state.Task.Reserved; r != nil && o.now >= r.Until {
				state.Waiting.Actors = nil // the reservation is over; the log has no event of that
			}
			d, p := whyOf(state), prospectsOf(state, o)
			d.Moves, d.Barred, d.You = p.open, p.barred, p.you
			d.Overdue = state.Task.Overdue(o.now)
			return s.answer(state.Position, "why", d, func(w *textWriter) { w.why(state, o) })
		}),
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "list every event that is legal now")
	return cmd
}

// whyOf picks what stops and what moves a task.
func whyOf(state protocol.TaskState) whyData {
	t := state.Task
	d := whyData{
		Task: t.ID, State: t.State, Since: t.Since, Position: state.Position, Waiting: state.Waiting, OpenEffects: append([]string{}, t.OpenEffects()...),
		Findings: []projections.Finding{}, Blocked: t.Blocked, Repair: t.Repair, Stale: t.Stale(), Unproven: []projections.Item{}, Moves: movesOf(state), Barred: []barredMove{}, Next: state.Next,
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

// why writes what moves a task and what stops it, for people: first the
// commands that lead on.
func (w *textWriter) why(state protocol.TaskState, o whyOptions) {
	t, d, p := state.Task, whyOf(state), prospectsOf(state, o)
	w.line("task %s is %s since %s", t.ID, t.State, when(t.Since))
	switch {
	case t.State.Final():
		w.line("it has ended: nothing is waited for")
	case t.Blocked == nil && len(p.open) == 0:
		w.line("nothing that leads on is legal now")
	}
	w.prospects(p)
	if waiting := waitsFor(d.Waiting); waiting != "" {
		w.line("  waits for %s; answerable: %s; until %s%s", waiting, first(d.Waiting.Owner, "nobody yet"), when(d.Waiting.Deadline), overdue(t.Overdue(o.now)))
	}
	if r := t.Reserved; r != nil && o.now < r.Until {
		w.line("  reserved  for %s until %s: nobody else may claim", r.To, when(r.Until))
	}
	w.troubles(t)
	for _, key := range d.OpenEffects {
		e := t.Effect(key)
		w.line("  effect    %s %s, key %s, is %s: it blocks result, new attempt and delivery until it is settled", string(e.Intent.Kind), e.Intent.Target, shortKey(key), string(e.Status()))
	}
	if !t.State.Final() {
		for _, item := range d.Unproven {
			w.line("  unproven  %s is %s: %s", item.ID, string(item.Status), item.Text)
		}
	}
	if !o.all {
		w.line("everything that is legal now: deed why %s --all", t.ID)
		return
	}
	w.legal(state)
}

// legal writes every row of the authority table that is legal now.
func (w *textWriter) legal(state protocol.TaskState) {
	w.line("what is legal now:")
	rows := make([][]string, len(state.Next))
	for i, n := range state.Next {
		moves, by := "", n.By
		if n.Moves {
			moves = "moves on"
		}
		if n.Note != "" && applies(n.Event, state.Task) {
			by += " (" + n.Note + ")"
		}
		rows[i] = []string{"  " + n.Event, moves, by}
	}
	w.table([]string{"  EVENT", "", "BY"}, rows)
}

// overdue says that a deadline has passed, in how many terms.
func overdue(terms int64) string {
	switch {
	case terms == 0:
		return ""
	case terms == 1:
		return ", overdue"
	}
	return fmt.Sprintf(", overdue: %d terms have passed", terms)
}
