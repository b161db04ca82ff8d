package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/schemas"
	"github.com/deedledger/deed/server/protocol"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

// shown is the data of "deed event show".
type shown struct {
	Position events.Position `json:"position"`
	Admitted int64           `json:"admitted,string"` // ns
	Hash     string          `json:"hash"`
	// Event is the exported form, which a signature is checked against.
	Event jsontext.Value `json:"event"`
	// Proof shows that the event lies under a signed head; it was checked.
	Proof *protocol.Proof `json:"proof,omitempty"`
}

// newEventCommand builds "deed event".
func newEventCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "event", Short: "Show events, their schemas, and append one"}
	var proof bool
	show := &cobra.Command{
		Use: "show ID|POSITION", Short: "Show one event", Args: cobra.ExactArgs(1),
		Long: `Show one event, by its id or its position. With -o json the exported form, which
anybody can verify. --proof has the service prove that the event lies under its
signed head, and checks the proof.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error { return s.showEvent(ctx, args[0], proof) }),
	}
	show.Flags().BoolVar(&proof, "proof", false, "ask for a proof of inclusion and check it")
	schema := &cobra.Command{
		Use: "schema [TYPE]", Short: "Print the JSON Schema of a type, or list the types", Args: cobra.MaximumNArgs(1),
		RunE: e.action(f, func(_ context.Context, s *session, args []string) error { return s.schema(args) }),
	}
	cmd.AddCommand(show, schema, newEventAppendCommand(e, f), newEventCosignCommand(e, f), newEventSubmitCommand(e, f))
	return cmd
}

func (s *session) showEvent(ctx context.Context, name string, proof bool) error {
	if proof {
		if _, err := s.dial(); err != nil {
			return err
		}
	}
	r, live, err := s.history(ctx)
	if err != nil {
		return err
	}
	record, err := s.find(ctx, r, live, name)
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	d := shown{Position: record.Position, Admitted: record.Admitted, Hash: record.Event.Hash().String(), Event: record.Event.Export()}
	if proof {
		p, err := s.client.Proof(ctx, record)
		if err != nil {
			return err
		}
		d.Proof = &p
	}
	return s.result("event", d, func(w *textWriter) { w.event(record, d) })
}

// find reads the event with an id or at a position.
func (s *session) find(ctx context.Context, r journal.Reader, live bool, name string) (events.Record, error) {
	at, err := strconv.ParseUint(name, 10, 53)
	switch {
	case err == nil:
	case live:
		found, err := s.client.Locate(ctx, name)
		if r, ok := errors.AsType[*ledger.Refusal](err); ok && r.Code == ledger.CodeNotFound {
			return events.Record{}, noEvent(name)
		}
		if err != nil {
			return events.Record{}, err
		}
		at = uint64(found.Position)
	default:
		err := r.Replay(ctx, 1, func(stored journal.Record) error {
			if values := stored.Header["ce-id"]; len(values) == 1 && values[0] == name {
				at = uint64(stored.Position)
			}
			return nil
		})
		if err != nil {
			return events.Record{}, err
		}
	}
	stored, err := r.Read(ctx, events.Position(at))
	if at == 0 || errors.Is(err, journal.ErrNotFound) {
		return events.Record{}, noEvent(name)
	}
	if err != nil {
		return events.Record{}, err
	}
	return openRecord(stored)
}

func noEvent(name string) error {
	return withHint(fmt.Errorf("%w: there is no event %q", errMissing, name), "name it by its position or its id: deed log shows the positions, deed log -o json the ids")
}

// event writes one event for people.
func (w *textWriter) event(r events.Record, d shown) {
	e := r.Event
	w.line("event %s", e.ID)
	w.line("  position  %d, admitted %s", r.Position, when(r.Admitted))
	w.line("  type      %s", string(e.Type))
	w.line("  source    %s, sequence %d", e.Source.String(), e.Sequence)
	if e.Subject != "" {
		w.line("  subject   %s", e.Subject)
	}
	if e.Fence != 0 {
		w.line("  fence     %d", e.Fence)
	}
	w.line("  author    %s, %s, key %s", e.AuthID, e.AuthType, e.SignKeyID)
	w.line("  time      %s, by its author", e.Time)
	w.line("  prevhash  %s", e.PrevHash.String())
	w.line("  hash      %s", d.Hash)
	if d.Proof != nil {
		w.line("  proof     holds: %d hashes lead to the signed head", len(d.Proof.Inclusion))
	}
	w.json(e.Data)
}

// json writes JSON for people: indented with spaces, and every character that
// could drive a terminal as an escape of JSON, so that it stays JSON.
func (w *textWriter) json(text []byte) {
	v := jsontext.Value(text).Clone()
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		w.line("%s", string(text)) // no JSON
		return
	}
	w.block(string(escape(v)))
}

// schema prints a type's schema, or lists the types.
func (s *session) schema(args []string) error {
	if len(args) == 0 {
		names := schemas.Names()
		return s.result("schemas", names, func(w *textWriter) {
			for _, name := range names {
				w.line("%s", name)
			}
		})
	}
	text, err := schemas.Text(shortType(args[0]))
	if err != nil {
		return err
	}
	return s.result("schema", jsontext.Value(text), func(w *textWriter) { w.json(text) })
}

// shortType returns "<noun>.<verb>" of a type that is named in full; any other
// name stays as it is.
func shortType(name string) string {
	if strings.HasPrefix(name, "dev.deed.") {
		return events.Type(name).Short()
	}
	return name
}
