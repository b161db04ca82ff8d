package cli

import (
	"fmt"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

// newTaskCommand builds "deed task".
func newTaskCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "task", Short: "List and show tasks"}
	cmd.AddCommand(newTaskListCommand(e, f), newTaskShowCommand(e, f))
	return cmd
}

// clipped bounds a text in a table's cell.
func clipped(s string) string {
	if runes := []rune(s); len(runes) > 60 {
		return string(runes[:59]) + "…"
	}
	return s
}

// when prints an admission stamp with its date.
func when(ns int64) string { return events.FormatStamp(ns) }

// waitsFor says in a few words for what and whom a task waits.
func waitsFor(w projections.Waiting) string {
	if w.For == "" {
		return ""
	}
	who := strings.Join(w.Actors, ", ")
	if who == "" {
		names := make([]string, len(w.Roles))
		for i, r := range w.Roles {
			names[i] = string(r)
		}
		who = strings.Join(names, " or ")
	}
	return w.For + " by " + who
}

// task writes a task's state for people.
func (w *textWriter) task(state protocol.TaskState) {
	t := state.Task
	w.line("task %s: %s since %s", t.ID, t.State, when(t.Since))
	if waiting := waitsFor(state.Waiting); waiting != "" {
		w.line("  waits for %s", waiting)
	}
	if c := t.Contract(); c != nil {
		w.line("  contract  %d, %s, to %s, quorum %d", c.Contract.Version, c.Contract.RiskTier, c.Contract.Target, c.Contract.Quorum)
		w.line("  goal      %s", c.Contract.Goal)
	} else if n := len(t.Contracts); n > 0 {
		w.line("  proposed  version %d by %s", t.Contracts[n-1].Contract.Version, t.Contracts[n-1].Actor)
		w.line("  goal      %s", t.Contracts[n-1].Contract.Goal)
	}
	if a := t.Attempt(); a != nil {
		w.line("  attempt   %s, of contract %d, from %s", a.ID, a.Contract.Version, a.Snapshot.BaseCommit)
	}
	if l := t.Lease; l != nil {
		w.line("  lease     %s, %s, fence %d, term %ds", l.Actor, string(l.Purpose), l.Fence, l.TermSeconds)
	}
	if r := t.Result; r != nil {
		w.line("  result    %s by %s", r.Data.Head, r.Actor)
		w.degraded(degradedBy(t))
	}
	w.line("  history   %s, head %s", counted(int(t.Sequence), "event"), t.Head)
	w.troubles(t)
	if len(state.Items) > 0 {
		w.line("")
		w.items(state.Items)
	}
	w.unpassed(t)
	w.effects(t.Effects)
	w.work(t)
}

// unpassed writes what did not pass in the newest receipt, until a result was
// proven or the task ended.
func (w *textWriter) unpassed(t *projections.Task) {
	n := len(t.Receipts)
	if n == 0 || t.State.Final() {
		return
	}
	r := t.Receipts[n-1]
	for _, c := range r.Data.Checks {
		if c.Outcome != events.OutcomePass {
			w.line("")
			w.line("receipt at position %d on %s by %s:", r.Position, short(r.Data.Head), r.Actor)
			w.failures(r.Data.Checks)
			return
		}
	}
}

// troubles writes what stops a task.
func (w *textWriter) troubles(t *projections.Task) {
	if t.Blocked != nil {
		w.line("  BLOCKED   at position %d: %s", t.Blocked.Position, t.Blocked.Reason)
	}
	if p := t.Pause; p != nil {
		w.line("  paused    by %s since %s: %s", p.Actor, when(p.Admitted), p.Reason)
	}
	if v := t.Violated(); v != nil {
		w.line("  outside   the result's tree is outside the boundary: %s, by %s", counted(len(v.Data.Paths), "path"), v.Actor)
	}
	for _, x := range t.Suspects {
		if !x.Settled {
			w.line("  suspect   %s at position %d was signed with a key that position %d calls compromised", x.Event, x.Position, x.By)
		}
	}
	if t.Escalation != nil && t.State == projections.Escalated {
		w.line("  escalated %s", t.Escalation.Reason)
		w.line("  next step %s", t.Escalation.NextStep)
	}
	if t.Repair != nil {
		stage := "waits for acceptance"
		if t.Repair.Accepted {
			stage = "accepted"
		}
		w.line("  repair    %s, %s: %s", t.Repair.Kind, stage, t.Repair.Reason)
	}
	if t.Stale() {
		w.line("  stale     the attempt works on an older contract")
	}
	if t.Cancelling {
		w.line("  cancelling as soon as the last open effect is settled")
	}
	for _, f := range t.Findings {
		if f.Open {
			w.line("  finding   %s %s by %s: %s (%s)", f.Data.Severity, f.Data.Rule, f.Actor, f.Data.Text, f.EventID)
		}
	}
}

func (w *textWriter) items(items []projections.Item) {
	rows := make([][]string, len(items))
	for i, item := range items {
		required := ""
		if item.Required {
			required = "required"
		}
		rows[i] = []string{item.ID, string(item.Status), required, clipped(item.Text)}
	}
	w.table([]string{"ITEM", "STATUS", "", "TEXT"}, rows)
}

func (w *textWriter) effects(effects []projections.Effect) {
	if len(effects) == 0 {
		return
	}
	w.line("")
	rows := make([][]string, len(effects))
	for i := range effects {
		e := &effects[i]
		rows[i] = []string{shortKey(e.Intent.Key), string(e.Intent.Kind), string(e.Status()), fmt.Sprint(len(e.Tries)), clipped(e.Intent.Target)}
	}
	w.table([]string{"EFFECT", "KIND", "STATUS", "TRIES", "TARGET"}, rows)
}
