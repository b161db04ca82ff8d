package jetstream

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/deedledger/deed/journal"
)

// objectChunk is the size of a chunk in the store, in bytes.
const objectChunk = 128 << 10

// Objects keeps a ledger's artifacts by their SHA-256 in a JetStream object
// store: stream OBJ_DEED_<ledger>_artifacts, one object for each digest, named
// by its 64 hex digits. Its bytes are chunks under an id of their own; an object
// exists from the moment on when its one meta message is stored, which is sent
// after every chunk was acknowledged, as a compare-and-swap. So nothing that is
// half-written is ever visible, whoever dies when: what was left are chunks of
// no object, which Sweep removes.
//
// The layout is that of nats.go's object store, whose own Put is not used: it
// sends the meta message before the chunks are acknowledged. Everything is read
// through the stream's leader, since a replica that lags would deny an object
// that was just put.
//
// The bucket is made with the first object. All methods may be called at the
// same time. Errors are journal.ErrNotFound, ErrCorrupt for bytes that are not
// what the digest says, ErrRefused, ErrUnknown and ErrUnavailable.
type Objects struct {
	js     natsjs.JetStream
	config Config

	mu     sync.Mutex    // guards stream
	stream natsjs.Stream // nil until it was found or made
}

// ObjectBucket returns the name of a ledger's bucket of artifacts.
func ObjectBucket(ledger string) string { return journal.StreamName(ledger) + "_artifacts" }

// NewObjects returns the ledger's store of artifacts. It asks the server
// nothing. journal.ErrRefused for a bad Config. The connection stays the
// caller's.
func NewObjects(nc *nats.Conn, c Config) (*Objects, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("open objects: %w", err)
	}
	js, err := natsjs.NewWithAPIPrefix(nc, c.api())
	if err != nil {
		return nil, fmt.Errorf("open objects: %w", err)
	}
	return &Objects{js: js, config: c}, nil
}

// bucketStream returns the settings of the bucket's stream: those of nats.go's
// object stores, but for direct gets.
func (c Config) bucketStream() natsjs.StreamConfig {
	bucket := ObjectBucket(c.Ledger)
	return natsjs.StreamConfig{
		Name: "OBJ_" + bucket, Subjects: []string{"$O." + bucket + ".C.>", "$O." + bucket + ".M.>"},
		Storage: natsjs.FileStorage, Replicas: max(c.Replicas, 1), Discard: natsjs.DiscardNew, AllowRollup: true,
		MaxBytes: -1, Duplicates: DuplicatesDefault,
	}
}

// open returns the bucket's stream. journal.ErrNotFound if there is none and
// none is to be made.
func (o *Objects) open(ctx context.Context, make bool) (natsjs.Stream, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stream != nil {
		return o.stream, nil
	}
	want := o.config.bucketStream()
	stream, err := o.js.Stream(ctx, want.Name)
	if errors.Is(err, natsjs.ErrStreamNotFound) {
		if !make {
			return nil, journal.ErrNotFound
		}
		stream, err = o.js.CreateStream(ctx, want)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", journal.ErrUnavailable, err)
	}
	if got := stream.CachedInfo().Config; got.Storage != want.Storage || got.Replicas != want.Replicas || got.MaxAge != 0 || got.AllowDirect || !got.AllowRollup {
		return nil, fmt.Errorf("%w: bucket %s: storage %v, replicas %d, age %v, direct gets %v, rollup %v: want %v, %d, 0s, false, true",
			journal.ErrRefused, ObjectBucket(o.config.Ledger), got.Storage, got.Replicas, got.MaxAge, got.AllowDirect, got.AllowRollup, want.Storage, want.Replicas)
	}
	o.stream = stream
	return stream, nil
}

func (o *Objects) chunkSubject(id string) string {
	return "$O." + ObjectBucket(o.config.Ledger) + ".C." + id
}

func (o *Objects) metaSubject(digest string) string {
	return "$O." + ObjectBucket(o.config.Ledger) + ".M." + base64.URLEncoding.EncodeToString([]byte(digest))
}

// object is an object's meta message.
type object struct {
	natsjs.ObjectInfo
	sequence uint64 // in the stream, 0 for none
	stored   time.Time
}

// find reads the meta message of a digest; one with sequence 0 if there is
// none. A message that is no meta message of this digest is ErrCorrupt, beside
// its sequence.
func (o *Objects) find(ctx context.Context, stream natsjs.Stream, subject string) (object, error) {
	m, err := stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, natsjs.ErrMsgNotFound) {
		return object{}, nil
	}
	if err != nil {
		return object{}, fmt.Errorf("%w: %w", journal.ErrUnavailable, err)
	}
	found := object{sequence: m.Sequence, stored: m.Time}
	var info natsjs.ObjectInfo
	if err := json.Unmarshal(m.Data, &info); err != nil {
		return found, fmt.Errorf("%w: meta message: %w", journal.ErrCorrupt, err)
	}
	if o.metaSubject(info.Name) != subject || info.NUID == "" || info.Deleted || strings.ContainsAny(info.NUID, ".*> \t\r\n") {
		return found, fmt.Errorf("%w: meta message of another object", journal.ErrCorrupt)
	}
	found.ObjectInfo = info
	return found, nil
}

// Stat returns an object's size, in bytes, without looking at its bytes.
func (o *Objects) Stat(ctx context.Context, digest string) (int64, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	stream, err := o.open(ctx, false)
	if err == nil {
		var found object
		if found, err = o.find(ctx, stream, o.metaSubject(digest)); err == nil && found.sequence > 0 {
			return int64(found.Size), nil
		}
	}
	if err == nil {
		err = journal.ErrNotFound
	}
	return 0, fmt.Errorf("look for object %.80q: %w", digest, err)
}

// Get writes an object's bytes to w and returns their number. They are what the
// digest says only once Get returned without an error: keep them apart until
// then.
func (o *Objects) Get(ctx context.Context, digest string, w io.Writer) (int64, error) {
	size, err := o.get(ctx, digest, w)
	if err != nil {
		return 0, fmt.Errorf("get object %.80q: %w", digest, err)
	}
	return size, nil
}

func (o *Objects) get(ctx context.Context, digest string, w io.Writer) (int64, error) {
	stream, err := o.open(ctx, false)
	if err != nil {
		return 0, err
	}
	found, err := o.find(ctx, stream, o.metaSubject(digest))
	if err != nil {
		return 0, err
	}
	if found.sequence == 0 {
		return 0, journal.ErrNotFound
	}
	return o.read(ctx, stream, found, w)
}

// read copies an object's chunks, in their order in the stream.
func (o *Objects) read(ctx context.Context, stream natsjs.Stream, found object, w io.Writer) (int64, error) {
	sum, size, at := sha256.New(), uint64(0), uint64(1)
	for size < found.Size {
		m, err := o.chunk(ctx, stream, at, found.NUID)
		if err != nil {
			return 0, err
		}
		if size += uint64(len(m.Data)); size > found.Size || len(m.Data) == 0 {
			break
		}
		sum.Write(m.Data)
		if _, err := w.Write(m.Data); err != nil {
			return 0, fmt.Errorf("write: %w", err)
		}
		at = m.Sequence + 1
	}
	if size != found.Size || hexSum(sum) != found.Name {
		return 0, fmt.Errorf("%w: the bytes are not what the digest says", journal.ErrCorrupt)
	}
	return int64(size), nil
}

func (o *Objects) chunk(ctx context.Context, stream natsjs.Stream, from uint64, id string) (*natsjs.RawStreamMsg, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	m, err := stream.GetMsg(ctx, from, natsjs.WithGetMsgSubject(o.chunkSubject(id)))
	switch {
	case errors.Is(err, natsjs.ErrMsgNotFound):
		return nil, fmt.Errorf("%w: bytes are missing", journal.ErrCorrupt)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", journal.ErrUnavailable, err)
	}
	return m, nil
}

func hexSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// Keep reports whether an object is there with the right bytes, and counts its
// age for Sweep from now. What is there with other bytes is not: a new Put
// replaces it.
func (o *Objects) Keep(ctx context.Context, digest string) (bool, error) {
	_, err := o.get(ctx, digest, io.Discard)
	if errors.Is(err, journal.ErrNotFound) || errors.Is(err, journal.ErrCorrupt) {
		return false, nil
	}
	if err == nil {
		err = o.touch(ctx, digest)
	}
	if err != nil {
		return false, fmt.Errorf("keep object %.80q: %w", digest, err)
	}
	return true, nil
}

// touch stores an object's meta message anew.
func (o *Objects) touch(ctx context.Context, digest string) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	stream, err := o.open(ctx, false)
	if err != nil {
		return err
	}
	found, err := o.find(ctx, stream, o.metaSubject(digest))
	if err != nil || found.sequence == 0 {
		return errors.Join(err, journal.ErrUnavailable) // it went this moment
	}
	if err := o.publishMeta(ctx, found.ObjectInfo, found.sequence); err != nil && !errors.Is(err, journal.ErrConflict) {
		return err // after a conflict somebody else did the same
	}
	return nil
}

// publishMeta stores a meta message in place of the one at a sequence.
func (o *Objects) publishMeta(ctx context.Context, info natsjs.ObjectInfo, replaces uint64) error {
	text, err := json.Marshal(info)
	if err != nil {
		return err
	}
	m := &nats.Msg{Subject: o.metaSubject(info.Name), Data: text, Header: nats.Header{natsjs.MsgRollup: []string{natsjs.MsgRollupSubject}}}
	_, err = o.js.PublishMsg(ctx, m, natsjs.WithRetryAttempts(0), natsjs.WithExpectLastSequencePerSubject(replaces))
	if api, ok := errors.AsType[*natsjs.APIError](err); ok && (api.ErrorCode == codeWrongLast || api.ErrorCode == codeWrongLastInFlight) {
		return fmt.Errorf("%w: %w", journal.ErrConflict, err)
	}
	return putError(err)
}

// putError classifies the error of storing a message of an object.
func putError(err error) error {
	if err == nil {
		return nil
	}
	return classify(err, journal.Expect{})
}

// newObjectID returns an id for the chunks of an object to be.
func newObjectID() string { return rand.Text() }
