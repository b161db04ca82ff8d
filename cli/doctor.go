package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

// The outcomes of a check of "deed doctor".
const (
	checkOK   = "ok"
	checkWarn = "warn"
	checkFail = "fail"
)

// diagnosis is one check of "deed doctor".
type diagnosis struct {
	Check   string `json:"check"`
	Outcome string `json:"outcome"` // ok, warn or fail
	Text    string `json:"text"`
	Do      string `json:"do,omitzero"` // what to do about it
	// Repaired says what --repair did about it.
	Repaired string `json:"repaired,omitzero"`
}

// doctor collects diagnoses.
type doctor struct {
	*session
	repair bool
	list   []diagnosis
}

// newDoctorCommand builds "deed doctor".
func newDoctorCommand(e *Env, f *flags) *cobra.Command {
	var repair bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Check keys, service, clock, git and what was left behind", Args: cobra.NoArgs,
		Long: `Check what this machine and the ledger need to work together: key files, the ledger's
folder, its service and its head, the clock, the git worktree around the working
directory and whom its commits are of, invitations that expired, and attempts that
nobody goes on with. Each check is ok, warn or fail, and says what
to do.

--repair does what is safe and says what it did: it takes rights of others from key files
and the folder, removes the run file of a service that was killed, and unbinds a task
that has ended from this worktree. It never touches history or a key.

Exit code 0 when nothing failed, warnings included; 1 when a check failed.`,
		RunE: e.action(f, func(ctx context.Context, s *session, _ []string) error {
			return (&doctor{session: s, repair: repair, list: []diagnosis{}}).examine(ctx)
		}),
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "do what is safe about it")
	return cmd
}

// found is what a check found, but for its text.
type found struct{ check, outcome, do string }

// say adds a diagnosis.
func (d *doctor) say(v found, format string, args ...any) *diagnosis {
	d.list = append(d.list, diagnosis{Check: v.check, Outcome: v.outcome, Do: v.do, Text: fmt.Sprintf(format, args...)})
	return &d.list[len(d.list)-1]
}

// mend does a repair of a diagnosis where that was asked for; what it mends is
// ok from then on.
func (d *doctor) mend(c *diagnosis, did string, repair func() error) {
	if !d.repair {
		return
	}
	if err := repair(); err != nil {
		c.Text += "; the repair failed: " + err.Error()
		return
	}
	c.Outcome, c.Repaired, c.Do = checkOK, did, ""
}

func (d *doctor) examine(ctx context.Context) error {
	f, err := d.open()
	if err != nil {
		d.say(found{"ledger", checkFail, classify(err).hint}, "%v", err)
	} else {
		d.folderRights(f)
		d.runFile(f)
		d.service(ctx, f)
	}
	d.keyFiles()
	d.confines()
	d.git(ctx)
	d.worktree(ctx)
	failed := 0
	for _, c := range d.list {
		if c.Outcome == checkFail {
			failed++
		}
	}
	if err := d.result("doctor", map[string]any{"checks": d.list, "failed": failed}, func(w *textWriter) { w.diagnoses(d.list) }); err != nil {
		return err
	}
	if failed > 0 {
		return told{withHint(fmt.Errorf("%w: %s failed", errUnwell, counted(failed, "check")), "deed doctor --repair does what is safe")}
	}
	return nil
}

// diagnoses writes checks for people.
func (w *textWriter) diagnoses(list []diagnosis) {
	for _, c := range list {
		w.line("%-4s  %-9s %s", c.Outcome, c.Check, c.Text)
		if c.Repaired != "" {
			w.line("      repaired: %s", c.Repaired)
		}
		if c.Do != "" {
			w.line("      to do: %s", c.Do)
		}
	}
}
