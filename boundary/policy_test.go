package boundary

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// samplePolicy is the policy of the protocol's text.
const samplePolicy = `attempt: TASK-481/a02c
write:
  include:
    - src/export/**
    - tests/export/**
    - docs/api/export.md
  exclude:
    - .github/workflows/**
    - infra/**
    - '**/.env*'
commands:
  allow:
    - npm run test:export
    - npm run lint
    - npm run preview
effects:
  allow:
    - preview
  requireHumanApproval:
    - merge
    - production-deploy
`

func TestReadPolicy(t *testing.T) {
	p, err := ReadPolicy([]byte(samplePolicy))
	if err != nil {
		t.Fatal(err)
	}
	if p.Attempt != "TASK-481/a02c" || !slices.Equal(p.Effects, []string{"preview"}) || !slices.Equal(p.Approvals, []string{"merge", "production-deploy"}) {
		t.Errorf("read %+v", p)
	}
	if !slices.Equal(p.Exclude, []string{".github/workflows/**", "infra/**", "**/.env*"}) || p.Line("exclude", "infra/**") != 9 || p.Line("include", "infra/**") != 0 {
		t.Errorf("excludes %q, line %d", p.Exclude, p.Line("exclude", "infra/**"))
	}
	for path, want := range map[string]bool{"src/export/a.go": true, "docs/api/export.md": true, "docs/api/other.md": false, "infra/x": false, "src/export/.env": false} {
		if p.Bounds().Allows(path) != want {
			t.Errorf("Allows(%q) = %v", path, !want)
		}
	}
	if !p.Runs().Allows([]string{"npm", "run", "lint"}) || p.Runs().Allows([]string{"npm", "run", "deploy"}) || p.Runs().Allows([]string{"npm"}) {
		t.Error("commands are not those of the list")
	}
	if !p.FreeEffect("preview") || p.FreeEffect("merge") || p.FreeEffect("notify") {
		t.Error("effects are not those of the list")
	}
}

// TestReadPolicySpellings: ends of lines and a mark at the start change nothing; two
// spellings of one member are one member.
func TestReadPolicySpellings(t *testing.T) {
	plain, err := ReadPolicy([]byte(samplePolicy))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"CRLF": strings.ReplaceAll(samplePolicy, "\n", "\r\n"), "byte order mark": "\ufeff" + samplePolicy} {
		p, err := ReadPolicy([]byte(text))
		if err != nil || p.Limits().Digest() != plain.Limits().Digest() || p.Line("exclude", "infra/**") != 9 {
			t.Errorf("%s: %v, line %d", name, err, p.Line("exclude", "infra/**"))
		}
	}
	for _, text := range []string{
		"write: {include: [a]}\n\"write\": {include: ['**']}", "write:\n  include: [a]\n  'include': ['**']", "\"wri\\u0074e\": {}\nwrite: {}",
		"Write: {include: [a]}", "write : {Include: [a]}", "write: {include: [\"a\\u0000\"]}", "write: {include: [\"a\\n\"]}",
	} {
		if p, err := ReadPolicy([]byte(text)); !errors.Is(err, ErrPolicy) || p.Bounds().Allows("a") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestReadPolicyWhatIsMissingAllowsNothing(t *testing.T) {
	for _, text := range []string{"{}", "attempt: T/a", "write: {}", "write: {include: []}", "write: {exclude: [a]}", "---\ncommands: {}\n...\n", `{"effects": {"allow": []}}`} {
		p, err := ReadPolicy([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if p.Bounds().Allows("a") || p.Runs().Allows([]string{"a"}) || p.FreeEffect("preview") {
			t.Errorf("%q allows something", text)
		}
	}
	var zero Policy
	if zero.Bounds().Allows("a") || zero.Runs().Allows([]string{"a"}) || zero.FreeEffect("none") {
		t.Error("the zero policy allows something")
	}
}

// refusedPolicies are texts that are no policy, and the line that the error names.
var refusedPolicies = map[string]int{
	"":                                       1,
	"# nothing\n":                            1,
	"null":                                   1,
	"[]":                                     1,
	"text":                                   1,
	"unknown: 1":                             1,
	"write:\n  includes: [a]":                2,
	"write:\n  include: a":                   2,
	"write:\n  include:":                     2,
	"write: [a]":                             1,
	"write:":                                 1,
	"write:\n  include:\n    - a\n    - [b]": 4,
	"write:\n  include:\n    - a: b":         3,
	"write:\n  include: [12]":                2,
	"write:\n  include: [true]":              2,
	"write:\n  include: [~]":                 2,
	"write:\n  include: [a, a]":              2,
	"write:\n  include:\n    - a\n    - a":   4,
	"write: {}\nwrite: {}":                   2,
	"write:\n  include: [a]\n  include: [b]": 3,
	"commands: {allow: npm run lint}":        1,
	"commands: {allow: ['npm \"run']}":       1,
	"commands: {allow: ['']}":                1,
	"commands: {deny: [a]}":                  1,
	"effects: {allow: [deploy]}":             1,
	"effects:\n  requireHumanApproval: [production-deplyo]": 2,
	"effects: {requireHumanApproval: true}":                 1,
	"attempt: 481":                                          1,
	"attempt: TASK-481":                                     1,
	"attempt: TASK 481/a":                                   1,
	"attempt: T/a/b":                                        1,
	"attempt: [T/a]":                                        1,
	"write: {}\n---\nwrite: {}":                             2,
	"---\nwrite: {}\n---\n":                                 3,
	"write: &w {include: [a]}":                              1,
	"write:\n  include: &l [a]\n  exclude: *l":              2,
	"write:\n  include: [&a src, *a]":                       2,
	"<<: {write: {include: ['**']}}":                        1,
	"write: {<<: {include: ['**']}}":                        1,
	"write: {include: [!!str a]}":                           1,
	"write: !x {include: [a]}":                              1,
	"? [a]\n: b":                                            1,
	"write: {include: ['!src/x']}":                          1,
	"write: {include: ['/src/**']}":                         1,
	"write: {include: ['src/']}":                            1,
	"write: {include: ['[']}":                               1,
	"write: {include: ['']}":                                1,
	"write: {exclude: ['../x']}":                            1,
	"write: {include: [a}":                                  0, // not YAML: the parser says where
	"write:\n\tinclude: [a]":                                0,
	"write: {}\x00":                                         1,
	"attempt: \xff":                                         1,
	"\xff\xfew\x00":                                         1,
}

func TestReadPolicyRefuses(t *testing.T) {
	for text, line := range refusedPolicies {
		p, err := ReadPolicy([]byte(text))
		if !errors.Is(err, ErrPolicy) {
			t.Errorf("%q: %v, want ErrPolicy", text, err)
			continue
		}
		if line > 0 && !strings.Contains(err.Error(), "line "+strconv.Itoa(line)+":") {
			t.Errorf("%q: %v, want line %d", text, err, line)
		}
		if strings.ContainsAny(err.Error(), "\n\x00\x1b") {
			t.Errorf("%q: error %q is not one plain line", text, err)
		}
		if p.Bounds().Allows("a") || p.Bounds().Allows("src/a") || p.Runs().Allows([]string{"npm", "run", "lint"}) || p.FreeEffect("preview") || p.Attempt != "" {
			t.Errorf("%q is refused and allows something", text)
		}
	}
	for _, text := range []string{
		strings.Repeat("#", MaxPolicyBytes+1), strings.Repeat("[", MaxPolicyBytes), "write: {include: [" + strings.Repeat("{a: ", 5000),
		"write:\n  include:\n" + manyLines("    - a", MaxPatterns+1),
	} {
		if _, err := ReadPolicy([]byte(text)); !errors.Is(err, ErrPolicy) {
			t.Errorf("text of %d bytes: %v, want ErrPolicy", len(text), err)
		}
	}
}

// manyLines gives numbered lines.
func manyLines(start string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(start + strconv.Itoa(i) + "\n")
	}
	return b.String()
}

func FuzzReadPolicy(f *testing.F) {
	f.Add([]byte(samplePolicy))
	for text := range refusedPolicies {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ReadPolicy(text)
		if err != nil {
			if !errors.Is(err, ErrPolicy) {
				t.Fatalf("%v is no ErrPolicy", err)
			}
			if len(p.bounds.layers) != 0 || len(p.commands.layers) != 0 || len(p.Effects) != 0 {
				t.Fatal("a refused policy allows something")
			}
			return
		}
		for _, pattern := range slices.Concat(p.Include, p.Exclude) {
			if CheckPattern(pattern) != nil {
				t.Fatalf("pattern %q was taken", pattern)
			}
		}
		for _, line := range p.Commands {
			words, err := SplitCommand(line)
			if err != nil || !p.Runs().Allows(words) {
				t.Fatalf("line %q was taken and allows nothing", line)
			}
		}
		for _, kind := range slices.Concat(p.Effects, p.Approvals) {
			if !slices.Contains(EffectKinds(), kind) {
				t.Fatalf("kind %q was taken", kind)
			}
		}
		if p.Bounds().Allows(PolicyPath) {
			t.Fatal("a policy lets itself change")
		}
	})
}
