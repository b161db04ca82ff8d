package events_test

import (
	"testing"

	"github.com/deedledger/deed/events"
)

// TestCanonicalNamesAndNumbers holds the two places where canonical forms of
// JSON come apart: names that sort differently by code point and by UTF-16, and
// numbers that are no doubles.
func TestCanonicalNamesAndNumbers(t *testing.T) {
	for want, v := range map[string]any{
		// U+1F600 is D83D DE00 in UTF-16, before U+E000 and U+FB33.
		"{\"\U0001f600\":1,\"\ue000\":2,\"\ufb33\":3}": map[string]int{"\ufb33": 3, "\ue000": 2, "\U0001f600": 1},
		`{"":0,"A":1,"a":2,"b":3,"é":4}`:               map[string]int{"é": 4, "b": 3, "a": 2, "A": 1, "": 0},
		`{}`:                                           map[string]int{},
		`["-0","1e21","1.0","9007199254740993"]`:       []string{"-0", "1e21", "1.0", "9007199254740993"},
		`["<ok> & done","` + "\u2028\u2029" + `"]`:     []string{"<ok> & done", "\u2028\u2029"},
		`["é","` + "e\u0301" + `"]`:                    []string{"é", "e\u0301"},
		`[9007199254740991,-9007199254740991,0]`:       []int64{1<<53 - 1, -(1<<53 - 1), 0},
	} {
		got, err := events.Canonical(v)
		if err != nil || string(got) != want {
			t.Errorf("%#v: %q, %v; want %q", v, got, err, want)
		}
	}
	for _, v := range []any{
		int64(1<<53 + 1), uint64(1<<63 + 1), -int64(1<<53 + 1), map[string]any{"seq": []int64{9007199254740993}},
		struct {
			Seq int64 `json:"seq"`
		}{9007199254740993},
		"\xb3", []string{"a\xff"}, map[string]string{"\xff": ""},
	} {
		if text, err := events.Canonical(v); err == nil {
			t.Errorf("%#v has the form %q", v, text)
		}
	}
}
