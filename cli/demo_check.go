package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// digests are what audit verify and replay say of the states that they came to.
type digests struct {
	Events  events.Position `json:"events"`
	Digests struct {
		Tasks map[string]string `json:"tasks"`
	} `json:"digests"`
	Tasks []struct {
		Task   string `json:"task"`
		Digest string `json:"digest"`
	} `json:"tasks"`
}

// audit verifies the whole history and folds it again: both must come to the
// state that the service shows.
func (d *demo) audit(ctx context.Context) error {
	d.heading("Anyone can check")
	t, err := d.task(ctx)
	if err != nil {
		return err
	}
	shown, err := t.Digest()
	if err != nil {
		return err
	}
	var found digests
	for _, args := range [][]string{{"audit", "verify"}, {"replay"}} {
		r, err := d.must(ctx, "owner", d.project, args...)
		if err != nil {
			return err
		}
		if err := r.decode(&found); err != nil {
			return err
		}
	}
	if len(found.Tasks) != 1 || found.Tasks[0].Digest != shown.String() || found.Digests.Tasks[demoTask] != shown.String() {
		return fmt.Errorf("%w: audit and replay come to another state than the service shows", errPromise)
	}
	d.report.Audit, d.report.Events = "ok", found.Events
	d.tell("auditor", "verifies every signature, link and head of %d events, and replays them to the same state", uint64(found.Events))
	return nil
}

// takeovers counts the work runs that another actor began than the one before.
func takeovers(t *projections.Task) int {
	n, last := 0, ""
	for _, r := range t.Runs {
		if r.Purpose != events.PurposeWork {
			continue
		}
		if last != "" && r.Actor != last {
			n++
		}
		last = r.Actor
	}
	return n
}

// check compares what happened with what was promised: it counts the outside
// world's lines itself.
func (d *demo) check(ctx context.Context) error {
	t, err := d.task(ctx)
	if err != nil {
		return err
	}
	d.report.State, d.report.Delivered = t.State, t.State == projections.Delivered
	d.report.Takeovers, d.report.Refusals = takeovers(t), d.refusals
	end, kinds := projections.Delivered, []events.EffectKind{events.EffectPreview}
	if d.escalates() {
		end = projections.Escalated
	}
	if d.point.name == "mid-release" {
		kinds = append(kinds, events.EffectProductionDeploy)
	}
	var broken []string
	if t.State != end {
		broken = append(broken, fmt.Sprintf("the task is %s, not %s", t.State, end))
	}
	if len(t.Effects) != len(kinds) {
		broken = append(broken, fmt.Sprintf("%d effects, not %d", len(t.Effects), len(kinds)))
	}
	for n, kind := range kinds[:min(len(kinds), len(t.Effects))] {
		wrong, err := d.checkEffect(&t.Effects[n], kind)
		if err != nil {
			return err
		}
		broken = append(broken, wrong...)
	}
	if len(broken) > 0 {
		return fmt.Errorf("%w: %s", errPromise, strings.Join(broken, "; "))
	}
	return nil
}

// checkEffect compares an effect with the outside world and says what is
// wrong.
func (d *demo) checkEffect(e *projections.Effect, kind events.EffectKind) (broken []string, err error) {
	lines, err := readWorld(d.worldOf(kind))
	if err != nil {
		return nil, err
	}
	d.report.EffectsExecuted += len(lines)
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			broken = append(broken, string(kind)+": "+fmt.Sprintf(format, args...))
		}
	}
	last := kind == events.EffectPreview == (d.point.name != "mid-release") // the effect of the kill
	if !d.escalates() || !last {
		expect(len(lines) == 1, "the outside world changed %d times, not once", len(lines))
		expect(e.Status() == projections.StatusConfirmed, "the effect is %s", e.Status())
	} else {
		expect((len(lines) == 1) == d.point.acted && len(lines) <= 1, "the outside world changed %d times", len(lines))
		expect(e.Status() == projections.StatusDispatched, "the effect is %s", e.Status())
	}
	if len(lines) == 1 && len(e.Tries) > 0 {
		newest := e.Tries[len(e.Tries)-1]
		expect(lines[0].Key == e.Intent.Key && lines[0].Token == newest.Token && lines[0].Commit == e.Intent.Commit, "the outside world's line is not that of the effect")
	}
	tries := 1
	if d.point.name == "inside-before-act" && !d.noProbe {
		tries = 2
	}
	expect(len(e.Tries) == tries, "%d tries, not %d", len(e.Tries), tries)
	return broken, nil
}
