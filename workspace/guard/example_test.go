package guard_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedledger/deed/workspace/guard"
)

// project is a sample project in a folder of its own.
type project struct {
	t   *testing.T
	dir string
	git bool
}

// sample writes a sample; in git over a base in which every file was another.
func sample(t *testing.T, name string, git bool) *project {
	t.Helper()
	p := &project{t: t, dir: filepath.Join(t.TempDir(), "p"), git: git}
	if err := guard.WriteExample(p.dir, name); err != nil {
		t.Fatal(err)
	}
	if !git {
		p.capture()
		return p
	}
	whole := filepath.Join(t.TempDir(), "whole")
	if err := os.Rename(p.dir, whole); err != nil {
		t.Fatal(err)
	}
	p.write("README.md", "# Shelf\n")
	p.write("shelf/shelf.py", "titles = []\n")
	p.run("init", "-q", "-b", "main")
	p.run("add", ".")
	p.run("commit", "-qm", "base")
	p.run("switch", "-qc", "work")
	if err := os.RemoveAll(filepath.Join(p.dir, "README.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(p.dir, "shelf")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(p.dir, os.DirFS(whole)); err != nil {
		t.Fatal(err)
	}
	if name == "drifted" {
		p.write("README.md", "# Shelf\n") // it has none of its own
	}
	p.run("add", ".")
	p.run("commit", "-qm", "work")
	p.capture()
	return p
}

func (p *project) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// edit replaces a text of a file, which must be there.
func (p *project) edit(name, old, new string) {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		p.t.Fatalf("%s has no %q", name, old)
	}
	p.write(name, strings.ReplaceAll(string(text), old, new))
}

func (p *project) run(args ...string) {
	p.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=Ann", "-c", "user.email=ann@example.org"}, args...)...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (p *project) measure() guard.Measurement {
	p.t.Helper()
	m, err := guard.Measure(p.t.Context(), p.dir, "")
	if err != nil {
		p.t.Fatal(err)
	}
	return m
}

func (p *project) capture() {
	p.t.Helper()
	if err := guard.WriteSnapshot(p.dir, guard.SnapshotOf(p.measure(), "2026-01-02T03:04:05Z")); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) check() []guard.Finding {
	p.t.Helper()
	c, err := guard.ReadClaims(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	stored, err := guard.ReadSnapshot(p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	w, _, err := guard.Look(p.t.Context(), p.dir, c, p.measure(), stored)
	if err != nil {
		p.t.Fatal(err)
	}
	return guard.Check(c, w)
}

// want demands exactly these findings, as "R1 path:line".
func (p *project) want(found []guard.Finding, want ...string) {
	p.t.Helper()
	var got []string
	for _, f := range found {
		place, _, _ := strings.Cut(f.String(), ": ")
		got = append(got, place)
	}
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		p.t.Errorf("found %q, want %q", got, want)
		for _, f := range found {
			p.t.Log(f.String())
		}
	}
}

// TestSamples: the two projects give the counts that are promised, with git
// and without.
func TestSamples(t *testing.T) {
	for _, git := range []bool{true, false} {
		sample(t, "good", git).want(nil)
		p := sample(t, "good", git)
		p.want(p.check())
		p = sample(t, "drifted", git)
		p.want(p.check(), "R1 shelf/test_shelf.py", "R2 shelf/shelf.py:4", "R3 shelf/memory.py:8", "R3 shelf/shelf.py:16", "R4", "W1", "N2", "N3")
		found := p.check()
		if r, w, n := guard.Count(found, 'R'), guard.Count(found, 'W'), guard.Count(found, 'N'); r != 5 || w != 1 || n != 2 {
			t.Errorf("git %t: R=%d W=%d N=%d, want 5, 1, 2", git, r, w, n)
		}
		if text, err := os.ReadFile(filepath.Join(p.dir, guard.ClaimsName)); err != nil || strings.Count(string(text), "trap ") != 7 {
			t.Errorf("the sample names %d traps (%v)", strings.Count(string(text), "trap "), err)
		}
	}
}

// TestEachRuleAlone changes the good project so that one rule reports, once.
func TestEachRuleAlone(t *testing.T) {
	const tasks = guard.ClaimsName
	for _, c := range []struct {
		want   string
		change func(*project)
	}{
		{"R1 shelf/shelf.pyc", func(p *project) {
			p.edit(tasks, "evidence: README.md", "evidence: README.md\n  - what: Compile it\n    evidence: shelf/shelf.pyc")
		}},
		{"R2 shelf/shelf.py:3", func(p *project) {
			p.edit("shelf/shelf.py", "import json\n", "import sqlite3, json  # sqlite3\nprint(sqlite3)\n")
		}},
		{"R3 shelf/test_shelf.py:1", func(p *project) { p.edit("shelf/test_shelf.py", "import os\n", "import os  # not pickle.load\n") }},
		{"R4", func(p *project) { p.edit("shelf/shelf.py", "json.dumps", "str") }},
		{"W1", func(p *project) { p.edit(tasks, "todo:", "  - what: Nothing that is seen\ntodo:") }},
		{"W2", func(p *project) { p.run("commit", "-q", "--allow-empty", "-m", "more") }},
		{"W4 LICENSE", func(p *project) {
			p.run("switch", "-q", "main")
			p.write("LICENSE", "none\n")
			p.run("add", "LICENSE")
			p.run("commit", "-qm", "licence")
			p.run("switch", "-q", "work")
			p.run("rebase", "-q", "main")
			p.edit(tasks, "evidence: README.md", "evidence: README.md\n  - what: Choose a licence\n    evidence: LICENSE")
			p.capture()
		}},
		{"N1", func(p *project) {
			text, _ := os.ReadFile(filepath.Join(p.dir, tasks))
			before, rest, _ := strings.Cut(string(text), "frozen:")
			_, after, _ := strings.Cut(rest, "banned:")
			p.write(tasks, before+"banned:"+after)
		}},
		{"N2", func(p *project) {
			text, _ := os.ReadFile(filepath.Join(p.dir, tasks))
			before, _, _ := strings.Cut(string(text), "accept:")
			p.write(tasks, before)
		}},
		{"N3", func(p *project) {
			p.edit(tasks, "    next: Add a test to shelf/test_shelf.py that adds one title twice\n", "")
		}},
		{"N4 shelf/more.py", func(p *project) { p.write("shelf/more.py", "more = 1\n") }},
	} {
		t.Run(c.want[:2], func(t *testing.T) {
			p := sample(t, "good", true)
			c.change(p)
			p.want(p.check(), c.want)
		})
	}
}
