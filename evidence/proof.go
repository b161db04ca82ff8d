package evidence

import (
	"errors"
	"fmt"

	"github.com/deedledger/deed/events"
	"golang.org/x/mod/sumdb/tlog"
)

// maxProofHashes bounds a proof: a tree of MaxSize is 53 levels high, and a
// consistency proof may hold one hash more.
const maxProofHashes = 54

// ErrProof means that a proof does not show what it was given for.
var ErrProof = errors.New("proof does not hold")

// VerifyInclusion checks that leaf lies at its position under head. It returns
// ErrProof if the proof does not show it, for whatever reason.
func VerifyInclusion(leaf Leaf, head Head, proof []events.Hash) error {
	if head.Size < 1 || head.Size > MaxSize || leaf.Position < 1 || uint64(leaf.Position) > head.Size || len(proof) > maxProofHashes {
		return fmt.Errorf("verify inclusion of %d in %d with %d hashes: %w", leaf.Position, head.Size, len(proof), ErrProof)
	}
	err := tlog.CheckRecord(toTlog(proof), int64(head.Size), tlog.Hash(head.Root), int64(leaf.Position-1), tlog.Hash(leaf.Hash()))
	if err != nil {
		return fmt.Errorf("verify inclusion of %d in %d: %w: %w", leaf.Position, head.Size, ErrProof, err)
	}
	return nil
}

// VerifyConsistency checks that the history under next begins with the history
// under previous. It looks at sizes and roots only, not at whose heads they are:
// CompareHeads does. It returns ErrProof if the proof does not show it, for
// whatever reason, and also for a size of 0, which proves nothing.
func VerifyConsistency(previous, next Head, proof []events.Hash) error {
	if previous.Size < 1 || previous.Size > next.Size || next.Size > MaxSize || len(proof) > maxProofHashes {
		return fmt.Errorf("verify consistency of %d and %d with %d hashes: %w", previous.Size, next.Size, len(proof), ErrProof)
	}
	err := tlog.CheckTree(toTlog(proof), int64(next.Size), tlog.Hash(next.Root), int64(previous.Size), tlog.Hash(previous.Root))
	if err != nil {
		return fmt.Errorf("verify consistency of %d and %d: %w: %w", previous.Size, next.Size, ErrProof, err)
	}
	return nil
}
