package cli

import (
	"context"
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/schemas"
	"github.com/deedledger/deed/server/protocol"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

// appended is what "deed event append" is asked for.
type appended struct {
	kind    string
	task    string
	subject string
	fence   uint64
}

// newEventAppendCommand builds "deed event append".
func newEventAppendCommand(e *Env, f *flags) *cobra.Command {
	var o appended
	cmd := &cobra.Command{
		Use: "append --type TYPE [--task TASK] FILE", Short: "Sign and append an event from its data", Args: cobra.ExactArgs(1),
		Long: `Sign and append one event whose data is a JSON file, - for standard input. deed event
schema TYPE says what it may hold. Events of a task need --task; its open attempt is
the subject unless --subject names another, and a holder of a lease gives --fence.

The event is about the state that the ledger has now. When somebody else is faster
nothing is written and the exit code is 6: look again and decide again.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error { return s.appendEvent(ctx, o, args[0]) }),
	}
	fs := cmd.Flags()
	fs.StringVar(&o.kind, "type", "", "type of the event, such as finding.recorded")
	fs.StringVar(&o.task, "task", "", "task that the event is of")
	fs.StringVar(&o.subject, "subject", "", "attempt that the event is of (default: the open one)")
	fs.Uint64Var(&o.fence, "fence", 0, "number of the run, for the holder of a lease")
	return administers(cmd, f)
}

func (s *session) appendEvent(ctx context.Context, o appended, file string) error {
	kind := events.TypeOf(shortType(o.kind))
	switch {
	case o.kind == "":
		return fmt.Errorf("%w: --type is missing", errUsage)
	case kind == "":
		return fmt.Errorf("%w: %q", events.ErrUnknownType, o.kind)
	case kind == events.LedgerCreated || kind == events.KeyClaimed:
		return fmt.Errorf("%w: %s is written by deed ledger create or deed actor claim", errUsage, kind.Short())
	case kind.Registry() && (o.task != "" || o.subject != "" || o.fence != 0):
		return fmt.Errorf("%w: %s belongs to the registry: it has no task, subject or fence", errUsage, kind.Short())
	case !kind.Registry() && o.task == "":
		return fmt.Errorf("%w: %s belongs to a task: name it with --task", errUsage, kind.Short())
	}
	s.topic.kind = kind.Short()
	p, err := s.payload(kind, file)
	if err != nil {
		return err
	}
	tries := 0
	once := func() error { // what a file says was decided on the state of now
		if tries++; tries > 1 {
			return &ledger.Refusal{Class: ledger.Conflict, Code: ledger.CodeHead, Rule: "event append", Text: "somebody else was faster: look again and decide again"}
		}
		return nil
	}
	var ack ledger.Ack
	if kind.Registry() {
		ack, err = s.appendRegistry(ctx, s.author, func(author) (events.Payload, error) { return p, once() })
	} else {
		ack, err = s.append(ctx, o.task, func(protocol.TaskState, author) (draft, error) {
			return draft{payload: p, subject: o.subject, fence: o.fence}, once()
		})
	}
	if err != nil {
		return err
	}
	return s.acked(ack, "%s appended", kind.Short())
}

// payload reads an event's data in any spelling of JSON. The schema names what
// is wrong; only events.DecodeData decides.
func (s *session) payload(kind events.Type, file string) (events.Payload, error) {
	text, err := s.readInput(file, 2*events.MaxData)
	if err != nil {
		return nil, err
	}
	if err := schemas.Validate(kind.Short(), text); err != nil {
		return nil, err
	}
	data := jsontext.Value(text)
	if err := data.Canonicalize(); err != nil {
		return nil, fmt.Errorf("%w: %w", events.ErrForm, err)
	}
	return events.DecodeData(kind, data)
}
