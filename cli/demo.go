package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/spf13/cobra"
)

// newDemoCommand builds "deed demo".
func newDemoCommand(e *Env, f *flags) *cobra.Command {
	d := &demo{env: e, worker: "impl-a", controller: "control-1", verifier: "verify-1", operator: "op-1"}
	var keep, at string
	cmd := &cobra.Command{
		Use: "demo", Short: "Show one task, a crash after its effect, and a safe takeover", Args: cobra.NoArgs,
		Long: `Plays one task on a real git repository and a ledger of its own, in a temporary
folder; it needs Go and git. Every action is a separate process with its own key.
An implementer publishes a preview and is killed with SIGKILL after the call acted
and before its outcome was recorded. A controller recovers, another implementer
takes over, somebody else runs the real test, a person approves, an operator
delivers; then the history is verified and replayed.

The keys of all actors lie in one folder here, since one person plays them all; in
real use each key stays where its actor runs.

With --kill-at another process is killed, or the same one elsewhere: always by a
real SIGKILL, while it stands still exactly there. Others go on by the same
commands as ever until the task is delivered. The points, and what is expected:

` + pointHelp() + `
At every point the outside world changes exactly once. With --no-probe, where a
call was under way at the kill, nobody can know whether it acted: the task is
escalated to a person, and nothing is called again.

Exit code 1 means that a promise was broken.`,
		RunE: e.action(f, func(ctx context.Context, s *session, _ []string) (err error) {
			d.printer = s.printer
			if d.point, err = findPoint(at); err != nil {
				return err
			}
			return d.run(ctx, keep)
		}),
	}
	cmd.Flags().StringVar(&at, "kill-at", defaultPoint, "the point at which a process is killed")
	cmd.Flags().BoolVar(&d.noProbe, "no-probe", false, "ask no probe in recovery: nobody can know, so a person has to decide")
	cmd.Flags().StringVar(&keep, "keep", "", "play in this new folder and leave everything there")
	return cmd
}

// demo is one performance.
type demo struct {
	*printer
	env     *Env
	noProbe bool
	keep    bool
	point   killPoint

	// Whoever has this role now: the first one, or who took the place of one
	// that was killed.
	worker, controller, verifier, operator string

	dir     string // of the performance
	ledger  string // the ledger's folder
	project string // worktree of the branch main
	work    string // worktree of the task's branch
	world   string // file that stands for the outside world
	goCache string
	began   time.Time

	refusals []demoRefusal
	report   demoReport
}

// demoRefusal is something that the ledger did not allow.
type demoRefusal struct {
	Actor string      `json:"actor"`
	Tried string      `json:"tried"`
	Rule  string      `json:"rule"`
	Code  ledger.Code `json:"code"`
	Text  string      `json:"text"`
}

// demoReport is the result of "deed demo".
type demoReport struct {
	Delivered       bool              `json:"delivered"`
	State           projections.State `json:"state"`
	Decision        string            `json:"decision"`
	KillAt          string            `json:"kill_at"`
	Killed          int               `json:"killed"`
	EffectsExecuted int               `json:"effects_executed"`
	Takeovers       int               `json:"takeovers"`
	Events          events.Position   `json:"events"`
	Audit           string            `json:"audit"`
	Refusals        []demoRefusal     `json:"refusals"`
	Milliseconds    int64             `json:"ms"`
	Dir             string            `json:"dir,omitzero"` // with --keep
}

// run plays the demo and leaves nothing behind, on whatever way it ends.
func (d *demo) run(ctx context.Context, keep string) (err error) {
	if err := d.place(keep); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.clean(ctx)) }()
	if err := os.Mkdir(d.temp(), 0o700); err != nil {
		return fmt.Errorf("make folder of the demo: %w", err)
	}
	d.began, d.report.KillAt = d.env.Now(), d.point.name
	for _, act := range d.acts() {
		if err := act(ctx); err != nil {
			return err
		}
	}
	d.report.Milliseconds = d.env.Now().Sub(d.began).Milliseconds()
	return d.result("demo", d.report, d.finish)
}

// place makes the folders.
func (d *demo) place(keep string) (err error) {
	d.keep = keep != ""
	if d.keep {
		d.dir = keep
		if !filepath.IsAbs(keep) {
			d.dir = filepath.Join(d.env.Dir, keep)
		}
		if err := os.Mkdir(d.dir, 0o700); err != nil {
			return withHint(fmt.Errorf("make folder of the demo: %w", err), "--keep names a new folder, in one that is there")
		}
		d.report.Dir = d.dir
	} else if d.dir, err = os.MkdirTemp("", "deed-demo-"); err != nil {
		return fmt.Errorf("make folder of the demo: %w", err)
	}
	d.ledger, d.project = filepath.Join(d.dir, "ledger"), filepath.Join(d.dir, "project")
	d.work, d.world = filepath.Join(d.dir, "work"), filepath.Join(d.dir, "outside-world")
	return nil
}

// tell prints who does what.
func (d *demo) tell(who, format string, args ...any) {
	if d.json {
		return
	}
	fmt.Fprintf(d.out, "%5.1fs  %-9s  %s\n", d.env.Now().Sub(d.began).Seconds(), plain(who), plain(fmt.Sprintf(format, args...)))
}

// answer prints what came of it.
func (d *demo) answer(format string, args ...any) {
	if d.json {
		return
	}
	fmt.Fprintf(d.out, "                     %s\n", plain(fmt.Sprintf(format, args...)))
}

// heading prints what comes next.
func (d *demo) heading(text string) {
	if !d.json {
		fmt.Fprintf(d.out, "\n%s\n", text)
	}
}

// refused runs a command that the ledger must refuse, and keeps why.
func (d *demo) refused(ctx context.Context, actor, tried string, args ...string) error {
	r, err := d.deed(ctx, actor, d.work, args...)
	if err != nil {
		return err
	}
	refusal := r.failure().Refusal
	if r.exit == 0 || refusal == nil {
		return fmt.Errorf("%w: %s was not refused: %s (exit %d)", errPromise, actor, tried, r.exit)
	}
	d.refusals = append(d.refusals, demoRefusal{actor, tried, refusal.Rule, refusal.Code, refusal.Text})
	d.answer("refused by %s: %s", refusal.Rule, refusal.Text)
	return nil
}

// finish prints the end for people.
func (d *demo) finish(w *textWriter) {
	r := d.report
	w.line("")
	if r.Delivered {
		w.line("Delivered. %s in the outside world, %s, %d events, history verified and replayed, %.1f s.",
			counted(r.EffectsExecuted, "effect"), counted(r.Takeovers, "takeover"), uint64(r.Events), float64(r.Milliseconds)/1000)
	} else {
		w.line("%s by %s: a person has to look. %s in the outside world, not repeated. %d events, history verified and replayed, %.1f s.",
			r.State.String(), r.Decision, counted(r.EffectsExecuted, "effect"), uint64(r.Events), float64(r.Milliseconds)/1000)
	}
	if d.keep {
		w.line("Everything is in %s; look at it with:", d.dir)
		w.line("  export DEED_HOME=%s DEED_DIR=%s", filepath.Join(d.dir, "home"), d.ledger)
		w.line("  deed up && deed log %s && deed task show %s", demoTask, demoTask)
	}
}
