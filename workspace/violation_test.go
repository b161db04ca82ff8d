package workspace

import (
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deedledger/deed/boundary"
)

func TestFollowLink(t *testing.T) {
	tree := map[string]string{
		"src/export/in":       "a.go",
		"src/export/out":      "../../infra",
		"src/export/dangling": "/var/not-yet",
		"src/export/chain":    "in",
		"src/export/chain2":   "out/net.tf",
		"src/export/loop":     "loop2",
		"src/export/loop2":    "loop",
		"src/export/self":     "self",
		"src/export/up":       "../../../x",
		"src/export/trick":    "deep/../../y",
		"src/export/deep":     "sub/sub/sub",
		"src/export/empty":    "",
		"src/export/dot":      ".",
		"src/export/git":      "../../.git/config",
		"src/export/env":      ".env",
		"src/export/pre":      "../exporter/x",
		"src/export/nul":      "a\x00b",
	}
	read := linksOf(tree)
	b := bounds(t, []string{"src/export/**"}, nil)
	allowed := []string{"src/export/in", "src/export/chain", "src/export/dot", "src/export/trick", "src/export/deep"}
	for path := range tree {
		got := Check(b, []Change{{Path: path, Status: 'A', NewMode: ModeLink}}, nil, read)
		if want := slices.Contains(allowed, path); (len(got) == 0) != want {
			t.Errorf("%s -> %q: %v", path, tree[path], got)
		} else if !want && got[0].Rule != boundary.RuleLink {
			t.Errorf("%s: rule %s", path, got[0].Rule)
		}
	}
	if got := Check(b, []Change{{Path: "src/export/in", NewMode: ModeLink}}, nil, Links{}); len(got) != 1 {
		t.Error("a link passed although nobody could read it")
	}
}

// linksOf gives the links of a tree that has these.
func linksOf(tree map[string]string) Links {
	return newLinks(func() (map[string]string, error) { return tree, nil })
}

// TestCheckLinksOverFolders: a link is no way around a folder that has something denied
// in it, nor a place of its own where such a folder would be.
func TestCheckLinksOverFolders(t *testing.T) {
	b := bounds(t, []string{"**"}, []string{"infra/prod/**", "**/*.tf"})
	for path, c := range map[string]struct {
		target string
		want   bool
	}{
		"src/a":           {"../docs", true},
		"src/b":           {"../infra", false},      // holds infra/prod
		"src/c":           {"../infra/prod", false}, // is excluded
		"src/d":           {"../Infra/Prod/x", false},
		"src/e":           {"../infra/production", true},
		"src/f":           {"../.agent-delivery", false}, // holds the policy
		"infra":           {"src/infra", false},          // infra/prod/x would be src/infra/prod/x
		"INFRA":           {"src/infra", false},
		".agent-delivery": {"src", false},
		".changeset":      {"src", false},
		"docs":            {"src", true},
	} {
		got := Check(b, []Change{{Path: path, Status: 'A', NewMode: ModeLink}}, nil, linksOf(map[string]string{path: c.target}))
		if (len(got) == 0) != c.want || len(got) > 0 && got[0].Rule != boundary.RuleLink && path != ".agent-delivery" {
			t.Errorf("%s -> %s: %v", path, c.target, got)
		}
	}
	if got := Check(b, []Change{{Path: "infra", Status: 'A', NewMode: ModeFile}}, nil, Links{}); len(got) != 0 {
		t.Errorf("a file in the place of a folder: %v", got)
	}
}

// TestCheckLinksByAnySpelling: the names on a link's way are looked up as a file system
// that ignores case does, too.
func TestCheckLinksByAnySpelling(t *testing.T) {
	b := bounds(t, []string{"src/**"}, nil)
	tree := map[string]string{"src/x/y/up": "../..", "src/x/y/a": "UP/../infra", "src/x/y/b": "down/../infra"}
	for path, want := range map[string]bool{"src/x/y/up": true, "src/x/y/a": false, "src/x/y/b": true} {
		if got := Check(b, []Change{{Path: path, Status: 'A', NewMode: ModeLink}}, nil, linksOf(tree)); (len(got) == 0) != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// TestCheckUnchangedLinks: what a link leads to may change without the link.
func TestCheckUnchangedLinks(t *testing.T) {
	b := bounds(t, []string{"src/**"}, nil)
	before := map[string]string{"src/a": "d/../../x", "src/d": "p/q/r", "docs/now": "../src/cur", "src/cur": "one", "docs/out": "../src/d/../../../y"}
	turned := func(path string) []Change {
		return []Change{{Path: path, Status: 'T', OldMode: ModeLink, NewMode: ModeLink}}
	}
	for name, c := range map[string]struct {
		changes []Change
		after   map[string]string
		want    []string
	}{
		"nothing":             {nil, before, nil},
		"another file":        {[]Change{{Path: "src/f", Status: 'M', OldMode: ModeFile, NewMode: ModeFile}}, map[string]string{"src/a": "../infra"}, nil},
		"turned inside":       {turned("src/cur"), with(before, "src/cur", "two"), nil},
		"a link on the way":   {turned("src/d"), with(before, "src/d", ""), []string{"docs/out", "src/a"}},
		"turned on the way":   {turned("src/d"), with(before, "src/d", "p"), []string{"docs/out", "src/a"}},
		"the changed one":     {[]Change{{Path: "src/a", Status: 'T', NewMode: ModeLink}}, with(before, "src/a", "../infra"), nil},
		"deeper, still in":    {turned("src/d"), with(before, "src/d", "p/q/r/s"), nil},
		"a spelling of a way": {turned("src/D"), with(with(before, "src/d", ""), "src/D", "p"), []string{"docs/out", "src/a"}},
	} {
		got, err := CheckUnchangedLinks(b, c.changes, linksOf(before), linksOf(c.after))
		var paths []string
		for _, v := range got {
			paths = append(paths, v.Path)
		}
		if err != nil || !slices.Equal(paths, c.want) {
			t.Errorf("%s: %v, %v, want %q", name, got, err, c.want)
		}
	}
	if _, err := CheckUnchangedLinks(b, turned("src/d"), Links{}, Links{}); err == nil {
		t.Error("links that nobody can read passed")
	}
}

// with gives a tree with one link changed; "" takes it out.
func with(tree map[string]string, path, target string) map[string]string {
	tree = maps.Clone(tree)
	if tree[path] = target; target == "" {
		delete(tree, path)
	}
	return tree
}

// TestFollowLinkAsTheKernel makes random trees of folders and links on the disk: where
// the kernel finds something, a link leads to that very place, or out of the tree.
func TestFollowLinkAsTheKernel(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	names := []string{"a", "b", "c"}
	place := func() string {
		path := names[random.IntN(3)]
		for range random.IntN(3) {
			path += "/" + names[random.IntN(3)]
		}
		return path
	}
	found, left := 0, 0
	for range 250 {
		root := filepath.Join(t.TempDir(), "root")
		tree := map[string]string{}
		for range 12 {
			path := place()
			full := filepath.Join(root, path)
			if slices.ContainsFunc(slices.Collect(maps.Keys(tree)), func(link string) bool { return within(path, link) }) {
				continue // below a link
			}
			if random.IntN(2) == 0 {
				_ = os.MkdirAll(full, 0o700)
				continue
			}
			target := ""
			for range 1 + random.IntN(4) {
				target += []string{"../", "../", "a/", "b/", "c/", "./"}[random.IntN(6)]
			}
			if os.MkdirAll(filepath.Dir(full), 0o700) == nil && os.Symlink(target[:len(target)-1], full) == nil {
				tree[path] = target[:len(target)-1]
			}
		}
		for path := range tree {
			real, err := filepath.EvalSymlinks(filepath.Join(root, path))
			if err != nil {
				continue // a loop, or nothing there
			}
			found++
			inside, err := filepath.Rel(root, real)
			must(t, err)
			got, err := followLink(path, linksOf(tree).exact)
			switch {
			case !filepath.IsLocal(inside):
				left++
				if !errors.Is(err, errLinkEscapes) {
					t.Fatalf("%v: %s leads out to %s, said %q, %v", tree, path, inside, got, err)
				}
			case errors.Is(err, errLinkEscapes): // it left the tree on its way and came back: refused
			case err != nil || got != strings.TrimPrefix(inside, "."):
				t.Fatalf("%v: %s leads to %s, said %q, %v", tree, path, inside, got, err)
			}
		}
	}
	if found < 200 || left < 20 {
		t.Fatalf("%d links, %d of them out: this shows little", found, left)
	}
}
