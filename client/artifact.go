package client

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/signer"
	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
)

// ErrArtifact says that bytes are not what their digest says.
var ErrArtifact = errors.New("the bytes are not what the digest says")

// artifactTimeout bounds one request about an artifact, which may make the
// service read all of it.
const artifactTimeout = 30 * time.Second

// artifact sends one request about an artifact's bytes, again where nobody
// answered: each can be sent twice.
func (c *Client) artifact(ctx context.Context, operation string, body []byte, out any) error {
	for try := 1; ; try++ {
		m := &nats.Msg{Subject: protocol.SubjectArtifact(c.cfg.Ledger, operation), Data: body}
		err := c.requestWithin(ctx, max(artifactTimeout, c.cfg.Timeout), m, out)
		r, ok := errors.AsType[*ledger.Refusal](err)
		if !ok || r.Class != ledger.Unknown && r.Class != ledger.Unavailable || try == submitTries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(submitPause):
		}
	}
}

// PutArtifact uploads size bytes with a SHA-256, hex, signed by a key of an
// actor that may record artifacts; present says that they were there already.
// Before an event records the artifact nobody can read it, and after a day
// without one it is removed. Errors are [*ledger.Refusal]s, and those of r.
func (c *Client) PutArtifact(ctx context.Context, r io.ReaderAt, digest string, size int64, key signer.Key) (present bool, err error) {
	request := ledger.ArtifactRequest{Ledger: c.cfg.Ledger, Operation: ledger.ArtifactPut, Digest: digest, Size: size}
	envelope, err := ledger.SealArtifactRequest(request, key)
	if err != nil {
		return false, err
	}
	for try := 1; ; try++ {
		present, err := c.upload(ctx, envelope, io.NewSectionReader(r, 0, size))
		// The writer may have changed, or the last answer been lost: then the
		// bytes are there.
		lost, ok := errors.AsType[*ledger.Refusal](err)
		if !ok || lost.Class == ledger.Refused && lost.Code != ledger.CodeNotFound || lost.Class == ledger.Corrupt || try == submitTries || ctx.Err() != nil {
			return present, err
		}
	}
}

// upload makes one try.
func (c *Client) upload(ctx context.Context, envelope []byte, r io.Reader) (present bool, err error) {
	var u protocol.Upload
	if err := c.artifact(ctx, protocol.ArtifactBegin, envelope, &u); err != nil || u.Present {
		return u.Present, err
	}
	buffer := make([]byte, protocol.MaxArtifactChunk)
	for at := int64(0); ; {
		n, err := io.ReadFull(r, buffer)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return false, fmt.Errorf("upload artifact: %w", err)
		}
		if n == 0 {
			break
		}
		if err := c.chunk(ctx, protocol.Chunk{Upload: u.Upload, Offset: at, Data: buffer[:n]}); err != nil {
			return false, err
		}
		at += int64(n)
	}
	body, err := json.Marshal(protocol.Commit{Upload: u.Upload})
	if err != nil {
		return false, fmt.Errorf("upload artifact: %w", err)
	}
	return false, c.artifact(ctx, protocol.ArtifactCommit, body, &protocol.Taken{})
}

// chunk sends one chunk. A conflict that names its end says that an earlier try
// arrived.
func (c *Client) chunk(ctx context.Context, chunk protocol.Chunk) error {
	body, err := json.Marshal(chunk)
	if err != nil {
		return fmt.Errorf("upload artifact: %w", err)
	}
	err = c.artifact(ctx, protocol.ArtifactChunk, body, &protocol.Taken{})
	if r, ok := errors.AsType[*ledger.Refusal](err); ok && r.Class == ledger.Conflict && r.Sequence == uint64(chunk.Offset)+uint64(len(chunk.Data)) {
		return nil
	}
	return err
}

// GetArtifact writes an artifact's bytes to w and returns their number. They
// are verified as a whole only when it returns without an error. Without a key
// it reads public artifacts; quarantined asks for one even so, which only an
// admin gets. Errors are [*ledger.Refusal]s, [ErrArtifact], and those of w.
func (c *Client) GetArtifact(ctx context.Context, w io.Writer, digest string, key *signer.Key, quarantined bool) (int64, error) {
	fetch := protocol.Fetch{Digest: digest}
	var recipient *ecdh.PrivateKey
	if key != nil {
		var err error
		if recipient, err = ecdh.X25519().GenerateKey(rand.Reader); err != nil {
			return 0, fmt.Errorf("get artifact: %w", err)
		}
		envelope, err := ledger.SealArtifactRequest(ledger.ArtifactRequest{
			Ledger: c.cfg.Ledger, Operation: ledger.ArtifactGet, Digest: digest, Quarantined: quarantined,
			Recipient: hex.EncodeToString(recipient.PublicKey().Bytes()),
		}, *key)
		if err != nil {
			return 0, err
		}
		fetch.Request = string(envelope)
	}
	sum := sha256.New()
	size, err := c.pieces(ctx, io.MultiWriter(sum, w), fetch, recipient)
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != digest {
		err = ErrArtifact
	}
	if err != nil {
		return 0, fmt.Errorf("get artifact %.64s: %w", digest, err)
	}
	return size, nil
}

// pieces writes piece after piece.
func (c *Client) pieces(ctx context.Context, w io.Writer, fetch protocol.Fetch, recipient *ecdh.PrivateKey) (int64, error) {
	for {
		body, err := json.Marshal(fetch)
		if err != nil {
			return 0, err
		}
		var p protocol.Piece
		if err := c.artifact(ctx, protocol.ArtifactGet, body, &p); err != nil {
			return 0, err
		}
		if recipient != nil {
			if p.Data, err = protocol.OpenPiece(recipient, fetch.Digest, fetch.Offset, p.Data); err != nil {
				return 0, err
			}
		}
		if _, err := w.Write(p.Data); err != nil {
			return 0, err
		}
		fetch.Offset += int64(len(p.Data))
		if fetch.Offset >= p.Size {
			return fetch.Offset, nil
		}
		if len(p.Data) == 0 {
			return 0, fmt.Errorf("%w: %d of %d bytes", ErrArtifact, fetch.Offset, p.Size)
		}
	}
}
