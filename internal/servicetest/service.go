// Package servicetest makes real ledgers in folders of their own, with a real
// service, for tests and benchmarks: real keys, a listening server, every write
// synced.
package servicetest

import (
	"context"
	"crypto/rand"
	"path/filepath"
	"testing"
	"time"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/server"
	"github.com/deedledger/deed/signer"
	"github.com/google/uuid"
)

// Name is the ledger's name.
const Name = "acme"

// Ledger is a folder with a ledger whose service does not run yet.
type Ledger struct {
	Folder server.Folder
	// Story signs what the cast says, and knows the state that it leads to.
	Story *Story
}

// Options are those of a service in this process, on a free port.
func Options(dir string) server.Options {
	return server.Options{
		Dir: dir, Listen: "127.0.0.1:0", Now: time.Now, NewID: func() string { return uuid.Must(uuid.NewV7()).String() },
		Random: rand.Reader, Version: "1.2.3", PID: 1,
	}
}

// New creates a ledger in a folder that the test removes.
func New(t testing.TB) *Ledger {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ledger")
	story := newStory()
	folder, err := server.Create(Within(t), Options(dir), Name, story.genesis)
	if err != nil {
		t.Fatalf("create ledger: %v", err)
	}
	return &Ledger{Folder: folder, Story: story}
}

// Run runs the service in this process until the test ends, or until it is
// closed before.
func (l *Ledger) Run(t testing.TB) *server.Local {
	t.Helper()
	local, err := server.Run(Within(t), Options(l.Folder.Dir))
	if err != nil {
		t.Fatalf("run service: %v", err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Errorf("close service: %v", err)
		}
	})
	return local
}

// Config returns a client's settings for a service that listens at url. It
// remembers heads in headPath, or nowhere when that is empty.
func (l *Ledger) Config(t testing.TB, url, headPath string) client.Config {
	t.Helper()
	credential, err := l.Folder.Credential()
	if err != nil {
		t.Fatal(err)
	}
	key, err := l.Folder.ServiceKey()
	if err != nil {
		t.Fatal(err)
	}
	return client.Config{
		URL: url, User: credential.User, Password: credential.Password, Ledger: l.Folder.Ledger,
		Identity: l.Identity(t), Service: key, HeadPath: headPath,
	}
}

// Identity returns the ledger's identity.
func (l *Ledger) Identity(t testing.TB) events.Hash {
	t.Helper()
	identity, err := events.ParseHash(l.Folder.Identity)
	if err != nil {
		t.Fatal(err)
	}
	return identity
}

// Dial connects a client until the test ends.
func Dial(t testing.TB, c client.Config) *client.Client {
	t.Helper()
	out, err := client.Dial(c)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(out.Close)
	return out
}

// Within returns a context that bounds a step of a test by two minutes.
func Within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// newKey returns a new key.
func newKey() signer.Key {
	key, err := signer.GenerateKey(rand.Reader)
	if err != nil {
		panic("servicetest: " + err.Error())
	}
	return key
}
