package deploy

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/deedledger/deed/journal/jetstream/embedded"
	"github.com/nats-io/jwt/v2"
)

// jwtLayout is the accounts of nats-jwt.json.
type jwtLayout struct {
	DEED    struct{ Exports jwt.Exports }
	CLIENTS struct{ Imports jwt.Imports }
	Client  jwt.Permissions
}

// TestJWTLayout: the accounts for an operator's JWTs are those of
// nats-cluster.conf, which another test holds against the code.
func TestJWTLayout(t *testing.T) {
	text, err := os.ReadFile("nats-jwt.json")
	var l jwtLayout
	if err == nil {
		err = json.Unmarshal(text, &l)
	}
	if err != nil {
		t.Fatal(err)
	}
	o := readClusterConf(t, "nats-cluster.conf")
	if got, want := differs(l, embedded.ClientPermissions("main").Publish.Allow), len(o.Accounts); len(got) > 0 || want < 2 {
		t.Errorf("%q", got)
	}
	for name, change := range map[string]func(*jwtLayout){
		"an event subject":    func(l *jwtLayout) { l.Client.Pub.Allow = append(l.Client.Pub.Allow, "deed.main.ev.>") },
		"everybody's answers": func(l *jwtLayout) { l.Client.Sub.Allow = []string{">"} },
		"an export more": func(l *jwtLayout) {
			l.DEED.Exports = append(l.DEED.Exports, &jwt.Export{Subject: "$JS.API.>", Type: jwt.Service})
		},
		"an import less": func(l *jwtLayout) { l.CLIENTS.Imports = l.CLIENTS.Imports[1:] },
		"a stream":       func(l *jwtLayout) { l.DEED.Exports[0].Type = jwt.Stream },
		"one answer":     func(l *jwtLayout) { l.DEED.Exports[1].ResponseType = jwt.ResponseTypeSingleton },
	} {
		var l jwtLayout
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatal(err)
		}
		change(&l)
		if len(differs(l, embedded.ClientPermissions("main").Publish.Allow)) == 0 {
			t.Errorf("%s: no difference seen", name)
		}
	}
}

// differs lists how a layout is not that of clients who may ask on the subjects.
func differs(l jwtLayout, ask []string) (why []string) {
	if !slices.Equal(l.Client.Pub.Allow, ask) || len(l.Client.Pub.Deny) > 0 || l.Client.Resp != nil {
		why = append(why, "what a client may ask")
	}
	if !slices.Equal(l.Client.Sub.Allow, []string{"_INBOX.>"}) {
		why = append(why, "what a client may hear")
	}
	if len(l.DEED.Exports) != len(ask) || len(l.CLIENTS.Imports) != len(ask) {
		return append(why, "number of exports or imports")
	}
	for i, e := range l.DEED.Exports {
		many := e.Subject == "$SRV.>" || jwt.Subject("$JS.API.CONSUMER.MSG.NEXT.DEED_main.>") == e.Subject
		if e.Type != jwt.Service || (e.ResponseType == jwt.ResponseTypeStream) != many {
			why = append(why, "export of "+string(e.Subject))
		}
		if m := l.CLIENTS.Imports[i]; m.Subject != e.Subject || string(m.LocalSubject) != ask[i] || m.Type != jwt.Service || m.Account != embedded.ServiceAccount {
			why = append(why, "import of "+string(m.Subject))
		}
	}
	return why
}
