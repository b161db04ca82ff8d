package events_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/deedledger/deed/events"
)

// goldenFiles reads every golden vector from disk; none is a failure.
func goldenFiles(t testing.TB) []vector {
	t.Helper()
	files, err := filepath.Glob(vectorFile("*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vector matches %s: %v", vectorFile("*"), err)
	}
	out := make([]vector, len(files))
	for i, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &out[i]); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
	}
	return out
}

// negativeFile reads the negative vectors from disk; none is a failure.
func negativeFile(t testing.TB) []negative {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "negative.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []negative
	if err := json.Unmarshal(text, &list); err != nil || len(list) == 0 {
		t.Fatalf("%d negative vectors: %v", len(list), err)
	}
	return list
}

func (n negative) raw(t testing.TB) []byte {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(n.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// packHeader and unpackHeader turn a header into bytes that a fuzzer can
// change, and any bytes into a header: fields of a 16-bit length and a text.
func packHeader(h map[string]string) []byte {
	var out []byte
	for _, k := range slices.Sorted(maps.Keys(h)) {
		for _, s := range []string{k, h[k]} {
			out = binary.BigEndian.AppendUint16(out, uint16(len(s)))
			out = append(out, s...)
		}
	}
	return out
}

func unpackHeader(b []byte) map[string][]string {
	var fields []string
	for len(b) >= 2 {
		n := min(int(binary.BigEndian.Uint16(b)), len(b)-2)
		fields = append(fields, string(b[2:2+n]))
		b = b[2+n:]
	}
	h := map[string][]string{}
	for i := 0; i+1 < len(fields); i += 2 {
		h[fields[i]] = append(h[fields[i]], fields[i+1])
	}
	return h
}

// sameAgain demands that what parsed encodes to the same bytes in both forms.
func sameAgain(t *testing.T, e events.Event) {
	t.Helper()
	stored, err := events.ParseStored(multi(e.Headers()), e.Data)
	if err != nil {
		t.Fatalf("the stored form of a parsed event is refused: %v", err)
	}
	exported, err := events.ParseExport(e.Export())
	if err != nil {
		t.Fatalf("the exported form of a parsed event is refused: %v", err)
	}
	for _, again := range []events.Event{stored, exported} {
		if !bytes.Equal(again.Export(), e.Export()) || again.Hash() != e.Hash() || !maps.Equal(again.Headers(), e.Headers()) {
			t.Fatal("a second parse gives another event")
		}
	}
	if _, err := e.CloudEvent(); err != nil {
		t.Fatalf("the SDK refuses the exported form: %v", err)
	}
}

func FuzzParseStored(f *testing.F) {
	for _, v := range goldenFiles(f) {
		f.Add(packHeader(v.StoredHeaders), []byte(v.Data))
	}
	for _, n := range negativeFile(f) {
		if n.Form == "stored" && n.Bytes != "" {
			f.Add(packHeader(goldenFiles(f)[0].StoredHeaders), n.raw(f))
		}
	}
	f.Fuzz(func(t *testing.T, packed, data []byte) {
		header := unpackHeader(packed)
		e, err := events.ParseStored(header, data)
		if err != nil {
			return
		}
		if !bytes.Equal(e.Data, data) {
			t.Fatal("data changed")
		}
		written := e.Headers()
		for name, values := range header {
			if len(name) >= 3 && (name[:3] == "ce-") && (len(values) != 1 || written[name] != values[0]) {
				t.Fatalf("header %q was %q and is written as %q", name, values, written[name])
			}
		}
		sameAgain(t, e)
	})
}

func FuzzParseExport(f *testing.F) {
	for _, v := range goldenFiles(f) {
		f.Add([]byte(v.Exported))
	}
	for _, n := range negativeFile(f) {
		if n.Form == "exported" {
			f.Add(n.raw(f))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := events.ParseExport(text)
		if err != nil {
			return
		}
		if !bytes.Equal(e.Export(), text) {
			t.Fatalf("parsed\n%q\nwritten\n%q", text, e.Export())
		}
		sameAgain(t, e)
	})
}

func FuzzDecodeData(f *testing.F) {
	for i, typ := range events.Types() {
		f.Add(uint8(i), example(f, typ))
	}
	for _, n := range negativeFile(f) {
		if n.Form == "data" {
			f.Add(uint8(5), n.raw(f))
		}
	}
	f.Fuzz(func(t *testing.T, pick uint8, data []byte) {
		types := events.Types()
		typ := types[int(pick)%len(types)]
		p, err := events.DecodeData(typ, data)
		if err != nil {
			return
		}
		if p.Type() != typ {
			t.Fatalf("data of %s decodes to %s", typ, p.Type())
		}
		again, err := events.EncodeData(p)
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("decoded\n%q\nencoded\n%q\n%v", data, again, err)
		}
	})
}
