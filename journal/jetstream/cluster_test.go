package jetstream_test

import (
	"context"
	"errors"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/deedledger/deed/internal/natstest"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/journal/jetstream/embedded"
	"github.com/deedledger/deed/journal/journaltest"
)

// TestContractOnThreeServers holds a replicated stream to the contract. A
// restart is another connection, and another leader of the stream.
func TestContractOnThreeServers(t *testing.T) {
	cluster := natstest.StartCluster(t, natstest.Ledger)
	begun := time.Now()
	cluster.Await()
	t.Logf("ready after %v", time.Since(begun))
	config := natstest.Settings()
	config.Replicas = natstest.ClusterSize
	admin := cluster.Dial(embedded.ServiceUser)
	js, err := natsjs.New(admin)
	if err != nil {
		t.Fatal(err)
	}
	journaltest.RunReplicated(t, func(t *testing.T) journaltest.Open {
		remove := func() {
			if err := js.DeleteStream(natstest.Within(t), journal.StreamName(natstest.Ledger)); err != nil && !errors.Is(err, natsjs.ErrStreamNotFound) {
				t.Fatal(err)
			}
		}
		remove()
		open := jetstream.Create
		return func() journal.Journal {
			nc := cluster.Dial(embedded.ServiceUser)
			if reply, err := nc.Request("$JS.API.STREAM.LEADER.STEPDOWN."+journal.StreamName(natstest.Ledger), nil, time.Minute); err != nil {
				t.Fatalf("step down: %v, %v", reply, err)
			}
			var j *jetstream.Journal
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for ctx := natstest.Within(t); ; <-tick.C { // between two leaders there is nobody to ask
				if j, err = open(ctx, nc, config); err == nil {
					open = jetstream.Open
					if err = writable(ctx, j); err == nil {
						break
					}
				}
				if !errors.Is(err, journal.ErrUnavailable) && !errors.Is(err, journal.ErrUnknown) || ctx.Err() != nil {
					t.Fatal(err)
				}
			}
			t.Cleanup(func() { _ = j.Close() })
			return j
		}
	})
}

// writable returns nil once the stream's leader takes writes: it reads, and it
// refuses an expectation that cannot hold.
func writable(ctx context.Context, j *jetstream.Journal) error {
	if _, err := j.Read(ctx, 1); err != nil && !errors.Is(err, journal.ErrNotFound) {
		return err
	}
	_, err := j.Append(ctx, journaltest.NewMessage("is-there-a-leader", journaltest.SubjectA), journal.Expect{Last: 1 << 40})
	if errors.Is(err, journal.ErrConflict) {
		return nil
	}
	return err
}
