package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// TestEscape: what JSON mode prints is the same value, and no byte of it
// drives a terminal.
func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"b"}`:                `{"a":"b"}`,
		"{\"a\":\"\u202eb\"}":      `{"a":"\u202eb"}`,
		"{\"a\":\"\u009b31m\"}":    `{"a":"\u009b31m"}`,
		"{\"a\":\"\x7f\"}":         `{"a":"\u007f"}`,
		"{\"a\":\"\U000e0041\"}":   `{"a":"\udb40\udc41"}`,
		"{\"a\":\"\u00e9\u6f22\"}": "{\"a\":\"\u00e9\u6f22\"}",
		"{\"a\":\"\ufeff\u200b\"}": `{"a":"\ufeff\u200b"}`,
		"{\n \"a\": 1\n}":          "{\n \"a\": 1\n}",
	} {
		got := escape([]byte(in))
		if string(got) != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
		var a, b any
		if err := errors.Join(json.Unmarshal([]byte(in), &a), json.Unmarshal(got, &b)); err != nil {
			t.Error(err)
		}
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if !bytes.Equal(x, y) {
			t.Errorf("escape(%q) is another value", in)
		}
	}
}

// TestTextWriter: every way to write text makes the text of others plain.
func TestTextWriter(t *testing.T) {
	const evil = "\x1b]0;x\x07\r\n\u202e\u009b1m"
	var out bytes.Buffer
	w := &textWriter{out: &out}
	w.line("%s %v %s", evil, errors.New(evil), evil)
	w.table([]string{"A", evil}, [][]string{{evil, "x"}, {"y", evil}})
	if w.err != nil {
		t.Fatal(w.err)
	}
	if n := strings.Count(out.String(), "\n"); n != 4 {
		t.Errorf("%d lines, want 4: %q", n, out.String())
	}
	if i := strings.IndexFunc(out.String(), hidden); i >= 0 {
		t.Errorf("a hidden character at byte %d: %q", i, out.String())
	}
}
