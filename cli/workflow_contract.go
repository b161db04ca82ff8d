package cli

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/deedledger/deed/workspace/workflow"
	"github.com/spf13/cobra"
)

func newWorkflowContractCommand(e *Env, f *flags) *cobra.Command {
	return &cobra.Command{
		Use: "contract TASK", Short: "Print a contract draft of a task's spec and checks", Args: cobra.ExactArgs(1),
		Long: `Print a contract draft: the spec's items as acceptance, each with its checks, which run in the
task's folder and whose files are pinned. What the folder does not say is left empty; deed
contract propose names it.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			folder, err := s.openWorkflow(ctx, args[0])
			if err != nil {
				return err
			}
			return errors.Join(s.workflowContract(folder), folder.Close())
		}),
	}
}

func (s *session) workflowContract(f *taskFolder) error {
	files, err := f.Checks()
	if err != nil {
		return err
	}
	draft := f.draft(files)
	if s.json {
		return s.result("contract-draft", map[string]string{"draft": draft}, nil)
	}
	s.note("fill in what is empty, then: deed contract propose %s -f FILE", f.Task)
	w := &textWriter{out: s.out}
	w.block(draft)
	return w.err
}

// draft writes a contract draft in which every text of the folder is a quoted
// scalar. All files of checks/ are pinned by every check: a script may read the
// others.
func (f *taskFolder) draft(files []workflow.File) string {
	var pinned []string
	for _, file := range files {
		pinned = append(pinned, path.Join(f.Path(), file.Name))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# From %s/%s.\n", f.Path(), workflow.SpecName)
	fmt.Fprintf(&b, "goal: %s\nacceptance:\n", scalar(first(f.spec.Title, f.Task)))
	for _, i := range f.spec.Items {
		fmt.Fprintf(&b, "  - id: %s\n    text: %s\n    checks:\n", i.ID, scalar(i.Text))
		none := true
		for _, c := range f.commands {
			if c.Item != i.ID {
				continue
			}
			none = false
			fmt.Fprintf(&b, "      - id: %s\n        command: [%s]\n        dir: %s\n", scalar(c.ID), strings.Join(scalars(c.Argv), ", "), scalar(f.Path()))
			if len(pinned) > 0 {
				fmt.Fprintf(&b, "        files: [%s]\n", strings.Join(scalars(pinned), ", "))
			}
			if c.Seconds > 0 {
				fmt.Fprintf(&b, "        timeoutSeconds: %d\n", c.Seconds)
			}
		}
		if none {
			b.WriteString("      - command: [] # nothing checks it: a command whose exit code decides\n")
		}
	}
	fmt.Fprintf(&b, "scope:\n  include: [%s] # and the paths that may change\n", scalar(f.Path()+"/artifacts/**"))
	return b.String()
}
