package server_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/internal/natstest"
	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream/embedded"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server"
	"github.com/deedledger/deed/signer"
	"github.com/google/uuid"
	"golang.org/x/sys/unix"
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

// digest returns the digest of every file below a folder.
func digest(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	out := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		out[path] = sha256.Sum256(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestReaderChangesNothing: a block with a flipped bit and no index is what a
// server cuts off when it starts. An audit must not be what destroys it.
func TestReaderChangesNothing(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	l := servicetest.New(t)
	local := l.Run(t)
	appendAll(t, servicetest.Dial(t, l.Config(t, local.URL(), "")), chain(t, l, "TASK-1"), 5)
	if err := local.Close(); err != nil {
		t.Fatal(err)
	}
	blocks, err := filepath.Glob(filepath.Join(l.Folder.StoreDir(), "jetstream", "*", "streams", "*", "msgs", "1.blk"))
	if err != nil || len(blocks) != 1 {
		t.Fatalf("found %v, %v", blocks, err)
	}
	text, err := os.ReadFile(blocks[0])
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := errors.Join(os.WriteFile(blocks[0], text, 0o600), os.Remove(filepath.Join(filepath.Dir(blocks[0]), "index.db"))); err != nil {
		t.Fatal(err)
	}
	before := digest(t, l.Folder.Dir)
	var faults []string
	for range 2 {
		ctx := servicetest.Within(t)
		r, err := server.OpenReader(ctx, servicetest.Options(l.Folder.Dir))
		if err != nil {
			t.Fatal(err)
		}
		kept, err := os.ReadFile(l.Folder.HeadsPath())
		if err != nil {
			t.Fatal(err)
		}
		key, err := l.Folder.ServiceKey()
		if err != nil {
			t.Fatal(err)
		}
		heads, _, err := evidence.ReadHeadLog(bytes.NewReader(kept), l.Folder.Ledger, l.Identity(t), key)
		if err != nil {
			t.Fatal(err)
		}
		_, audit, err := ledger.Verify(ctx, r, l.Folder.Ledger, heads, 0)
		if err = errors.Join(err, r.Close()); err != nil {
			t.Fatal(err)
		}
		if audit.Fault == nil {
			t.Fatal("the audit finds no fault")
		}
		faults = append(faults, fmt.Sprintf("%+v", *audit.Fault))
		if after := digest(t, l.Folder.Dir); !maps.Equal(before, after) {
			t.Error("reading changed the folder")
		}
	}
	if faults[0] != faults[1] {
		t.Errorf("first fault %s, then %s", faults[0], faults[1])
	}
	if left, err := filepath.Glob(filepath.Join(temp, "deed-read-*")); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestReaderTakesFilesOnly: what leads out of the store is not read.
func TestReaderTakesFilesOnly(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for name, put := range map[string]func(path string) error{
		"link to a file":   func(path string) error { return os.Symlink("/etc/hostname", path) },
		"link to a folder": func(path string) error { return os.Symlink("jetstream", path) },
		"broken link":      func(path string) error { return os.Symlink("nowhere", path) },
		"pipe":             func(path string) error { return unix.Mkfifo(path, 0o600) },
	} {
		ctx, o := natstest.Within(t), newFolder(t)
		odd := filepath.Join(o.Dir, "store", "jetstream", "odd")
		if err := put(odd); err != nil {
			t.Fatal(err)
		}
		if _, err := server.OpenReader(ctx, o); !errors.Is(err, journal.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
		wantInUse(t, o.Dir, false)
	}
	o := newFolder(t)
	lock := filepath.Join(o.Dir, "store", "server.lock")
	if err := errors.Join(os.Remove(lock), os.Symlink("other", lock)); err != nil {
		t.Fatal(err)
	}
	if _, err := server.OpenReader(natstest.Within(t), o); !errors.Is(err, unix.ELOOP) {
		t.Errorf("lock is a link: %v, want ELOOP", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := server.OpenReader(ended, newFolder(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(temp, "deed-read-*")); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
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
