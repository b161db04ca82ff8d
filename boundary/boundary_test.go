package boundary

import (
	"slices"
	"testing"
)

func TestBoundaryAllows(t *testing.T) {
	b := parse(t, []string{"src/export/**", "tests/export/**", "**/*.md"}, []string{"src/export/gen/**", "infra/**"})
	for _, path := range []string{"src/export/a.go", "src/export/a/b/.c", "tests/export/x", "README.md", "docs/a.md"} {
		if !b.Allows(path) {
			t.Errorf("refused %q", path)
		}
	}
	for _, path := range []string{
		"src/exporter/x", "src/a.go", "src/export/gen/a.go", "infra/README.md", "src/export/.env", "src/export/.env.local",
		"src/export/.ENV", ".github/x.md", ".GitHub/x.md", "docs/CODEOWNERS", "src/export/CODEOWNERS", "src/export/codeowners",
		".gitmodules", "src/export/.gitattributes", ".agent-delivery/policy/x.md", ".agent-delivery/contracts/x.md",
		".agent-delivery/approvals/x.md", ".agent-delivery/receipts/x.md", ".git/x.md", "src/export/.git/x", ".gitlab-ci.yml",
		"", "/src/export/a", "src/export/../../infra/x", "src//export/x", "src/export/./a", "src/export/", "src/export/a\x00b",
	} {
		if b.Allows(path) {
			t.Errorf("allowed %q", path)
		}
	}
}

func TestBoundaryAllProtectedDespiteEverything(t *testing.T) {
	b := parse(t, []string{"**", ".github/**", "**/.env*"}, nil)
	for _, path := range []string{".github/workflows/ci.yml", "a/.env", "CODEOWNERS"} {
		if b.Allows(path) {
			t.Errorf("allowed %q", path)
		}
	}
}

// TestBoundaryOwners: a robot reads OWNERS by its exact bytes; owners is a word of programs.
func TestBoundaryOwners(t *testing.T) {
	b := parse(t, []string{"src/**"}, nil)
	for path, want := range map[string]bool{
		"src/owners": true, "src/Owners": true, "src/owners.go": true, "src/owners/a.go": true, "src/OWNERS/a.go": true, "src/owners_aliases": true,
		"src/OWNERS": false, "src/a/OWNERS": false, "src/OWNERS_ALIASES": false, "src/CodeOwners": false, "src/codeowners": false,
	} {
		if b.Allows(path) != want {
			t.Errorf("Allows(%q) = %v", path, !want)
		}
	}
}

func TestBoundaryNothingAllowed(t *testing.T) {
	empty := parse(t, nil, nil)
	all := parse(t, []string{"**"}, nil)
	for name, b := range map[string]Boundary{
		"zero": {}, "empty": empty, "zero and all": Boundary{}.Intersect(all), "all and zero": all.Intersect(Boundary{}),
		"empty and all": empty.Intersect(all), "denied by order": parse(t, []string{"a", "**"}, []string{"**"}),
	} {
		if b.Allows("a") {
			t.Errorf("%s allows a path", name)
		}
	}
}

func TestBoundaryIntersect(t *testing.T) {
	scope := parse(t, []string{"src/**", "docs/**"}, nil)
	policy := parse(t, []string{"src/**"}, []string{"src/secret/**"})
	both := scope.Intersect(policy)
	for path, want := range map[string]bool{"src/a": true, "docs/a": false, "src/secret/a": false, "infra/a": false} {
		if both.Allows(path) != want {
			t.Errorf("Allows(%q) = %v", path, !want)
		}
	}
	if both.Digest() != policy.Intersect(scope).Digest() || both.Digest() != both.Intersect(scope).Digest() {
		t.Error("order of intersection changes the digest")
	}
}

func TestBoundaryDigest(t *testing.T) {
	a := parse(t, []string{"b/**", "a/**", "a/**"}, []string{"c"})
	first, err := ParseV1([]string{"b/**", "a/**", "a/**"}, []string{"c"})
	if err != nil {
		t.Fatal(err)
	}
	// Computed apart from this package, from the bytes that the comment of Digest describes.
	const want = "fc3743d5536205e0ec4af9f2769c1f58eecf0f5d3b51ffa7bcb9fbb3e1d69d1d"
	if first.Digest() != want {
		t.Errorf("digest %s, want %s", first.Digest(), want)
	}
	seen := []string{}
	for _, b := range []Boundary{
		{}, a, first, parse(t, nil, nil), parse(t, []string{"a/**"}, []string{"c"}), parse(t, []string{"a/**", "b/**", "c"}, nil),
		parse(t, []string{"c"}, []string{"a/**", "b/**"}), a.Intersect(parse(t, []string{"**"}, nil)),
	} {
		if slices.Contains(seen, b.Digest()) {
			t.Errorf("two boundaries share digest %s", b.Digest())
		}
		seen = append(seen, b.Digest())
	}
	if a.Digest() != parse(t, []string{"a/**", "b/**"}, []string{"c"}).Digest() {
		t.Error("order or repetition of patterns changes the digest")
	}
}

func TestBoundaryUnmatched(t *testing.T) {
	b := parse(t, []string{"src/**", "old/**"}, []string{"infra/**", "renamed/**"})
	got := b.Unmatched([]string{"src/a", "infra/net.tf"})
	if !slices.Equal(got, []string{"old/**", "renamed/**"}) {
		t.Errorf("unmatched %q", got)
	}
}

func TestBoundaryShadowed(t *testing.T) {
	b := parse(t, []string{"src/**", ".github/**", "infra/*", "none/**", "**/.env"}, []string{"infra/net.tf"})
	if got := b.Shadowed([]string{"src/a", "src/.env", ".github/x", "infra/net.tf", "README"}); !slices.Equal(got, []string{"**/.env", ".github/**", "infra/*"}) {
		t.Errorf("shadowed %q", got)
	}
	if got := b.Shadowed([]string{"infra/net.tf", "infra/other"}); len(got) != 0 {
		t.Errorf("shadowed %q", got)
	}
}

// parse makes a boundary that must be valid.
func parse(t *testing.T, include, exclude []string) Boundary {
	t.Helper()
	b, err := Parse(include, exclude)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
