package workflow

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deedledger/deed/workspace"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestParseSpec reads items with their lines, and names what only looks like one.
func TestParseSpec(t *testing.T) {
	s, err := ParseSpec([]byte("# Title\r\nprose\n- A1: one\n  more\n\n- other\n- A3:\n  three\n```\n- A9: in a fence\n```\n## A heading\n- A2: two\n"))
	must(t, err)
	want := []Item{{"A1", "one\nmore", 3}, {"A3", "three\n```\n- A9: in a fence\n```", 7}, {"A2", "two", 13}}
	if s.Title != "Title" || !slices.Equal(s.Items, want) {
		t.Errorf("title %q, items %+v", s.Title, s.Items)
	}
	for text, fault := range map[string]string{
		"":                 "no acceptance item",
		"- A1: a\n- A1: b": "line 2: A1 is there twice, first in line 1",
		"- A1:\n\n- A2: b": "line 1: A1 says nothing",
		"* A1: a":          "line 1: \"* A1: a\" looks like",
		"- a1: a":          "looks like an acceptance item",
		"  - A1: a":        "looks like an acceptance item",
		"- [ ] A1: a":      "looks like an acceptance item",
		"A1：a":             "looks like an acceptance item",
		"- A01: a":         "looks like an acceptance item",
		"- A1: a\n```\n":   "line 2: nothing closes this fence",
		"- A1: \xff":       "no UTF-8",
		"- A1: " + strings.Repeat("a", MaxItemBytes+1): "limit 4096",
		strings.Repeat("x", MaxSpecBytes+1):            "limit 65536",
	} {
		if _, err := ParseSpec([]byte(text)); !errors.Is(err, ErrSpec) || !strings.Contains(err.Error(), fault) {
			t.Errorf("spec %.30q: %v, want %q", text, err, fault)
		}
	}
}

// seed is a state as people write it, with comments.
const written = `# head
task_id: kb-2026-09-27-001
phase: extract # clarify / extract / verify / archive

iteration: 2
# about the checks
checks:
  A1: {status: pending}
  A2: {status: failed, last_error: "extracted 114 < required 128", attempts: 1} # watch
  A3:
    status: pending
blockers: []
next: mend the prompt, then run A2 again
# tail
`

func TestParseState(t *testing.T) {
	s, err := ParseState([]byte(written))
	must(t, err)
	want := State{TaskID: "kb-2026-09-27-001", Phase: "extract", Iteration: 2, Next: "mend the prompt, then run A2 again", Checks: []Check{
		{ID: "A1", Status: Pending}, {ID: "A2", Status: Failed, LastError: "extracted 114 < required 128", Attempts: 1}, {ID: "A3", Status: Pending},
	}}
	if !s.Equal(want) {
		t.Errorf("state %+v", s)
	}
	for text, fault := range map[string]string{
		"":                                         "it is empty",
		"task_id: a\ntask_id: b":                   "line 2",
		"task_id: a\nmood: good":                   "line 2: unknown member \"mood\"",
		"task_id: a\nA1: {status: passed}":         "indent it below checks",
		"task_id: a\nphase: [x]":                   "line 2: phase is no text",
		"task_id: a\nphase: a b":                   "is no word",
		"task_id: a\niteration: -1":                "is no number",
		"task_id: a\niteration: 1.5":               "is no number",
		"task_id: a\nchecks: [A1]":                 "line 2: checks is no mapping",
		"task_id: a\nchecks: {A1: {status: done}}": "status \"done\" of A1, want pending, passed or failed",
		"task_id: a\nchecks: {B1: {}}":             "is no acceptance item",
		"task_id: a\nblockers: x":                  "blockers is no list",
		"task_id: ../a":                            "is no task",
		"task_id: &a a":                            "an alias, an anchor",
		"task_id: !!str a":                         "an alias, an anchor",
		"task_id: a\n---\ntask_id: b":              "more than one document",
		"{task_id: a}":                             "one member a line",
		"- a":                                      "one member a line",
		"task_id: a\r\n":                           "line feeds",
		"task_id: a\narchive: 'a b'":               "is no commit",
	} {
		if _, err := ParseState([]byte(text)); !errors.Is(err, ErrState) || !strings.Contains(err.Error(), fault) {
			t.Errorf("state %q: %v, want %q", text, err, fault)
		}
	}
}

// TestRewrite changes what changed and nothing else.
func TestRewrite(t *testing.T) {
	s, err := ParseState([]byte(written))
	must(t, err)
	same, err := Rewrite([]byte(written), s)
	if err != nil || string(same) != written {
		t.Errorf("rewrote a file that says the same: %v\n%s", err, same)
	}
	s.Phase, s.Iteration, s.Archive = Verify, 3, "0123abc"
	s.Checks[1], s.Checks[2] = Check{ID: "A2", Status: Passed}, Check{ID: "A3", Status: Failed, LastError: `a "b" # c`, Attempts: 2}
	got, err := Rewrite([]byte(written), s)
	must(t, err)
	want := strings.NewReplacer(
		"phase: extract #", "phase: verify #", "iteration: 2", "iteration: 3",
		`A2: {status: failed, last_error: "extracted 114 < required 128", attempts: 1} # watch`, "A2: {status: passed} # watch",
		"A3:\n    status: pending", `A3: {status: failed, last_error: "a \"b\" # c", attempts: 2}`, "# tail\n", "# tail\narchive: \"0123abc\"\n",
	).Replace(written)
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if fresh, err := Rewrite(nil, s); err != nil || !strings.HasPrefix(string(fresh), "# Facts") {
		t.Errorf("new file: %v\n%s", err, fresh)
	}
}

// TestCommands finds scripts and listed commands in the order of the spec.
func TestCommands(t *testing.T) {
	spec := Spec{Items: []Item{{ID: "A2"}, {ID: "A1"}, {ID: "A3"}}}
	files := []File{{Name: "checks/A1-b.sh", Executable: true}, {Name: "checks/A1.sh", Executable: true}, {Name: "checks/helper.sh"}, {Name: "checks/data/A9.sh"}}
	list := []byte("A2: [go, test, ./...]\nA1:\n  - [make, x]\n  - {command: [sh, -c, 'a && b'], timeoutSeconds: 5}\n")
	got, bare, err := Commands(spec, files, list)
	must(t, err)
	var ids []string
	for _, c := range got {
		ids = append(ids, c.ID+"="+strings.Join(c.Argv, " "))
	}
	want := []string{"A2.list-1=go test ./...", "A1-b=./checks/A1-b.sh", "A1=./checks/A1.sh", "A1.list-1=make x", "A1.list-2=sh -c a && b"}
	if !slices.Equal(ids, want) || !slices.Equal(bare, []string{"A3"}) || got[4].Seconds != 5 {
		t.Errorf("commands %q, bare %q", ids, bare)
	}
	for _, c := range []struct {
		file  File
		list  string
		fault string
	}{
		{File{Name: "checks/A7.sh", Executable: true}, "", "A7, which spec.md does not have"},
		{File{Name: "checks/A1.sh"}, "", "chmod +x"},
		{File{Name: "checks/a1.sh", Executable: true}, "", "belongs to no item"},
		{File{}, "A1: go test", "no shell reads a text"},
		{File{}, "A1: []", "the command is empty"},
		{File{}, "A9: [x]", "is no item of spec.md"},
		{File{}, "A1: {command: [x], speed: 1}", "unknown member"},
		{File{}, "A1: {command: [x], timeoutSeconds: 0}", "is not within"},
		{File{}, "[x]", "want a command for each item"},
	} {
		var files []File
		if c.file.Name != "" {
			files = append(files, c.file)
		}
		var text []byte
		if c.list != "" {
			text = []byte(c.list)
		}
		if _, _, err := Commands(spec, files, text); !errors.Is(err, ErrChecks) || !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%+v %q: %v, want %q", c.file, c.list, err, c.fault)
		}
	}
}

// TestJudged: a failure wins, nothing passes without a proof, and what was called passed is named.
func TestJudged(t *testing.T) {
	s := State{Phase: Build, Checks: []Check{{ID: "A1", Status: Passed}, {ID: "A2", Status: Pending}, {ID: "A3", Status: Passed}}}
	proofs := []Proof{{Item: "A1", Status: Passed}, {Item: "A1", Status: Pending, Error: "timed out"}, {Item: "A1", Status: Failed, Error: "no"}, {Item: "A2", Status: Passed}}
	got, over := Judged(s, proofs, true)
	want := []Check{{ID: "A1", Status: Failed, LastError: "no", Attempts: 1}, {ID: "A2", Status: Passed}, {ID: "A3", Status: Pending}}
	if !slices.Equal(got.Checks, want) || got.Iteration != 1 || got.Phase != Build || !slices.Equal(over, []Overwritten{{"A1", Passed, Failed}, {"A3", Passed, Pending}}) {
		t.Errorf("state %+v, overwritten %+v", got, over)
	}
	some, over := Judged(s, []Proof{{Item: "A2", Status: Passed}}, false)
	if !some.AllPassed() || some.Phase != Verify || len(over) != 0 {
		t.Errorf("state %+v, overwritten %+v", some, over)
	}
	if tired := (State{Checks: []Check{{ID: "A1", Status: Failed, Attempts: 5}, {ID: "A2", Status: Passed, Attempts: 9}}}).Exhausted(5); !slices.Equal(tired, []string{"A1"}) {
		t.Errorf("exhausted %q", tired)
	}
	if (State{}).AllPassed() {
		t.Error("no item, and all passed")
	}
}

// TestBundle packs a folder and reads it again; a bundle leads nowhere else.
func TestBundle(t *testing.T) {
	files := []File{{Name: "a/b.sh", Executable: true, Text: []byte("x\n")}, {Name: "c", Text: []byte{0xff, 0}}, {Name: "empty"}}
	text, err := Pack("T-1", []File{files[1], files[2], files[0]})
	must(t, err)
	got, err := Unpack("T-1", text)
	must(t, err)
	for i := range files {
		if got[i].Name != files[i].Name || string(got[i].Text) != string(files[i].Text) || got[i].Executable != files[i].Executable {
			t.Errorf("file %+v, want %+v", got[i], files[i])
		}
	}
	for _, bad := range []string{
		"", "{}", string(text) + "x", strings.Replace(string(text), "T-1", "T-2", 1), strings.Replace(string(text), "a/b.sh", "../b.sh", 1),
		strings.Replace(string(text), "a/b.sh", "/b", 1), strings.Replace(string(text), "a/b.sh", "d", 1), strings.Replace(string(text), `"name":"c"`, `"name":"a/b.sh"`, 1),
		strings.Replace(string(text), `"executable"`, `"mode"`, 1), strings.Replace(string(text), "a/b.sh", "a/../b", 1),
	} {
		if _, err := Unpack("T-1", []byte(bad)); !errors.Is(err, ErrBundle) {
			t.Errorf("bundle %.60q: %v", bad, err)
		}
	}
}

// TestFolder makes, archives and links folders.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for _, task := range []string{"", "a/b", "archive", "Archive", ".."} {
		if _, err := Create(dir, task); !errors.Is(err, ErrTask) {
			t.Errorf("task %q: %v", task, err)
		}
	}
	f, err := Create(dir, "T-1")
	must(t, err)
	defer f.Close()
	must(t, f.Write(File{Name: "spec.md", Text: []byte("- A1: x\n")}))
	must(t, os.WriteFile(filepath.Join(dir, ".workflow/T-1/state.yaml.tmp"), []byte("of a run that was killed"), 0o600))
	must(t, f.Write(File{Name: StateName, Text: []byte("task_id: T-1\n")}))
	files, err := f.Files()
	if err != nil || len(files) != 2 || files[0].Name != "spec.md" || files[1].Name != StateName {
		t.Errorf("files %+v, %v", files, err)
	}
	end := Ending{Day: "2026-01-02", Lessons: []Lesson{LessonLine("one\ntwo\x1b[31m")}}
	for _, want := range []bool{true, false} {
		if added, err := f.Journal(Entry(State{TaskID: "T-1", Iteration: 2}, Spec{Title: "x"}, end)); added != want || err != nil {
			t.Errorf("added %t, %v", added, err)
		}
	}
	must(t, f.Archive())
	if again, err := Open(dir, "T-1"); err != nil || !again.Archived {
		t.Errorf("archived folder: %+v, %v", again, err)
	} else {
		must(t, again.Close())
	}
	if _, err := Create(dir, "T-1"); !errors.Is(err, os.ErrExist) {
		t.Errorf("made again: %v", err)
	}
	must(t, os.Symlink(t.TempDir(), filepath.Join(dir, ".workflow/T-2")))
	if _, err := Create(dir, "T-2"); !errors.Is(err, workspace.ErrLink) {
		t.Errorf("through a link: %v", err)
	}
	journal, err := os.ReadFile(filepath.Join(dir, JournalName))
	if err != nil || strings.Count(string(journal), "## T-1") != 1 || strings.Contains(string(journal), "\x1b") {
		t.Errorf("journal %q, %v", journal, err)
	}
}

// TestPatch: what it proposes is applied by git and by patch.
func TestPatch(t *testing.T) {
	for _, spec := range []string{"- A1: x\n", "# T\n\n- A1: x", "a\nb\nc\nd\ne\n\n## Lessons\n\n- old\n", ""} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "spec.md"), []byte(spec), 0o600))
		patch := Patch("spec.md", []byte(spec), []Lesson{"first", "second"})
		must(t, os.WriteFile(filepath.Join(dir, "p"), []byte(patch), 0o600))
		cmd := exec.CommandContext(t.Context(), "git", "apply", "p")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("spec %q: %v\n%s\n%s", spec, err, out, patch)
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, "spec.md"))
		if err != nil || !strings.HasPrefix(string(text), spec) || strings.Count(string(text), "## Lessons") != 1 || !strings.HasSuffix(string(text), "- first\n- second\n") {
			t.Errorf("spec became %q, %v", text, err)
		}
	}
	if Patch("spec.md", nil, nil) != "" {
		t.Error("a patch without lessons")
	}
}

func FuzzParseSpec(f *testing.F) {
	f.Add([]byte("# T\n- A1: a\n  b\n```\n- A2: c\n```\n"))
	f.Add([]byte("A1：x\n* A2"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseSpec(text)
		if err != nil {
			if !errors.Is(err, ErrSpec) {
				t.Fatal(err)
			}
			return
		}
		for _, i := range s.Items {
			if !ItemID(i.ID) || i.Text == "" || i.Line < 1 {
				t.Fatalf("item %+v", i)
			}
		}
	})
}

// FuzzRewrite: a state that is read, changed and written says what it should, and a comment is never lost.
func FuzzRewrite(f *testing.F) {
	f.Add([]byte(written), "next thing", uint8(3))
	f.Add([]byte("task_id: a\nchecks:\n  A1: {status: passed}\n  # c\n"), "x: # y", uint8(1))
	f.Add([]byte("task_id: a # c\nnext: |\n  text\n  more\nblockers:\n  - a\n"), "", uint8(0))
	f.Fuzz(func(t *testing.T, text []byte, next string, status uint8) {
		s, err := ParseState(text)
		if err != nil {
			if !errors.Is(err, ErrState) {
				t.Fatal(err)
			}
			return
		}
		s.Next = strings.ToValidUTF8(strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff {
				return ' '
			}
			return r
		}, next), "")
		if len(s.Next) > 1000 {
			return
		}
		s.Iteration++
		for i := range s.Checks {
			s.Checks[i].Status = []Status{Pending, Passed, Failed}[int(status)%3]
		}
		out, err := Rewrite(text, s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseState(out)
		if err != nil || !got.Equal(s) {
			t.Fatalf("wrote %+v, read %+v, %v\n%s", s, got, err, out)
		}
		again, err := Rewrite(out, s)
		if err != nil || string(again) != string(out) {
			t.Fatalf("not the same twice: %v", err)
		}
	})
}

func FuzzCommands(f *testing.F) {
	f.Add([]byte("A1: [go, test]\nA2:\n  - {command: [x], timeoutSeconds: 3}\n"))
	spec := Spec{Items: []Item{{ID: "A1"}, {ID: "A2"}}}
	f.Fuzz(func(t *testing.T, list []byte) {
		commands, _, err := Commands(spec, nil, list)
		if err != nil && !errors.Is(err, ErrChecks) {
			t.Fatal(err)
		}
		for _, c := range commands {
			if len(c.Argv) == 0 || c.Argv[0] == "" {
				t.Fatalf("command %+v", c)
			}
		}
	})
}

func FuzzUnpack(f *testing.F) {
	text, _ := Pack("T-1", []File{{Name: "a", Text: []byte("x")}})
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		files, err := Unpack("T-1", text)
		if err != nil {
			if !errors.Is(err, ErrBundle) {
				t.Fatal(err)
			}
			return
		}
		for _, file := range files {
			if !filepath.IsLocal(file.Name) {
				t.Fatalf("name %q", file.Name)
			}
		}
	})
}
