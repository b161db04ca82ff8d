package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace"
	"github.com/spf13/cobra"
)

// newResultCommand builds "deed result".
func newResultCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "result", Short: "Hand over what was made"}
	var o resultOptions
	record := &cobra.Command{
		Use: "record TASK", Short: "Record a commit as the result of the attempt", Args: cobra.MaximumNArgs(1),
		Long: "Record a commit as the result of the open attempt, and end the run.\n\n" +
			"Changed paths, tree and authors are read from git. Uncommitted changes inside the scope and changes outside the boundary are refused. " +
			"Each changed path serves acceptance items: say which with --map, where the contract has more than one.\n\n" +
			"Claims are held against git: a path of --evidence must be in the commit and differ from the attempt's base, a branch of --pushed must have " +
			"the commit. What does not match is named, one finding each, and nothing is recorded: exit code 1.",
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			task, err := s.taskArg(ctx, args)
			if err != nil {
				return err
			}
			return s.recordResult(ctx, task, o)
		}),
	}
	fs := record.Flags()
	fs.StringVar(&o.head, "head", "HEAD", "commit to hand over")
	fs.StringArrayVar(&o.maps, "map", nil, "PATH=A1,A2: the items that a path, or a pattern of paths, serves; '*=A1' names all")
	fs.StringArrayVar(&o.claims, "claim", nil, "A1=TEXT: what you say about an item")
	fs.StringArrayVar(&o.evidence, "evidence", nil, "A1=PATH: a file or folder that shows the claim about an item; it is held against git")
	fs.StringArrayVar(&o.pushed, "pushed", nil, "A1=REMOTE/BRANCH: the claim says that this branch has the commit; the remote is asked")
	fs.StringArrayVar(&o.ran, "ran", nil, "a command that you ran; [EXIT:]COMMAND, exit code 0 unless it says another")
	fs.StringArrayVar(&o.uncovered, "uncovered", nil, "what is not covered")
	fs.StringVar(&o.summary, "summary", "", "what was done, in a few sentences")
	cmd.AddCommand(writes(record, f))
	return cmd
}

// resultOptions are what an implementer says about a result; all else is read
// from git.
type resultOptions struct {
	head      string
	maps      []string
	claims    []string
	evidence  []string
	pushed    []string
	ran       []string
	uncovered []string
	summary   string
}

// recorded is the result of result record.
type recorded struct {
	ledger.Ack
	Head    string `json:"head"`
	Tree    string `json:"tree"`
	Changes int    `json:"changes"`
}

// handover is what an implementer says about a result, read.
type handover struct {
	head      string
	maps      []string // PATH=A1,A2
	claims    []events.Stated
	ran       []events.Ran
	uncovered []string
	summary   string
}

func (s *session) recordResult(ctx context.Context, task string, o resultOptions) error {
	h := handover{head: o.head, maps: o.maps, uncovered: o.uncovered, summary: o.summary}
	var err error
	if h.claims, err = statedClaims(o); err != nil {
		return err
	}
	if h.ran, err = parseRan(o.ran); err != nil {
		return err
	}
	done, err := s.handResult(ctx, task, h)
	if broken, ok := errors.AsType[*brokenPromises](err); ok {
		return s.showBroken(task, broken)
	}
	if err != nil {
		return err
	}
	return s.result("result", done, func(w *textWriter) {
		w.acked(done.Ack, "recorded %s as the result of %s: %s, tree %s", done.Head, task, counted(done.Changes, "changed path"), done.Tree)
	})
}

// handResult records a commit as a result. Error: brokenPromises where a claim
// does not hold.
func (s *session) handResult(ctx context.Context, task string, h handover) (recorded, error) {
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return recorded{}, err
	}
	head, err := repo.ResolveCommit(ctx, h.head)
	if err != nil {
		return recorded{}, err
	}
	var same steady
	var lines []string // of what is outside the boundary
	done := recorded{Head: head}
	done.Ack, err = s.append(ctx, task, func(state protocol.TaskState, a author) (draft, error) {
		l, err := holding(state, a)
		if err != nil {
			return draft{}, err
		}
		content, err := s.readContent(ctx, repo, state.Task, head)
		if err != nil {
			return draft{}, err
		}
		r := content.result
		if lines = violationLines(content.outside); len(lines) > 0 {
			d, err := trespassing(state.Task, content)
			d.fence = l.Fence
			return d, err
		}
		if r.Changes, err = mapChanges(content.changes, h.maps, state.Task.Contract().Contract); err != nil {
			return draft{}, withHint(err, "deed contract show %s lists the items; --map '**=%s' gives every path to one", task, state.Task.Contract().Contract.Acceptance[0].ID)
		}
		for _, c := range h.claims {
			if err := hasItem(state.Task.Contract().Contract, c.Acceptance); err != nil {
				return draft{}, err
			}
		}
		r.Claims, r.Commands, r.Uncovered, r.Summary = h.claims, h.ran, h.uncovered, h.summary
		if err := s.keepPromises(ctx, repo, r); err != nil {
			return draft{}, err
		}
		done.Tree, done.Changes = r.Tree, len(r.Changes)
		return draft{payload: &r, fence: l.Fence}, same.hold("the lease or the contract", events.FormatFence(l.Fence), contractDigest(state.Task))
	})
	if err != nil {
		return recorded{}, outsideError(err, lines)
	}
	return done, nil
}

// holding returns the author's live lease of a task with an open attempt.
func holding(state protocol.TaskState, a author) (*projections.Lease, error) {
	if err := exists(state); err != nil {
		return nil, err
	}
	if state.Task.Attempt() == nil || state.Task.Contract() == nil {
		return nil, refuseState("attempt", "task %s has no open attempt", state.Task.ID)
	}
	return lease(state.Task, a)
}

// parseClaims reads "A1=text" arguments.
func parseClaims(args []string) ([]events.Stated, error) {
	var claims []events.Stated
	for _, arg := range args {
		item, text, ok := strings.Cut(arg, "=")
		if !ok || item == "" || text == "" {
			return nil, fmt.Errorf("%w: --claim %q, want A1=TEXT", errUsage, arg)
		}
		claims = append(claims, events.Stated{Acceptance: item, Text: text})
	}
	return claims, nil
}

// shellWords are characters that only a shell gives a meaning to.
const shellWords = "'\"\\$`|&;<>*?()[]{}~#"

// parseRan reads "[EXIT:]COMMAND" arguments. A command that needs a shell to
// be read is kept as one for sh -c.
func parseRan(args []string) ([]events.Ran, error) {
	var ran []events.Ran
	for _, arg := range args {
		r := events.Ran{}
		command := arg
		if code, rest, ok := strings.Cut(arg, ":"); ok {
			if n, err := strconv.ParseInt(code, 10, 16); err == nil {
				r.Exit, command = n, rest
			}
		}
		r.Command = strings.Fields(command)
		if strings.ContainsAny(command, shellWords) {
			r.Command = []string{"sh", "-c", command}
		}
		if len(r.Command) == 0 {
			return nil, fmt.Errorf("%w: --ran %q, want [EXIT:]COMMAND", errUsage, arg)
		}
		ran = append(ran, r)
	}
	return ran, nil
}
