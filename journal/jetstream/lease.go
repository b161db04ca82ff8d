package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/deedledger/deed/journal"
)

// Holder is who may write to a ledger. The zero Holder is nobody.
type Holder struct {
	// Name is the instance's, unique for every start of one; empty when the
	// last holder gave the lease back.
	Name string `json:"name"`
	// Epoch rises with every new holder.
	Epoch uint64 `json:"epoch"`
	// Term is how long, after it last saw the entry change, another instance
	// waits before it takes the lease.
	Term time.Duration `json:"term"`
}

// LeaseStore keeps a ledger's writer lease: one entry in a key-value bucket of
// the stream's account, changed by compare-and-swap only. The entry never
// expires by itself: whoever waits measures the term with a clock of its own
// from the last change that it saw, so that no two clocks are compared and no
// epoch is ever lost.
type LeaseStore struct {
	kv natsjs.KeyValue
}

// leaseKey is the only key in the bucket.
const leaseKey = "writer"

// maxHolder bounds an entry, in bytes.
const maxHolder = 1 << 10

// LeaseBucket returns the name of a ledger's lease bucket.
func LeaseBucket(ledger string) string { return journal.StreamName(ledger) + "_writer" }

// OpenLease opens the lease of a ledger and makes its bucket where it is
// missing: without an entry nobody writes. journal.ErrUnavailable if the server
// cannot be asked, journal.ErrRefused for a bad Config or a bucket that is not
// what a lease needs.
func OpenLease(ctx context.Context, nc *nats.Conn, c Config) (*LeaseStore, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("open lease: %w", err)
	}
	js, err := natsjs.NewWithAPIPrefix(nc, c.api())
	if err != nil {
		return nil, fmt.Errorf("open lease: %w", err)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	replicas := max(c.Replicas, 1)
	kv, err := js.KeyValue(ctx, LeaseBucket(c.Ledger))
	if errors.Is(err, natsjs.ErrBucketNotFound) {
		kv, err = js.CreateKeyValue(ctx, natsjs.KeyValueConfig{
			Bucket: LeaseBucket(c.Ledger), History: 1, Storage: natsjs.FileStorage, Replicas: replicas, MaxValueSize: maxHolder,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("open lease: %w: %w", journal.ErrUnavailable, err)
	}
	status, err := kv.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("open lease: %w: %w", journal.ErrUnavailable, err)
	}
	if s := status.Config(); status.History() != 1 || status.TTL() != 0 || s.Storage != natsjs.FileStorage || s.Replicas != replicas {
		return nil, fmt.Errorf("open lease: %w: bucket %s has history %d, term %v, replicas %d: want 1, none, %d",
			journal.ErrRefused, LeaseBucket(c.Ledger), status.History(), status.TTL(), s.Replicas, replicas)
	}
	return &LeaseStore{kv: kv}, nil
}

// Get returns the entry and its revision, which only grows; 0 where there is
// none. A replica that lags may answer with an old one: then Put conflicts.
func (l *LeaseStore) Get(ctx context.Context) (Holder, uint64, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	entry, err := l.kv.Get(ctx, leaseKey)
	if errors.Is(err, natsjs.ErrKeyNotFound) {
		return Holder{}, 0, nil
	}
	if err != nil {
		return Holder{}, 0, fmt.Errorf("read lease: %w: %w", journal.ErrUnavailable, err)
	}
	var h Holder
	if err := json.Unmarshal(entry.Value(), &h); err != nil {
		return Holder{}, 0, fmt.Errorf("read lease: %w: %w", journal.ErrRefused, err)
	}
	return h, entry.Revision(), nil
}

// Put replaces the entry of a revision, 0 for none, and returns the new
// revision. journal.ErrConflict when the entry is another one by now;
// journal.ErrUnknown when nobody can say.
func (l *LeaseStore) Put(ctx context.Context, h Holder, revision uint64) (uint64, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return 0, fmt.Errorf("write lease: %w", err)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	next, err := l.kv.Update(ctx, leaseKey, text, revision)
	if err == nil {
		return next, nil
	}
	if api, ok := errors.AsType[*natsjs.APIError](err); ok && (api.ErrorCode == codeWrongLast || api.ErrorCode == codeWrongLastInFlight) {
		return 0, fmt.Errorf("write lease: %w", journal.ErrConflict)
	}
	return 0, fmt.Errorf("write lease: %w: %w", journal.ErrUnknown, err)
}
