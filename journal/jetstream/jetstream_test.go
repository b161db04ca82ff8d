package jetstream_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/deedledger/deed/internal/natstest"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/journal/jetstream/embedded"
	"github.com/deedledger/deed/journal/journaltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	journaltest.Run(t, func(t *testing.T) journaltest.Open {
		config := natstest.Config(t)
		var server *embedded.Server
		return func() journal.Journal {
			open := jetstream.Create
			if server != nil {
				if err := server.Close(); err != nil {
					t.Fatal(err)
				}
				open = jetstream.Open
			}
			server = natstest.Start(t, config)
			j, err := open(t.Context(), natstest.Connect(t, server), natstest.Settings())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = j.Close() })
			return j
		}
	})
}
