package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/internal/natstest"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/journal/jetstream/embedded"
	"github.com/deedledger/deed/journal/journaltest"
)

// dial connects over TCP and tries for ever to connect again.
func dial(t *testing.T, s *embedded.Server, c embedded.Config) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(s.URL(),
		nats.UserInfo(embedded.ClientUser, c.ClientPassword),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(10*time.Millisecond),
		nats.ReconnectJitter(0, 0),
		nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// ofClient returns the settings for a connection as the client user.
func ofClient() jetstream.Config {
	c := natstest.Settings()
	c.API = jetstream.ClientAPI
	return c
}

// TestFollowOutlivesTheServer restarts the server, on the same address, under a
// client that follows.
func TestFollowOutlivesTheServer(t *testing.T) {
	config := natstest.Config(t)
	config.Listen = "127.0.0.1:0"
	server := natstest.Start(t, config)
	config.Listen = server.URL()[len("nats://"):]
	ctx := natstest.Within(t)
	j, err := jetstream.Create(ctx, natstest.Connect(t, server), natstest.Settings())
	if err != nil {
		t.Fatal(err)
	}
	e := journaltest.Fill(t, j, 3)
	reader, err := jetstream.OpenReader(ctx, dial(t, server, config), ofClient())
	if err != nil {
		t.Fatal(err)
	}
	follow, cancel := context.WithCancel(ctx)
	seen, ended := make(chan events.Position), make(chan error, 1)
	go func() {
		ended <- reader.Follow(follow, 1, func(r journal.Record) error {
			select {
			case seen <- r.Position:
			case <-follow.Done():
			}
			return nil
		})
	}()
	want := events.Position(1)
	receive := func(n int) {
		t.Helper()
		for range n {
			select {
			case got := <-seen:
				if got != want {
					t.Fatalf("position %d, want %d", got, want)
				}
				want++
			case err := <-ended:
				t.Fatalf("follow ended: %v", err)
			}
		}
	}
	receive(2) // the third is on its way while the server goes
	for round := range 3 {
		if err := server.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := reader.Last(ctx); !errors.Is(err, journal.ErrUnavailable) && err != nil {
			t.Errorf("last while the server is away: %v", err)
		}
		server = natstest.Start(t, config)
		j, err := jetstream.Open(ctx, natstest.Connect(t, server), natstest.Settings())
		if err != nil {
			t.Fatal(err)
		}
		m := journaltest.NewMessage(fmt.Sprintf("after-restart-%d", round), journaltest.SubjectA)
		if _, err := j.Append(ctx, m, e); err != nil {
			t.Fatal(err)
		}
		e = journal.Expect{Last: e.Last + 1, SubjectLast: e.Last + 1}
		receive(int(e.Last - want))
	}
	receive(1)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("follow: %v", err)
	}
}

// TestServerAway: what calls return, and that they return, when the server is
// gone for good.
func TestServerAway(t *testing.T) {
	config := natstest.Config(t)
	config.Listen = "127.0.0.1:0"
	server := natstest.Start(t, config)
	ctx := natstest.Within(t)
	own := natstest.Connect(t, server)
	j, err := jetstream.Create(ctx, own, natstest.Settings())
	if err != nil {
		t.Fatal(err)
	}
	e := journaltest.Fill(t, j, 3)
	remote := dial(t, server, config)
	reader, err := jetstream.OpenReader(ctx, remote, ofClient())
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	m := journaltest.NewMessage("away", journaltest.SubjectA)
	if _, err := j.Append(ctx, m, e); !errors.Is(err, journal.ErrUnknown) {
		t.Errorf("append: %v", err)
	}
	if _, err := journal.AppendSettled(ctx, j, m, e); !errors.Is(err, journal.ErrUnknown) {
		t.Errorf("append settled: %v", err)
	}
	never := func(journal.Record) error { return errors.New("handled") }
	if err := j.Follow(ctx, 4, never); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("follow on a closed connection: %v", err)
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if err := reader.Follow(short, 4, never); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("follow: %v", err)
	}
	if err := reader.Replay(short, 1, never); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("replay: %v", err)
	}
	remote.Close()
	if err := reader.Follow(ctx, 4, never); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("follow on a closed connection: %v", err)
	}
	if _, err := reader.Read(ctx, 1); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("read: %v", err)
	}
}

// TestReplayOfAThousand reads across several pulls, with more than one reader.
func TestReplayOfAThousand(t *testing.T) {
	f := newFixture(t, natstest.Settings())
	const n = 10_000
	for i := range n {
		if err := f.nc.Publish(journaltest.SubjectA, fmt.Append(nil, i+1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 3)
	for range cap(done) {
		go func() {
			next := events.Position(1)
			err := f.j.Follow(f.ctx, 1, func(r journal.Record) error {
				if r.Position != next || string(r.Data) != fmt.Sprint(next) {
					return fmt.Errorf("position %d with %q, want %d", r.Position, r.Data, next)
				}
				if next++; next > n {
					return errEnough
				}
				return nil
			})
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; !errors.Is(err, errEnough) {
			t.Error(err)
		}
	}
}

var errEnough = errors.New("enough")
