package cli

import (
	"github.com/deedledger/deed/events"
	"github.com/go-json-experiment/json/jsontext"
)

// answer prints what was read of the ledger's state, and which position of
// the history it reflects: the member position of the JSON object, the last
// line of the text.
func (p *printer) answer(at events.Position, kind string, data any, text func(w *textWriter)) error {
	if p.json {
		return p.write(envelope{Schema: outputSchema, Kind: kind, Position: at, Data: data}, jsontext.Multiline(false))
	}
	return p.result(kind, data, func(w *textWriter) {
		text(w)
		w.line("as of position %d", at)
	})
}
