package ledger

import (
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/secrets"
)

// RuleSecret refuses an event whose data holds what looks like a secret: what is in the ledger is there for ever.
const RuleSecret = "secret"

// RefuseSecrets returns a refusal with code [CodeSecret] when an event's data, JSON, holds what looks like a secret, with the place and
// never the value; nil where nothing does. known are values that the caller knows to be secret. It is asked before an event is
// signed and before it is admitted, never of history: what is found one day may not have been the day before.
func RefuseSecrets(t events.Type, data []byte, known ...string) *Refusal {
	places := secrets.FindJSON(data, known...)
	for n, p := range places {
		if t == events.KeyClaimed && p.Pointer == "/token" { // the event itself uses it up
			continue
		}
		more := ""
		if rest := len(places) - n - 1; rest > 0 {
			more = ", and more"
		}
		return refuse(CodeSecret, RuleSecret, "%s %s holds what looks like a secret (%s)%s", t.Short(), p.Pointer, p.Kind, more)
	}
	return nil
}
