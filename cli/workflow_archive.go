package cli

import (
	"context"
	"errors"
	"io/fs"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/workspace"
	"github.com/deedledger/deed/workspace/workflow"
	"github.com/spf13/cobra"
)

func newWorkflowArchiveCommand(e *Env, f *flags) *cobra.Command {
	var lessons []string
	var force string
	cmd := &cobra.Command{
		Use: "archive TASK", Short: "Move the folder of a task that is done to the archive", Args: cobra.ExactArgs(1),
		Long: `Move .workflow/TASK to .workflow/archive, once every item passed; the commit at HEAD stands in
its state then. What was learned, with --lesson and from items that did not pass at once, goes
to .workflow/journal.md, and as a patch that a person may apply to the spec into the folder.
Given again after an interruption it does what is missing.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			folder, err := s.openWorkflow(ctx, args[0])
			if err != nil {
				return err
			}
			return errors.Join(s.archiveWorkflow(ctx, folder, lessons, force), folder.Close())
		}),
	}
	cmd.Flags().StringArrayVar(&lessons, "lesson", nil, "what was learned, in one line (repeat)")
	cmd.Flags().StringVar(&force, "force", "", "why it is archived although not every item passed")
	return cmd
}

// archivedWorkflow is the result of workflow archive.
type archivedWorkflow struct {
	Task    string   `json:"task"`
	Folder  string   `json:"folder"`
	Commit  string   `json:"commit,omitzero"`
	Lessons []string `json:"lessons"`
	Patch   string   `json:"patch,omitzero"` // its file
}

func (s *session) archiveWorkflow(ctx context.Context, f *taskFolder, said []string, force string) error {
	if !f.state.AllPassed() && force == "" {
		return withHint(refuseState("archive", "not every item of %s passed", f.Task), "deed workflow check %s runs the checks; --force REASON archives it as it is", f.Task)
	}
	end := workflow.Ending{Day: events.FormatTime(s.env.Now())[:len("2006-01-02")], Forced: force, Lessons: workflow.Lessons(f.state)}
	for _, text := range said {
		end.Lessons = append(end.Lessons, workflow.LessonLine(text))
	}
	done := archivedWorkflow{Task: f.Task, Lessons: []string{}}
	for _, l := range end.Lessons {
		done.Lessons = append(done.Lessons, string(l))
	}
	var err error
	if done.Commit, err = headCommit(ctx, f.dir); err != nil {
		return err
	}
	if !f.Archived {
		state := f.state
		state.Phase, state.Archive = workflow.Archive, done.Commit
		if err := f.save(state); err != nil {
			return err
		}
	}
	done.Commit = f.state.Archive
	if done.Patch, err = f.proposeLessons(end.Lessons); err != nil {
		return err
	}
	if _, err := f.Journal(workflow.Entry(f.state, f.spec, end)); err != nil {
		return err
	}
	if !f.Archived {
		if err := f.Archive(); err != nil {
			return err
		}
	}
	done.Folder = f.Path()
	if done.Patch != "" {
		done.Patch = f.Path() + "/" + workflow.PatchName
	}
	return s.result("workflow-archived", done, func(w *textWriter) {
		w.line("archived %s in %s%s", f.Task, done.Folder, prefixedBy(" at ", done.Commit))
		for _, l := range done.Lessons {
			w.line("  lesson: %s", l)
		}
		if done.Patch != "" {
			w.line("  for the spec, if you agree: git apply %s", done.Patch)
		}
	})
}

// proposeLessons writes the patch that adds lessons to the spec, and returns
// its name, "" without lessons.
func (f *taskFolder) proposeLessons(lessons []workflow.Lesson) (string, error) {
	text, err := f.Read(workflow.SpecName)
	if err != nil {
		return "", err
	}
	// The spec lies in the archive when somebody applies it.
	name := workflow.Dir + "/archive/" + f.Task + "/" + workflow.SpecName
	patch := workflow.Patch(name, text, lessons)
	if patch == "" {
		return "", nil
	}
	old, err := f.Read(workflow.PatchName)
	if err == nil && string(old) == patch || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return workflow.PatchName, err
	}
	return workflow.PatchName, f.Write(workflow.File{Name: workflow.PatchName, Text: []byte(patch)})
}

// headCommit is the commit at HEAD of the repository around a folder, "" where
// there is none.
func headCommit(ctx context.Context, dir string) (string, error) {
	repo, err := workspace.Open(ctx, dir)
	if errors.Is(err, workspace.ErrNotRepository) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	head, err := repo.ResolveCommit(ctx, "HEAD")
	if errors.Is(err, workspace.ErrUnborn) || errors.Is(err, workspace.ErrUnknownRevision) {
		return "", nil
	}
	return head, err
}
