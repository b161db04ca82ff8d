package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/journal"
)

// ErrExists says that a journal holds a ledger already.
var ErrExists = errors.New("ledger exists")

// Create writes the signed genesis event as the first message of an empty
// journal. It returns [ErrExists] for a journal that is not empty, a
// [*Refusal] for a genesis that the rules refuse; the journal's errors as
// they are.
func Create(ctx context.Context, j journal.Journal, genesis events.Event, now time.Time) error {
	fail := func(err error) error { return fmt.Errorf("create ledger %s: %w", genesis.Source.Ledger, err) }
	last, err := j.Last(ctx)
	if err != nil {
		return fail(err)
	}
	if last != 0 {
		return fail(ErrExists)
	}
	book := NewBook(genesis.Source.Ledger)
	a, err := Admit(genesis.Export(), book.Keys, 1)
	if err != nil {
		return fail(err)
	}
	admitted := now.UnixNano()
	if err := book.Check(a, admitted); err != nil {
		return fail(err)
	}
	message := evidence.NewMessage(a.Event, admitted)
	if _, err := journal.AppendSettled(ctx, j, message, book.Expect(message.Subject)); err != nil {
		return fail(err)
	}
	return nil
}
