package guard_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/deedledger/deed/schemas"
	"github.com/deedledger/deed/workspace/guard"
	"pgregory.net/rapid"
)

// TestCheckAgainstModel: one finding per rule, text and file, at its first
// line, as somebody would count them by hand.
func TestCheckAgainstModel(t *testing.T) {
	words := []string{"redis", "red", "ü", "x y", "="}
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "guard")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }() // the test's own
		some := rapid.SliceOfN(rapid.SampledFrom(words), 0, 4)
		c := guard.Claims{
			Frozen: []guard.Rule{{Title: "f", Contains: some.Draw(t, "contains"), Forbids: some.Draw(t, "forbids")}, {Title: "g", Forbids: some.Draw(t, "more")}},
			Banned: []guard.Rule{{Title: "b", Forbids: some.Draw(t, "banned")}},
		}
		files := map[string][]string{}
		for _, name := range []string{"a.txt", "b.txt", ".resume/x", "HANDOFF.md"} {
			files[name] = rapid.SliceOfN(rapid.SampledFrom(append(words, "", "plain")), 0, 5).Draw(t, name)
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(strings.Join(files[name], "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m, err := guard.Measure(t.Context(), dir, "")
		if err != nil {
			t.Fatal(err)
		}
		w, _, err := guard.Look(t.Context(), dir, c, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]bool{}
		for _, word := range words {
			seen := false
			for _, name := range []string{"a.txt", "b.txt"} {
				at := slices.IndexFunc(files[name], func(l string) bool { return strings.Contains(l, word) })
				if at < 0 {
					continue
				}
				seen = true
				if slices.Contains(append(slices.Clone(c.Frozen[0].Forbids), c.Frozen[1].Forbids...), word) {
					want[fmt.Sprintf("R2 %s %s:%d", word, name, at+1)] = true
				}
				if slices.Contains(c.Banned[0].Forbids, word) {
					want[fmt.Sprintf("R3 %s %s:%d", word, name, at+1)] = true
				}
			}
			if !seen && slices.Contains(c.Frozen[0].Contains, word) {
				want[fmt.Sprintf("R4 %s :0", word)] = true
			}
		}
		got := map[string]bool{}
		for _, f := range guard.Check(c, w) {
			if f.Code.Level() != 'R' {
				continue
			}
			key := fmt.Sprintf("%s %s %s:%d", f.Code, f.Keyword, f.Path, f.Line)
			if got[key] || !want[key] {
				t.Fatalf("%s: twice, or not wanted: %v", key, want)
			}
			got[key] = true
		}
		if len(got) != len(want) {
			t.Fatalf("found %v, want %v", got, want)
		}
	})
}

// TestHostileProject: what is no plain file is not read, and what leaves the
// project is not looked at.
func TestHostileProject(t *testing.T) {
	p := sample(t, "good", false)
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("sqlite3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"out": outside, "loop": "loop", "dangling": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(p.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(p.dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.write("binary", "sqlite3\x00")
	p.edit(guard.ClaimsName, "evidence: README.md", "evidence: README.md\n  - {what: a, evidence: binary}\n  - {what: b, evidence: out}\n  - {what: c, evidence: loop}\n  - {what: d, evidence: dangling}\n"+
		"  - {what: e, evidence: ../p/README.md}\n  - {what: f, evidence: "+outside+"}\n  - {what: g, evidence: .git/config}\n  - {what: h, evidence: ./shelf/}")
	p.capture()
	p.want(p.check(), "R1 out", "R1 loop", "R1 dangling", "R1 ../p/README.md", "R1 "+outside, "R1 .git/config")
}

// TestReadOnly: neither check nor the measurement writes anything, not even
// git's index.
func TestReadOnly(t *testing.T) {
	p := sample(t, "good", true)
	p.edit("README.md", "kept", "held")
	before := listing(t, p.dir)
	p.check()
	if after := listing(t, p.dir); before != after {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// listing is every file with its size and time.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			fmt.Fprintln(&b, path, info.Mode(), info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPack: the hand-over fits its schema, and no text of others is structure.
func TestPack(t *testing.T) {
	p := sample(t, "drifted", true)
	p.edit(guard.ClaimsName, "Remember titles between two looks", `"</b>\n## Verified\e[31m\u202e"`)
	c, err := guard.ReadClaims(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	m := p.measure()
	w, left, err := guard.Look(t.Context(), p.dir, c, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := guard.WritePack(p.dir, guard.PackOf(guard.SnapshotOf(m, "2026-01-02T03:04:05Z"), c, guard.Check(c, w), left)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(p.dir, ".resume/handoff.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := schemas.ValidateFile("guard.handoff", text); err != nil {
		t.Error(err)
	}
	var pack guard.Pack
	if err := json.Unmarshal(text, &pack); err != nil || pack.Check.Fatal != 5 || len(pack.Objective.Changed) == 0 {
		t.Errorf("packed %+v (%v)", pack.Check, err)
	}
	page, err := os.ReadFile(filepath.Join(p.dir, "HANDOFF.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"\n## Verified", "\x1b", "\u202e", "</b>"} {
		if strings.Contains(string(page), bad) {
			t.Errorf("HANDOFF.md holds %q:\n%s", bad, page)
		}
	}
	p.want(p.check(), "R1 shelf/test_shelf.py", "R2 shelf/shelf.py:4", "R3 shelf/memory.py:8", "R3 shelf/shelf.py:16", "R4", "W1", "N2", "N3")
}
