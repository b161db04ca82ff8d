package events_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/signer"
)

// formatPage is the page that describes every format.
var formatPage = filepath.Join("..", "docs", "format.md")

// block returns where the content of the fenced block after a marker begins
// and ends.
func block(t *testing.T, page, marker string) (int, int) {
	t.Helper()
	at := strings.Index(page, "<!-- "+marker+" -->\n```")
	if at < 0 {
		t.Fatalf("no block %q", marker)
	}
	start := at + strings.Index(page[at:], "```")
	start += strings.IndexByte(page[start:], '\n') + 1
	return start, start + strings.Index(page[start-1:], "\n```")
}

// formatRecords are the first three golden events at positions 1 to 3.
func formatRecords(t *testing.T) ([]events.Record, []vector) {
	t.Helper()
	const second = 1_000_000_000
	var records []events.Record
	vectors := goldenFiles(t)[:3]
	for i, v := range vectors {
		e, err := events.ParseExport([]byte(v.Exported))
		if err != nil {
			t.Fatal(err)
		}
		when, err := events.ParseTime(e.Time)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, events.Record{Position: events.Position(i + 1), Admitted: when.Unix()*second + 250_000_000, Event: e})
	}
	return records, vectors
}

// formatBlocks makes the examples from the code.
func formatBlocks(t *testing.T) map[string]string {
	t.Helper()
	records, vectors := formatRecords(t)
	r, v := records[2], vectors[2]
	var stored []string
	message := evidence.NewMessage(r.Event, r.Admitted)
	header := journal.StoredHeader(message, journal.Expect{Last: 2, SubjectLast: 2}, journal.StreamName("acme"))
	for _, name := range slices.Sorted(maps.Keys(header)) {
		stored = append(stored, name+": "+header[name][0])
	}
	leaf := evidence.NewLeaf(r)
	encoded := leaf.Encode()
	_, young := newVectorKey(t, "p256-impl-9")
	return map[string]string{
		"exported":  v.Exported,
		"digests":   "core " + v.Core + "\next  " + v.Ext,
		"payload":   v.SigningPayload,
		"pae":       string(r.Event.PAE()),
		"eventhash": v.EventHash,
		"envelope":  v.Envelope,
		"p256":      "ecdsa-p256:" + young.PublicKey + "\n" + young.KeyID,
		"key":       "ed25519:" + v.Keys[0].PublicKey + "\n" + v.Keys[0].KeyID,
		"stored":    message.Subject + "\n\n" + strings.Join(stored, "\n") + "\n\n" + string(message.Data),
		"leaf":      strings.Join(chunks(hex.EncodeToString(encoded[:]), 64), "\n") + "\n\n" + leaf.Hash().String(),
		"head":      formatHead(t, records),
		"others":    otherDigests(t),
	}
}

func chunks(s string, n int) []string {
	var out []string
	for c := range slices.Chunk([]byte(s), n) {
		out = append(out, string(c))
	}
	return out
}

// formatHead signs the head over records with the root computed here: by the
// definition of RFC 6962 for three leaves.
func formatHead(t *testing.T, records []events.Record) string {
	t.Helper()
	var h [3]tlog.Hash
	for i, r := range records {
		h[i] = tlog.Hash(evidence.NewLeaf(r).Hash())
	}
	root := tlog.NodeHash(tlog.NodeHash(h[0], h[1]), h[2])
	key := testKey(t, "deed")
	head := evidence.Head{Ledger: "acme", Identity: records[0].Event.Hash(), Size: 3, Root: events.Hash(root)}
	signed, err := evidence.SignHead(head, key)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(signed), "\n")
}

// testKey is the named vector key as package signer holds it.
func testKey(t *testing.T, name string) signer.Key {
	t.Helper()
	_, k := newVectorKey(t, name)
	seed, err := hex.DecodeString(k.Seed)
	if err != nil {
		t.Fatal(err)
	}
	key, err := signer.GenerateKey(bytes.NewReader(seed))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func otherDigests(t *testing.T) string {
	t.Helper()
	payload := func(typ events.Type) events.Payload {
		p, err := events.DecodeData(typ, example(t, typ))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	contract := payload(events.ContractProposed).(*events.Contract)
	digest, err := contract.Digest()
	if err != nil {
		t.Fatal(err)
	}
	receipt := payload(events.ReceiptRecorded).(*events.Receipt)
	intent := payload(events.EffectIntended).(*events.Intent)
	key, err := events.Identity{InputDigest: intent.InputDigest, Kind: intent.Kind, Occurrence: intent.Occurrence, Target: intent.Target, Task: "TASK-481"}.Key()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("contract digest     %s\nchecks digest       %s\ninput digest        %s\nenvironment digest  %s\nidempotency key     %s",
		digest, events.Sum(mustCanonical(t, contract.Acceptance)), receipt.InputDigest, receipt.Binding.Environment, key)
}

func mustCanonical(t *testing.T, v any) []byte {
	t.Helper()
	text, err := events.Canonical(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestFormatPage holds the examples of docs/format.md against the code.
func TestFormatPage(t *testing.T) {
	text, err := os.ReadFile(formatPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	blocks := formatBlocks(t)
	if n := strings.Count(page, "<!-- example: "); n != len(blocks) {
		t.Errorf("%d example blocks, want %d", n, len(blocks))
	}
	for _, name := range slices.Sorted(maps.Keys(blocks)) {
		start, end := block(t, page, "example: "+name)
		if *update {
			page = page[:start] + blocks[name] + "\n" + page[max(end, start):]
			continue
		}
		if got := strings.TrimSuffix(page[start:end], "\n"); got != blocks[name] {
			t.Errorf("block %s is\n%s\nwant\n%s", name, got, blocks[name])
		}
	}
	if *update {
		if err := os.WriteFile(formatPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFormatPageNamesEverything demands a row for each attribute and limit.
func TestFormatPageNamesEverything(t *testing.T) {
	text, err := os.ReadFile(formatPage)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"49,152", "96 KiB", "8 KiB", "512 bytes", events.PayloadType, events.HeaderAdmitted,
		journal.HeaderID, journal.HeaderStream, journal.HeaderLast, journal.HeaderSubjectLast}
	for name := range goldenFiles(t)[3].StoredHeaders {
		names = append(names, "| `"+strings.TrimPrefix(name, "ce-")+"` |")
	}
	for _, name := range names {
		if !strings.Contains(string(text), name) {
			t.Errorf("the page does not name %s", name)
		}
	}
}

// TestFormatScript runs the check by hand that the page shows, on the good
// event and on one whose signed payload says something else.
func TestFormatScript(t *testing.T) {
	text, err := os.ReadFile(formatPage)
	if err != nil {
		t.Fatal(err)
	}
	start, end := block(t, string(text), "script: check")
	script := string(text[start:end])
	v, other := goldenFiles(t)[2], goldenFiles(t)[3]
	run := func(exported, key string) (string, error) {
		dir := t.TempDir()
		for name, content := range map[string]string{"event.json": exported, "key.pem": key} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("sh", "-eu", "-c", script)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(v.Exported, v.Keys[0].PublicKeyPEM); err != nil || !strings.Contains(out, v.EventHash) {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := run(v.Exported, other.Keys[0].PublicKeyPEM); err == nil {
		t.Errorf("another key verifies:\n%s", out)
	}
}

// TestVectorsOpen opens every golden envelope with package signer.
func TestVectorsOpen(t *testing.T) {
	for _, v := range goldenFiles(t) {
		keys := map[signer.KeyID]signer.PublicKey{}
		for _, k := range v.Keys {
			public, err := signer.ParsePublicKeyPEM([]byte(k.PublicKeyPEM))
			if err != nil || !strings.HasSuffix(public.String(), ":"+k.PublicKey) || string(public.ID()) != k.KeyID {
				t.Fatalf("%s: %v: %s %s", v.Name, err, public, public.ID())
			}
			keys[public.ID()] = public
		}
		payload, ids, err := signer.Open([]byte(v.Envelope), events.PayloadType, events.MaxEnvelope, func(id signer.KeyID) (signer.PublicKey, error) { return keys[id], nil })
		if err != nil || string(payload) != v.SigningPayload || len(ids) != len(v.Keys) {
			t.Errorf("%s: %v, %d signers", v.Name, err, len(ids))
		}
	}
}
