package server

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/micro"
)

// ArtifactLimitDefault bounds the bytes of one artifact.
const ArtifactLimitDefault = 64 << 20

// artifacts takes and gives the bytes of artifacts. Clients reach the bucket
// through it alone. Uploads are in its memory: one that is not committed when
// the service ends is gone, and its chunks belong to nothing.
type artifacts struct {
	store  *jetstream.Objects
	writer *ledger.Writer
	now    func() time.Time
	random io.Reader
	limit  int64
	spool  *spool

	// recording is held for reading from the look for an artifact's bytes to the
	// acknowledgement of its event, and for writing while bytes are removed.
	recording sync.RWMutex

	mu      sync.Mutex // guards uploads
	uploads map[string]*upload
}

// newArtifacts returns what serves artifacts of a ledger whose folder is dir.
func newArtifacts(store *jetstream.Objects, w *ledger.Writer, dir string, o Options) (*artifacts, error) {
	s, err := newSpool(dir)
	if err != nil {
		return nil, err
	}
	limit := o.ArtifactLimit
	if limit == 0 {
		limit = ArtifactLimitDefault
	}
	return &artifacts{store: store, writer: w, now: o.Now, random: o.Random, limit: limit, spool: s, uploads: map[string]*upload{}}, nil
}

// handlers are the operations on artifacts, by name.
func (a *artifacts) handlers() map[string]handle {
	return map[string]handle{
		protocol.ArtifactBegin: a.begin, protocol.ArtifactChunk: a.chunk, protocol.ArtifactCommit: a.commit, protocol.ArtifactGet: a.get,
	}
}

// stored makes a refusal of an error of the store.
func stored(rule string, err error) error {
	refusal := &ledger.Refusal{Class: ledger.Unavailable, Code: ledger.CodeBusy, Rule: rule, Text: err.Error()}
	switch {
	case errors.Is(err, journal.ErrNotFound):
		refusal.Class, refusal.Code = ledger.Refused, ledger.CodeNotFound
	case errors.Is(err, journal.ErrCorrupt):
		refusal.Class, refusal.Code = ledger.Corrupt, ledger.CodeDamage
	case errors.Is(err, journal.ErrRefused):
		refusal.Class, refusal.Code = ledger.Refused, ledger.CodeForm
	case errors.Is(err, journal.ErrUnknown):
		refusal.Class = ledger.Unknown
	}
	return refusal
}

func refuseArtifact(code ledger.Code, rule, format string, args ...any) *ledger.Refusal {
	return &ledger.Refusal{Class: ledger.Refused, Code: code, Rule: rule, Text: fmt.Sprintf(format, args...)}
}

// strict decodes the body of a request about artifacts.
func strict(r micro.Request, v any) error {
	if err := json.Unmarshal(r.Data(), v, json.RejectUnknownMembers(true)); err != nil {
		return refuseArtifact(ledger.CodeForm, "artifact-request", "%v", err)
	}
	return nil
}

// get answers with a piece of an artifact. Who may have it is decided anew for
// every piece.
func (a *artifacts) get(ctx context.Context, r micro.Request) (any, error) {
	const rule = "artifact-get"
	var f protocol.Fetch
	if err := strict(r, &f); err != nil {
		return nil, err
	}
	recipient, err := a.admit(f)
	if err != nil {
		return nil, err
	}
	data, size, err := a.piece(ctx, f)
	if err != nil {
		return nil, err
	}
	if recipient != "" {
		if data, err = protocol.SealPiece(recipient, f.Digest, f.Offset, data); err != nil {
			return nil, refuseArtifact(ledger.CodeForm, rule, "%v", err)
		}
	}
	return protocol.Piece{Size: size, Data: data}, nil
}

// admit decides who reads, and returns the key to seal to, "" for nobody.
func (a *artifacts) admit(f protocol.Fetch) (recipient string, err error) {
	const rule = "artifact-get"
	if _, err := events.ParseHash(f.Digest); err != nil {
		return "", refuseArtifact(ledger.CodeForm, rule, "digest: %v", err)
	}
	var reader *projections.Actor
	var request ledger.ArtifactRequest
	if f.Request != "" {
		var actor projections.Actor
		if request, actor, err = a.writer.OpenArtifactRequest([]byte(f.Request), ledger.ArtifactGet); err != nil {
			return "", err
		}
		if raw, err := hex.DecodeString(request.Recipient); err != nil || len(raw) != 32 || request.Digest != f.Digest {
			return "", refuseArtifact(ledger.CodeForm, rule, "the signed request is for another digest, or names no recipient")
		}
		reader = &actor
	}
	var facts ledger.ArtifactFacts
	var ok bool
	a.writer.View(func(b *ledger.Book) { facts, ok = ledger.Artifact(b.State, f.Digest) })
	if !ok {
		return "", refuseArtifact(ledger.CodeNotFound, rule, "no event records artifact %s", f.Digest)
	}
	if refusal := facts.MayRead(reader, request.Quarantined); refusal != nil {
		return "", refusal
	}
	return request.Recipient, nil
}

// piece returns bytes of an artifact, which was verified as a whole before its
// first one is given away. A read from the start takes them from the store
// anew.
func (a *artifacts) piece(ctx context.Context, f protocol.Fetch) ([]byte, int64, error) {
	const rule = "artifact-get"
	if f.Offset == 0 || !a.spool.has(f.Digest) {
		err := a.spool.fill(f.Digest, func(w io.Writer) (int64, error) { return a.store.Get(ctx, f.Digest, w) })
		if err != nil {
			return nil, 0, stored(rule, err)
		}
	}
	data, size, err := a.spool.read(f.Digest, f.Offset)
	if err != nil {
		return nil, 0, stored(rule, err)
	}
	if f.Offset < 0 || f.Offset > size {
		return nil, 0, refuseArtifact(ledger.CodeForm, rule, "offset %d of %d bytes", f.Offset, size)
	}
	return data, size, nil
}

// hold refuses a submission that records an artifact whose bytes are not there,
// and keeps those that are until release. It only looks at bytes that could be
// such an event; what else is wrong with them is the ledger's to say.
func (a *artifacts) hold(ctx context.Context, export []byte) (release func(), err error) {
	if !bytes.Contains(export, []byte(events.ArtifactRecorded.Short())) {
		return func() {}, nil
	}
	e, err := events.ParseExport(export)
	if err != nil || e.Type != events.ArtifactRecorded {
		return func() {}, nil
	}
	p, err := e.Payload()
	if err != nil {
		return func() {}, nil
	}
	var known bool
	a.writer.View(func(b *ledger.Book) { _, _, known = b.Find(e.ID) })
	d, ok := p.(*events.Artifact)
	if !ok || known {
		return func() {}, nil
	}
	a.recording.RLock()
	size, err := a.store.Stat(ctx, d.Digest)
	if err == nil && size != d.Size {
		err = refuseArtifact(ledger.CodeRule, "artifact.recorded/bytes", "artifact %s has %d bytes, the event says %d", d.Digest, size, d.Size)
	} else if errors.Is(err, journal.ErrNotFound) {
		err = refuseArtifact(ledger.CodeNotFound, "artifact.recorded/bytes", "the bytes of artifact %s are not there: upload them first", d.Digest)
	} else if err != nil {
		err = stored("artifact.recorded/bytes", err)
	}
	if err != nil {
		a.recording.RUnlock()
		return nil, err
	}
	return a.recording.RUnlock, nil
}

// artifactAge is how old bytes are that no event names before they are removed,
// and artifactSweep how often they are looked for.
const (
	artifactAge   = 24 * time.Hour
	artifactSweep = 30 * time.Minute
)

// sweep removes what was uploaded before a time and is named by no event. Only
// the writer does: a standby may lag behind.
func (a *artifacts) sweep(ctx context.Context, before time.Time) (int, error) {
	if !a.writer.Leading() {
		return 0, nil
	}
	return a.store.Sweep(ctx, before, func(digest string, remove func() error) error {
		a.recording.Lock()
		defer a.recording.Unlock()
		wanted := true
		a.writer.View(func(b *ledger.Book) { wanted = ledger.MentionsArtifact(b.State, digest) })
		if wanted || !a.writer.Leading() {
			return nil
		}
		return remove()
	})
}

// sweepUntil sweeps every now and then until ctx ends.
func (a *artifacts) sweepUntil(ctx context.Context) {
	tick := time.NewTicker(artifactSweep)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_, _ = a.sweep(ctx, a.now().Add(-artifactAge)) // what fails now is old the next time, too
		}
	}
}

// ofArtifacts is the operation's name where it is handed on.
func ofArtifacts(operation string) string { return strings.Join([]string{"artifact", operation}, "-") }
