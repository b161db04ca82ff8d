package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/workspace"
	"github.com/spf13/cobra"
)

// statement is a command that appends one event about a task and leads
// nowhere by itself: a plan, a decision, a cost.
type statement struct {
	use, short, long string
	// did says what was done, before the task's id.
	did string
	// held says that the author acts under its lease.
	held bool
	// payload builds the data from the command's flags.
	payload func(ctx context.Context, s *session, a author) (events.Payload, error)
}

// newStatementCommand builds the command of a statement.
func newStatementCommand(e *Env, f *flags, c statement) *cobra.Command {
	cmd := &cobra.Command{Use: c.use, Short: c.short, Long: c.long, Args: cobra.MaximumNArgs(1)}
	cmd.RunE = e.action(f, func(ctx context.Context, s *session, args []string) error {
		task, err := s.taskArg(ctx, args)
		if err != nil {
			return err
		}
		ack, err := s.append(ctx, task, func(state protocol.TaskState, a author) (draft, error) {
			if err := exists(state); err != nil {
				return draft{}, err
			}
			p, err := c.payload(ctx, s, a)
			if err != nil || !c.held {
				return draft{payload: p}, err
			}
			l, err := lease(state.Task, a)
			if err != nil {
				return draft{}, err
			}
			return draft{payload: p, fence: l.Fence}, nil
		})
		if err != nil {
			return err
		}
		return s.acked(ack, "%s %s", c.did, task)
	})
	return writes(cmd, f)
}

// needs refuses flags that are missing: pairs of a flag's name and its value.
func needs(pairs ...string) error {
	var missing []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			missing = append(missing, pairs[i])
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: %s must be given", errUsage, strings.Join(missing, ", "))
	}
	return nil
}

// evidenceHelp describes the values of --evidence.
const evidenceHelp = "what it rests on: commit:REVISION[:PATH], artifact:SHA256, receipt:EVENT or ran:[EXIT:]COMMAND; may be repeated"

// evidence reads the values of --evidence.
func (s *session) evidence(ctx context.Context, args []string) ([]events.Evidence, error) {
	var list []events.Evidence
	for _, arg := range args {
		kind, value, _ := strings.Cut(arg, ":")
		one, err := s.oneEvidence(ctx, kind, value)
		if err != nil {
			return nil, fmt.Errorf("--evidence %q: %w", arg, err)
		}
		list = append(list, one)
	}
	return list, nil
}

func (s *session) oneEvidence(ctx context.Context, kind, value string) (events.Evidence, error) {
	if value == "" {
		return events.Evidence{}, fmt.Errorf("%w: want KIND:VALUE with one of the kinds commit, artifact, receipt, ran", errUsage)
	}
	switch kind {
	case "artifact":
		return events.Evidence{Artifact: value}, nil
	case "receipt":
		return events.Evidence{Receipt: value}, nil
	case "ran":
		ran, err := parseRan([]string{value})
		if err != nil {
			return events.Evidence{}, err
		}
		return events.Evidence{Ran: &ran[0]}, nil
	case "commit":
		revision, path, _ := strings.Cut(value, ":")
		commit, err := s.commit(ctx, revision)
		if err != nil || path == "" {
			return events.Evidence{Commit: commit}, err
		}
		path, err = encodedPath(path)
		return events.Evidence{Commit: commit, Path: path}, err
	}
	return events.Evidence{}, fmt.Errorf("%w: kind %q, want one of commit, artifact, receipt, ran", errUsage, kind)
}

// commit returns the commit that a revision names in the repository at hand.
func (s *session) commit(ctx context.Context, revision string) (string, error) {
	repo, err := workspace.Open(ctx, s.env.Dir)
	if err != nil {
		return "", err
	}
	return repo.ResolveCommit(ctx, revision)
}

// encodedPath checks a path that a flag gives and encodes it as events do.
func encodedPath(path string) (string, error) {
	clean, err := boundary.CleanPath(path)
	if err != nil {
		return "", fmt.Errorf("%w: path %q: %w", errUsage, path, err)
	}
	return boundary.EncodePath(clean), nil
}
