// Package natstest starts real NATS servers for tests: in the process, on a
// folder of the test's own, gone when the test ends.
package natstest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/journal/jetstream/embedded"
)

// Ledger is the ledger of the servers and journals that this package makes.
const Ledger = "test"

// Config returns settings for a server on a folder that the test removes. It
// writes lazily, since no test cuts the power, and listens nowhere.
func Config(t testing.TB) embedded.Config {
	t.Helper()
	return embedded.Config{
		Ledger:          Ledger,
		StoreDir:        t.TempDir(),
		Lazy:            true,
		ServicePassword: strings.Repeat("s", embedded.MinPasswordBytes),
		ClientPassword:  strings.Repeat("c", embedded.MinPasswordBytes),
	}
}

// Start runs a server until the test ends, or until it is closed before.
func Start(t testing.TB, c embedded.Config) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(c)
	if err != nil {
		t.Fatalf("start server: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close server: %v", err)
		}
	})
	return s
}

// Connect connects as the service, until the test ends.
func Connect(t testing.TB, s *embedded.Server) *nats.Conn {
	t.Helper()
	return connect(t, s.Connect)
}

// ConnectClient connects as a client, until the test ends.
func ConnectClient(t testing.TB, s *embedded.Server) *nats.Conn {
	t.Helper()
	return connect(t, s.ConnectClient)
}

func connect(t testing.TB, dial func(...nats.Option) (*nats.Conn, error)) *nats.Conn {
	t.Helper()
	nc, err := dial()
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// Journal starts a server and creates the ledger's journal on it.
func Journal(t testing.TB) *jetstream.Journal {
	t.Helper()
	j, err := jetstream.Create(t.Context(), Connect(t, Start(t, Config(t))), Settings())
	if err != nil {
		t.Fatalf("create journal: %v", err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// Settings returns the settings of a stream that remembers message ids for
// longer than a test takes.
func Settings() jetstream.Config {
	return jetstream.Config{Ledger: Ledger, Duplicates: 2 * time.Minute}
}

// Within returns a context that bounds a step of a test by a minute.
func Within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Drift gives a ledger's stream a setting that a ledger does not have, as an
// administrator can, or takes it back.
func Drift(t testing.TB, nc *nats.Conn, c jetstream.Config, on bool) {
	t.Helper()
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	config := c.Stream()
	if on {
		config.MaxMsgs = 1 << 40
	}
	if _, err := js.UpdateStream(Within(t), config); err != nil {
		t.Fatalf("update stream: %v", err)
	}
}
