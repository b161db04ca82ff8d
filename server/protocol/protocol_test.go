package protocol_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server/protocol"
)

func TestRoundTrip(t *testing.T) {
	for name, want := range map[string]protocol.Located{
		"small": {Position: 7, Hash: "h"},
		"large": {Position: 7, Hash: strings.Repeat("h", 2*protocol.CompressAbove)},
	} {
		body, compressed := protocol.Encode(want, nil)
		if compressed != (len(want.Hash) > protocol.CompressAbove) || len(body) > protocol.CompressAbove {
			t.Errorf("%s: %d bytes, compressed %t", name, len(body), compressed)
		}
		var got protocol.Located
		if err := protocol.Decode(body, compressed, &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, class := range []ledger.Class{ledger.Refused, ledger.Conflict, ledger.Unknown, ledger.Corrupt, ledger.Unavailable} {
		want := ledger.Refusal{Class: class, Code: ledger.CodeHead, Rule: "chain", Text: "moved \x1b[31m", Sequence: 3, Head: "h"}
		body, compressed := protocol.Encode(7, &want)
		data := 0
		r, ok := errors.AsType[*ledger.Refusal](protocol.Decode(body, compressed, &data))
		if !ok || *r != want || data != 0 {
			t.Errorf("%s: %+v and data %d", class, r, data)
		}
	}
	// An error that is no refusal, and data that has no JSON, are unavailable.
	for name, reply := range map[string]struct {
		data any
		err  error
	}{"another error": {nil, errors.New("disk")}, "no JSON": {math.NaN(), nil}, "a channel": {make(chan int), nil}} {
		body, compressed := protocol.Encode(reply.data, reply.err)
		r, ok := errors.AsType[*ledger.Refusal](protocol.Decode(body, compressed, new(any)))
		if !ok || r.Class != ledger.Unavailable {
			t.Errorf("%s: %s", name, body)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	packed := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	good := `{"data":{"position":7,"hash":"h"}}`
	whole := packed(good)
	for name, test := range map[string]struct {
		body       []byte
		compressed bool
	}{
		"nothing": {nil, false}, "junk": {[]byte("junk"), false}, "null": {[]byte("null"), false}, "a list": {[]byte("[]"), false},
		"no member": {[]byte("{}"), false}, "data of another type": {[]byte(`{"data":[1]}`), false}, "cut": {[]byte(good[:20]), false},
		"twice": {[]byte(good + good), false}, "member twice": {[]byte(`{"data":{},"data":{}}`), false},
		"refusal without class": {[]byte(`{"refusal":{}}`), false}, "class nobody knows": {[]byte(`{"refusal":{"class":"maybe","code":"x"}}`), false},
		"refusal and data": {[]byte(`{"refusal":{"class":"refused"},"data":{}}`), false}, "refusal that is no object": {[]byte(`{"refusal":"no"}`), false},
		"compressed and not": {whole, false}, "not compressed": {[]byte(good), true}, "compressed, cut": {whole[:len(whole)-9], true},
		"compressed, nothing": {nil, true}, "compressed, changed": {append(bytes.Clone(whole[:len(whole)-8]), 1, 2, 3, 4, 5, 6, 7, 8), true},
		"larger than its limit": {packed(`{"data":{"position":7,"hash":"h"}` + strings.Repeat(" ", protocol.MaxReply) + "}"), true},
	} {
		var got protocol.Located
		if err := protocol.Decode(test.body, test.compressed, &got); !errors.Is(err, protocol.ErrReply) {
			t.Errorf("%s: %+v, %v, want ErrReply", name, got, err)
		}
	}
	var got protocol.Located
	if err := protocol.Decode(whole, true, &got); err != nil || got.Position != 7 {
		t.Errorf("a whole one: %+v, %v", got, err)
	}
}

func TestHashes(t *testing.T) {
	list := []events.Hash{events.Sum([]byte("a")), events.Sum([]byte("b"))}
	again, err := protocol.ParseHashes(protocol.Hashes(list))
	if err != nil || len(again) != 2 || again[0] != list[0] || again[1] != list[1] {
		t.Errorf("%v, %v", again, err)
	}
	whole := list[0].String()
	for _, bad := range []string{"", "x", whole[1:], whole + "0", strings.ToUpper(whole), strings.Replace(whole, whole[:1], "g", 1)} {
		if got, err := protocol.ParseHashes([]string{whole, bad}); err == nil || got != nil {
			t.Errorf("%q is a hash: %v", bad, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"data":{"position":7}}`, `{"refusal":{"class":"refused"}}`, "{}", "junk"} {
		f.Add([]byte(seed), false)
	}
	body, _ := protocol.Encode(strings.Repeat("x", 2*protocol.CompressAbove), nil)
	f.Add(body, true)
	f.Fuzz(func(t *testing.T, body []byte, compressed bool) {
		var data any
		err := protocol.Decode(body, compressed, &data)
		if _, refused := errors.AsType[*ledger.Refusal](err); err != nil && !refused && !errors.Is(err, protocol.ErrReply) {
			t.Errorf("neither a refusal nor ErrReply: %v", err)
		}
	})
}
