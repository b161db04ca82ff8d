package evidence_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"pgregory.net/rapid"
)

func leafAt(position uint64) evidence.Leaf {
	of := func(what string) events.Hash { return events.Sum(fmt.Appendf(nil, "%s of %d", what, position)) }
	return evidence.Leaf{
		Position: events.Position(position),
		Admitted: 1_700_000_000_000_000_000 + int64(position),
		Subject:  "deed.orchard.ev.task.TASK-481",
		Core:     of("core"),
		Ext:      of("ext"),
		Envelope: of("envelope"),
	}
}

func grow(t testing.TB, size uint64) *evidence.Tree {
	t.Helper()
	tree := new(evidence.Tree)
	for position := uint64(1); position <= size; position++ {
		if err := tree.Append(leafAt(position)); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

func rootAt(t testing.TB, tree *evidence.Tree, size uint64) events.Hash {
	t.Helper()
	root, err := tree.RootAt(size)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func headOf(t testing.TB, tree *evidence.Tree, size uint64) evidence.Head {
	t.Helper()
	return evidence.Head{Ledger: testLedger, Identity: identity(), Size: size, Root: rootAt(t, tree, size)}
}

// TestLeaf builds the leaf by hand from the text of the format.
func TestLeaf(t *testing.T) {
	leaf := leafAt(0x0102030405)
	var want bytes.Buffer
	want.WriteString("deed-leaf/v1\n\x00\x00\x00")
	subject := sha256.Sum256([]byte(leaf.Subject))
	for _, field := range []any{uint64(leaf.Position), uint64(leaf.Admitted), subject, leaf.Core, leaf.Ext, leaf.Envelope} {
		if err := binary.Write(&want, binary.BigEndian, field); err != nil {
			t.Fatal(err)
		}
	}
	got := leaf.Encode()
	if !bytes.Equal(got[:], want.Bytes()) || len(got) != 160 {
		t.Errorf("got %x\nwant %x", got, want.Bytes())
	}
	if hash := sha256.Sum256(append([]byte{0}, got[:]...)); leaf.Hash() != hash {
		t.Errorf("hash %x, want %x", leaf.Hash(), hash)
	}
}

func TestLeafCoversEveryField(t *testing.T) {
	leaf := leafAt(7)
	changed := map[string]evidence.Leaf{}
	for name, change := range map[string]func(*evidence.Leaf){
		"position": func(l *evidence.Leaf) { l.Position++ },
		"admitted": func(l *evidence.Leaf) { l.Admitted++ },
		"subject":  func(l *evidence.Leaf) { l.Subject += "x" },
		"core":     func(l *evidence.Leaf) { l.Core[31] ^= 1 },
		"ext":      func(l *evidence.Leaf) { l.Ext[0] ^= 1 },
		"envelope": func(l *evidence.Leaf) { l.Envelope[0] ^= 1 },
		"swap":     func(l *evidence.Leaf) { l.Core, l.Ext = l.Ext, l.Core },
	} {
		other := leaf
		change(&other)
		changed[name] = other
		if other.Hash() == leaf.Hash() {
			t.Errorf("%s is not covered", name)
		}
	}
}

// reference is the tree of another implementation.
type reference struct {
	t     testing.TB
	all   *compact.Range
	roots []events.Hash
}

func newReference(t testing.TB) *reference {
	factory := compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}
	return &reference{t: t, all: factory.NewEmptyRange(0), roots: []events.Hash{events.Hash(rfc6962.DefaultHasher.EmptyRoot())}}
}

func (r *reference) append(leaf evidence.Leaf) {
	encoded := leaf.Encode()
	if err := r.all.Append(rfc6962.DefaultHasher.HashLeaf(encoded[:]), nil); err != nil {
		r.t.Fatal(err)
	}
	root, err := r.all.GetRootHash(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.roots = append(r.roots, events.Hash(root))
}

func toBytes(hashes []events.Hash) [][]byte {
	var out [][]byte
	for _, h := range hashes {
		out = append(out, bytes.Clone(h[:]))
	}
	return out
}

// TestTreeAgainstReference compares every root, every inclusion proof and every
// consistency proof of all sizes up to 130 with transparency-dev/merkle.
func TestTreeAgainstReference(t *testing.T) {
	const most = 130
	tree, other := grow(t, most), newReference(t)
	for position := uint64(1); position <= most; position++ {
		other.append(leafAt(position))
	}
	for size := uint64(0); size <= most; size++ {
		if got := rootAt(t, tree, size); got != other.roots[size] {
			t.Fatalf("root at %d is %s, want %s", size, got, other.roots[size])
		}
	}
	for size := uint64(1); size <= most; size++ {
		for n := uint64(1); n <= size; n++ {
			checkInclusion(t, tree, other, n, size)
			checkConsistency(t, tree, other, n, size)
		}
	}
}

func checkInclusion(t testing.TB, tree *evidence.Tree, other *reference, position, size uint64) {
	t.Helper()
	hashes, err := tree.InclusionProof(events.Position(position), size)
	if err != nil {
		t.Fatal(err)
	}
	leaf := leafAt(position)
	hash, root := leaf.Hash(), other.roots[size]
	if err := proof.VerifyInclusion(rfc6962.DefaultHasher, position-1, size, hash[:], toBytes(hashes), root[:]); err != nil {
		t.Fatalf("reference refuses inclusion of %d in %d: %v", position, size, err)
	}
	if err := evidence.VerifyInclusion(leaf, headOf(t, tree, size), hashes); err != nil {
		t.Fatal(err)
	}
}

func checkConsistency(t testing.TB, tree *evidence.Tree, other *reference, from, to uint64) {
	t.Helper()
	hashes, err := tree.ConsistencyProof(from, to)
	if err != nil {
		t.Fatal(err)
	}
	old, new := other.roots[from], other.roots[to]
	if err := proof.VerifyConsistency(rfc6962.DefaultHasher, from, to, toBytes(hashes), old[:], new[:]); err != nil {
		t.Fatalf("reference refuses consistency of %d and %d: %v", from, to, err)
	}
	if err := evidence.VerifyConsistency(headOf(t, tree, from), headOf(t, tree, to), hashes); err != nil {
		t.Fatal(err)
	}
}

func TestTreeAgainstReferenceLarger(t *testing.T) {
	const most = 5000
	tree, other := grow(t, most), newReference(t)
	for position := uint64(1); position <= most; position++ {
		other.append(leafAt(position))
	}
	rapid.Check(t, func(r *rapid.T) {
		size := rapid.Uint64Range(1, most).Draw(r, "size")
		n := rapid.Uint64Range(1, size).Draw(r, "n")
		checkInclusion(t, tree, other, n, size)
		checkConsistency(t, tree, other, n, size)
	})
}

func TestTreeRefuses(t *testing.T) {
	tree := grow(t, 5)
	size, root := tree.Root()
	for _, position := range []uint64{0, 1, 5, 7, math.MaxUint64} {
		if err := tree.Append(leafAt(position)); !errors.Is(err, evidence.ErrPosition) {
			t.Errorf("append at %d: %v", position, err)
		}
	}
	late := leafAt(6)
	late.Admitted = -1
	if err := tree.Append(late); !errors.Is(err, evidence.ErrPosition) {
		t.Errorf("append with a negative time: %v", err)
	}
	if s, r := tree.Root(); s != size || r != root {
		t.Error("a refused leaf changed the tree")
	}
	for _, size := range []uint64{6, 1 << 62, math.MaxUint64} {
		if _, err := tree.RootAt(size); !errors.Is(err, evidence.ErrPosition) {
			t.Errorf("root at %d: %v", size, err)
		}
	}
	for _, c := range [][2]uint64{{0, 0}, {0, 5}, {6, 5}, {1, 6}, {6, 6}, {4, 3}, {1, math.MaxUint64}, {math.MaxUint64, math.MaxUint64}} {
		if hashes, err := tree.InclusionProof(events.Position(c[0]), c[1]); !errors.Is(err, evidence.ErrPosition) || hashes != nil {
			t.Errorf("inclusion of %d in %d: %v", c[0], c[1], err)
		}
		if hashes, err := tree.ConsistencyProof(c[0], c[1]); !errors.Is(err, evidence.ErrPosition) || hashes != nil {
			t.Errorf("consistency of %d and %d: %v", c[0], c[1], err)
		}
	}
	var empty evidence.Tree
	if size, root := empty.Root(); size != 0 || root != events.Sum(nil) || empty.Size() != 0 {
		t.Errorf("empty tree: %d, %s", size, root)
	}
}

// TestProofEveryFlip changes each hash of proofs, and every other input.
func TestProofEveryFlip(t *testing.T) {
	tree := grow(t, 130)
	for _, size := range []uint64{2, 3, 64, 65, 127, 130} {
		for n := uint64(1); n < size; n += 1 + size/9 {
			head, old, leaf := headOf(t, tree, size), headOf(t, tree, n), leafAt(n)
			inclusion, err := tree.InclusionProof(leaf.Position, size)
			if err != nil {
				t.Fatal(err)
			}
			consistency, err := tree.ConsistencyProof(n, size)
			if err != nil {
				t.Fatal(err)
			}
			for name, bad := range brokenProofs(inclusion) {
				if err := evidence.VerifyInclusion(leaf, head, bad); !errors.Is(err, evidence.ErrProof) {
					t.Errorf("inclusion of %d in %d, %s: %v", n, size, name, err)
				}
			}
			for name, bad := range brokenProofs(consistency) {
				if err := evidence.VerifyConsistency(old, head, bad); !errors.Is(err, evidence.ErrProof) {
					t.Errorf("consistency of %d and %d, %s: %v", n, size, name, err)
				}
			}
			if err := evidence.VerifyInclusion(leafAt(n+1), head, inclusion); !errors.Is(err, evidence.ErrProof) {
				t.Errorf("another leaf: %v", err)
			}
			for i := range head.Root {
				bad, badOld := head, old
				bad.Root[i] ^= 1
				badOld.Root[i] ^= 0x80
				if err := evidence.VerifyInclusion(leaf, bad, inclusion); !errors.Is(err, evidence.ErrProof) {
					t.Errorf("root flipped at %d: %v", i, err)
				}
				if err := evidence.VerifyConsistency(old, bad, consistency); !errors.Is(err, evidence.ErrProof) {
					t.Errorf("new root flipped at %d: %v", i, err)
				}
				if err := evidence.VerifyConsistency(badOld, head, consistency); !errors.Is(err, evidence.ErrProof) {
					t.Errorf("old root flipped at %d: %v", i, err)
				}
			}
		}
	}
}

func brokenProofs(good []events.Hash) map[string][]events.Hash {
	out := map[string][]events.Hash{
		"one hash more":  append(slices.Clone(good), events.Hash{}),
		"one hash first": slices.Insert(slices.Clone(good), 0, events.Hash{1}),
		"repeated":       append(slices.Clone(good), good...),
		"far too long":   make([]events.Hash, 1000),
	}
	for i := range good {
		for _, bit := range []int{0, 100, 255} {
			bad := slices.Clone(good)
			bad[i][bit/8] ^= 1 << (bit % 8)
			out[fmt.Sprintf("hash %d, bit %d flipped", i, bit)] = bad
		}
		out[fmt.Sprintf("hash %d dropped", i)] = slices.Delete(slices.Clone(good), i, i+1)
		if i > 0 && good[i] != good[i-1] {
			bad := slices.Clone(good)
			bad[i], bad[i-1] = bad[i-1], bad[i]
			out[fmt.Sprintf("hashes %d and %d swapped", i-1, i)] = bad
		}
	}
	return out
}

// TestVerifyBounds offers sizes with which tlog alone would loop or panic.
func TestVerifyBounds(t *testing.T) {
	tree := grow(t, 3)
	head, old := headOf(t, tree, 3), headOf(t, tree, 2)
	full := make([]events.Hash, 53)
	sizes := []uint64{0, evidence.MaxSize + 1, 1<<62 + 1, math.MaxInt64, 1 << 63, math.MaxUint64}
	for _, size := range sizes {
		bad := head
		bad.Size = size
		if err := evidence.VerifyInclusion(leafAt(1), bad, full); !errors.Is(err, evidence.ErrProof) {
			t.Errorf("inclusion in %d: %v", size, err)
		}
		if err := evidence.VerifyInclusion(leafAt(size), head, full); !errors.Is(err, evidence.ErrProof) {
			t.Errorf("inclusion of %d: %v", size, err)
		}
		if err := evidence.VerifyConsistency(old, bad, full); !errors.Is(err, evidence.ErrProof) {
			t.Errorf("consistency to %d: %v", size, err)
		}
		if err := evidence.VerifyConsistency(bad, head, full); !errors.Is(err, evidence.ErrProof) {
			t.Errorf("consistency from %d: %v", size, err)
		}
	}
	largest := evidence.Head{Size: evidence.MaxSize}
	if err := evidence.VerifyInclusion(leafAt(evidence.MaxSize), largest, full); !errors.Is(err, evidence.ErrProof) {
		t.Errorf("largest tree: %v", err)
	}
}

func TestCompareHeads(t *testing.T) {
	tree, fork := grow(t, 9), grow(t, 4)
	for position := uint64(5); position <= 9; position++ {
		leaf := leafAt(position)
		leaf.Subject = "deed.orchard.ev.task.TASK-482"
		if err := fork.Append(leaf); err != nil {
			t.Fatal(err)
		}
	}
	prove := func(tree *evidence.Tree, from, to uint64) []events.Hash {
		hashes, err := tree.ConsistencyProof(from, to)
		if err != nil {
			t.Fatal(err)
		}
		return hashes
	}
	elsewhere, namesake := headOf(t, tree, 9), headOf(t, tree, 9)
	elsewhere.Ledger = "garden"
	namesake.Identity = events.Sum(nil)
	at := func(size uint64) evidence.Head { return headOf(t, tree, size) }
	cases := []struct {
		name     string
		old, new evidence.Head
		proof    []events.Hash
		want     []error
	}{
		{"same", at(6), at(6), nil, nil},
		{"grown", at(6), at(9), prove(tree, 6, 9), nil},
		{"grown from a whole subtree", at(4), at(8), prove(tree, 4, 8), nil},
		{"grown on a fork of later", at(4), headOf(t, fork, 9), prove(fork, 4, 9), nil},
		{"smaller", at(9), at(6), prove(tree, 6, 9), []error{evidence.ErrRollback}},
		{"smaller by one", at(9), at(8), nil, []error{evidence.ErrRollback}},
		{"size 0", at(9), evidence.Head{Ledger: testLedger, Identity: identity()}, nil, []error{evidence.ErrRollback}},
		{"same size, other root", at(9), headOf(t, fork, 9), nil, []error{evidence.ErrForked}},
		{"same size, a proof", at(9), at(9), []events.Hash{{}}, []error{evidence.ErrForked, evidence.ErrProof}},
		{"fork", at(6), headOf(t, fork, 9), prove(fork, 6, 9), []error{evidence.ErrForked, evidence.ErrProof}},
		{"fork with the honest proof", at(6), headOf(t, fork, 9), prove(tree, 6, 9), []error{evidence.ErrForked, evidence.ErrProof}},
		{"no proof", at(6), at(9), nil, []error{evidence.ErrForked, evidence.ErrProof}},
		{"no proof from a whole subtree", at(8), at(9), nil, []error{evidence.ErrForked, evidence.ErrProof}},
		{"proof of other sizes", at(6), at(9), prove(tree, 5, 9), []error{evidence.ErrForked, evidence.ErrProof}},
		{"from nothing", evidence.Head{Ledger: testLedger, Identity: identity()}, at(9), nil, []error{evidence.ErrForked, evidence.ErrProof}},
		{"another ledger", at(6), elsewhere, prove(tree, 6, 9), []error{evidence.ErrHeadOrigin}},
		{"another ledger of the same name", at(6), namesake, prove(tree, 6, 9), []error{evidence.ErrHeadOrigin}},
	}
	for _, c := range cases {
		err := evidence.CompareHeads(c.old, c.new, c.proof)
		if (err != nil) != (len(c.want) > 0) {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, sentinel := range []error{evidence.ErrRollback, evidence.ErrForked, evidence.ErrProof, evidence.ErrHeadOrigin} {
			if got, want := errors.Is(err, sentinel), slices.Contains(c.want, sentinel); got != want {
				t.Errorf("%s: %v is %v: %t, want %t", c.name, err, sentinel, got, want)
			}
		}
	}
}

// TestTreeReadersWhileWriting lets the race detector watch, and checks that
// every reader sees whole appends only.
func TestTreeReadersWhileWriting(t *testing.T) {
	const most = 600
	want := grow(t, most)
	tree := grow(t, 1)
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for size := uint64(0); size < most; {
				var root events.Hash
				size, root = tree.Root()
				if expected, err := want.RootAt(size); err != nil || expected != root {
					t.Errorf("root at %d is %s, want %s (%v)", size, root, expected, err)
					return
				}
				hashes, err := tree.InclusionProof(1, size)
				if err != nil {
					t.Error(err)
					return
				}
				head := evidence.Head{Ledger: testLedger, Identity: identity(), Size: size, Root: root}
				if err := evidence.VerifyInclusion(leafAt(1), head, hashes); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for position := uint64(2); position <= most; position++ {
		if err := tree.Append(leafAt(position)); err != nil {
			panic(err) // the readers would wait for ever
		}
	}
	readers.Wait()
}

func BenchmarkAppend(b *testing.B) {
	tree, leaf := new(evidence.Tree), leafAt(1)
	b.ReportAllocs()
	for b.Loop() {
		if err := tree.Append(leaf); err != nil {
			b.Fatal(err)
		}
		leaf.Position++
	}
}

func BenchmarkRoot(b *testing.B) {
	tree := grow(b, 1<<16-1) // as many subtrees as there can be
	b.ReportAllocs()
	for b.Loop() {
		tree.Root()
	}
}

func BenchmarkProofs(b *testing.B) {
	tree := grow(b, 1<<16-1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tree.InclusionProof(12345, 1<<16-1); err != nil {
			b.Fatal(err)
		}
		if _, err := tree.ConsistencyProof(12345, 1<<16-1); err != nil {
			b.Fatal(err)
		}
	}
}
