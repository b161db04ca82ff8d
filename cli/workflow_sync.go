package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace/workflow"
	"github.com/spf13/cobra"
)

// ruleBlocker is the rule of findings that say what a folder's state calls a
// blocker.
const ruleBlocker = "workflow-blocker"

func newWorkflowSyncCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "sync TASK", Short: "Write what a ledger proved to a task's state, and keep the folder in the ledger", Args: cobra.ExactArgs(1),
		Long: `Bring .workflow/TASK and the task of that name in the ledger together. What receipts prove becomes
the status of each item, and where the task is its phase; a status that somebody wrote by hand
is named and overwritten. What is yours is imported: a new blocker becomes a finding, phase and
next a progress note of whoever holds the lease, other words for a phase stay. Then the folder
as it is becomes an artifact of the task, from which deed workflow restore writes it again byte
for byte. Given again it records nothing.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			folder, err := s.openWorkflow(ctx, args[0])
			if err != nil {
				return err
			}
			return errors.Join(s.syncWorkflow(ctx, folder), folder.Close())
		}),
	}
	return writes(cmd, f)
}

// syncedWorkflow is the result of workflow sync.
type syncedWorkflow struct {
	workflowShown
	Task      string            `json:"task"`
	TaskState projections.State `json:"taskState"`
	Imported  []string          `json:"imported"`
	// Bundle is the digest of the folder as an artifact; Existing says that the
	// ledger had it.
	Bundle   string `json:"bundle,omitzero"`
	Existing bool   `json:"existing,omitzero"`
}

func (s *session) syncWorkflow(ctx context.Context, f *taskFolder) error {
	state, err := s.existing(ctx, f.Task)
	if err != nil {
		if errors.Is(err, errMissing) {
			return withHint(err, "propose it: deed workflow contract %s >contract.yaml; deed contract propose %s -f contract.yaml", f.Task, f.Task)
		}
		return err
	}
	before := f.state
	wanted, over := proven(f, state.Task)
	done := syncedWorkflow{Task: f.Task, TaskState: state.Task.State, Imported: []string{}}
	if s.flags.dryRun {
		f.state = wanted
	} else if err := f.save(wanted); err != nil {
		return err
	}
	if done.Imported, err = s.importState(ctx, f.Task, before, state); err != nil {
		return err
	}
	if !s.flags.dryRun {
		put, err := s.bundle(ctx, f)
		if err != nil {
			return err
		}
		done.Bundle, done.Existing = put.Artifact.Digest, put.Existing
	}
	done.workflowShown = f.shown()
	done.Overwritten = over
	return s.result("workflow-synced", done, func(w *textWriter) {
		for _, x := range over {
			w.line("%s was called passed: the ledger says %s", x.Item, x.Now)
		}
		for _, text := range done.Imported {
			w.line("imported %s", text)
		}
		w.workflow(done.workflowShown)
		w.line("%s is %s; the folder is artifact %s", f.Task, done.TaskState, first(done.Bundle, "of no ledger yet"))
	})
}

// proven returns the state as the ledger has it: the status of each item from
// receipts, rounds from how many there are, the phase from where the task is.
func proven(f *taskFolder, t *projections.Task) (workflow.State, []workflow.Overwritten) {
	s := f.state
	s.Checks = slices.Clone(s.Checks)
	items := t.Items()
	var over []workflow.Overwritten
	for i := range s.Checks {
		c := &s.Checks[i]
		was := c.Status
		*c = workflow.Check{ID: c.ID, Status: workflow.Pending}
		for _, item := range items {
			if item.ID == c.ID {
				c.Status, c.LastError = statusOf(item)
			}
		}
		for r := range t.Receipts {
			if failedIn(&t.Receipts[r], c.ID) {
				c.Attempts++
			}
		}
		if was == workflow.Passed && c.Status != workflow.Passed {
			over = append(over, workflow.Overwritten{Item: c.ID, Was: was, Now: c.Status})
		}
	}
	s.Iteration = len(t.Receipts)
	if slices.Contains([]string{"", workflow.Clarify, workflow.Build, workflow.Verify, workflow.Archive}, s.Phase) {
		s.Phase = phaseOf(t.State)
	}
	if t.Delivery != nil {
		s.Archive = t.Delivery.Data.Commit
	}
	return s, over
}

func statusOf(item projections.Item) (workflow.Status, string) {
	switch item.Status {
	case projections.ItemPass:
		return workflow.Passed, ""
	case projections.ItemFail:
		text := "the check failed"
		if len(item.Failing) > 0 {
			text = first(workflow.LastLine(item.Failing[0].Output), "check "+item.Failing[0].ID+": "+item.Failing[0].Rule)
		}
		return workflow.Failed, text
	}
	return workflow.Pending, ""
}

func failedIn(r *projections.Receipt, item string) bool {
	return r.Void == "" && slices.ContainsFunc(r.Data.Checks, func(c events.CheckOutcome) bool { return c.Acceptance == item && c.Outcome == events.OutcomeFail })
}

// phaseOf says in the words of the folder where a task is.
func phaseOf(s projections.State) string {
	switch s {
	case projections.None, projections.Proposed, projections.Contracted:
		return workflow.Clarify
	case projections.AwaitingVerification, projections.AwaitingReview, projections.Approved, projections.Releasing:
		return workflow.Verify
	case projections.Delivered, projections.Cancelled:
		return workflow.Archive
	}
	return workflow.Build
}

// importState records what a person or an agent wrote into the state: each
// blocker that no finding names yet, and next as a note of progress of whoever
// holds the lease.
func (s *session) importState(ctx context.Context, task string, said workflow.State, state protocol.TaskState) ([]string, error) {
	imported := []string{}
	for _, b := range said.Blockers {
		f := &events.Finding{Severity: "hint", Rule: ruleBlocker, Text: printable(plain(b), events.MaxText)}
		if f.Text == "" || slices.ContainsFunc(state.Task.Findings, func(k projections.Finding) bool { return k.Data == *f }) {
			continue
		}
		if _, err := s.append(ctx, task, func(protocol.TaskState, author) (draft, error) { return draft{payload: f}, nil }); err != nil {
			return imported, fmt.Errorf("import a blocker: %w", err)
		}
		imported = append(imported, "blocker: "+f.Text)
	}
	note := progressOf(said)
	if p := state.Task.Progress; note == "" || p != nil && p.Data.Note == note {
		return imported, nil
	}
	_, err := s.append(ctx, task, func(now protocol.TaskState, a author) (draft, error) {
		l := now.Task.Lease
		if now.Task.State != projections.Executing || l == nil || l.Actor != a.actor.Name {
			return draft{}, errNotHolder
		}
		return draft{payload: &events.Progress{Note: note}, fence: l.Fence}, nil
	})
	if errors.Is(err, errNotHolder) {
		return imported, nil // the bundle has it
	}
	if err != nil {
		return imported, fmt.Errorf("import phase and next: %w", err)
	}
	return append(imported, note), nil
}

// errNotHolder says that somebody else's run is at work, or none.
var errNotHolder = errors.New("no run of one's own")

// progressOf is what a state says of the way on, in one line.
func progressOf(s workflow.State) string {
	var parts []string
	if !slices.Contains([]string{"", workflow.Clarify, workflow.Build, workflow.Verify, workflow.Archive}, s.Phase) {
		parts = append(parts, "phase "+s.Phase)
	}
	if s.Next != "" {
		parts = append(parts, "next: "+s.Next)
	}
	return printable(plain(strings.Join(parts, "; ")), events.MaxLine)
}

// bundleName is what the artifact of a task's folder is called.
func bundleName(task string) string { return workflow.Dir + "/" + task }

// bundle records the folder as an artifact of the task. A folder that holds
// what looks like a secret is refused: redacted, it would not be written again
// as it was.
func (s *session) bundle(ctx context.Context, f *taskFolder) (artifactPut, error) {
	files, err := f.Files()
	if err != nil {
		return artifactPut{}, err
	}
	for _, file := range files {
		if found := secretsOf(f.Path()+"/"+file.Name, string(file.Text)); len(found) > 0 {
			return artifactPut{}, refuse(ledger.CodeSecret, ledger.RuleSecret, "%s looks like a secret (%s)", where(found[0]), found[0].Kind)
		}
	}
	text, err := workflow.Pack(f.Task, files)
	if err != nil {
		return artifactPut{}, err
	}
	source, err := copied(strings.NewReader(string(text)))
	if err != nil {
		return artifactPut{}, err
	}
	defer source.Close()
	d := events.Artifact{Digest: events.Sum(text).String(), Size: int64(len(text)), MediaType: workflow.BundleType, Name: bundleName(f.Task), Class: "internal"}
	return s.storeArtifact(ctx, source, f.Task, d)
}

func newWorkflowRestoreCommand(e *Env, f *flags) *cobra.Command {
	return &cobra.Command{
		Use: "restore TASK", Short: "Write a task's folder again as the ledger has it", Args: cobra.ExactArgs(1),
		Long: `Write .workflow/TASK again, byte for byte, from the newest bundle that deed workflow sync recorded.
Files that are there with other bytes are named and nothing is written: move the folder away.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error { return s.restoreWorkflow(ctx, args[0]) }),
	}
}

func (s *session) restoreWorkflow(ctx context.Context, task string) error {
	files, digest, err := s.bundled(ctx, task)
	if err != nil {
		return err
	}
	dir, err := s.project(ctx)
	if err != nil {
		return err
	}
	folder, err := workflow.Create(dir, task)
	if err != nil {
		return err
	}
	written, err := restored(folder, files)
	if err := errors.Join(err, folder.Close()); err != nil {
		return err
	}
	return s.result("workflow-restored", map[string]any{"task": task, "bundle": digest, "written": written}, func(w *textWriter) {
		for _, name := range written {
			w.line("wrote %s/%s", folder.Path(), name)
		}
		w.line("%s is as artifact %s has it", folder.Path(), digest)
	})
}

// restored writes the files that are missing, once none is there with other
// bytes.
func restored(folder *workflow.Folder, files []workflow.File) ([]string, error) {
	there, err := folder.Files()
	if err != nil {
		return nil, err
	}
	have := map[string]workflow.File{}
	for _, file := range there {
		have[file.Name] = file
	}
	written := []string{}
	for _, file := range files {
		if old, ok := have[file.Name]; ok && (string(old.Text) != string(file.Text) || old.Executable != file.Executable) {
			return nil, withHint(refuse(ledger.CodeRule, "restore", "%s/%s is there and says something else", folder.Path(), plain(file.Name)), "move it away, or record it: deed workflow sync %s", folder.Task)
		}
	}
	for _, file := range files {
		if _, ok := have[file.Name]; ok {
			continue
		}
		if err := folder.Write(file); err != nil {
			return written, err
		}
		written = append(written, file.Name)
	}
	return written, nil
}

// bundled reads the newest bundle of a task.
func (s *session) bundled(ctx context.Context, task string) ([]workflow.File, string, error) {
	state, err := s.existing(ctx, task)
	if err != nil {
		return nil, "", err
	}
	digest := ""
	for _, a := range state.Task.Artifacts {
		if a.Data.Name == bundleName(task) && a.Data.MediaType == workflow.BundleType && !state.Task.Quarantined(a.Data.Digest) {
			digest = a.Data.Digest
		}
	}
	if digest == "" {
		return nil, "", fmt.Errorf("%w: the ledger has no folder of %s: deed workflow sync records one", errMissing, task)
	}
	file, err := anonymous()
	if err != nil {
		return nil, "", err
	}
	defer file.Close()
	if _, err := s.fetchArtifact(ctx, file, digest, false); err != nil {
		return nil, "", err
	}
	if err := rewind(file); err != nil {
		return nil, "", fmt.Errorf("read bundle: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(file, workflow.MaxBundleBytes+1))
	if err != nil {
		return nil, "", fmt.Errorf("read bundle: %w", err)
	}
	files, err := workflow.Unpack(task, text)
	return files, digest, err
}
