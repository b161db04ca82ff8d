package server_test

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/internal/natstest"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream/embedded"
	"github.com/deedledger/deed/server"
	"github.com/deedledger/deed/signer"
	"github.com/google/uuid"
)

func newID() string { return uuid.Must(uuid.NewV7()).String() }

func newOptions(dir string) server.Options {
	return server.Options{Dir: dir, Listen: "127.0.0.1:0", Now: time.Now, NewID: newID, Random: rand.Reader, Version: "0.0.0", PID: os.Getpid()}
}

// newFolder creates a ledger.
func newFolder(t *testing.T) server.Options {
	t.Helper()
	o := newOptions(filepath.Join(t.TempDir(), "ledger"))
	key, err := signer.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, err = server.Create(natstest.Within(t), o, "acme", func(service signer.PublicKey) (events.Event, error) {
		data, err := events.EncodeData(&events.Genesis{
			Name: "acme", Rules: 1, Profile: "separate", Threshold: 1,
			Admins:  []events.Admin{{Actor: "ann", Principal: "ann", Key: key.Public().String(), Roles: []events.Role{events.RoleAdmin}}},
			Service: events.ServiceKey{Actor: "service", Key: service.String()},
		})
		if err != nil {
			return events.Event{}, err
		}
		return evidence.Seal(events.Event{
			ID: newID(), Source: events.Source{Ledger: "acme"}, Type: events.LedgerCreated, Time: events.FormatTime(time.Now()),
			Sequence: 1, AuthType: "user", AuthID: "ann", Data: data,
		}, key)
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// wantInUse demands what a folder says of itself.
func wantInUse(t *testing.T, dir string, want bool) {
	t.Helper()
	f, err := server.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.InUse(); err != nil || got != want {
		t.Errorf("in use: %v, want %v, error %v", got, want, err)
	}
}

// TestReaderOrService: a folder has a service, or readers one after the other.
func TestReaderOrService(t *testing.T) {
	ctx, o := natstest.Within(t), newFolder(t)
	wantInUse(t, o.Dir, false)
	r, err := server.OpenReader(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	wantInUse(t, o.Dir, true)
	n := 0
	if err := r.Replay(ctx, 1, func(journal.Record) error { n++; return nil }); err != nil || n != 1 {
		t.Errorf("read %d records, error %v", n, err)
	}
	if _, err := server.Run(ctx, o); !errors.Is(err, embedded.ErrInUse) {
		t.Errorf("service beside a reader: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	wantInUse(t, o.Dir, false)
	l, err := server.Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	wantInUse(t, o.Dir, true)
	for _, open := range []func() error{
		func() error { _, err := server.OpenReader(ctx, o); return err },
		func() error { _, err := server.Run(ctx, o); return err },
	} {
		if err := open(); !errors.Is(err, embedded.ErrInUse) {
			t.Errorf("beside a service: %v", err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	wantInUse(t, o.Dir, false)
}

// TestReaderNeedsALedger: what is missing is an error, and is not made.
func TestReaderNeedsALedger(t *testing.T) {
	ctx, o := natstest.Within(t), newFolder(t)
	empty := t.TempDir()
	for _, dir := range []string{empty, filepath.Join(empty, "nowhere")} {
		if _, err := server.OpenReader(ctx, newOptions(dir)); !errors.Is(err, server.ErrNoLedger) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if list, err := os.ReadDir(empty); err != nil || len(list) != 0 {
		t.Errorf("left %v, error %v", list, err)
	}
	store := filepath.Join(o.Dir, "store")
	if err := os.RemoveAll(store); err != nil {
		t.Fatal(err)
	}
	if _, err := server.OpenReader(ctx, o); !errors.Is(err, server.ErrNoLedger) {
		t.Errorf("without a store: %v", err)
	}
	if _, err := os.Stat(store); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the store was made: %v", err)
	}
	wantInUse(t, o.Dir, false)
}

// TestInUseDisturbsNobody: looking does not keep a service from starting.
func TestInUseDisturbsNobody(t *testing.T) {
	ctx, o := natstest.Within(t), newFolder(t)
	f, err := server.OpenFolder(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := f.InUse(); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for range 5 {
		r, err := server.OpenReader(ctx, o)
		if err != nil {
			t.Error(err)
			break
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	<-done
}
