package embedded

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
)

// The accounts of the server. The stream and the service live in one, clients
// in another: a server checks no right on the subject that an answer goes to,
// so a client of the service's own account could have any answer published as
// an event. Across accounts an answer goes to the asking account alone.
const (
	ServiceAccount = "DEED"
	ClientAccount  = "CLIENTS"
)

// shared is a subject that clients may ask the service's account on.
type shared struct {
	subject string // as the service's account has it
	to      string // as clients ask for it
	many    bool   // one request may get many answers
}

// sharedSubjects lists what clients may ask: the service, who is there, and the
// ledger's stream, which they read with consumers of their own and by position.
func sharedSubjects(ledger string) []shared {
	list := []shared{
		{subject: "deed." + ledger + ".v1.>", to: "deed." + ledger + ".v1.>"},
		{subject: "$SRV.>", to: "$SRV.>", many: true},
	}
	stream := journal.StreamName(ledger)
	for _, op := range []string{"STREAM.INFO." + stream, "STREAM.MSG.GET." + stream, "CONSUMER.CREATE." + stream + ".>",
		"CONSUMER.INFO." + stream + ".>", "CONSUMER.MSG.NEXT." + stream + ".>", "CONSUMER.DELETE." + stream + ".>"} {
		list = append(list, shared{jetstream.DefaultAPI + "." + op, jetstream.ClientAPI + "." + op, strings.HasPrefix(op, "CONSUMER.MSG.NEXT")})
	}
	return list
}

// ClientPermissions returns what a client may do: ask on the shared subjects,
// and hear its answers.
func ClientPermissions(ledger string) *server.Permissions {
	var allow []string
	for _, s := range sharedSubjects(ledger) {
		allow = append(allow, s.to)
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: allow},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
	}
}

// accounts returns the accounts as the text of a server's configuration.
func (c Config) accounts() string {
	return Accounts(c.Ledger, strconv.Quote(c.ServicePassword), strconv.Quote(c.ClientPassword))
}

// Accounts returns the accounts of a ledger's server as the text of a server's
// configuration. A password is a quoted string or a reference to a variable.
func Accounts(ledger, servicePassword, clientPassword string) string {
	var exports, imports, allow strings.Builder
	for _, s := range sharedSubjects(ledger) {
		answers := "singleton"
		if s.many {
			answers = "stream"
		}
		fmt.Fprintf(&exports, "      { service: %q, response_type: %s, accounts: [%s] }\n", s.subject, answers, ClientAccount)
		fmt.Fprintf(&imports, "      { service: { account: %s, subject: %q }, to: %q }\n", ServiceAccount, s.subject, s.to)
		fmt.Fprintf(&allow, "              %q\n", s.to)
	}
	return fmt.Sprintf(`accounts {
  %s {
    jetstream: enabled
    users: [ { user: %s, password: %s } ]
    exports: [
%s    ]
  }
  %s {
    users: [
      {
        user: %s
        password: %s
        permissions {
          publish {
            allow: [
%s            ]
          }
          subscribe { allow: ["_INBOX.>"] }
        }
      }
    ]
    imports: [
%s    ]
  }
}
`, ServiceAccount, ServiceUser, servicePassword, &exports, ClientAccount, ClientUser, clientPassword, &allow, &imports)
}
