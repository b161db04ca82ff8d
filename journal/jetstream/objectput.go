package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/deedledger/deed/journal"
)

// ObjectWriter puts one object, chunk by chunk. It is not for concurrent use.
// After an error of Write nothing but Discard makes sense.
type ObjectWriter struct {
	objects *Objects
	stream  natsjs.Stream
	digest  string
	// replaces is the sequence of a meta message whose object is damaged.
	replaces uint64

	id     string
	sum    hash.Hash
	size   int64
	chunks uint32
}

// Begin starts to put an object that Keep did not find. Nothing of it is there
// for anybody before Commit.
func (o *Objects) Begin(ctx context.Context, digest string) (*ObjectWriter, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	w := &ObjectWriter{objects: o, digest: digest, id: newObjectID(), sum: sha256.New()}
	var err error
	if w.stream, err = o.open(ctx, true); err == nil {
		var found object
		found, err = o.find(ctx, w.stream, o.metaSubject(digest))
		if w.replaces = found.sequence; errors.Is(err, journal.ErrCorrupt) {
			err = nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("begin object %.80q: %w", digest, err)
	}
	return w, nil
}

// Size returns how many bytes were written.
func (w *ObjectWriter) Size() int64 { return w.size }

// Write stores bytes durably, as part of nothing yet.
func (w *ObjectWriter) Write(ctx context.Context, data []byte) error {
	for len(data) > 0 {
		part := data[:min(len(data), objectChunk)]
		data = data[len(part):]
		if err := w.publish(ctx, part); err != nil {
			return fmt.Errorf("write object %.80q: %w", w.digest, err)
		}
		w.sum.Write(part)
		w.size += int64(len(part))
		w.chunks++
	}
	return nil
}

func (w *ObjectWriter) publish(ctx context.Context, part []byte) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	m := &nats.Msg{Subject: w.objects.chunkSubject(w.id), Data: part}
	_, err := w.objects.js.PublishMsg(ctx, m, natsjs.WithRetryAttempts(0))
	return putError(err)
}

// Commit makes the object visible, durably. journal.ErrRefused when the bytes
// are not what the digest says; journal.ErrUnknown when it may be visible or
// not: Keep tells. An object that somebody else put meanwhile stays, and the
// bytes of this one go.
func (w *ObjectWriter) Commit(ctx context.Context) error {
	if got := hexSum(w.sum); got != w.digest {
		return fmt.Errorf("commit object %.80q: %w: the bytes have digest %s", w.digest, journal.ErrRefused, got)
	}
	ctx, cancel := bounded(ctx)
	defer cancel()
	o := w.objects
	before, err := o.find(ctx, w.stream, o.metaSubject(w.digest))
	if err != nil && !errors.Is(err, journal.ErrCorrupt) {
		return fmt.Errorf("commit object %s: %w", w.digest, err)
	}
	if before.sequence == w.replaces {
		err = o.publishMeta(ctx, natsjs.ObjectInfo{
			ObjectMeta: natsjs.ObjectMeta{Name: w.digest, Opts: &natsjs.ObjectMetaOptions{ChunkSize: objectChunk}},
			Bucket:     ObjectBucket(o.config.Ledger), NUID: w.id, Size: uint64(w.size), Chunks: w.chunks,
			Digest: "SHA-256=" + base64.URLEncoding.EncodeToString(w.sum.Sum(nil)),
		}, w.replaces)
		if err == nil {
			if before.NUID != "" {
				_ = o.purge(ctx, w.stream, o.chunkSubject(before.NUID)) // damaged; Sweep tries again
			}
			return nil
		}
		if !errors.Is(err, journal.ErrConflict) {
			return fmt.Errorf("commit object %s: %w", w.digest, err)
		}
	}
	w.Discard(ctx)
	return nil
}

// Discard removes what was written, as far as that is possible now; Sweep
// removes the rest. After Commit returned nil it must not be called.
func (w *ObjectWriter) Discard(ctx context.Context) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	_ = w.objects.purge(ctx, w.stream, w.objects.chunkSubject(w.id))
}

// Put puts an object from a reader, unless it is there already. Errors as from
// Keep, Begin, Write and Commit, and those of r.
func (o *Objects) Put(ctx context.Context, digest string, r io.Reader) error {
	if there, err := o.Keep(ctx, digest); there || err != nil {
		return err
	}
	w, err := o.Begin(ctx, digest)
	if err != nil {
		return err
	}
	buffer := make([]byte, objectChunk)
	for {
		n, err := io.ReadFull(r, buffer)
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if last {
			err = nil
		}
		if err == nil {
			err = w.Write(ctx, buffer[:n])
		}
		if err == nil && last {
			err = w.Commit(ctx)
		}
		if err != nil && !errors.Is(err, journal.ErrUnknown) {
			w.Discard(context.WithoutCancel(ctx))
		}
		if err != nil || last {
			return err
		}
	}
}
