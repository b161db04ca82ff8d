package evidence_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/signer"
)

func openLog(t testing.TB, path string) *evidence.HeadLog {
	t.Helper()
	log, err := evidence.OpenHeadLog(path, testLedger, identity(), testKey(t, 1).Public())
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func readLog(t testing.TB, content []byte) ([]evidence.Head, []byte, error) {
	t.Helper()
	return evidence.ReadHeadLog(bytes.NewReader(content), testLedger, identity(), testKey(t, 1).Public())
}

func closeLog(t testing.TB, log *evidence.HeadLog) {
	t.Helper()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// logOf returns the bytes of a log of heads at these sizes, and the heads.
func logOf(t testing.TB, sizes ...uint64) ([]byte, []evidence.Head) {
	t.Helper()
	var content []byte
	var heads []evidence.Head
	for _, size := range sizes {
		head := headAt(size, string(rune('a'+size)))
		heads, content = append(heads, head), append(content, sign(t, head, testKey(t, 1))...)
	}
	return content, heads
}

func TestHeadLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "heads")
	content, heads := logOf(t, 1, 2, 5, 9)
	for i, head := range heads {
		log := openLog(t, path)
		if want := append([]evidence.Head{{}}, heads...)[i]; log.Last() != want || log.Torn() != nil {
			t.Errorf("opened with %+v and %q, want %+v", log.Last(), log.Torn(), want)
		}
		if err := log.Append(sign(t, head, testKey(t, 1))); err != nil {
			t.Fatal(err)
		}
		closeLog(t, log)
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("file is %q, %v", got, err)
	}
	if read, torn, err := readLog(t, got); err != nil || torn != nil || !slices.Equal(read, heads) {
		t.Errorf("read %+v, %q, %v", read, torn, err)
	}
}

func TestHeadLogRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "heads")
	content, heads := logOf(t, 3, 6)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	log, key := openLog(t, path), testKey(t, 1)
	defer closeLog(t, log)
	namesake := headAt(9, "a")
	namesake.Identity = events.Sum(nil)
	cases := []struct {
		name string
		text []byte
		want error
	}{
		{"the last again", sign(t, heads[1], key), evidence.ErrRollback},
		{"smaller", sign(t, headAt(5, "a"), key), evidence.ErrRollback},
		{"same size, other root", sign(t, headAt(6, "z"), key), evidence.ErrForked},
		{"another key", sign(t, headAt(9, "a"), testKey(t, 2)), evidence.ErrHeadSignature},
		{"another ledger", sign(t, namesake, key), evidence.ErrHeadOrigin},
		{"two heads", append(sign(t, headAt(7, "a"), key), sign(t, headAt(8, "a"), key)...), evidence.ErrHeadForm},
		{"empty", nil, evidence.ErrHeadForm},
		{"cut short", sign(t, headAt(9, "a"), key)[:100], evidence.ErrHeadForm},
	}
	for _, c := range cases {
		if err := log.Append(c.text); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) || log.Last() != heads[1] {
			t.Errorf("%s changed the log (%v)", c.name, err)
		}
	}
	if _, err := evidence.OpenHeadLog(path, testLedger, identity(), key.Public()); !errors.Is(err, evidence.ErrHeadLogBusy) {
		t.Errorf("opened twice: %v", err)
	}
	if _, err := evidence.OpenHeadLog(filepath.Join(t.TempDir(), "h"), "No", identity(), key.Public()); !errors.Is(err, evidence.ErrHeadForm) {
		t.Errorf("bad ledger name: %v", err)
	}
	if _, err := evidence.OpenHeadLog(filepath.Join(t.TempDir(), "h"), testLedger, identity(), signer.PublicKey{}); !errors.Is(err, signer.ErrPublicKey) {
		t.Errorf("opened without a key: %v", err)
	}
	if _, err := evidence.OpenHeadLog(t.TempDir(), testLedger, identity(), key.Public()); err == nil {
		t.Error("opened a folder")
	}
}

// TestHeadLogEveryCut cuts a log at each byte. What is whole is kept, what is
// torn is reported and cut once, and the log goes on.
func TestHeadLogEveryCut(t *testing.T) {
	content, heads := logOf(t, 1, 2, 3)
	ends := []int{0}
	for i := range heads {
		part, _ := logOf(t, []uint64{1, 2, 3}[:i+1]...)
		ends = append(ends, len(part))
	}
	for cut := range len(content) + 1 {
		whole := 0
		for whole+1 < len(ends) && ends[whole+1] <= cut {
			whole++
		}
		read, torn, err := readLog(t, content[:cut])
		if err != nil || !slices.Equal(read, heads[:whole]) || !bytes.Equal(torn, content[ends[whole]:cut]) {
			t.Fatalf("cut at %d: %d heads, %q, %v, want %d", cut, len(read), torn, err, whole)
		}
		if cut%29 != 0 && !slices.Contains(ends, cut) {
			continue // the file system is slower than the reader
		}
		path := filepath.Join(t.TempDir(), "heads")
		if err := os.WriteFile(path, content[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		log := openLog(t, path)
		if !bytes.Equal(log.Torn(), content[ends[whole]:cut]) {
			t.Errorf("cut at %d: torn %q", cut, log.Torn())
		}
		if err := log.Append(sign(t, headAt(9, "z"), testKey(t, 1))); err != nil {
			t.Error(err)
		}
		closeLog(t, log)
		again := openLog(t, path)
		if again.Torn() != nil || again.Last() != headAt(9, "z") {
			t.Errorf("cut at %d: reopened with %q, %+v", cut, again.Torn(), again.Last())
		}
		closeLog(t, again)
	}
}

// TestHeadLogEveryFlip changes each byte. A defect is an error, or, where it
// eats a line end of the last record, reported as torn; it never passes.
func TestHeadLogEveryFlip(t *testing.T) {
	content, heads := logOf(t, 1, 2, 3)
	last, _ := logOf(t, 1, 2)
	for i := range content {
		bad := bytes.Clone(content)
		bad[i] ^= 1
		read, torn, err := readLog(t, bad)
		if err != nil {
			if !errors.Is(err, evidence.ErrHeadLog) || read != nil || torn != nil {
				t.Errorf("byte %d flipped: %d heads, %q, %v", i, len(read), torn, err)
			}
			continue
		}
		if content[i] != '\n' || i < len(last) || !slices.Equal(read, heads[:2]) || len(torn) == 0 {
			t.Errorf("byte %d flipped and accepted: %d heads, %q", i, len(read), torn)
		}
	}
}

func TestHeadLogDamaged(t *testing.T) {
	of := func(sizes ...uint64) []byte { content, _ := logOf(t, sizes...); return content }
	cases := map[string][]byte{
		"record dropped in part": append(of(1)[:100], of(2, 3)...),
		"out of order":           append(of(2), of(1)...),
		"repeated":               append(of(1, 2), of(2)...),
		"two roots":              append(of(1, 2), sign(t, headAt(2, "other"), testKey(t, 1))...),
		"another key inside":     slices.Concat(of(1), sign(t, headAt(2, "a"), testKey(t, 2)), of(3)),
		"line between":           slices.Concat(of(1), []byte("\n"), of(2)),
		"text between":           slices.Concat(of(1), []byte("note\n"), of(2)),
		"zeros at the end":       append(of(1), make([]byte, 4096)...),
		"one endless line":       bytes.Repeat([]byte("a"), 1<<20),
		"empty lines":            bytes.Repeat([]byte("\n"), 20),
	}
	for name, content := range cases {
		if read, torn, err := readLog(t, content); !errors.Is(err, evidence.ErrHeadLog) || read != nil || torn != nil {
			t.Errorf("%s: %d heads, %q, %v", name, len(read), torn, err)
		}
		path := filepath.Join(t.TempDir(), "heads")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := evidence.OpenHeadLog(path, testLedger, identity(), testKey(t, 1).Public()); !errors.Is(err, evidence.ErrHeadLog) {
			t.Errorf("%s: opened: %v", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, content) {
			t.Errorf("%s: the file was changed (%v)", name, err)
		}
	}
}

func TestHeadLogStopsAfterAFailedWrite(t *testing.T) {
	log, key := openLog(t, filepath.Join(t.TempDir(), "heads")), testKey(t, 1)
	closeLog(t, log)
	for range 2 {
		if err := log.Append(sign(t, headAt(1, "a"), key)); !errors.Is(err, evidence.ErrHeadLogFailed) {
			t.Errorf("append to a closed file: %v", err)
		}
	}
	if log.Last() != (evidence.Head{}) {
		t.Error("a failed write counts as the last head")
	}
}
