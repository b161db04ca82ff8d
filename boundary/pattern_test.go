package boundary

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestMatchPatternGolden(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"**/.env*", ".env", true},
		{"**/.env*", "a/.env.local", true},
		{"**/.env*", "a/b/.env.local", true},
		{"**/*.env", ".env", true},
		{"src/export/**", "src/export", true},
		{"src/export/**", "src/export/a.go", true},
		{"src/export/**", "src/export/a/b/.c", true},
		{"src/**/x", "src/x", true},
		{"src/**/x", "src/a/b/x", true},
		{"**", "a/b/.c", true},
		{"src/?.go", "src/é.go", true},
		{"src/[ab].go", "src/b.go", true},
		{"src/[!a].go", "src/b.go", true},
		{"src/[[]id].go", "src/[id].go", true},
		{"src/*.go", "src/naïve.go", true},
		{"src/*", "src/\xff", true},
		{"src/*", "src/new\nline", true},
		{"src/*", "src/.hidden", true},

		{"a*b/**/**", "aab", true},
		{"**/**/a", "a", true},
		{"src/[a-c]", "src/b", true},

		{"src/*/x", "src/a/b/x", false},
		{"src/*", "src/a/b", false},
		{"src/*", "src", false},
		{"src?a", "src/a", false},
		{"src[^b]a", "src/a", false},
		{".github/**", "sub/.github/x", false},
		{"src/export/**", "src/exporter/x", false},
		{"src/export/**", "src/Export/x", false},
		{"src/export/**", "src/export/../../infra/x", false},
		{"src/export/**", "src//export/x", false},
		{"src/export/**", "./src/export/x", false},
		{"src/export/**", "/src/export/x", false},
		{"src/**", "src/../infra", false},
		{"src/[a]x", "src/[a]x", false},
		{"**/a", "b", false},
		{"**", "", false},
	} {
		if got := MatchPattern(c.pattern, c.path); got != c.want {
			t.Errorf("MatchPattern(%q, %q) = %v, want %v", c.pattern, c.path, got, c.want)
		}
	}
}

func TestCheckPatternRefuses(t *testing.T) {
	for _, pattern := range []string{
		"", "[", "src/[a", "src/[]", "/src/**", "src/", "src//x", "!src/x", `src\x`, "../x", "src/../x", "src/..",
		"./src", "src/./x", ".", "src/**x", "a**b", "***", "src/{a,b}", "src/a}", " src", "src ", "src/\x00", "src/a\nb",
		"src/\xff", "[a/b]", "src/[/]x", "src/[z-a]", "[^]", "a]b[", strings.Repeat("a", MaxPatternBytes+1),
	} {
		if err := CheckPattern(pattern); !errors.Is(err, ErrPattern) {
			t.Errorf("CheckPattern(%q) = %v, want ErrPattern", pattern, err)
		}
		b, err := Parse([]string{"src/**", pattern}, nil)
		if !errors.Is(err, ErrPattern) || b.Allows("src/a") {
			t.Errorf("Parse with %q: %v, allows %v", pattern, err, b.Allows("src/a"))
		}
		if b, err := Parse([]string{"src/**"}, []string{pattern}); !errors.Is(err, ErrPattern) || b.Allows("src/a") {
			t.Errorf("Parse excluding %q: %v", pattern, err)
		}
	}
	for _, pattern := range []string{"a", "**", "**/a", "a/**", "a/**/b/*.go", ".env", "a b/c", "表/*", "...", "src/..a"} {
		if err := CheckPattern(pattern); err != nil {
			t.Errorf("CheckPattern(%q) = %v", pattern, err)
		}
	}
}

// TestMatchPatternModel compares the matcher with a slow one written from the dialect's
// words, on random patterns and paths over a small alphabet.
func TestMatchPatternModel(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(parts []string, most int) string {
		chosen := make([]string, 1+random.IntN(most))
		for i := range chosen {
			chosen[i] = parts[random.IntN(len(parts))]
		}
		return strings.Join(chosen, "/")
	}
	matches := 0
	for range 50_000 {
		pattern := pick([]string{"**", "*", "?", "a", "b", ".a", "*a", "a*", "a*b", "?b", "*.*"}, 5)
		path := pick([]string{"a", "b", ".a", "ab", "aab", "a.b", "abb"}, 5)
		want := modelMatch(strings.Split(pattern, "/"), strings.Split(path, "/"))
		if got := MatchPattern(pattern, path); got != want {
			t.Fatalf("MatchPattern(%q, %q) = %v, the model says %v", pattern, path, got, want)
		}
		if want {
			matches++
		}
	}
	if matches < 1000 {
		t.Fatalf("only %d matches: the comparison shows little", matches)
	}
}
