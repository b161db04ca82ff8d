package evidence

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/deedledger/deed/events"
	"golang.org/x/mod/sumdb/tlog"
)

// MaxSize bounds the size of a tree: the largest count that every JSON reader
// keeps exactly.
const MaxSize = 1<<53 - 1

// ErrPosition means that a leaf does not come next, or that a position or size
// lies outside the tree.
var ErrPosition = errors.New("position outside the tree")

// Tree is an RFC 6962 Merkle tree in memory, 64 bytes for each leaf. One
// goroutine may append while any number read: a reader sees the tree as it was
// after some whole append. The zero Tree is empty and ready.
type Tree struct {
	// current is replaced by each append. An older view stays right, because
	// hashes are only ever added behind the ones it holds.
	current atomic.Pointer[view]
}

// view is the tree at one size: the stored hashes of tlog, in its order.
type view struct {
	size   uint64
	hashes []tlog.Hash
}

// Append adds the leaf of the next event. Its work grows with the logarithm of
// the size. It returns ErrPosition for a leaf that does not come next, or with a
// negative admission time; then nothing changed.
func (t *Tree) Append(leaf Leaf) error {
	now := t.view()
	if uint64(leaf.Position) != now.size+1 || now.size >= MaxSize {
		return fmt.Errorf("append leaf of position %d: %w: size is %d", leaf.Position, ErrPosition, now.size)
	}
	if leaf.Admitted < 0 {
		return fmt.Errorf("append leaf of position %d: %w: admitted at %d ns", leaf.Position, ErrPosition, leaf.Admitted)
	}
	added, err := tlog.StoredHashesForRecordHash(int64(now.size), tlog.Hash(leaf.Hash()), now)
	if err != nil {
		return fmt.Errorf("append leaf of position %d: %w", leaf.Position, err)
	}
	t.current.Store(&view{size: now.size + 1, hashes: append(now.hashes, added...)})
	return nil
}

// Size returns the number of leaves, which is the position of the last.
func (t *Tree) Size() uint64 { return t.view().size }

// Root returns the size and the root at that size, as one consistent pair. The
// root of the empty tree is SHA-256 of nothing.
func (t *Tree) Root() (uint64, events.Hash) {
	now := t.view()
	root, err := now.rootAt(now.size)
	if err != nil {
		panic("evidence: tree has no root at its own size: " + err.Error())
	}
	return now.size, root
}

// RootAt returns the root that the tree had at a size. It returns ErrPosition
// for a size that it has not reached.
func (t *Tree) RootAt(size uint64) (events.Hash, error) { return t.view().rootAt(size) }

// InclusionProof shows that the leaf at position is in the tree of that size.
// It returns ErrPosition unless 1 ≤ position ≤ size ≤ Size.
func (t *Tree) InclusionProof(position events.Position, size uint64) ([]events.Hash, error) {
	now := t.view()
	if position < 1 || uint64(position) > size || size > now.size {
		return nil, fmt.Errorf("prove inclusion of %d in %d: %w: size is %d", position, size, ErrPosition, now.size)
	}
	proof, err := tlog.ProveRecord(int64(size), int64(position-1), now)
	if err != nil {
		return nil, fmt.Errorf("prove inclusion of %d in %d: %w", position, size, err)
	}
	return fromTlog(proof), nil
}

// ConsistencyProof shows that the tree of size to begins with the tree of size
// from. It is empty if both are equal. It returns ErrPosition unless
// 1 ≤ from ≤ to ≤ Size.
func (t *Tree) ConsistencyProof(from, to uint64) ([]events.Hash, error) {
	now := t.view()
	if from < 1 || from > to || to > now.size {
		return nil, fmt.Errorf("prove consistency of %d and %d: %w: size is %d", from, to, ErrPosition, now.size)
	}
	proof, err := tlog.ProveTree(int64(to), int64(from), now)
	if err != nil {
		return nil, fmt.Errorf("prove consistency of %d and %d: %w", from, to, err)
	}
	return fromTlog(proof), nil
}

func (t *Tree) view() *view {
	if now := t.current.Load(); now != nil {
		return now
	}
	return &view{}
}

func (v *view) rootAt(size uint64) (events.Hash, error) {
	if size > v.size {
		return events.Hash{}, fmt.Errorf("compute root at %d: %w: size is %d", size, ErrPosition, v.size)
	}
	root, err := tlog.TreeHash(int64(size), v)
	if err != nil {
		return events.Hash{}, fmt.Errorf("compute root at %d: %w", size, err)
	}
	return events.Hash(root), nil
}

// ReadHashes implements tlog.HashReader.
func (v *view) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		if index < 0 || index >= int64(len(v.hashes)) {
			return nil, fmt.Errorf("read stored hash %d: %w", index, ErrPosition)
		}
		out[i] = v.hashes[index]
	}
	return out, nil
}

func fromTlog(proof []tlog.Hash) []events.Hash {
	out := make([]events.Hash, len(proof))
	for i, hash := range proof {
		out[i] = events.Hash(hash)
	}
	return out
}

func toTlog(proof []events.Hash) []tlog.Hash {
	out := make([]tlog.Hash, len(proof))
	for i, hash := range proof {
		out[i] = tlog.Hash(hash)
	}
	return out
}
