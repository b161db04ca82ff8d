package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/workspace/guard"
	"github.com/spf13/cobra"
)

// guardOptions are the flags of "deed guard".
type guardOptions struct {
	dir, name, base string
}

// newGuardCommand builds "deed guard".
func newGuardCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "guard", Short: "Hold what is said of a task against the disk, without a ledger",
		Long: `Hold .resume/task.yaml, what people and models say of a task, against the disk: things that
are said to be done exist, frozen decisions hold, rejected approaches do not come back. No
ledger, no service and no network is needed; without git it looks at the files that were
written last, which is less exact. It is a sieve and no judge: it reports what does not
match. Only init, capture, acknowledge, pack and example write.

R rules are fatal, W rules wait for a person, N rules are hints: deed guard rules.`,
	}
	var o guardOptions
	add := func(use, short, long string, run func(*session, context.Context, guardOptions) error) *cobra.Command {
		sub := &cobra.Command{Use: use, Short: short, Long: long, Args: cobra.NoArgs,
			RunE: e.action(f, func(ctx context.Context, s *session, _ []string) error {
				o := o
				o.dir = s.abs(first(o.dir, "."))
				return run(s, ctx, o)
			})}
		sub.Flags().StringVar(&o.dir, "dir", "", "folder of the project (default: the working directory)")
		cmd.AddCommand(sub)
		return sub
	}
	add("init", "Begin: write an empty .resume/task.yaml to fill in", "", (*session).guardInit).
		Flags().StringVar(&o.name, "name", "", "name of the task")
	capture := add("capture", "Store a snapshot of what the disk says", "Store what was read from the disk in .resume/snapshot.json: HEAD, branch, base, changed files.", (*session).guardCapture)
	check := add("check", "Check the task file against the disk", "Check and change nothing. Exit code 1 says that something is fatal.", (*session).guardCheck)
	pack := add("pack", "Write the hand-over: HANDOFF.md, handoff.json and the report", "", (*session).guardPack)
	add("contract", "Print a contract draft of the task file's acceptance criteria", `Print a draft for deed contract propose: each criterion is an acceptance item, its check the
item's command; files of the project that the command names are pinned. What the task file
does not say, such as the scope, is left empty: propose names it.`, (*session).guardContract)
	resume := add("resume", "Say whether somebody may start here", `Hold the stored snapshot against the disk, measure again, and check; change nothing. Exit
code 1: something is fatal, do not start. Exit code 8: a person has to look at what is
listed with W first, and says so: deed guard acknowledge. Exit code 5: nothing was captured.`, (*session).guardResume)
	for _, sub := range []*cobra.Command{capture, check, pack, resume} {
		sub.Flags().StringVar(&o.base, "base", "", "commit that the change starts from (default: that of the snapshot, else where HEAD left its branch)")
	}
	cmd.AddCommand(newGuardAcknowledgeCommand(e, f), newGuardExampleCommand(e, f), newGuardRulesCommand(e, f))
	return cmd
}

func (s *session) guardInit(_ context.Context, o guardOptions) error {
	err := guard.Init(o.dir, first(o.name, filepath.Base(o.dir)))
	if errors.Is(err, fs.ErrExist) {
		return withHint(err, "it is kept as it is: edit it, then deed guard capture and deed guard check")
	}
	if err != nil {
		return err
	}
	return s.result("guard-init", map[string]string{"file": guard.ClaimsName}, func(w *textWriter) {
		w.line("wrote %s: fill it in, then deed guard capture", guard.ClaimsName)
	})
}

func (s *session) guardCapture(ctx context.Context, o guardOptions) error {
	m, err := s.guardMeasure(ctx, o)
	if err != nil {
		return err
	}
	snapshot := guard.SnapshotOf(m, events.FormatTime(s.env.Now()))
	snapshot.Facts = &m.Facts
	if err := guard.WriteSnapshot(o.dir, snapshot); err != nil {
		return err
	}
	return s.result("guard-snapshot", snapshot, func(w *textWriter) {
		w.line("captured %s in %s, %s of %d", counted(len(m.Changed), "changed file"), first(strings.TrimPrefix(m.Branch, "refs/heads/"), "no branch"), first(m.Head, "no commit"), len(m.Files))
		for _, n := range m.Notes {
			w.line("  note: %s", n)
		}
	})
}

// guardMeasure measures a project from the base that is asked for, else from
// that of its snapshot.
func (s *session) guardMeasure(ctx context.Context, o guardOptions) (guard.Measurement, error) {
	base := o.base
	if stored, err := guard.ReadSnapshot(o.dir); err == nil && base == "" {
		base = stored.Base
	}
	m, err := guard.Measure(ctx, o.dir, base)
	if err != nil && base != o.base { // the stored base went with a rewritten history
		return guard.Measure(ctx, o.dir, "")
	}
	return m, err
}

// guarded is the result of a check.
type guarded struct {
	Task     string                `json:"task"`
	Git      bool                  `json:"git"`
	Head     string                `json:"head,omitzero"`
	Fatal    int                   `json:"fatal"`
	Pending  int                   `json:"pending"`
	Hints    int                   `json:"hints"`
	Findings []guard.PackedFinding `json:"findings"`
	Skipped  guard.Skipped         `json:"skipped"`
	Notes    []string              `json:"notes,omitempty"`

	claims   guard.Claims
	measured guard.Measurement
	found    []guard.Finding
}

// guardLook checks a project. stored is nil where nothing was captured.
func (s *session) guardLook(ctx context.Context, o guardOptions, stored *guard.Snapshot) (guarded, error) {
	c, err := guard.ReadClaims(o.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return guarded{}, withHint(fmt.Errorf("%w: %s is not there", errMissing, guard.ClaimsName), "begin with: deed guard init")
	}
	if err != nil {
		return guarded{}, err
	}
	m, err := s.guardMeasure(ctx, o)
	if err != nil {
		return guarded{}, err
	}
	w, left, err := guard.Look(ctx, o.dir, c, m, stored)
	if err != nil {
		return guarded{}, err
	}
	said, err := guard.ReadAcknowledged(o.dir)
	if err != nil {
		return guarded{}, err
	}
	found := guard.Acknowledge(guard.Check(c, w), said)
	return guarded{
		Task: c.Task, Git: m.Git, Head: m.Head, Fatal: guard.Count(found, 'R'), Pending: guard.Pending(found), Hints: guard.Count(found, 'N'),
		Findings: guard.Packed(found), Skipped: left, Notes: m.Notes, claims: c, measured: m, found: found,
	}, nil
}

func (s *session) guardCheck(ctx context.Context, o guardOptions) error {
	stored, err := guard.ReadSnapshot(o.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	g, err := s.guardLook(ctx, o, stored)
	if err != nil {
		return err
	}
	if stored == nil {
		g.Notes = append(g.Notes, "nothing was captured yet: deed guard capture")
	}
	return s.guardResult(g, false)
}

func (s *session) guardResume(ctx context.Context, o guardOptions) error {
	stored, err := guard.ReadSnapshot(o.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return withHint(fmt.Errorf("%w: there is no snapshot to resume from", errMissing), "look at the work yourself, then: deed guard capture")
	}
	if err != nil {
		return err
	}
	g, err := s.guardLook(ctx, o, stored)
	if err != nil {
		return err
	}
	return s.guardResult(g, true)
}

// guardResult prints a check. waiting says that a W stops, too.
func (s *session) guardResult(g guarded, waiting bool) error {
	err := s.result("guard", g, func(w *textWriter) {
		w.line("%s: R=%d W=%d N=%d", first(g.Task, "task"), g.Fatal, guard.Count(g.found, 'W'), g.Hints)
		for _, f := range g.found {
			w.line("  %s", f.String())
		}
		for _, n := range g.Notes {
			w.line("  note: %s", n)
		}
	})
	switch {
	case err != nil:
		return err
	case g.Fatal > 0:
		return told{withHint(fmt.Errorf("%w: %s", errGuard, counted(g.Fatal, "fatal finding")), "mend the work or the task file, then: deed guard capture and deed guard check")}
	case waiting && g.Pending > 0:
		return told{withHint(fmt.Errorf("%w: %s for a person", errPending, counted(g.Pending, "finding waits")), "look, then say so: deed guard acknowledge %s --by NAME --reason TEXT", firstPending(g.found))}
	}
	return nil
}

// firstPending names the rule of the first finding that waits.
func firstPending(found []guard.Finding) string {
	i := slices.IndexFunc(found, func(f guard.Finding) bool { return f.Code.Level() == 'W' && f.Acknowledged == "" })
	return string(found[i].Code)
}

func (s *session) guardPack(ctx context.Context, o guardOptions) error {
	stored, err := guard.ReadSnapshot(o.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	g, err := s.guardLook(ctx, o, stored)
	if err != nil {
		return err
	}
	pack := guard.PackOf(guard.SnapshotOf(g.measured, events.FormatTime(s.env.Now())), g.claims, g.found, g.Skipped)
	if err := guard.WritePack(o.dir, pack); err != nil {
		return err
	}
	return s.result("guard-pack", pack, func(w *textWriter) {
		w.line("wrote HANDOFF.md, .resume/handoff.json and .resume/report.md: R=%d W=%d N=%d", g.Fatal, guard.Count(g.found, 'W'), g.Hints)
	})
}
