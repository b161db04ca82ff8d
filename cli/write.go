package cli

import (
	"fmt"
	"slices"

	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server/protocol"
)

// told marks the error of a command that has printed its result already, such
// as a receipt with a failed check: the error gives the exit code and is not
// printed as a second JSON object.
type told struct{ error }

func (t told) Unwrap() error { return t.error }

// exists is the first thing that most decisions check.
func exists(state protocol.TaskState) error {
	if state.Task.Sequence == 0 {
		return fmt.Errorf("%w: there is no task %q", errMissing, state.Task.ID)
	}
	return nil
}

// steady keeps what a decision named at its first look. After a lost race the
// command may decide again by itself only while all of it is unchanged.
type steady struct{ first []string }

// hold keeps the values of the first call and refuses any others later, with
// CodeStale.
func (s *steady) hold(what string, values ...string) error {
	if s.first == nil {
		s.first = slices.Clone(values)
	}
	if !slices.Equal(s.first, values) {
		return refuseStale("decided-again", "%s changed while this was being written: look again and decide again", what)
	}
	return nil
}

// acked writes what became of a write.
func (w *textWriter) acked(ack ledger.Ack, format string, args ...any) {
	switch {
	case ack.DryRun:
		w.line("would be accepted by %s; nothing was written", ack.Rule)
	case ack.Existing:
		w.line("nothing written: event %s is at position %d already", ack.EventID, ack.Position)
	default:
		w.line(format, args...)
		w.line("  event %s at position %d", ack.EventID, ack.Position)
	}
}
