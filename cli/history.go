package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server"
)

// history opens the ledger's log for reading: through the running service,
// else, when none runs, in its stopped folder. live says which. Close it.
func (s *session) history(ctx context.Context) (r journal.Reader, live bool, err error) {
	c, err := s.dial()
	if err == nil && s.flags.atLeast > 0 {
		_, err = c.Status(ctx) // what is read now was in the ledger then
	}
	if err == nil {
		r, err = c.Reader(ctx)
		return r, true, err
	}
	if s.folder == nil || !errors.Is(err, errNoService) {
		return nil, false, err
	}
	s.note("no service runs: reading the stopped folder")
	if r, err = server.OpenReader(ctx, s.serviceOptions(s.folder.Dir)); err != nil {
		return nil, false, err
	}
	if err := s.longEnough(ctx, r); err != nil {
		return nil, false, errors.Join(err, r.Close())
	}
	return r, false, nil
}

// longEnough refuses a log that ends before the position of --at-least: it
// grows no more while no service runs.
func (s *session) longEnough(ctx context.Context, r journal.Reader) error {
	last, err := r.Last(ctx)
	if err == nil && last < events.Position(s.flags.atLeast) {
		err = fmt.Errorf("read position %d: %w: the stopped log ends at %d", s.flags.atLeast, client.ErrNotReached, last)
	}
	return err
}

// openRecord parses a stored message. It checks its form and not its
// signature, chain or author: only an audit does. journal.ErrCorrupt for
// what is no event.
func openRecord(stored journal.Record) (events.Record, error) {
	e, err := events.ParseStored(stored.Header, stored.Data)
	if err != nil {
		return events.Record{}, fmt.Errorf("%w: position %d: %w", journal.ErrCorrupt, stored.Position, err)
	}
	var admitted int64
	if values := stored.Header[events.HeaderAdmitted]; len(values) == 1 {
		admitted, err = strconv.ParseInt(values[0], 10, 64)
	}
	if err != nil || admitted <= 0 || stored.Subject != e.Source.Subject() {
		return events.Record{}, fmt.Errorf("%w: position %d: bad admission stamp, or subject %q", journal.ErrCorrupt, stored.Position, stored.Subject)
	}
	return events.Record{Position: stored.Position, Admitted: admitted, Event: e}, nil
}

// knownHeads returns every head of the session's ledger that is known here:
// those that the service kept, the newest one seen from here, and those in the
// files given. A head that does not verify is an error.
func (s *session) knownHeads(files []string) ([]evidence.Head, error) {
	identity, err := events.ParseHash(s.folder.Identity)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.folder.Dir, err)
	}
	key, err := s.folder.ServiceKey()
	if err != nil {
		return nil, err
	}
	kept, err := os.Open(s.folder.HeadsPath())
	var heads []evidence.Head
	if err == nil {
		heads, _, err = evidence.ReadHeadLog(kept, s.folder.Ledger, identity, key)
		err = errors.Join(err, kept.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read retained heads: %w", err)
	}
	p, err := s.env.places()
	if err != nil {
		return nil, err
	}
	seen, err := evidence.NewHeadFile(p.HeadPath(s.folder.Ledger, s.folder.Identity), s.folder.Ledger, identity, key).Load()
	if err == nil {
		heads = append(heads, seen)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read remembered head: %w", err)
	}
	for _, file := range files {
		text, err := s.readInput(file, evidence.MaxHeadBytes)
		if err != nil {
			return nil, err
		}
		head, err := s.openHead(string(text))
		if err != nil {
			return nil, fmt.Errorf("read head %s: %w", file, err)
		}
		heads = append(heads, head)
	}
	return heads, nil
}

// verified replays the log of the session's ledger up to a position (0: its
// end) and verifies everything, against every head that is known. A history
// of another ledger is a fault.
func (s *session) verified(ctx context.Context, files []string, upTo events.Position) (book *ledger.Book, audit ledger.Audit, live bool, err error) {
	if _, err := s.open(); err != nil {
		return nil, audit, false, err
	}
	heads, err := s.knownHeads(files) // first: what is appended meanwhile is no fault
	if err != nil {
		return nil, audit, false, err
	}
	for _, head := range heads[len(heads)-len(files):] {
		if upTo != 0 && head.Size > uint64(upTo) {
			return nil, audit, false, fmt.Errorf("%w: the head of size %d cannot be checked by position %d", errUsage, head.Size, upTo)
		}
	}
	r, live, err := s.history(ctx)
	if errors.Is(err, server.ErrNoLedger) { // the folder says that there was one
		audit = ledger.Audit{Ledger: s.folder.Ledger, Fault: &ledger.Fault{Position: 1, Reason: "the history is gone: " + err.Error()}}
		return ledger.NewBook(s.folder.Ledger), audit, live, nil
	}
	if err != nil {
		return nil, audit, live, err
	}
	book, audit, err = ledger.Verify(ctx, r, s.folder.Ledger, heads, upTo)
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, audit, live, err
	}
	if audit.Events > 0 && audit.Identity != s.folder.Identity { // the first fault, whatever comes later
		audit.Fault = &ledger.Fault{Position: 1, Reason: fmt.Sprintf("the genesis is %s, that of this ledger is %s", audit.Identity, s.folder.Identity)}
	}
	return book, audit, live, nil
}
