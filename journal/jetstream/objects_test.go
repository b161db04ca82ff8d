package jetstream_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/deedledger/deed/internal/natstest"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
)

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// stores runs a test on the service's own connection inside the process, and
// over the network as on an operator's server.
func stores(t *testing.T, test func(t *testing.T, nc *nats.Conn, o *jetstream.Objects)) {
	for name, dial := range map[string]func(t *testing.T) *nats.Conn{
		"embedded": func(t *testing.T) *nats.Conn { return natstest.Connect(t, natstest.Start(t, natstest.Config(t))) },
		"plain": func(t *testing.T) *nats.Conn {
			c := natstest.Config(t)
			c.Listen = "127.0.0.1:0"
			nc, err := nats.Connect(natstest.Start(t, c).URL(), nats.UserInfo("service", c.ServicePassword), nats.CustomInboxPrefix("_SERVICE"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(nc.Close)
			return nc
		},
	} {
		t.Run(name, func(t *testing.T) {
			nc := dial(t)
			o, err := jetstream.NewObjects(nc, natstest.Settings())
			if err != nil {
				t.Fatal(err)
			}
			test(t, nc, o)
		})
	}
}

func wantObject(t *testing.T, o *jetstream.Objects, data []byte) {
	t.Helper()
	var got bytes.Buffer
	size, err := o.Get(natstest.Within(t), digestOf(data), &got)
	if err != nil || size != int64(len(data)) || !bytes.Equal(got.Bytes(), data) {
		t.Errorf("got %d bytes, error %v, want %d", size, err, len(data))
	}
	if size, err := o.Stat(natstest.Within(t), digestOf(data)); err != nil || size != int64(len(data)) {
		t.Errorf("stat: %d, %v", size, err)
	}
}

func wantNone(t *testing.T, o *jetstream.Objects, digest string) {
	t.Helper()
	ctx := natstest.Within(t)
	if _, err := o.Get(ctx, digest, io.Discard); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("get: %v, want not found", err)
	}
	if _, err := o.Stat(ctx, digest); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("stat: %v, want not found", err)
	}
	if there, err := o.Keep(ctx, digest); there || err != nil {
		t.Errorf("keep: %v, %v", there, err)
	}
}

// bucket opens the store as any other client of nats.go does.
func bucket(t *testing.T, nc *nats.Conn) (natsjs.JetStream, natsjs.ObjectStore) {
	t.Helper()
	js, err := natsjs.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	store, err := js.ObjectStore(natstest.Within(t), jetstream.ObjectBucket(natstest.Ledger))
	if err != nil {
		t.Fatal(err)
	}
	return js, store
}

func messages(t *testing.T, nc *nats.Conn) uint64 {
	t.Helper()
	_, store := bucket(t, nc)
	status, err := store.Status(natstest.Within(t))
	if err != nil {
		t.Fatal(err)
	}
	return status.(*natsjs.ObjectBucketStatus).StreamInfo().State.Msgs
}

func TestObjects(t *testing.T) {
	stores(t, func(t *testing.T, nc *nats.Conn, o *jetstream.Objects) {
		ctx := natstest.Within(t)
		wantNone(t, o, digestOf(nil)) // nor a bucket
		many := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
		for _, data := range [][]byte{nil, []byte("x"), many[:128<<10], many[:128<<10+1], many} {
			wantNone(t, o, digestOf(data))
			if err := o.Put(ctx, digestOf(data), bytes.NewReader(data)); err != nil {
				t.Fatalf("put %d bytes: %v", len(data), err)
			}
			wantObject(t, o, data)
		}
		before := messages(t, nc)
		if err := o.Put(ctx, digestOf(many), strings.NewReader("never read")); err != nil {
			t.Errorf("put again: %v", err)
		}
		if after := messages(t, nc); after != before {
			t.Errorf("putting again left %d messages more", after-before)
		}
		_, store := bucket(t, nc)
		if got, err := store.GetBytes(ctx, digestOf(many)); err != nil || !bytes.Equal(got, many) {
			t.Errorf("nats.go reads %d bytes, error %v", len(got), err)
		}
		again, err := jetstream.NewObjects(nc, natstest.Settings())
		if err != nil {
			t.Fatal(err)
		}
		wantObject(t, again, many)
	})
}

// TestObjectsRefuse: what is not what the digest says, or not whole, is never
// there.
func TestObjectsRefuse(t *testing.T) {
	stores(t, func(t *testing.T, nc *nats.Conn, o *jetstream.Objects) {
		ctx := natstest.Within(t)
		data := bytes.Repeat([]byte("data"), 100_000)
		broken := errors.New("broken")
		for name, r := range map[string]io.Reader{
			"nothing": strings.NewReader(""), "less": bytes.NewReader(data[1:]), "more": io.MultiReader(bytes.NewReader(data), strings.NewReader("x")),
			"other":  strings.NewReader("other"),
			"broken": io.MultiReader(bytes.NewReader(data[:300_000]), readerFunc(func([]byte) (int, error) { return 0, broken })),
		} {
			if err := o.Put(ctx, digestOf(data), r); !errors.Is(err, journal.ErrRefused) && !errors.Is(err, broken) {
				t.Errorf("put %s: %v", name, err)
			}
			wantNone(t, o, digestOf(data))
		}
		if n := messages(t, nc); n != 0 {
			t.Errorf("%d messages are left", n)
		}
		for _, digest := range []string{"", "x", strings.ToUpper(digestOf(data)), digestOf(data) + "0", "*", ">", "a.b"} {
			wantNone(t, o, digest)
			if err := o.Put(ctx, digest, bytes.NewReader(data)); !errors.Is(err, journal.ErrRefused) {
				t.Errorf("put as %q: %v", digest, err)
			}
		}
		dead, cancel := context.WithCancel(ctx)
		cancel()
		if err := o.Put(dead, digestOf(data), bytes.NewReader(data)); err == nil {
			t.Error("put after its context ended")
		}
		wantNone(t, o, digestOf(data))
		if _, err := jetstream.NewObjects(nc, jetstream.Config{Ledger: "../x"}); !errors.Is(err, journal.ErrRefused) {
			t.Errorf("bad ledger: %v", err)
		}
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestObjectsAtOnce: of many that put the same at once one object is left.
func TestObjectsAtOnce(t *testing.T) {
	stores(t, func(t *testing.T, nc *nats.Conn, o *jetstream.Objects) {
		ctx := natstest.Within(t)
		data := bytes.Repeat([]byte("same"), 50_000)
		var all sync.WaitGroup
		failed := make(chan error, 8)
		for range cap(failed) {
			all.Go(func() { failed <- o.Put(ctx, digestOf(data), bytes.NewReader(data)) })
		}
		all.Wait()
		close(failed)
		for err := range failed {
			if err != nil {
				t.Errorf("put: %v", err)
			}
		}
		wantObject(t, o, data)
		if n := messages(t, nc); n != 3 { // two chunks and the object
			t.Errorf("%d messages are left, want 3", n)
		}
	})
}

// TestObjectsDamage: bytes that somebody changed in the bucket are found, and
// a new upload mends them.
func TestObjectsDamage(t *testing.T) {
	stores(t, func(t *testing.T, nc *nats.Conn, o *jetstream.Objects) {
		ctx := natstest.Within(t)
		data := bytes.Repeat([]byte("data"), 100_000)
		damages := map[string]func(js natsjs.JetStream, store natsjs.ObjectStore) error{
			"other bytes": func(_ natsjs.JetStream, store natsjs.ObjectStore) error {
				_, err := store.PutBytes(ctx, digestOf(data), bytes.Repeat([]byte("DATA"), 100_000))
				return err
			},
			"fewer bytes": func(_ natsjs.JetStream, store natsjs.ObjectStore) error {
				_, err := store.PutBytes(ctx, digestOf(data), data[:1000])
				return err
			},
			"no chunks": func(js natsjs.JetStream, _ natsjs.ObjectStore) error {
				stream, err := js.Stream(ctx, "OBJ_"+jetstream.ObjectBucket(natstest.Ledger))
				if err != nil {
					return err
				}
				return stream.Purge(ctx, natsjs.WithPurgeSubject("$O."+jetstream.ObjectBucket(natstest.Ledger)+".C.>"))
			},
			"no meta message": func(_ natsjs.JetStream, store natsjs.ObjectStore) error {
				return store.Delete(ctx, digestOf(data))
			},
		}
		for name, damage := range damages {
			if err := o.Put(ctx, digestOf(data), bytes.NewReader(data)); err != nil {
				t.Fatalf("put before %s: %v", name, err)
			}
			wantObject(t, o, data)
			if err := damage(bucket(t, nc)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if _, err := o.Get(ctx, digestOf(data), io.Discard); !errors.Is(err, journal.ErrCorrupt) {
				t.Errorf("get after %s: %v", name, err)
			}
			if there, err := o.Keep(ctx, digestOf(data)); there || err != nil {
				t.Errorf("keep after %s: %v, %v", name, there, err)
			}
		}
	})
}

// TestObjectsDrift: a bucket with other settings is none.
func TestObjectsDrift(t *testing.T) {
	stores(t, func(t *testing.T, nc *nats.Conn, o *jetstream.Objects) {
		ctx := natstest.Within(t)
		js, err := natsjs.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := js.CreateObjectStore(ctx, natsjs.ObjectStoreConfig{Bucket: jetstream.ObjectBucket(natstest.Ledger), TTL: time.Hour}); err != nil {
			t.Fatal(err)
		}
		if err := o.Put(ctx, digestOf(nil), strings.NewReader("")); !errors.Is(err, journal.ErrRefused) {
			t.Errorf("put: %v", err)
		}
	})
}

func TestObjectsSweep(t *testing.T) {
	stores(t, func(t *testing.T, nc *nats.Conn, o *jetstream.Objects) {
		ctx := natstest.Within(t)
		never := func(string, func() error) error { return errors.New("asked") }
		if n, err := o.Sweep(ctx, time.Now(), never); n != 0 || err != nil {
			t.Errorf("sweep without a bucket: %d, %v", n, err)
		}
		var data [4][]byte
		for i := range data {
			data[i] = fmt.Appendf(nil, "data %d", i)
			if err := o.Put(ctx, digestOf(data[i]), bytes.NewReader(data[i])); err != nil {
				t.Fatal(err)
			}
		}
		w, err := o.Begin(ctx, digestOf([]byte("whole")))
		if err == nil {
			err = w.Write(ctx, []byte("who")) // and its writer dies
		}
		if err != nil {
			t.Fatal(err)
		}
		wantNone(t, o, digestOf([]byte("whole")))
		if n, err := o.Sweep(ctx, time.Now().Add(-time.Hour), never); n != 0 || err != nil {
			t.Errorf("sweep of what is young: %d, %v", n, err)
		}
		later := time.Now().Add(time.Hour)
		only := func(digest string, remove func() error) error {
			if digest == digestOf(data[1]) {
				return remove()
			}
			return nil
		}
		if n, err := o.Sweep(ctx, later, only); n != 2 || err != nil {
			t.Errorf("sweep: %d, %v, want the object and the remains", n, err)
		}
		wantNone(t, o, digestOf(data[1]))
		for _, i := range []int{0, 2, 3} {
			wantObject(t, o, data[i])
		}
		if n := messages(t, nc); n != 6 {
			t.Errorf("%d messages are left, want 6", n)
		}
	})
}
