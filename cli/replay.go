package cli

import (
	"context"
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/spf13/cobra"
)

// replayed is the data of "deed replay".
type replayed struct {
	Ledger   string          `json:"ledger"`
	Position events.Position `json:"position"`
	Registry string          `json:"registry"` // digest of the registry's state
	Tasks    []replayedTask  `json:"tasks"`
	// Compared is how many of the states, the registry's too, the service was
	// found to have exactly so.
	Compared int           `json:"compared"`
	Fault    *ledger.Fault `json:"fault,omitempty"`
}

// replayedTask is one task as the log alone gives it.
type replayedTask struct {
	Task     string            `json:"task"`
	State    projections.State `json:"state"`
	Sequence uint64            `json:"sequence"`
	Head     string            `json:"head"`
	Digest   string            `json:"digest"` // SHA-256 of the state's RFC 8785 form
}

// newReplayCommand builds "deed replay".
func newReplayCommand(e *Env, f *flags) *cobra.Command {
	var at uint64
	cmd := &cobra.Command{
		Use: "replay", Short: "Rebuild every state from the log alone", Args: cobra.NoArgs,
		Long: `Rebuild the state of every task from the log alone and print its digest: the same log
gives the same digests on every machine. At the end of the log, the states that a
running service has are compared; a difference ends with exit code 10.

Nothing is written and no effect is called, ever. Where no service runs the stopped
folder is read.`,
		RunE: e.action(f, func(ctx context.Context, s *session, _ []string) error { return s.replay(ctx, events.Position(at)) }),
	}
	cmd.Flags().Uint64Var(&at, "at", 0, "as of this position; 0 for the end")
	return cmd
}

func (s *session) replay(ctx context.Context, at events.Position) error {
	book, audit, live, err := s.verified(ctx, nil, at)
	if err != nil {
		return err
	}
	if at > book.State.Position && audit.Fault == nil {
		return fmt.Errorf("%w: position %d: the log ends at %d", errMissing, at, book.State.Position)
	}
	data := replayed{
		Ledger: audit.Ledger, Position: book.State.Position, Registry: audit.Digests.Registry, Tasks: []replayedTask{}, Fault: audit.Fault,
	}
	for _, id := range book.State.TaskIDs() {
		t := book.State.Tasks[id]
		data.Tasks = append(data.Tasks, replayedTask{Task: id, State: t.State, Sequence: t.Sequence, Head: t.Head, Digest: audit.Digests.Tasks[id]})
	}
	if live && at == 0 && audit.Fault == nil {
		if err := s.compare(ctx, book, &data); err != nil {
			return err
		}
	}
	if err := s.answer(data.Position, "replay", data, func(w *textWriter) { w.replay(data) }); err != nil {
		return err
	}
	return faulty(audit)
}

// compare holds the states that the service has against those of the log.
// What it appended since the log was read is passed over.
func (s *session) compare(ctx context.Context, book *ledger.Book, data *replayed) error {
	g, err := s.registry(ctx)
	if err != nil {
		return err
	}
	if g.Sequence <= book.State.Registry.Sequence {
		digest, err := g.Digest()
		if err != nil {
			return err
		}
		if digest.String() != data.Registry {
			return fmt.Errorf("%w: the log gives the registry state %s, the service has %s", errAudit, data.Registry, digest)
		}
		data.Compared++
	}
	for _, t := range data.Tasks {
		state, err := s.client.Task(ctx, t.Task)
		if err != nil {
			return err
		}
		if state.Task.Sequence > t.Sequence {
			continue
		}
		digest, err := state.Task.Digest()
		if err != nil {
			return err
		}
		if digest.String() != t.Digest {
			return fmt.Errorf("%w: the log gives task %s the state %s, the service has %s", errAudit, t.Task, t.Digest, digest)
		}
		data.Compared++
	}
	return nil
}

// replay writes rebuilt states for people.
func (w *textWriter) replay(data replayed) {
	w.line("ledger %s rebuilt from its log up to position %d", data.Ledger, data.Position)
	w.line("  registry  %s", data.Registry)
	if data.Compared > 0 {
		w.line("  compared  %s with the service's: the same", counted(data.Compared, "state"))
	}
	if f := data.Fault; f != nil {
		w.line("  STOPPED   %s", f.Reason)
	}
	rows := make([][]string, len(data.Tasks))
	for i, t := range data.Tasks {
		rows[i] = []string{t.Task, t.State.String(), fmt.Sprint(t.Sequence), t.Digest}
	}
	w.table([]string{"TASK", "STATE", "EVENTS", "DIGEST"}, rows)
}
