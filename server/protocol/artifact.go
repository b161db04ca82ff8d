package protocol

import (
	"crypto/ecdh"
	"crypto/hpke"
	"encoding/hex"
	"fmt"
)

// The operations on the bytes of artifacts.
const (
	ArtifactBegin  = "begin"
	ArtifactChunk  = "chunk"
	ArtifactCommit = "commit"
	ArtifactGet    = "get"
)

// MaxArtifactChunk bounds the bytes of an artifact in one message.
const MaxArtifactChunk = 256 << 10

// SubjectArtifact returns the subject of an operation on artifacts. The body of
// ArtifactBegin is a sealed [ledger.ArtifactRequest].
func SubjectArtifact(name, operation string) string {
	return "deed." + name + ".v1.artifact." + operation
}

// Upload is the answer to ArtifactBegin.
type Upload struct {
	// Upload names the upload in what follows.
	Upload string `json:"upload,omitzero"`
	// Present says that the bytes are there already: nothing follows.
	Present bool `json:"present,omitzero"`
}

// Chunk is the body of ArtifactChunk: the next bytes of an upload, 1 to
// [MaxArtifactChunk] of them, and how many came before.
type Chunk struct {
	Upload string `json:"upload"`
	Offset int64  `json:"offset"`
	Data   []byte `json:"data"`
}

// Taken is the answer to ArtifactChunk and ArtifactCommit: how many bytes of
// the upload are there. A chunk at another offset is a conflict whose Sequence
// is that number.
type Taken struct {
	Offset int64 `json:"offset"`
}

// Commit is the body of ArtifactCommit.
type Commit struct {
	Upload string `json:"upload"`
}

// Fetch is the body of ArtifactGet.
type Fetch struct {
	Digest string `json:"digest"`
	Offset int64  `json:"offset"`
	// Request is a sealed [ledger.ArtifactRequest] for the digest; a public
	// artifact needs none.
	Request string `json:"request,omitzero"`
}

// Piece is the answer to ArtifactGet: the bytes from an offset on, at most
// [MaxArtifactChunk], none only at the end.
type Piece struct {
	Size int64 `json:"size"` // of the artifact
	// Data is sealed to the request's recipient where there is one; see
	// [SealPiece].
	Data []byte `json:"data"`
}

// Pieces are sealed by HPKE (RFC 9180): DHKEM(X25519, HKDF-SHA256),
// HKDF-SHA256, ChaCha20-Poly1305, and for info this text, the digest and the
// offset, separated by single spaces.
const pieceInfo = "deed artifact v1"

func info(digest string, offset int64) []byte {
	return fmt.Appendf(nil, "%s %s %d", pieceInfo, digest, offset)
}

// SealPiece seals bytes of an artifact to a recipient, 64 hex digits.
func SealPiece(recipient, digest string, offset int64, data []byte) ([]byte, error) {
	raw, err := hex.DecodeString(recipient)
	if err != nil {
		return nil, fmt.Errorf("seal piece: recipient: %w", err)
	}
	public, err := ecdh.X25519().NewPublicKey(raw)
	if err != nil {
		return nil, fmt.Errorf("seal piece: recipient: %w", err)
	}
	key, err := hpke.NewDHKEMPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("seal piece: recipient: %w", err)
	}
	return hpke.Seal(key, hpke.HKDFSHA256(), hpke.ChaCha20Poly1305(), info(digest, offset), data)
}

// OpenPiece is the inverse of SealPiece. ErrReply when the bytes were not
// sealed to the key for this place.
func OpenPiece(key *ecdh.PrivateKey, digest string, offset int64, sealed []byte) ([]byte, error) {
	private, err := hpke.NewDHKEMPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("open piece: %w", err)
	}
	data, err := hpke.Open(private, hpke.HKDFSHA256(), hpke.ChaCha20Poly1305(), info(digest, offset), sealed)
	if err != nil {
		return nil, fmt.Errorf("open piece: %w: %w", ErrReply, err)
	}
	return data, nil
}
