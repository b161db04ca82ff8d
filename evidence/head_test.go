package evidence_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/signer"
	"golang.org/x/mod/sumdb/note"
)

const testLedger = "orchard"

// testKey makes the key whose seed is 32 times the byte n.
func testKey(t testing.TB, n byte) signer.Key {
	t.Helper()
	key, err := signer.GenerateKey(bytes.NewReader(bytes.Repeat([]byte{n}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func identity() events.Hash { return events.Sum([]byte("genesis")) }

func headAt(size uint64, root string) evidence.Head {
	return evidence.Head{Ledger: testLedger, Identity: identity(), Size: size, Root: events.Sum([]byte(root))}
}

func sign(t testing.TB, head evidence.Head, key signer.Key) []byte {
	t.Helper()
	text, err := evidence.SignHead(head, key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// signText signs any text as the key of the test ledger.
func signText(t testing.TB, text string, key signer.Key) []byte {
	t.Helper()
	return noteOf(t, text, noteSigner{headAt(1, "").Origin(), key})
}

// noteSigner signs as any name, without the code under test.
type noteSigner struct {
	name string
	key  signer.Key
}

func (s noteSigner) Name() string                    { return s.name }
func (s noteSigner) Sign(msg []byte) ([]byte, error) { return s.key.Sign(msg) }
func (s noteSigner) KeyHash() uint32 {
	key, err := note.NewEd25519VerifierKey(s.name, s.key.Public().Bytes())
	if err != nil {
		panic(err)
	}
	verifier, err := note.NewVerifier(key)
	if err != nil {
		panic(err)
	}
	return verifier.KeyHash()
}

func noteOf(t testing.TB, text string, signers ...note.Signer) []byte {
	t.Helper()
	signed, err := note.Sign(&note.Note{Text: text}, signers...)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func TestHead(t *testing.T) {
	key := testKey(t, 1)
	long := evidence.Head{Ledger: strings.Repeat("a", 32), Identity: identity(), Size: evidence.MaxSize, Root: events.Sum(nil)}
	for _, head := range []evidence.Head{headAt(1, "a"), headAt(42, "b"), long, {Ledger: "a", Identity: identity(), Size: 7}} {
		text := sign(t, head, key)
		if len(text) > evidence.MaxHeadBytes {
			t.Errorf("%d bytes", len(text))
		}
		got, err := evidence.OpenHead(text, head.Ledger, head.Identity, key.Public())
		if err != nil || got != head {
			t.Errorf("opened %+v, %v, want %+v", got, err, head)
		}
		if again := sign(t, head, key); !bytes.Equal(again, text) {
			t.Errorf("signed again: %s", again)
		}
	}
}

// TestHeadIsAStandardNote opens a head with the note package and a key in the
// standard encoding, and compares its text with the checkpoint format.
func TestHeadIsAStandardNote(t *testing.T) {
	key, head := testKey(t, 1), headAt(42, "b")
	text := sign(t, head, key)
	vkey, err := evidence.VerifierKey(testLedger, identity(), key.Public())
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := note.Open(text, note.VerifierList(verifier))
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("deed.dev/orchard/%s\n42\n%s\n", identity(), base64.StdEncoding.EncodeToString(head.Root[:]))
	if opened.Text != want || len(opened.Sigs) != 1 || len(opened.UnverifiedSigs) != 0 {
		t.Errorf("note %+v, want text %q", opened, want)
	}
	if standard := signText(t, want, key); !bytes.Equal(standard, text) {
		t.Errorf("the note package signs %q, we sign %q", standard, text)
	}
}

func TestSignHeadRefuses(t *testing.T) {
	key, good := testKey(t, 1), headAt(1, "a")
	with := func(change func(*evidence.Head)) evidence.Head {
		head := good
		change(&head)
		return head
	}
	cases := map[string]evidence.Head{
		"zero":          {},
		"no ledger":     with(func(h *evidence.Head) { h.Ledger = "" }),
		"capital":       with(func(h *evidence.Head) { h.Ledger = "Orchard" }),
		"line break":    with(func(h *evidence.Head) { h.Ledger = "a\nb" }),
		"space":         with(func(h *evidence.Head) { h.Ledger = "a b" }),
		"plus":          with(func(h *evidence.Head) { h.Ledger = "a+b" }),
		"slash":         with(func(h *evidence.Head) { h.Ledger = "a/b" }),
		"dash first":    with(func(h *evidence.Head) { h.Ledger = "-a" }),
		"long":          with(func(h *evidence.Head) { h.Ledger = strings.Repeat("a", 33) }),
		"zero identity": with(func(h *evidence.Head) { h.Identity = events.Hash{} }),
		"size 0":        with(func(h *evidence.Head) { h.Size = 0 }),
		"size too big":  with(func(h *evidence.Head) { h.Size = evidence.MaxSize + 1 }),
		"size all ones": with(func(h *evidence.Head) { h.Size = 1<<64 - 1 }),
	}
	for name, head := range cases {
		if text, err := evidence.SignHead(head, key); !errors.Is(err, evidence.ErrHeadForm) || text != nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if _, err := evidence.SignHead(good, signer.Key{}); !errors.Is(err, signer.ErrNoKey) {
		t.Errorf("zero key: %v", err)
	}
	if _, err := evidence.VerifierKey(testLedger, identity(), signer.PublicKey{}); !errors.Is(err, signer.ErrPublicKey) {
		t.Errorf("zero public key: %v", err)
	}
	if _, err := evidence.VerifierKey("", identity(), key.Public()); !errors.Is(err, evidence.ErrHeadForm) {
		t.Errorf("verifier key without a ledger: %v", err)
	}
}

func TestOpenHeadRefuses(t *testing.T) {
	key, other := testKey(t, 1), testKey(t, 2)
	head := headAt(42, "b")
	good := string(sign(t, head, key))
	origin := head.Origin()
	root := base64.StdEncoding.EncodeToString(head.Root[:])
	body := origin + "\n42\n" + root + "\n"
	me, you := noteSigner{origin, key}, noteSigner{origin, other}
	elsewhere := evidence.Head{Ledger: "garden", Identity: identity(), Size: 42, Root: head.Root}
	namesake := evidence.Head{Ledger: testLedger, Identity: events.Sum([]byte("another genesis")), Size: 42, Root: head.Root}
	_, sigLine, _ := strings.Cut(good, "\n\n")
	cases := []struct {
		name, text string
		want       error
	}{
		{"empty", "", evidence.ErrHeadForm},
		{"text", "hello", evidence.ErrHeadForm},
		{"body only", body, evidence.ErrHeadForm},
		{"no signature line", body + "\n", evidence.ErrHeadForm},
		{"cut short", good[:len(good)-1], evidence.ErrHeadForm},
		{"trailing newline", good + "\n", evidence.ErrHeadForm},
		{"trailing text", good + "x\n", evidence.ErrHeadForm},
		{"leading newline", "\n" + good, evidence.ErrHeadSignature},
		{"twice", good + good, evidence.ErrHeadForm},
		{"carriage returns", strings.ReplaceAll(good, "\n", "\r\n"), evidence.ErrHeadForm},
		{"signature line twice", good + sigLine, evidence.ErrHeadForm},
		{"another signature too", string(noteOf(t, body, me, you)), evidence.ErrHeadForm},
		{"another signature first", string(noteOf(t, body, you, me)), evidence.ErrHeadForm},
		{"signature of another name too", string(noteOf(t, body, me, noteSigner{"witness.example", other})), evidence.ErrHeadForm},
		{"signed by another key", string(noteOf(t, body, you)), evidence.ErrHeadSignature},
		{"signed under another name", string(noteOf(t, body, noteSigner{"deed.dev/orchard", key})), evidence.ErrHeadOrigin},
		{"another ledger", string(sign(t, elsewhere, key)), evidence.ErrHeadOrigin},
		{"another ledger of the same name", string(sign(t, namesake, key)), evidence.ErrHeadOrigin},
		{"another origin under this name", string(signText(t, elsewhere.Origin()+"\n42\n"+root+"\n", key)), evidence.ErrHeadOrigin},
		{"signature of another text", string(body) + "\n" + lastLine(string(sign(t, headAt(43, "b"), key))), evidence.ErrHeadSignature},
		{"size changed", strings.Replace(good, "\n42\n", "\n43\n", 1), evidence.ErrHeadSignature},
		{"size 0", string(signText(t, origin+"\n0\n"+root+"\n", key)), evidence.ErrHeadForm},
		{"size with a zero", string(signText(t, origin+"\n042\n"+root+"\n", key)), evidence.ErrHeadForm},
		{"size with a plus", string(signText(t, origin+"\n+42\n"+root+"\n", key)), evidence.ErrHeadForm},
		{"size negative", string(signText(t, origin+"\n-42\n"+root+"\n", key)), evidence.ErrHeadForm},
		{"size in hex", string(signText(t, origin+"\n0x2a\n"+root+"\n", key)), evidence.ErrHeadForm},
		{"size with a space", string(signText(t, origin+"\n42 \n"+root+"\n", key)), evidence.ErrHeadForm},
		{"size empty", string(signText(t, origin+"\n\n"+root+"\n", key)), evidence.ErrHeadForm},
		{"size above the limit", string(signText(t, origin+"\n9007199254740992\n"+root+"\n", key)), evidence.ErrHeadForm},
		{"size above 64 bits", string(signText(t, origin+"\n18446744073709551616\n"+root+"\n", key)), evidence.ErrHeadForm},
		{"root in hex", string(signText(t, origin+"\n42\n"+head.Root.String()+"\n", key)), evidence.ErrHeadForm},
		{"root in URL base64", string(signText(t, origin+"\n42\n"+strings.Repeat("_", 43)+"=\n", key)), evidence.ErrHeadForm},
		{"root without padding", string(signText(t, origin+"\n42\n"+root[:43]+"\n", key)), evidence.ErrHeadForm},
		{"root with stray bits", string(signText(t, origin+"\n42\n"+strings.Repeat("/", 43)+"=\n", key)), evidence.ErrHeadForm},
		{"root of 31 bytes", string(signText(t, origin+"\n42\n"+base64.StdEncoding.EncodeToString(make([]byte, 31))+"\n", key)), evidence.ErrHeadForm},
		{"root of 33 bytes", string(signText(t, origin+"\n42\n"+base64.StdEncoding.EncodeToString(make([]byte, 33))+"\n", key)), evidence.ErrHeadForm},
		{"root empty", string(signText(t, origin+"\n42\n\n", key)), evidence.ErrHeadForm},
		{"extension line", string(signText(t, body+"time 5\n", key)), evidence.ErrHeadForm},
		{"line missing", string(signText(t, origin+"\n42\n", key)), evidence.ErrHeadForm},
		{"too long", string(signText(t, body+strings.Repeat("a", evidence.MaxHeadBytes)+"\n", key)), evidence.ErrHeadForm},
		{"another dash", strings.Replace(good, "— ", "- ", 1), evidence.ErrHeadForm},
		{"not UTF-8", strings.Replace(good, "orchard", "orch\xffrd", 1), evidence.ErrHeadForm},
	}
	for _, c := range cases {
		got, err := evidence.OpenHead([]byte(c.text), testLedger, identity(), key.Public())
		if !errors.Is(err, c.want) || got != (evidence.Head{}) {
			t.Errorf("%s: %+v, %v, want %v", c.name, got, err, c.want)
		}
	}
	if _, err := evidence.OpenHead([]byte(good), testLedger, identity(), signer.PublicKey{}); !errors.Is(err, signer.ErrPublicKey) {
		t.Errorf("zero key: %v", err)
	}
	if _, err := evidence.OpenHead([]byte(good), "Not A Name", identity(), key.Public()); !errors.Is(err, evidence.ErrHeadForm) {
		t.Errorf("bad ledger name: %v", err)
	}
	if _, err := evidence.OpenHead([]byte(good), testLedger, events.Hash{}, key.Public()); !errors.Is(err, evidence.ErrHeadForm) {
		t.Errorf("zero identity: %v", err)
	}
}

func lastLine(text string) string {
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	return lines[len(lines)-1] + "\n"
}

func TestOpenHeadEveryFlip(t *testing.T) {
	key := testKey(t, 1)
	good := sign(t, headAt(42, "b"), key)
	for i := range good {
		for bit := range 8 {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << bit
			if head, err := evidence.OpenHead(bad, testLedger, identity(), key.Public()); err == nil || head != (evidence.Head{}) {
				t.Errorf("byte %d, bit %d flipped and accepted: %q", i, bit, bad)
			}
		}
		if _, err := evidence.OpenHead(slices.Delete(bytes.Clone(good), i, i+1), testLedger, identity(), key.Public()); err == nil {
			t.Errorf("byte %d dropped and accepted", i)
		}
		if _, err := evidence.OpenHead(slices.Insert(bytes.Clone(good), i, good[i]), testLedger, identity(), key.Public()); err == nil {
			t.Errorf("byte %d doubled and accepted", i)
		}
	}
}

func FuzzOpenHead(f *testing.F) {
	key := testKey(f, 1)
	f.Add(sign(f, headAt(1, "a"), key))
	f.Add(sign(f, headAt(evidence.MaxSize, "b"), key))
	f.Add(signText(f, "a\n1\nb\n", key))
	f.Add([]byte("\n\n— a AAAA\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		head, err := evidence.OpenHead(text, testLedger, identity(), key.Public())
		if err != nil {
			if head != (evidence.Head{}) {
				t.Fatalf("a head beside %v", err)
			}
			return
		}
		if again := sign(t, head, key); !bytes.Equal(again, text) {
			t.Fatalf("opened %q, which is signed as %q", text, again)
		}
	})
}

func BenchmarkSignHead(b *testing.B) {
	key, head := testKey(b, 1), headAt(1_000_000, "a")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := evidence.SignHead(head, key); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenHead(b *testing.B) {
	key := testKey(b, 1)
	text, public := sign(b, headAt(1_000_000, "a"), key), key.Public()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := evidence.OpenHead(text, testLedger, identity(), public); err != nil {
			b.Fatal(err)
		}
	}
}
