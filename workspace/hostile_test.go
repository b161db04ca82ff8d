package workspace

import (
	"encoding/hex"
	"os/exec"
	"strings"
	"testing"
)

// rawEntry is one entry of a tree object, as it is written.
type rawEntry struct{ mode, name, id string }

// rawTree stores a tree that git itself would refuse to make, and a commit of it.
func (f fixture) rawTree(entries ...rawEntry) (tree, commit string) {
	f.t.Helper()
	var text strings.Builder
	for _, e := range entries {
		id, err := hex.DecodeString(e.id)
		must(f.t, err)
		text.WriteString(e.mode + " " + e.name + "\x00" + string(id))
	}
	cmd := exec.Command("git", "hash-object", "-t", "tree", "-w", "--literally", "--stdin")
	cmd.Dir, cmd.Stdin = f.dir, strings.NewReader(text.String())
	out, err := cmd.Output()
	must(f.t, err)
	tree = strings.TrimSpace(string(out))
	return tree, f.git("commit-tree", "-m", "raw", "-p", "HEAD", tree)
}

// TestCheckHostileTrees: a tree that no git would write, and that some git would read, gets
// no change past the boundary.
func TestCheckHostileTrees(t *testing.T) {
	f := newFixture(t)
	f.write("infra/x", "x")
	f.write("src/a.go", "a")
	f.write("evil", "evil")
	f.write("target", "../infra")
	base := f.commit("base")
	id := func(path string) string { return f.git("rev-parse", "HEAD:"+path) }
	infra, src, evil, target, file := id("infra"), id("src"), id("evil"), id("target"), id("src/a.go")
	bad, _ := f.rawTree(rawEntry{"100644", "x", evil})
	root := func(infras []rawEntry, more ...rawEntry) []rawEntry {
		list := append([]rawEntry{{"100644", "evil", evil}}, infras...)
		return append(append(list, rawEntry{"40000", "src", src}, rawEntry{"100644", "target", target}), more...)
	}
	kept := []rawEntry{{"40000", "infra", infra}}
	inSrc := func(e ...rawEntry) []rawEntry {
		tree, _ := f.rawTree(append([]rawEntry{{"100644", "a.go", file}}, e...)...)
		return []rawEntry{{"100644", "evil", evil}, kept[0], {"40000", "src", tree}, {"100644", "target", target}}
	}
	b := bounds(t, []string{"src/**"}, nil)
	for name, tree := range map[string][]rawEntry{
		"":                       inSrc(rawEntry{"100644", "b.go", evil}), // nothing is wrong
		"a folder above":         root(kept, rawEntry{"40000", "..", bad}),
		"a dot":                  root(kept, rawEntry{"40000", ".", bad}),
		"git's own folder":       root(kept, rawEntry{"40000", ".git", bad}),
		"and in other letters":   inSrc(rawEntry{"40000", ".GIT", bad}),
		"and by a short name":    inSrc(rawEntry{"40000", "GIT~1", bad}),
		"and with nothing shown": inSrc(rawEntry{"40000", ".g\u200cit", bad}),
		"a slash in a name":      root(kept, rawEntry{"100644", "src/../infra/x", evil}),
		"a folder twice":         root([]rawEntry{kept[0], {"40000", "infra", bad}}),
		"the other way round":    root([]rawEntry{{"40000", "infra", bad}, kept[0]}),
		"out of order":           {{"100644", "target", target}, {"40000", "src", src}, {"40000", "infra", bad}, {"100644", "evil", evil}},
		"a link by another mode": inSrc(rawEntry{"120755", "l", target}),
		"a submodule by one":     inSrc(rawEntry{"160755", "s", base}),
		"a mode of nothing":      inSrc(rawEntry{"0", "n", base}),
		"no name":                inSrc(rawEntry{"100644", "", evil}),
	} {
		_, head := f.rawTree(tree...)
		r := f.open()
		changes, err := r.Changes(t.Context(), base, head)
		if err != nil {
			continue // git cannot read it: nothing goes on
		}
		links, err := r.Links(t.Context(), head)
		must(t, err)
		if got := Check(b, changes, nil, links); (len(got) == 0) != (name == "") || len(changes) == 0 {
			t.Errorf("%s: %+v of %+v", name, got, changes)
		}
	}
}
