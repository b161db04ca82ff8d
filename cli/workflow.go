package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/deedledger/deed/workspace"
	"github.com/deedledger/deed/workspace/workflow"
	"github.com/spf13/cobra"
)

// newWorkflowCommand builds "deed workflow".
func newWorkflowCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use: "workflow", Short: "Keep a light task in a folder: a spec, its checks, and the facts",
		Long: `Keep a light task in .workflow/TASK: brief.md, spec.md with the acceptance items A1…An, checks/
whose exit status decides, artifacts/, and state.yaml with the facts. new, status, check,
contract and archive ask no ledger; sync and restore bring the folder and a ledger together.`,
	}
	cmd.AddCommand(newWorkflowNewCommand(e, f), newWorkflowStatusCommand(e, f), newWorkflowCheckCommand(e, f), newWorkflowContractCommand(e, f),
		newWorkflowArchiveCommand(e, f), newWorkflowSyncCommand(e, f), newWorkflowRestoreCommand(e, f))
	return cmd
}

// taskFolder is a task's folder with what its files say.
type taskFolder struct {
	*workflow.Folder
	dir      string // of the project
	spec     workflow.Spec
	state    workflow.State
	text     []byte // of state.yaml, nil where it is missing
	commands []workflow.Command
	bare     []string // items that nothing checks
}

// project returns the folder that .workflow is in: the worktree's root, else
// the working directory.
func (s *session) project(ctx context.Context) (string, error) {
	repo, err := workspace.Open(ctx, s.env.Dir)
	if errors.Is(err, workspace.ErrNotRepository) {
		return s.env.Dir, nil
	}
	if err != nil {
		return "", err
	}
	return repo.Top(), nil
}

// openWorkflow opens the folder of a task and reads its spec, state and checks.
func (s *session) openWorkflow(ctx context.Context, task string) (*taskFolder, error) {
	dir, err := s.project(ctx)
	if err != nil {
		return nil, err
	}
	f := &taskFolder{dir: dir}
	if f.Folder, err = workflow.Open(dir, task); errors.Is(err, fs.ErrNotExist) {
		return nil, withHint(fmt.Errorf("%w: there is no folder %s/%s", errMissing, workflow.Dir, plain(task)), "begin with: deed workflow new %s", plain(task))
	}
	if err != nil {
		return nil, err
	}
	if err := f.load(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *taskFolder) load() error {
	text, err := f.Read(workflow.SpecName)
	if err != nil {
		return err
	}
	if f.spec, err = workflow.ParseSpec(text); err != nil {
		return fmt.Errorf("%s/%s: %w", f.Path(), workflow.SpecName, err)
	}
	f.text, err = f.Read(workflow.StateName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.text, f.state = nil, workflow.NewState(f.Task, f.spec)
	case err != nil:
		return err
	default:
		if f.state, err = workflow.ParseState(f.text); err != nil {
			return fmt.Errorf("%s/%s: %w", f.Path(), workflow.StateName, err)
		}
	}
	if f.state.TaskID != f.Task {
		return fmt.Errorf("%w: %s/%s is about task %q", workflow.ErrState, f.Path(), workflow.StateName, plain(f.state.TaskID))
	}
	f.state = f.state.Ordered(f.spec)
	files, err := f.Checks()
	if err != nil {
		return err
	}
	var list []byte
	for _, c := range files {
		if c.Name == workflow.ListName {
			list = c.Text
		}
	}
	f.commands, f.bare, err = workflow.Commands(f.spec, files, list)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path(), err)
	}
	return nil
}

// save writes a state where it says another thing than the file.
func (f *taskFolder) save(state workflow.State) error {
	text, err := workflow.Rewrite(f.text, state)
	if err != nil {
		return err
	}
	f.state = state
	if string(text) == string(f.text) {
		return nil
	}
	f.text = text
	return f.Write(workflow.File{Name: workflow.StateName, Text: text})
}

const (
	briefTemplate = `# What is to be done

Say in a few sentences what is wanted, for whom, and what is not wanted. It is read before anything is built.
`
	specTemplate = `# When it is done

Write one line for each thing that must hold, so that a command can check it, and its check in checks/:
an executable checks/A1.sh whose exit status decides, or a line of checks/checks.yaml.

- A1: what must hold: which file has which fields, which count reaches which number
`
)

func newWorkflowNewCommand(e *Env, f *flags) *cobra.Command {
	return &cobra.Command{
		Use: "new TASK", Short: "Make the folder of a task", Args: cobra.ExactArgs(1),
		Long: "Make .workflow/TASK with a brief and a spec to fill in, and the state. What is there stays as it is.",
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			dir, err := s.project(ctx)
			if err != nil {
				return err
			}
			folder, err := workflow.Create(dir, args[0])
			if errors.Is(err, fs.ErrExist) {
				return withHint(err, "it is archived: choose another name")
			}
			if err != nil {
				return err
			}
			made, err := madeFiles(folder)
			if err := errors.Join(err, folder.Close()); err != nil {
				return err
			}
			return s.result("workflow", map[string]any{"task": args[0], "folder": folder.Path(), "made": made}, func(w *textWriter) {
				for _, name := range made {
					w.line("made %s/%s", folder.Path(), name)
				}
				w.line("next: write brief.md, spec.md and checks/, then: deed workflow check %s", args[0])
			})
		}),
	}
}

// madeFiles writes the files that are missing.
func madeFiles(folder *workflow.Folder) ([]string, error) {
	made := []string{}
	for _, file := range []workflow.File{{Name: workflow.BriefName, Text: []byte(briefTemplate)}, {Name: workflow.SpecName, Text: []byte(specTemplate)}, {Name: workflow.StateName}} {
		_, err := folder.Read(file.Name)
		if err == nil || errors.Is(err, workspace.ErrTooMuch) {
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return made, err
		}
		if file.Name == workflow.StateName {
			text, err := folder.Read(workflow.SpecName)
			if err != nil {
				return made, err
			}
			spec, err := workflow.ParseSpec(text)
			if err != nil {
				return made, fmt.Errorf("%s/%s: %w", folder.Path(), workflow.SpecName, err)
			}
			file.Text = workflow.NewState(folder.Task, spec).Text()
		}
		if err := folder.Write(file); err != nil {
			return made, err
		}
		made = append(made, file.Name)
	}
	return made, nil
}

// workflowShown is what status and check print of a task.
type workflowShown struct {
	Folder   string           `json:"folder"`
	Archived bool             `json:"archived,omitzero"`
	Title    string           `json:"title"`
	State    workflow.State   `json:"state"`
	Items    []workflowItem   `json:"items"`
	Proofs   []workflow.Proof `json:"proofs,omitempty"`
	// Overwritten are items that the file called passed and no check bears out.
	Overwritten []workflow.Overwritten `json:"overwritten,omitempty"`
}

// workflowItem is an acceptance item with what checks it.
type workflowItem struct {
	workflow.Check
	Text     string   `json:"text"`
	Commands []string `json:"commands"`
}

func (f *taskFolder) shown() workflowShown {
	d := workflowShown{Folder: f.Path(), Archived: f.Archived, Title: f.spec.Title, State: f.state, Items: []workflowItem{}}
	for _, i := range f.spec.Items {
		item := workflowItem{Check: f.state.Check(i.ID), Text: i.Text, Commands: []string{}}
		for _, c := range f.commands {
			if c.Item == i.ID {
				item.Commands = append(item.Commands, strings.Join(c.Argv, " "))
			}
		}
		d.Items = append(d.Items, item)
	}
	return d
}

func newWorkflowStatusCommand(e *Env, f *flags) *cobra.Command {
	return &cobra.Command{
		Use: "status TASK", Short: "Say where a task is, and what counts as passed", Args: cobra.ExactArgs(1),
		Long: "Say what the files say of a task. A status is what deed workflow check found, unless somebody wrote it by hand.",
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			folder, err := s.openWorkflow(ctx, args[0])
			if err != nil {
				return err
			}
			err = s.result("workflow", folder.shown(), func(w *textWriter) { w.workflow(folder.shown()) })
			return errors.Join(err, folder.Close())
		}),
	}
}

func (w *textWriter) workflow(d workflowShown) {
	w.line("%s: %s, round %d%s", d.Folder, first(d.State.Phase, "no phase"), d.State.Iteration, prefixedBy(", ", d.Title))
	for _, i := range d.Items {
		checks := strings.Join(i.Commands, "; ")
		if len(i.Commands) == 0 {
			checks = "nothing checks it"
		}
		w.line("  %-4s %-8s %s", i.ID, i.Status, checks)
		if i.LastError != "" {
			w.line("       %s", i.LastError)
		}
	}
	for _, b := range d.State.Blockers {
		w.line("  blocked: %s", b)
	}
	if d.State.Next != "" {
		w.line("  next: %s", d.State.Next)
	}
}
