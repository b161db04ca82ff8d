package servicetest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal/jetstream/embedded"
	"github.com/deedledger/deed/server"
	"github.com/deedledger/deed/signer"
)

// Outside is a NATS system of an operator, with the accounts that a ledger
// needs, as this side gets into it.
type Outside struct {
	// URL is one or more server addresses.
	URL             string
	Service, Client client.Access
}

// Passwords writes the password files of the two users that a system of
// natstest has.
func Passwords(t testing.TB, url, service, asking string) Outside {
	t.Helper()
	dir := t.TempDir()
	access := func(user, password string) client.Access {
		file := filepath.Join(dir, user)
		if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return client.Access{User: user, PasswordFile: file}
	}
	return Outside{URL: url, Service: access(embedded.ServiceUser, service), Client: access(embedded.ClientUser, asking)}
}

// ExternalOptions are [Options] on a NATS system, with a short term of the
// writer's lease.
func ExternalOptions(dir string, o Outside) server.Options {
	options := Options(dir)
	options.External = server.External{NATS: &server.NATS{URL: o.URL, Access: o.Service}, Term: 2 * time.Second}
	return options
}

// NewExternal creates a ledger on a NATS system, with its folder for a first
// instance.
func NewExternal(t testing.TB, o Outside) *Ledger {
	t.Helper()
	story := newStory()
	folder, err := server.CreateExternal(Within(t), ExternalOptions(filepath.Join(t.TempDir(), "ledger"), o), Name, story.genesis)
	if err != nil {
		t.Fatalf("create ledger: %v", err)
	}
	return &Ledger{Folder: folder, Story: story}
}

// Twin returns a folder for another instance: the service's key and what says
// which ledger it is.
func (l *Ledger) Twin(t testing.TB) server.Folder {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"ledger.json", "service.key"} {
		text, err := os.ReadFile(filepath.Join(l.Folder.Dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	f, err := server.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// ExternalConfig returns a client's settings.
func (l *Ledger) ExternalConfig(t testing.TB, o Outside, headPath string) client.Config {
	t.Helper()
	key, err := l.Folder.ServiceKey()
	if err != nil {
		t.Fatal(err)
	}
	return client.Config{URL: o.URL, Access: o.Client, Ledger: l.Folder.Ledger, Identity: l.Identity(t), Service: key, HeadPath: headPath}
}

// Founding returns what signs the genesis of another ledger of the same name.
func Founding() func(signer.PublicKey) (events.Event, error) { return newStory().genesis }
