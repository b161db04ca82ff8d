package workspace

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deedledger/deed/boundary"
)

func oddNames() []string {
	return []string{
		"src/export/naïve.go", "src/export/表.go", "src/export/a b.go", "src/export/tab\tx.go", "src/export/new\nline.go",
		`src/export/"q".go`, "src/export/-rf.go", "src/export/\xff.go", "infra/é.tf",
	}
}

// TestChangesOddNames: no name drops out of a change list, however it is spelled.
func TestChangesOddNames(t *testing.T) {
	f := newFixture(t)
	base := f.commit("base")
	for _, name := range oddNames() {
		f.write(name, "x")
	}
	r := f.open()
	want := slices.Sorted(slices.Values(oddNames()))
	d, err := r.Dirty(t.Context())
	if err != nil || !slices.Equal(d.Untracked, want) {
		t.Errorf("untracked %q, %v", d.Untracked, err)
	}
	added := f.commit("add")
	for _, name := range oddNames() {
		f.remove(name)
	}
	if d, err = r.Dirty(t.Context()); err != nil || !slices.Equal(d.Unstaged, want) {
		t.Errorf("deleted %q, %v", d.Unstaged, err)
	}
	deleted := f.commit("delete")
	b := bounds(t, []string{"src/export/**"}, nil)
	for _, span := range [][2]string{{base, added}, {added, deleted}} {
		changes, err := r.Changes(t.Context(), span[0], span[1])
		must(t, err)
		var got, encoded []string
		for _, c := range changes {
			got = append(got, c.Path)
			encoded = append(encoded, boundary.EncodePath(c.Path))
			text, err := json.Marshal(boundary.EncodePath(c.Path))
			var back string
			if err != nil || json.Unmarshal(text, &back) != nil {
				t.Errorf("encode %q as JSON: %v", c.Path, err)
			}
			if raw, err := boundary.DecodePath(back); err != nil || raw != c.Path {
				t.Errorf("%q comes back as %q, %v", c.Path, raw, err)
			}
		}
		slices.Sort(encoded)
		if !slices.Equal(got, want) || len(slices.Compact(encoded)) != len(want) {
			t.Errorf("changes %q, want %q", got, want)
		}
		bad := Check(b, changes, nil, Links{})
		if len(bad) != 1 || bad[0].Path != "infra/é.tf" || bad[0].Rule != boundary.RuleOutside {
			t.Errorf("violations %+v", bad)
		}
	}
}

// TestChangesMoves: a move shows both its sides; files well above the limit of rename detection.
func TestChangesMoves(t *testing.T) {
	for _, setting := range []string{"", "true", "copies"} {
		f := newFixture(t)
		if setting != "" {
			f.git("config", "diff.renames", setting)
			f.git("config", "diff.ignoreSubmodules", "all")
			f.git("config", "diff.external", "false")
		}
		for _, path := range []string{"infra/net.tf", "src/keep.go", "src/run.sh", "src/plain", "docs/copy.md", "CODEOWNERS"} {
			f.write(path, lines(40)+path)
		}
		base := f.commit("base")
		b := bounds(t, []string{"src/**"}, nil)
		for name, c := range map[string]struct {
			change func()
			want   []string // "path rule"
			listed []string // "status path"
		}{
			"pure move": {
				func() { f.git("mv", "infra/net.tf", "src/net.tf") },
				[]string{"infra/net.tf outside"}, []string{"D infra/net.tf", "A src/net.tf"},
			},
			"move and edit": {
				func() { f.git("mv", "infra/net.tf", "src/net.tf"); f.write("src/net.tf", lines(40)+"edited") },
				[]string{"infra/net.tf outside"}, []string{"D infra/net.tf", "A src/net.tf"},
			},
			"copy": {
				func() { f.write("src/net.tf", lines(40)+"infra/net.tf") },
				nil, []string{"A src/net.tf"},
			},
			"move out": {
				func() { f.git("mv", "src/keep.go", "docs/keep.go") },
				[]string{"docs/keep.go outside"}, []string{"A docs/keep.go", "D src/keep.go"},
			},
			"type and mode": {
				func() {
					f.remove("src/plain")
					f.link("src/plain", "keep.go")
					must(t, os.Chmod(filepath.Join(f.dir, "src/run.sh"), 0o755))
				},
				nil, []string{"T src/plain", "M src/run.sh"},
			},
			"policy": {
				func() { f.git("mv", "CODEOWNERS", "src/owners") },
				[]string{"CODEOWNERS protected"}, []string{"D CODEOWNERS", "A src/owners"},
			},
			"policy into place": {
				func() { f.git("mv", "src/keep.go", "src/CODEOWNERS") },
				[]string{"src/CODEOWNERS protected"}, []string{"A src/CODEOWNERS", "D src/keep.go"},
			},
		} {
			f.git("checkout", "--quiet", "--detach", base)
			c.change()
			head := f.commit(name)
			r := f.open()
			changes, err := r.Changes(t.Context(), base, head)
			must(t, err)
			links, err := r.Links(t.Context(), head)
			must(t, err)
			var got, listed []string
			for _, v := range Check(b, changes, nil, links) {
				got = append(got, v.Path+" "+string(v.Rule))
			}
			for _, change := range changes {
				listed = append(listed, string(change.Status)+" "+change.Path)
			}
			if !slices.Equal(got, c.want) || !slices.Equal(listed, c.listed) {
				t.Errorf("renames=%q %s: violations %q of %q, want %q of %q", setting, name, got, listed, c.want, c.listed)
			}
		}
	}
}

// TestCheckLinksInCommits holds links in commits against the boundary.
func TestCheckLinksInCommits(t *testing.T) {
	f := newFixture(t)
	f.write("infra/x", "x")
	f.write("src/export/a.go", "a")
	f.link("src/export/old", "../../infra")
	f.git("add", "--all")
	base := f.commit("base")
	f.link("src/export/in", "a.go")
	f.link("src/export/out", "../../infra")
	f.link("src/export/new", "/var/not-yet")
	f.link("src/export/chain", "old/x")
	f.link("src/export/loop", "loop")
	f.write("src/export/ok.go", "x")
	f.write("src/export/check_test.go", "pinned")
	head := f.commit("links")
	r := f.open()
	changes, err := r.Changes(t.Context(), base, head)
	must(t, err)
	links, err := r.Links(t.Context(), head)
	must(t, err)
	var got []string
	for _, v := range Check(bounds(t, []string{"src/export/**"}, nil), changes, []string{"src/export/check_test.go"}, links) {
		got = append(got, v.Path+" "+string(v.Rule))
	}
	want := []string{
		"src/export/chain link-leaves-boundary", "src/export/check_test.go pinned", "src/export/loop link-leaves-boundary",
		"src/export/new link-leaves-boundary", "src/export/out link-leaves-boundary",
	}
	if !slices.Equal(got, want) {
		t.Errorf("violations %q, want %q", got, want)
	}
}

func TestCheckSubmodule(t *testing.T) {
	other, f := newFixture(t), newFixture(t)
	other.commit("other")
	base := f.commit("base")
	f.git("submodule", "add", "--quiet", other.dir, "src/sub")
	f.git("config", "--file", ".gitmodules", "submodule.src/sub.ignore", "all")
	added := f.commit("add")
	f.git("update-index", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",src/sub")
	f.git("commit", "--quiet", "--message", "move")
	moved := f.git("rev-parse", "HEAD")
	r := f.open()
	b := bounds(t, []string{"**"}, nil)
	for span, want := range map[[2]string]string{{base, added}: ".gitmodules protected,src/sub submodule,", {added, moved}: "src/sub submodule,"} {
		changes, err := r.Changes(t.Context(), span[0], span[1])
		must(t, err)
		got := ""
		for _, v := range Check(b, changes, nil, Links{}) {
			got += v.Path + " " + string(v.Rule) + ","
		}
		if got != want {
			t.Errorf("violations %q, want %q", got, want)
		}
	}
}

func TestParseRawDiffRefuses(t *testing.T) {
	zero := strings.Repeat("0", 40)
	for _, text := range []string{
		"x", "\x00", ":100644 100644 a b M\x00", ":100644 100644 a b M\x00\x00", ":100644 100644 a b R100\x00p\x00q\x00",
		":100644 100644 a b M\x00path", "100644 100644 a b M\x00p\x00", ":100644 100644 a M\x00p\x00", ":0 0 " + zero + " " + zero + " X\x00p\x00",
	} {
		if changes, err := parseRawDiff([]byte(text)); !errors.Is(err, ErrGitOutput) {
			t.Errorf("parseRawDiff(%q) = %v, %v", text, changes, err)
		}
	}
}
