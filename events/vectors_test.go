package events_test

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gowebpki/jcs"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/schemas"
)

var update = flag.Bool("update", false, "write the golden vectors anew")

// vector is one golden vector. Its file has one member per line, in this order.
type vector struct {
	Name           string            `json:"name"`
	Keys           []vectorKey       `json:"keys"`
	Attributes     map[string]string `json:"attributes"`
	Data           string            `json:"data"`
	Core           string            `json:"core"`
	Ext            string            `json:"ext"`
	SigningPayload string            `json:"signingPayload"`
	PAEHex         string            `json:"paeHex"`
	EventHash      string            `json:"eventHash"`
	Envelope       string            `json:"envelope"`
	StoredHeaders  map[string]string `json:"storedHeaders"`
	Exported       string            `json:"exported"`
}

// vectorKey is a signer's key; the seed is public, so it is good for tests only.
type vectorKey struct {
	Seed         string `json:"seed"`
	PublicKey    string `json:"publicKey"`
	PublicKeyPEM string `json:"publicKeyPem"`
	KeyID        string `json:"keyId"`
	Signature    string `json:"signature"`
}

// newVectorKey derives a test key from a name: ECDSA P-256 for one that begins
// with p256-, else Ed25519.
func newVectorKey(t testing.TB, name string) (crypto.Signer, vectorKey) {
	t.Helper()
	if strings.HasPrefix(name, "p256-") {
		return newP256VectorKey(t, name)
	}
	seed := sha256.Sum256([]byte("deed test key " + name))
	private := ed25519.NewKeyFromSeed(seed[:])
	public := private[32:]
	der, err := x509.MarshalPKIXPublicKey(ed25519.PublicKey(public))
	if err != nil {
		t.Fatal(err)
	}
	id := sha256.Sum256(append([]byte("\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20"), public...))
	return private, vectorKey{
		Seed: hex.EncodeToString(seed[:]), PublicKey: base64.StdEncoding.EncodeToString(public),
		PublicKeyPEM: string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
		KeyID:        "SHA256:" + base64.RawStdEncoding.EncodeToString(id[:]),
	}
}

// sealVector signs e with the named test keys; the first is its signkeyid.
func sealVector(t testing.TB, name string, e events.Event, names ...string) (events.Event, vector) {
	t.Helper()
	_, first := newVectorKey(t, names[0])
	e.SignKeyID = first.KeyID
	v := vector{Name: name, Attributes: map[string]string{}, Data: string(e.Data)}
	for _, n := range names {
		private, k := newVectorKey(t, n)
		k.Signature = base64.StdEncoding.EncodeToString(signVector(t, private, e.PAE()))
		v.Keys = append(v.Keys, k)
	}
	slices.SortFunc(v.Keys, func(a, b vectorKey) int { return strings.Compare(a.KeyID, b.KeyID) })
	var sigs []string
	for _, k := range v.Keys {
		sigs = append(sigs, fmt.Sprintf(`{"keyid":"%s","sig":"%s"}`, k.KeyID, k.Signature))
	}
	v.SigningPayload = string(e.SigningPayload())
	v.Envelope = `{"payloadType":"` + events.PayloadType + `","payload":"` + base64.StdEncoding.EncodeToString(e.SigningPayload()) +
		`","signatures":[` + strings.Join(sigs, ",") + `]}`
	e.Envelope = []byte(v.Envelope)
	v.Core, v.Ext, v.EventHash = e.Core().String(), e.Ext().String(), e.Hash().String()
	v.PAEHex = hex.EncodeToString(e.PAE())
	v.StoredHeaders = e.Headers()
	for k, value := range v.StoredHeaders {
		if k != "ce-dssematerial" {
			v.Attributes[strings.TrimPrefix(k, "ce-")] = value
		}
	}
	v.Exported = string(e.Export())
	return e, v
}

// example returns the data of the type's example.
func example(t testing.TB, typ events.Type) []byte {
	t.Helper()
	data, err := schemas.Example(typ.Short())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// unicodeResult holds what re-encoding likes to change: "&", "<", ">",
// U+2028, an emoji, é as one and as two code points, and control characters.
func unicodeResult(t testing.TB) []byte {
	t.Helper()
	p, err := events.DecodeData(events.ResultRecorded, example(t, events.ResultRecorded))
	if err != nil {
		t.Fatal(err)
	}
	r := p.(*events.Result)
	r.Commands = []events.Ran{{Command: []string{"sh", "-c", "go test ./... && echo <ok>", ""}, Exit: 0}}
	r.Summary = "NFC \u00e9, NFD e\u0301, \U0001f600, line\u2028separator, \x1b[2K\tverified: pass\n\\ \" / \x7f"
	data, err := events.EncodeData(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// makeVectors returns the golden events and their vectors: two short chains.
func makeVectors(t testing.TB) ([]events.Event, []vector) {
	t.Helper()
	registry, task := events.Source{Ledger: "acme"}, events.Source{Ledger: "acme", Task: "TASK-481"}
	id := func(n int) string { return fmt.Sprintf("01931f3c-0000-7000-8000-%012x", n) }
	last := map[events.Source]events.Event{}
	var list []events.Event
	var vectors []vector
	add := func(name string, e events.Event, keys ...string) {
		n := len(list) + 1
		e.ID, e.Time = id(n), fmt.Sprintf("2026-11-30T12:00:%02dZ", n)
		if before, ok := last[e.Source]; ok {
			e.Sequence, e.PrevHash = before.Sequence+1, before.Hash()
		} else {
			e.Sequence = 1
			if genesis, ok := last[registry]; ok {
				e.PrevHash = genesis.Hash()
			}
		}
		if e.Data == nil {
			e.Data = example(t, e.Type)
		}
		e, v := sealVector(t, name, e, keys...)
		last[e.Source], list, vectors = e, append(list, e), append(vectors, v)
	}
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	add("01-genesis", events.Event{Source: registry, Type: events.LedgerCreated, AuthType: "user", AuthID: "olga"}, "olga", "otto")
	add("02-proposed", events.Event{Source: task, Type: events.ContractProposed, AuthType: "user", AuthID: "olga", CorrelationID: "epic-7"}, "olga")
	add("03-accepted", events.Event{Source: task, Type: events.ContractAccepted, AuthType: "user", AuthID: "olga", CausationID: id(2)}, "olga")
	add("04-claimed", events.Event{Source: task, Type: events.LeaseClaimed, AuthType: "service_account", AuthID: "impl-7", Subject: "a02c",
		Fence: 1, CausationID: id(3), CorrelationID: "epic-7", TraceParent: trace}, "impl-7")
	add("05-unicode", events.Event{Source: task, Type: events.ResultRecorded, AuthType: "service_account", AuthID: "impl-7", Subject: "a02c",
		Fence: 1, TraceParent: trace, Data: unicodeResult(t)}, "impl-7")
	add("06-receipt", events.Event{Source: task, Type: events.ReceiptRecorded, AuthType: "service_account", AuthID: "ci", Subject: "a02c"}, "ci")
	add("07-interrupted", events.Event{Source: task, Type: events.AttemptInterrupted, AuthType: "system", AuthID: "deed", Subject: "a02c", Fence: 1}, "deed")
	add("08-revoked", events.Event{Source: registry, Type: events.ActorRevoked, AuthType: "user", AuthID: "otto"}, "otto", "olga", "ruth")
	add("09-released", events.Event{Source: task, Type: events.LeaseReleased, AuthType: "service_account", AuthID: "impl-8", Subject: "a02c",
		Fence: 2, CausationID: id(7), CorrelationID: "epic-7", TraceParent: trace}, "impl-8")
	add("10-p256", events.Event{Source: task, Type: events.LeaseReleased, AuthType: "service_account", AuthID: "impl-9", Subject: "a02c",
		Fence: 2, CausationID: id(7)}, "p256-impl-9")
	add("11-mixed", events.Event{Source: registry, Type: events.ActorRevoked, AuthType: "user", AuthID: "otto"}, "otto", "p256-rosa")
	return list, vectors
}

func vectorFile(name string) string { return filepath.Join("testdata", "vectors", name+".json") }

func encodeVector(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// TestVectors makes the vectors again and demands the same bytes.
func TestVectors(t *testing.T) {
	list, vectors := makeVectors(t)
	files, err := filepath.Glob(vectorFile("*"))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		for _, v := range vectors {
			if err := os.WriteFile(vectorFile(v.Name), encodeVector(t, v), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	} else if len(files) != len(vectors) {
		t.Fatalf("%d vector files, want %d", len(files), len(vectors))
	}
	for i, v := range vectors {
		text, err := os.ReadFile(vectorFile(v.Name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(text, encodeVector(t, v)) {
			t.Errorf("%s: the file is not what the code makes (-update writes it)", v.Name)
		}
		checkGolden(t, list[i], v)
	}
}

// checkGolden parses both forms of a vector and compares.
func checkGolden(t *testing.T, e events.Event, v vector) {
	t.Helper()
	stored, err := events.ParseStored(multi(v.StoredHeaders), []byte(v.Data))
	if err != nil {
		t.Fatalf("%s: %v", v.Name, err)
	}
	exported, err := events.ParseExport([]byte(v.Exported))
	if err != nil {
		t.Fatalf("%s: %v", v.Name, err)
	}
	for _, got := range []events.Event{stored, exported} {
		if got.Hash() != e.Hash() || !bytes.Equal(got.Export(), e.Export()) {
			t.Errorf("%s: parsed form differs", v.Name)
		}
		if _, err := got.Payload(); err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
	}
	second, err := jcs.Transform([]byte(v.Data))
	if err != nil || string(second) != v.Data {
		t.Errorf("%s: another RFC 8785 implementation writes %q (%v)", v.Name, second, err)
	}
}

func multi(h map[string]string) map[string][]string {
	out := make(map[string][]string, len(h))
	for k, v := range h {
		out[k] = []string{v}
	}
	return out
}

// check runs the independent checker.
func check(t *testing.T, files ...string) ([]byte, error) {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Fatalf("the independent checker needs openssl: %v", err)
	}
	return exec.Command("sh", append([]string{filepath.Join("testdata", "check_vectors.sh")}, files...)...).CombinedOutput()
}

func TestVectorsByIndependentChecker(t *testing.T) {
	files, err := filepath.Glob(vectorFile("*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	if out, err := check(t, files...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestIndependentCheckerRefuses changes one member at a time: a checker that
// accepts anything proves nothing.
func TestIndependentCheckerRefuses(t *testing.T) {
	text, err := os.ReadFile(vectorFile("04-claimed"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, member := range []string{"seed", "publicKey", "publicKeyPem", "keyId", "signature", "id", "fencetoken", "data", "core", "ext",
		"signingPayload", "paeHex", "eventHash", "envelope", "ce-time", "ce-dssematerial", "exported"} {
		_, rest, ok := strings.Cut(string(text), `"`+member+`": "`)
		if !ok {
			t.Fatalf("no member %s", member)
		}
		at := len(text) - len(rest) + strings.IndexByte(rest, '\n')/2
		other := bytes.Clone(text)
		for other[at] == '\\' || other[at] == '"' || other[at-1] == '\\' {
			at++
		}
		if other[at] = '1'; text[at] == '1' {
			other[at] = '2'
		}
		file := filepath.Join(dir, member+".json")
		if err := os.WriteFile(file, other, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := check(t, file); err == nil {
			t.Errorf("the checker accepts a changed %s", member)
		}
	}
}
