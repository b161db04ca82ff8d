package evidence_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
)

func headFile(t testing.TB, path string) evidence.HeadFile {
	t.Helper()
	return evidence.NewHeadFile(path, testLedger, identity(), testKey(t, 1).Public())
}

func proofOf(t testing.TB, tree *evidence.Tree, from, to uint64) []events.Hash {
	t.Helper()
	hashes, err := tree.ConsistencyProof(from, to)
	if err != nil {
		t.Fatal(err)
	}
	return hashes
}

func TestHeadFile(t *testing.T) {
	tree, key := grow(t, 9), testKey(t, 1)
	path := filepath.Join(t.TempDir(), "head")
	file := headFile(t, path)
	if _, err := file.Load(); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("load nothing: %v", err)
	}
	if err := file.Advance(evidence.Head{}, sign(t, headOf(t, tree, 3), key), nil); err != nil {
		t.Fatal(err)
	}
	if err := file.Advance(headOf(t, tree, 3), sign(t, headOf(t, tree, 9), key), proofOf(t, tree, 3, 9)); err != nil {
		t.Fatal(err)
	}
	if err := file.Advance(headOf(t, tree, 9), sign(t, headOf(t, tree, 9), key), nil); err != nil {
		t.Fatalf("advance to the same: %v", err)
	}
	if head, err := headFile(t, path).Load(); err != nil || head != headOf(t, tree, 9) {
		t.Errorf("load %+v, %v", head, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	mustNotExist(t, path+".tmp")
}

func mustNotExist(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is there: %v", filepath.Base(path), err)
	}
}

func TestHeadFileRefuses(t *testing.T) {
	tree, fork, key := grow(t, 9), grow(t, 4), testKey(t, 1)
	for position := uint64(5); position <= 9; position++ {
		leaf := leafAt(position)
		leaf.Admitted++
		if err := fork.Append(leaf); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "head")
	file, six := headFile(t, path), headOf(t, tree, 6)
	if err := file.Advance(evidence.Head{}, sign(t, six, key), nil); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	namesake := headOf(t, tree, 9)
	namesake.Identity = events.Sum(nil)
	cases := []struct {
		name     string
		previous evidence.Head
		text     []byte
		proof    []events.Hash
		want     error
	}{
		{"smaller", six, sign(t, headOf(t, tree, 5), key), proofOf(t, tree, 5, 6), evidence.ErrRollback},
		{"same size, other root", six, sign(t, headOf(t, fork, 6), key), nil, evidence.ErrForked},
		{"fork", six, sign(t, headOf(t, fork, 9), key), proofOf(t, fork, 6, 9), evidence.ErrForked},
		{"no proof", six, sign(t, headOf(t, tree, 9), key), nil, evidence.ErrProof},
		{"pretends there was nothing", evidence.Head{}, sign(t, headOf(t, tree, 9), key), nil, evidence.ErrHeadMoved},
		{"pretends nothing, to go back", evidence.Head{}, sign(t, headOf(t, tree, 5), key), nil, evidence.ErrHeadMoved},
		{"from another head", headOf(t, tree, 5), sign(t, headOf(t, tree, 9), key), proofOf(t, tree, 5, 9), evidence.ErrHeadMoved},
		{"another key", six, sign(t, headOf(t, tree, 9), testKey(t, 2)), proofOf(t, tree, 6, 9), evidence.ErrHeadSignature},
		{"another ledger", six, sign(t, namesake, key), proofOf(t, tree, 6, 9), evidence.ErrHeadOrigin},
		{"not a head", six, []byte("head"), nil, evidence.ErrHeadForm},
		{"nothing", six, nil, nil, evidence.ErrHeadForm},
	}
	for _, c := range cases {
		if err := file.Advance(c.previous, c.text, c.proof); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
			t.Errorf("%s changed the file to %q, %v", c.name, after, err)
		}
	}
	missing := headFile(t, filepath.Join(t.TempDir(), "none", "head"))
	if err := missing.Advance(evidence.Head{}, sign(t, six, key), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a folder: %v", err)
	}
	fresh := headFile(t, filepath.Join(t.TempDir(), "head"))
	if err := fresh.Advance(six, sign(t, headOf(t, tree, 9), key), proofOf(t, tree, 6, 9)); !errors.Is(err, evidence.ErrHeadMoved) {
		t.Errorf("the remembered head was removed: %v", err)
	}
}

// TestHeadFileDamaged shows that a file which is not a head stops the client:
// it is neither read as "nothing seen yet" nor replaced.
func TestHeadFileDamaged(t *testing.T) {
	tree, key := grow(t, 9), testKey(t, 1)
	good, next := sign(t, headOf(t, tree, 6), key), sign(t, headOf(t, tree, 9), key)
	contents := map[string][]byte{
		"empty":         {},
		"zeros":         make([]byte, 300),
		"cut short":     good[:len(good)/2],
		"one byte less": good[:len(good)-1],
		"twice":         append(bytes.Clone(good), good...),
		"another key":   sign(t, headOf(t, tree, 6), testKey(t, 2)),
		"large":         bytes.Repeat([]byte("a"), 1<<20),
	}
	for i := 0; i < len(good); i += 7 {
		flipped := bytes.Clone(good)
		flipped[i] ^= 1
		contents["flipped at "+string(rune('0'+i/100))+string(rune('0'+i/10%10))+string(rune('0'+i%10))] = flipped
	}
	for name, content := range contents {
		path := filepath.Join(t.TempDir(), "head")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		file := headFile(t, path)
		if head, err := file.Load(); err == nil || errors.Is(err, fs.ErrNotExist) || head != (evidence.Head{}) {
			t.Errorf("%s: loaded %+v, %v", name, head, err)
		}
		for _, previous := range []evidence.Head{{}, headOf(t, tree, 6)} {
			err := file.Advance(previous, next, proofOf(t, tree, 6, 9))
			if !errors.Is(err, evidence.ErrHeadForm) && !errors.Is(err, evidence.ErrHeadSignature) && !errors.Is(err, evidence.ErrHeadOrigin) {
				t.Errorf("%s: advanced: %v", name, err)
			}
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, content) {
			t.Errorf("%s: the file was replaced (%v)", name, err)
		}
	}
}

// TestHeadFileAfterCrash starts from what a process leaves that died between
// its steps: a part of the temporary file, and the lock file.
func TestHeadFileAfterCrash(t *testing.T) {
	tree, key := grow(t, 9), testKey(t, 1)
	next := sign(t, headOf(t, tree, 9), key)
	for _, left := range [][]byte{nil, next[:10], next} {
		path := filepath.Join(t.TempDir(), "head")
		file := headFile(t, path)
		if err := file.Advance(evidence.Head{}, sign(t, headOf(t, tree, 6), key), nil); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+".tmp", left, 0o600); err != nil {
			t.Fatal(err)
		}
		if head, err := file.Load(); err != nil || head.Size != 6 {
			t.Errorf("load %+v, %v", head, err)
		}
		if err := file.Advance(headOf(t, tree, 6), next, proofOf(t, tree, 6, 9)); err != nil {
			t.Error(err)
		}
		mustNotExist(t, path+".tmp")
	}
}

// TestHeadFileRace advances one file from many sides; it only ever grows.
func TestHeadFileRace(t *testing.T) {
	const most = 40
	tree, key := grow(t, most), testKey(t, 1)
	path := filepath.Join(t.TempDir(), "head")
	if err := headFile(t, path).Advance(evidence.Head{}, sign(t, headOf(t, tree, 1), key), nil); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for start := range uint64(4) {
		all.Go(func() {
			file, seen := headFile(t, path), uint64(0)
			for to := 2 + start; to <= most; {
				old, err := file.Load()
				if err != nil {
					t.Error(err)
					return
				}
				if old.Size < seen {
					t.Errorf("went back from %d to %d", seen, old.Size)
					return
				}
				if seen = old.Size; seen >= to {
					to += 4
					continue
				}
				hashes, err := tree.ConsistencyProof(old.Size, to)
				if err != nil {
					t.Error(err)
					return
				}
				text, err := evidence.SignHead(headOf(t, tree, to), key)
				if err != nil {
					t.Error(err)
					return
				}
				if err := file.Advance(old, text, hashes); err != nil && !errors.Is(err, evidence.ErrHeadMoved) {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if head, err := headFile(t, path).Load(); err != nil || head != headOf(t, tree, most) {
		t.Errorf("at the end %+v, %v", head, err)
	}
}
