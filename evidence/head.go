package evidence

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/signer"
	"github.com/transparency-dev/formats/log"
	"golang.org/x/mod/sumdb/note"
)

// MaxHeadBytes bounds a signed head; the longest is a little shorter.
const MaxHeadBytes = 512

const originPrefix = "deed.dev/"

var (
	// ErrHeadForm means that bytes are not the one canonical form of a signed
	// head, or that a head's values are outside their range.
	ErrHeadForm = errors.New("not a signed head")
	// ErrHeadOrigin means that a head belongs to another ledger.
	ErrHeadOrigin = errors.New("head of another ledger")
	// ErrHeadSignature means that a head is not signed by the expected key.
	ErrHeadSignature = errors.New("head signature does not verify")
	// ErrRollback means that a head is smaller than one that was seen before.
	ErrRollback = errors.New("ledger rolled back")
	// ErrForked means that a head does not continue one that was seen before.
	ErrForked = errors.New("ledger forked")
)

// Head says what a ledger's whole history was at one size. Two heads are the
// same if they are equal with ==.
type Head struct {
	Ledger   string      // the ledger's name
	Identity events.Hash // the eventhash of its genesis, not zero
	Size     uint64      // number of events and position of the last, 1 to MaxSize
	Root     events.Hash // root of the Merkle tree at that size
}

// Origin returns the first line of the head, which is also the key's name.
func (h Head) Origin() string { return originPrefix + h.Ledger + "/" + h.Identity.String() }

func (h Head) check() error {
	switch {
	case !events.ValidLedger(h.Ledger):
		return fmt.Errorf("%w: ledger name %q", ErrHeadForm, h.Ledger)
	case h.Identity.IsZero():
		return fmt.Errorf("%w: no identity", ErrHeadForm)
	case h.Size < 1 || h.Size > MaxSize:
		return fmt.Errorf("%w: size %d, want 1 to %d", ErrHeadForm, h.Size, uint64(MaxSize))
	}
	return nil
}

// text returns what is signed: a C2SP checkpoint without extension lines.
func (h Head) text() []byte {
	return log.Checkpoint{Origin: h.Origin(), Size: h.Size, Hash: h.Root[:]}.Marshal()
}

// VerifierKey returns the key that checks heads of a ledger in the encoding of
// signed notes, for programs other than this one. It returns ErrHeadForm for a
// bad ledger name or a zero identity, signer.ErrPublicKey for a key that is zero or
// not Ed25519, the one algorithm of signed notes that is used here.
func VerifierKey(ledger string, identity events.Hash, public signer.PublicKey) (string, error) {
	head := Head{Ledger: ledger, Identity: identity, Size: 1}
	if err := head.check(); err != nil {
		return "", fmt.Errorf("encode verifier key: %w", err)
	}
	if public.IsZero() {
		return "", fmt.Errorf("encode verifier key: %w: no key", signer.ErrPublicKey)
	}
	if public.Algorithm() != signer.Ed25519 {
		return "", fmt.Errorf("encode verifier key: %w: signed notes want Ed25519, this is %s", signer.ErrPublicKey, public.Algorithm())
	}
	key, err := note.NewEd25519VerifierKey(head.Origin(), public.Bytes())
	if err != nil {
		return "", fmt.Errorf("encode verifier key: %w", err)
	}
	return key, nil
}

// SignHead returns the signed note of head, at most MaxHeadBytes. Signing the
// same head again gives the same bytes. It returns ErrHeadForm for values
// outside their range and signer.ErrNoKey for a zero key.
func SignHead(head Head, key signer.Key) ([]byte, error) {
	if err := head.check(); err != nil {
		return nil, fmt.Errorf("sign head: %w", err)
	}
	if key.IsZero() {
		return nil, fmt.Errorf("sign head: %w", signer.ErrNoKey)
	}
	verifier, err := noteVerifier(head.Ledger, head.Identity, key.Public())
	if err != nil {
		return nil, fmt.Errorf("sign head: %w", err)
	}
	signed, err := note.Sign(&note.Note{Text: string(head.text())}, noteSigner{verifier, key})
	if err != nil {
		return nil, fmt.Errorf("sign head: %w", err)
	}
	return signed, nil
}

// OpenHead verifies a signed head of one ledger: exactly one signature, by
// public, over the canonical form and nothing else. It returns ErrHeadForm,
// ErrHeadOrigin or ErrHeadSignature, and signer.ErrPublicKey for a zero key; a
// head is returned only without an error.
func OpenHead(text []byte, ledger string, identity events.Hash, public signer.PublicKey) (Head, error) {
	head, err := openHead(text, Head{Ledger: ledger, Identity: identity}, public)
	if err != nil {
		return Head{}, fmt.Errorf("open head: %w", err)
	}
	return head, nil
}

func openHead(text []byte, want Head, public signer.PublicKey) (Head, error) {
	if len(text) > MaxHeadBytes {
		return Head{}, fmt.Errorf("%w: %d bytes, at most %d", ErrHeadForm, len(text), MaxHeadBytes)
	}
	verifier, err := noteVerifier(want.Ledger, want.Identity, public)
	if err != nil {
		return Head{}, err
	}
	opened, err := note.Open(text, note.VerifierList(verifier))
	if err != nil {
		return Head{}, explainNote(err, want.Origin())
	}
	if len(opened.Sigs) != 1 || len(opened.UnverifiedSigs) != 0 {
		return Head{}, fmt.Errorf("%w: more than one signature", ErrHeadForm)
	}
	var checkpoint log.Checkpoint
	rest, err := checkpoint.Unmarshal([]byte(opened.Text))
	if err != nil || len(rest) != 0 || len(checkpoint.Hash) != len(events.Hash{}) {
		return Head{}, fmt.Errorf("%w: not origin, size and root", ErrHeadForm)
	}
	if checkpoint.Origin != want.Origin() {
		return Head{}, fmt.Errorf("%w: %q, want %q", ErrHeadOrigin, checkpoint.Origin, want.Origin())
	}
	want.Size, want.Root = checkpoint.Size, events.Hash(checkpoint.Hash)
	if err := want.check(); err != nil {
		return Head{}, err
	}
	// note.Open takes base64 whose last character has stray bits.
	if _, err := base64.StdEncoding.Strict().DecodeString(opened.Sigs[0].Base64); err != nil {
		return Head{}, fmt.Errorf("%w: signature: %w", ErrHeadForm, err)
	}
	canonical := append(want.text(), "\n— "+verifier.Name()+" "+opened.Sigs[0].Base64+"\n"...)
	if !bytes.Equal(canonical, text) {
		return Head{}, fmt.Errorf("%w: another spelling of its content", ErrHeadForm)
	}
	return want, nil
}

// explainNote turns an error of note.Open into one of ours.
func explainNote(err error, origin string) error {
	if unverified, ok := errors.AsType[*note.UnverifiedNoteError](err); ok {
		for _, sig := range unverified.Note.UnverifiedSigs {
			if sig.Name == origin {
				return fmt.Errorf("%w: signed by another key", ErrHeadSignature)
			}
		}
		return fmt.Errorf("%w: not signed as %q", ErrHeadOrigin, origin)
	}
	if _, ok := errors.AsType[*note.InvalidSignatureError](err); ok {
		return ErrHeadSignature
	}
	return fmt.Errorf("%w: %w", ErrHeadForm, err)
}

// CompareHeads checks that next continues previous, the last head that was seen.
// The proof is a consistency proof between their sizes, empty if they are equal.
//
// It returns ErrHeadOrigin if they are of different ledgers, ErrRollback if next
// is smaller, and ErrForked if next is not a continuation. An ErrForked that
// comes with ErrProof may also be a bad or missing proof: ask once more for a
// proof; a ledger that cannot give one has forked.
func CompareHeads(previous, next Head, proof []events.Hash) error {
	switch {
	case previous.Origin() != next.Origin():
		return fmt.Errorf("compare heads: %w: %q after %q", ErrHeadOrigin, next.Origin(), previous.Origin())
	case next.Size < previous.Size:
		return fmt.Errorf("compare heads: %w: size %d after %d", ErrRollback, next.Size, previous.Size)
	case next.Size == previous.Size && next.Root != previous.Root:
		return fmt.Errorf("compare heads: %w: two roots at size %d", ErrForked, next.Size)
	}
	if err := VerifyConsistency(previous, next, proof); err != nil {
		return fmt.Errorf("compare heads: %w: %w", ErrForked, err)
	}
	return nil
}

// noteSigner signs notes with a key of this ledger.
type noteSigner struct {
	note.Verifier // for the name and the key hash
	key           signer.Key
}

// Sign implements note.Signer.
func (s noteSigner) Sign(message []byte) ([]byte, error) { return s.key.Sign(message) }

func noteVerifier(ledger string, identity events.Hash, public signer.PublicKey) (note.Verifier, error) {
	key, err := VerifierKey(ledger, identity, public)
	if err != nil {
		return nil, err
	}
	return note.NewVerifier(key)
}
