package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace"
	"github.com/spf13/cobra"
)

// newGateCommand builds "deed gate".
func newGateCommand(e *Env, f *flags) *cobra.Command {
	var head string
	cmd := &cobra.Command{
		Use: "gate [TASK] --head COMMIT", Short: "Say whether exactly this commit may be delivered, for CI and protected branches", Args: cobra.MaximumNArgs(1),
		Long: `Exit with 0 only if exactly this commit is the proven and approved result of a task, or was
delivered by one: receipts on the current input, approvals of this head and tree, no open
effect, no fatal finding, the contract and the policy that are in force. Only what the
ledger holds counts: what a provider says of an approval does not, and another commit of
the same tree is another head, which is recorded as a result and approved anew.

Without TASK it is every task whose result or delivery is this commit. Exit code 5: no task
has it; 20: it is not the head any more; else what is missing, and deed why TASK. A service
that cannot be reached is exit code 3: nothing can be established.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			commit, err := s.gateHead(ctx, head)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return s.gate(ctx, commit, args)
			}
			return s.gate(ctx, commit, nil)
		}),
	}
	cmd.Flags().StringVar(&head, "head", "", "the commit: a whole id, or a revision of the repository around the working directory")
	return cmd
}

// wholeID is a git object id that needs no repository to be read.
var wholeID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`) })

func (s *session) gateHead(ctx context.Context, head string) (string, error) {
	if head == "" {
		return "", fmt.Errorf("%w: name the commit with --head", errUsage)
	}
	if wholeID().MatchString(head) {
		return head, nil
	}
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return "", err
	}
	return repo.ResolveCommit(ctx, head)
}

// gateData is the result of "deed gate".
type gateData struct {
	Head        string     `json:"head"`
	Deliverable bool       `json:"deliverable"`
	Tasks       []gateTask `json:"tasks"`
}

// gateTask is what one task says of the head.
type gateTask struct {
	Task  string            `json:"task"`
	State projections.State `json:"state"`
	Lacks []ledger.Lack     `json:"lacks"`
	Moves []move            `json:"moves"`
}

func (s *session) gate(ctx context.Context, commit string, tasks []string) error {
	c, err := s.dial()
	if err != nil {
		return err
	}
	if tasks == nil {
		if tasks, err = tasksAt(ctx, c, commit); err != nil {
			return err
		}
	}
	data := gateData{Head: commit, Tasks: []gateTask{}}
	for _, id := range tasks {
		state, err := s.existing(ctx, id)
		if err != nil {
			return err
		}
		if t := state.Task; ledger.AtHead(t, commit) && t.State != projections.Cancelled {
			g := gateTask{Task: id, State: t.State, Lacks: ledger.Undelivered(t, state.Policy, s.env.Now().UnixNano()), Moves: []move{}}
			if len(g.Lacks) > 0 {
				g.Moves = movesOf(state)
			}
			data.Tasks = append(data.Tasks, g)
		} else if err := s.otherHead(ctx, commit, state); err != nil {
			return err
		}
	}
	if len(data.Tasks) == 0 {
		return withHint(fmt.Errorf("%w: no task has %s as its result", errMissing, commit), "record it first: deed result record TASK --head %s", short(commit))
	}
	data.Deliverable = !slices.ContainsFunc(data.Tasks, func(g gateTask) bool { return len(g.Lacks) > 0 })
	if err := s.result("gate", data, func(w *textWriter) { w.gate(data) }); err != nil || data.Deliverable {
		return err
	}
	return told{gateRefusal(data)}
}

// tasksAt returns the tasks that a commit could be the result or the delivery of.
func tasksAt(ctx context.Context, c *client.Client, commit string) ([]string, error) {
	all, err := c.Tasks(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range all.Tasks {
		if slices.Contains(t.Commits, commit) {
			names = append(names, t.Task)
		}
	}
	return names, nil
}

// otherHead refuses a commit that is not the head of a task. Without a result
// there is none yet.
func (s *session) otherHead(ctx context.Context, commit string, state protocol.TaskState) error {
	r := state.Task.Result
	if state.Task.State == projections.Cancelled {
		return refuseState("gate/cancelled", "task %s was cancelled", state.Task.ID)
	}
	if r == nil || state.Task.State == projections.Delivered && commit == state.Task.Delivery.Data.Commit {
		return nil
	}
	text := fmt.Sprintf("the result of %s is commit %s, not %s", state.Task.ID, r.Data.Head, commit)
	if repo, err := workspace.Open(ctx, s.env.Dir); err == nil {
		if tree, err := repo.Tree(ctx, commit); err == nil && tree == r.Data.Tree {
			text += ", which has the same tree: an approval is carried to it by a new result and a new approval only"
		}
	}
	return withHint(refuseStale("gate/head", "%s", text), "record the commit as the result, and let it be proven and approved: deed why %s", state.Task.ID)
}

// gateRefusal is the error of the first lack.
func gateRefusal(data gateData) error {
	for _, g := range data.Tasks {
		for _, l := range g.Lacks {
			return withHint(refuse(l.Code, "gate/"+l.Rule, "%s is not deliverable by %s: %s", data.Head, g.Task, l.Text), "deed why %s says what leads on, and who gives it", g.Task)
		}
	}
	return errors.New("nothing is lacking")
}

// gate writes what the tasks of a head say.
func (w *textWriter) gate(data gateData) {
	for _, g := range data.Tasks {
		if len(g.Lacks) == 0 {
			w.line("%s is deliverable: %s is %s", data.Head, g.Task, g.State)
			continue
		}
		w.line("%s is not deliverable: %s is %s", data.Head, g.Task, g.State)
		for _, l := range g.Lacks {
			w.line("  %s: %s", l.Rule, l.Text)
		}
		for _, m := range g.Moves {
			w.line("  next: %s", m.String())
		}
	}
}
