package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/workspace"
	"github.com/deedledger/deed/workspace/delivery"
	"github.com/spf13/cobra"
)

// ruleSync names refusals of files that are not what the ledger says.
const ruleSync = "sync"

// newSyncCommand builds "deed sync".
func newSyncCommand(e *Env, f *flags) *cobra.Command {
	var o syncOptions
	cmd := &cobra.Command{
		Use: "sync [TASK]", Short: "Bring a task's files in .agent-delivery and the ledger together", Args: cobra.MaximumNArgs(1),
		Long: `Write what the ledger says of a task to .agent-delivery of this repository, and record what
people and agents wrote there: the next version of a contract, and the next result of the
open attempt. The files are the ledger's print: deleted, they are written again byte for
byte. One that is only behind is brought up to date; one that somebody changed, and a
receipt, approval or snapshot that the ledger does not have, is named and refused, and
nothing is recorded or written: exit code 4. --restore writes what was changed as the
ledger has it.

--check writes nothing: exit code 20 where files are behind or missing, 8 where a contract
or a result waits to be recorded.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			if !events.ValidTask(task) {
				return fmt.Errorf("%w: %q is no task name", errUsage, task)
			}
			return s.sync(ctx, task, o)
		}),
	}
	cmd.Flags().BoolVar(&o.check, "check", false, "look, and write nothing")
	cmd.Flags().BoolVar(&o.restore, "restore", false, "write files that somebody changed as the ledger has them")
	return writes(cmd, f)
}

// syncOptions say what sync may do.
type syncOptions struct{ check, restore bool }

// synced is the result of sync.
type synced struct {
	Task     string          `json:"task"`
	Position events.Position `json:"position"` // of the ledger's last event
	Recorded []string        `json:"recorded"` // files that were recorded
	Written  []string        `json:"written"`
	// Entries are the files as they were found.
	Entries []delivery.Entry `json:"entries"`
}

func (s *session) sync(ctx context.Context, task string, o syncOptions) error {
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return err
	}
	box, err := workspace.OpenBox(repo.Top())
	if err != nil {
		return err
	}
	defer func() { _ = box.Close() }() // each file was closed
	done := synced{Task: task, Recorded: []string{}, Written: []string{}}
	if done.Entries, done.Position, err = s.compared(ctx, box, task); err != nil {
		return err
	}
	if len(done.Entries) == 0 {
		return withHint(fmt.Errorf("%w: there is no task %s, and no contract of it in %s", errMissing, task, delivery.Dir), "write %s/contracts/%s.v1.json, or propose a contract", delivery.Dir, task)
	}
	if refused := stopping(done.Entries, o); len(refused) > 0 {
		return s.refuseSync(done, refused)
	}
	if o.check || s.flags.dryRun {
		return s.checkedSync(done)
	}
	entries := done.Entries
	for _, e := range entries {
		if e.Standing != delivery.Draft {
			continue
		}
		if err := s.recordDraft(ctx, task, e); err != nil {
			return err
		}
		done.Recorded = append(done.Recorded, e.Path)
	}
	if len(done.Recorded) > 0 {
		if entries, done.Position, err = s.compared(ctx, box, task); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if e.File() == nil || e.Standing == delivery.Same {
			continue
		}
		if e.Standing == delivery.Edited && !o.restore && !slices.Contains(done.Recorded, e.Path) {
			continue // changed since it was looked at: the next run names it
		}
		if err := box.Write(e.Path, e.File().Text, 0o644); err != nil {
			return err
		}
		done.Written = append(done.Written, e.Path)
	}
	return s.result("sync", done, func(w *textWriter) { w.synced(done) })
}

// compared reads the ledger and holds the folder against it.
func (s *session) compared(ctx context.Context, box *workspace.Box, task string) ([]delivery.Entry, events.Position, error) {
	records, err := s.records(ctx)
	if err != nil {
		return nil, 0, err
	}
	name := s.folder.Ledger
	render := func(at events.Position) ([]delivery.File, error) {
		n := slices.IndexFunc(records, func(r events.Record) bool { return r.Position > at })
		if n < 0 {
			n = len(records)
		}
		files, err := delivery.Render(name, task, records[:n])
		if errors.Is(err, delivery.ErrNoTask) {
			err = nil
		}
		return files, err
	}
	last := events.Position(0)
	if n := len(records); n > 0 {
		last = records[n-1].Position
	}
	files, err := render(last)
	if err != nil {
		return nil, 0, err
	}
	entries, err := delivery.Compare(box, task, files, render)
	return entries, last, err
}

// records reads the whole log. Signatures are not checked here: deed audit
// verify does.
func (s *session) records(ctx context.Context) ([]events.Record, error) {
	r, _, err := s.history(ctx)
	if err != nil {
		return nil, err
	}
	last, err := r.Last(ctx)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	list := make([]events.Record, 0, last)
	err = r.Replay(ctx, 1, func(stored journal.Record) error {
		record, err := openRecord(stored)
		if err != nil {
			return err
		}
		if record.Position > last {
			return errEnough
		}
		list = append(list, record)
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return list, errors.Join(err, r.Close())
}

// stopping returns the entries that a sync refuses.
func stopping(entries []delivery.Entry, o syncOptions) []delivery.Entry {
	var list []delivery.Entry
	for _, e := range entries {
		if e.Standing.Refused() && !(e.Standing == delivery.Edited && o.restore) {
			list = append(list, e)
		}
	}
	return list
}

// refuseSync names the files that are neither the ledger's nor anybody's to
// write.
func (s *session) refuseSync(done synced, refused []delivery.Entry) error {
	err := s.result("sync", done, func(w *textWriter) {
		for _, e := range refused {
			w.line("%-8s %s%s", e.Standing, e.Path, prefixedBy(": ", e.Why))
		}
	})
	if err != nil {
		return err
	}
	hint := "the ledger decides: deed sync --restore writes them as it has them"
	if refused[0].Standing == delivery.Foreign {
		hint = "only the next contract and the next result are read from files: move the others away"
	}
	return told{withHint(refuse(ledger.CodeRule, ruleSync, "%s not what the ledger says: %s", counted(len(refused), "file"), plain(refused[0].Path)), "%s", hint)}
}

// checkedSync says what a sync would do.
func (s *session) checkedSync(done synced) error {
	drafts, behind := 0, 0
	for _, e := range done.Entries {
		switch e.Standing {
		case delivery.Draft:
			drafts++
		case delivery.Missing, delivery.Behind, delivery.Edited:
			behind++
		case delivery.Same, delivery.Foreign:
		}
	}
	err := s.result("sync", done, func(w *textWriter) {
		for _, e := range done.Entries {
			if e.Standing != delivery.Same {
				w.line("%-8s %s", e.Standing, e.Path)
			}
		}
		if drafts+behind == 0 {
			w.line("%s: %s, all as the ledger says up to position %d", done.Task, counted(len(done.Entries), "file"), done.Position)
		}
	})
	switch {
	case err != nil || s.flags.dryRun:
		return err
	case behind > 0:
		return told{withHint(refuse(ledger.CodeStale, ruleSync, "%s behind the ledger", counted(behind, "file")), "deed sync %s", done.Task)}
	case drafts > 0:
		return told{withHint(fmt.Errorf("%w: %s to be recorded", errPending, counted(drafts, "file")), "deed sync %s --as <owner|implementer>", done.Task)}
	}
	return nil
}

// recordDraft records a contract or a result that somebody wrote as a file.
func (s *session) recordDraft(ctx context.Context, task string, e delivery.Entry) error {
	if e.Contract() {
		text, err := delivery.ReadContract(task, e)
		if err == nil {
			_, err = s.proposeDraft(ctx, task, text)
		}
		return named(e, err)
	}
	r, err := delivery.ReadResult(task, e)
	if err != nil {
		return named(e, err)
	}
	h := handover{head: r.Commit, claims: r.Claims, ran: r.Commands, uncovered: r.Uncovered, summary: r.Summary}
	for _, c := range r.Changes {
		h.maps = append(h.maps, c.Path+"="+strings.Join(c.Acceptance, ","))
	}
	_, err = s.handResult(ctx, task, h)
	return named(e, err)
}

// named says which file an error is about.
func named(e delivery.Entry, err error) error {
	if err == nil || errors.Is(err, delivery.ErrDraft) {
		return err
	}
	return fmt.Errorf("record %s: %w", plain(e.Path), err)
}

func (w *textWriter) synced(d synced) {
	for _, name := range d.Recorded {
		w.line("recorded %s", name)
	}
	for _, name := range d.Written {
		w.line("wrote    %s", name)
	}
	w.line("%s: .agent-delivery is as the ledger says up to position %d", d.Task, d.Position)
}
