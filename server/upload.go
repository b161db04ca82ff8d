package server

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server/protocol"
	"github.com/nats-io/nats.go/micro"
)

// Limits of uploads that are under way. An actor that begins one too many loses
// the one that rested longest: it may be that of a process that died.
const (
	maxUploads   = 64
	maxOfActor   = 4
	uploadPause  = 10 * time.Minute
	uploadIDSize = 16
)

// upload is one under way.
type upload struct {
	actor    string
	envelope []byte // the signed request
	size     int64  // as announced
	used     time.Time

	mu     sync.Mutex // guards what is below
	writer *jetstream.ObjectWriter
	over   bool
}

// begin starts an upload, or says that its bytes are there.
func (a *artifacts) begin(ctx context.Context, r micro.Request) (any, error) {
	const rule = "artifact-put"
	envelope := append([]byte(nil), r.Data()...)
	request, actor, err := a.writer.OpenArtifactRequest(envelope, ledger.ArtifactPut)
	if err != nil {
		return nil, err
	}
	if refusal := ledger.MayRecordArtifact(actor); refusal != nil {
		return nil, refusal
	}
	if request.Size > a.limit {
		return nil, refuseArtifact(ledger.CodeLimit, rule+"/limit", "%d bytes, at most %d", request.Size, a.limit)
	}
	there, err := a.store.Keep(ctx, request.Digest)
	if err != nil {
		return nil, stored(rule, err)
	}
	if there {
		return protocol.Upload{Present: true}, nil
	}
	id := make([]byte, uploadIDSize)
	if _, err := io.ReadFull(a.random, id); err != nil {
		return nil, fmt.Errorf("name upload: %w", err)
	}
	u := &upload{actor: actor.Name, envelope: envelope, size: request.Size}
	if u.writer, err = a.store.Begin(ctx, request.Digest); err != nil {
		return nil, stored(rule, err)
	}
	rested, refusal := a.enter(hex.EncodeToString(id), u)
	for _, old := range rested {
		old.drop(ctx)
	}
	if refusal != nil {
		return nil, refusal
	}
	return protocol.Upload{Upload: hex.EncodeToString(id)}, nil
}

// enter makes room for an upload and notes it. It returns those that had to go.
func (a *artifacts) enter(id string, u *upload) (rested []*upload, refusal *ledger.Refusal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	u.used = a.now()
	own, oldest := 0, ""
	for name, other := range a.uploads {
		if u.used.Sub(other.used) > uploadPause {
			rested = append(rested, other)
			delete(a.uploads, name)
			continue
		}
		if other.actor != u.actor {
			continue
		}
		if own++; oldest == "" || other.used.Before(a.uploads[oldest].used) {
			oldest = name
		}
	}
	if own >= maxOfActor {
		rested = append(rested, a.uploads[oldest])
		delete(a.uploads, oldest)
	}
	if len(a.uploads) >= maxUploads {
		return rested, &ledger.Refusal{Class: ledger.Unavailable, Code: ledger.CodeBusy, Rule: "artifact-put", Text: "too many uploads are under way"}
	}
	a.uploads[id] = u
	return rested, nil
}

// find returns an upload under way.
func (a *artifacts) find(id string) (*upload, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	u := a.uploads[id]
	if u == nil {
		return nil, refuseArtifact(ledger.CodeNotFound, "artifact-put", "no such upload is under way: begin again")
	}
	u.used = a.now()
	return u, nil
}

// leave ends an upload.
func (a *artifacts) leave(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.uploads, id)
}

// drop ends an upload of which nothing is to stay.
func (u *upload) drop(ctx context.Context) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.over {
		u.over = true
		u.writer.Discard(context.WithoutCancel(ctx))
	}
}

// chunk takes the next bytes of an upload.
func (a *artifacts) chunk(ctx context.Context, r micro.Request) (any, error) {
	var c protocol.Chunk
	if err := strict(r, &c); err != nil {
		return nil, err
	}
	u, err := a.find(c.Upload)
	if err != nil {
		return nil, err
	}
	taken, lost, err := u.take(ctx, c)
	if lost {
		a.leave(c.Upload)
		u.drop(ctx)
	}
	return protocol.Taken{Offset: taken}, err
}

// take writes a chunk; lost says that the upload cannot go on.
func (u *upload) take(ctx context.Context, c protocol.Chunk) (taken int64, lost bool, err error) {
	const rule = "artifact-put"
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.over {
		return 0, true, refuseArtifact(ledger.CodeNotFound, rule, "the upload is over: begin again")
	}
	at, n := u.writer.Size(), int64(len(c.Data))
	switch {
	case c.Offset != at:
		return 0, false, &ledger.Refusal{Class: ledger.Conflict, Code: ledger.CodeHead, Rule: rule + "/offset", Sequence: uint64(at),
			Text: fmt.Sprintf("offset %d, the next one is %d", c.Offset, at)}
	case n == 0 || n > protocol.MaxArtifactChunk:
		return 0, false, refuseArtifact(ledger.CodeLimit, rule+"/chunk", "a chunk of %d bytes, want 1 to %d", n, protocol.MaxArtifactChunk)
	case n > u.size-at:
		return 0, true, refuseArtifact(ledger.CodeLimit, rule+"/size", "more than the %d bytes that were announced", u.size)
	}
	if err := u.writer.Write(ctx, c.Data); err != nil {
		return 0, true, stored(rule, err)
	}
	return u.writer.Size(), false, nil
}

// commit makes an upload's bytes an artifact's, if they are what was announced
// and whoever announced them may still.
func (a *artifacts) commit(ctx context.Context, r micro.Request) (any, error) {
	var c protocol.Commit
	if err := strict(r, &c); err != nil {
		return nil, err
	}
	u, err := a.find(c.Upload)
	if err != nil {
		return nil, err
	}
	a.leave(c.Upload)
	if _, _, err := a.writer.OpenArtifactRequest(u.envelope, ledger.ArtifactPut); err != nil {
		u.drop(ctx)
		return nil, err
	}
	return u.commit(ctx)
}

func (u *upload) commit(ctx context.Context) (any, error) {
	const rule = "artifact-put"
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.over {
		return nil, refuseArtifact(ledger.CodeNotFound, rule, "the upload is over: begin again")
	}
	u.over = true
	if got := u.writer.Size(); got != u.size {
		u.writer.Discard(ctx)
		return nil, refuseArtifact(ledger.CodeForm, rule+"/size", "%d bytes, %d were announced", got, u.size)
	}
	err := u.writer.Commit(ctx)
	if err == nil {
		return protocol.Taken{Offset: u.size}, nil
	}
	if !errors.Is(err, journal.ErrUnknown) { // then it may be visible
		u.writer.Discard(ctx)
	}
	return nil, stored(rule+"/digest", err)
}
