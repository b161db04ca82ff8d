package boundary

import (
	"errors"
	"testing"
)

func TestEncodePath(t *testing.T) {
	for raw, want := range map[string]string{
		"src/a.go":        "src/a.go",
		"src/naïve.go":    "src/na%C3%AFve.go",
		"a b":             "a%20b",
		"tab\tx":          "tab%09x",
		"new\nline":       "new%0Aline",
		`"q"`:             "%22q%22",
		"100%":            "100%25",
		"\xff":            "%FF",
		"%FF":             "%25FF",
		"\x7f":            "%7F",
		"-rf.go":          "-rf.go",
		`back\slash`:      `back\slash`,
		"\u202egnp.exe":   "%E2%80%AEgnp.exe",
		"\x1b[31mred\x00": "%1B[31mred%00",
	} {
		if got := EncodePath(raw); got != want {
			t.Errorf("EncodePath(%q) = %q, want %q", raw, got, want)
		}
	}
}

func TestDecodePathRefuses(t *testing.T) {
	for _, text := range []string{
		"", "%", "%2", "a%", "a%4", "%zz", "%ff", "%fF", "%41", "%2F", "a b", "a\"b", "\x00", "%00", "\x7f", "é", "\xff", "%%25",
		"a\nb", "%2e", "%+1", "%-1",
	} {
		if raw, err := DecodePath(text); !errors.Is(err, ErrPathEncoding) || raw != "" {
			t.Errorf("DecodePath(%q) = %q, %v", text, raw, err)
		}
	}
}

func TestDisplayPath(t *testing.T) {
	for raw, want := range map[string]string{
		"src/表.go":       "src/表.go",
		"new\nline":      `new\x0aline`,
		"\xff":           `\xff`,
		`\xff`:           `\\xff`,
		"\x1b[2J":        `\x1b[2J`,
		"\u202e":         `\u{202e}`,
		"a\u00a0b":       `a\u{00a0}b`,
		"\ufffd":         "\ufffd",
		"\u200b":         `\u{200b}`,
		"a\x7fb":         `a\x7fb`,
		"\u0085":         `\u{0085}`,
		"\U000e0041tags": `\u{e0041}tags`,
	} {
		if got := DisplayPath(raw); got != want {
			t.Errorf("DisplayPath(%q) = %q, want %q", raw, got, want)
		}
	}
}

func TestCleanPath(t *testing.T) {
	for typed, want := range map[string]string{
		"./src/export/a.go": "src/export/a.go", "src/export/./b/c.go": "src/export/b/c.go", "a": "a", "./-rf": "-rf", "...": "...",
	} {
		if got, err := CleanPath(typed); err != nil || got != want {
			t.Errorf("CleanPath(%q) = %q, %v", typed, got, err)
		}
	}
	for _, typed := range []string{
		"", ".", "./", "/", "/w/app-evil/x", "..", "../x", "src/export/../../infra/x", "src//export/../x", "src//x", "src/", "a\x00b",
		".git/config", "a/.git/hooks", ".GIT/config",
	} {
		if got, err := CleanPath(typed); !errors.Is(err, ErrPath) || got != "" {
			t.Errorf("CleanPath(%q) = %q, %v", typed, got, err)
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{"src/a.go", "\xff%", "a b\n", "%41", "é", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if raw, err := DecodePath(s); err == nil && EncodePath(raw) != s {
			t.Fatalf("%q decodes to %q, which encodes to %q", s, raw, EncodePath(raw))
		}
		raw, err := DecodePath(EncodePath(s))
		if (err == nil) != (s != "" && !containsNUL(s)) || (err == nil && raw != s) {
			t.Fatalf("%q does not survive: %q, %v", s, raw, err)
		}
		for _, c := range []byte(EncodePath(s)) {
			if c < 0x21 || c > 0x7e {
				t.Fatalf("EncodePath(%q) holds byte %#x", s, c)
			}
		}
		for _, r := range DisplayPath(s) {
			if r < 0x20 || r == 0x7f {
				t.Fatalf("DisplayPath(%q) holds %q", s, r)
			}
		}
	})
}

func containsNUL(s string) bool {
	for _, c := range []byte(s) {
		if c == 0 {
			return true
		}
	}
	return false
}
