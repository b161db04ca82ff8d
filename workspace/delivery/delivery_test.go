package delivery

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/workspace"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestPaths(t *testing.T) {
	for name, owned := range map[string]bool{
		".agent-delivery/contracts/T-1.v1.json": true, ".agent-delivery/contracts/T-1.v01.json": false, ".agent-delivery/contracts/T-12.v1.json": false,
		".agent-delivery/contracts/example.yaml": false, ".agent-delivery/receipts/T-1/a1/test-01.json": true, ".agent-delivery/receipts/T-1/x": true,
		".agent-delivery/receipts/T-10/a1/test-01.json": false, ".agent-delivery/policy/T-1/x": false, "receipts/T-1/a1/test-01.json": false,
	} {
		if Owned("T-1", name) != owned {
			t.Errorf("%s: owned %t", name, !owned)
		}
	}
	for name, printed := range map[string]bool{
		".agent-delivery/receipts/T-1/a1/test-01.json": true, ".agent-delivery/contracts/x": true, ".agent-delivery/policy/write-boundary.yaml": false,
		".agent-delivery/README.md": false, ".agent-delivery/receipts": false, "src/.agent-delivery/receipts/x": false, ".agent-deliveryx/receipts/x": false,
	} {
		if Printed(name) != printed {
			t.Errorf("%s: printed %t", name, !printed)
		}
	}
	for name, want := range map[string]string{
		".agent-delivery/results/T-1/a1/impl-01.json": "a1 1", ".agent-delivery/results/T-1/a1/impl-123.json": "a1 123", ".agent-delivery/results/T-1/a1/impl-1.json": "",
		".agent-delivery/results/T-1/A1/impl-01.json": "", ".agent-delivery/results/T-1/a1/x/impl-01.json": "", ".agent-delivery/results/T-1/a1/impl-00.json": "",
	} {
		attempt, n, ok := resultNumber("T-1", name)
		if got := fmt.Sprint(attempt, " ", n); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %s %t, want %q", name, got, ok, want)
		}
	}
}

// print is what the ledger says at two positions.
func print(position int, text string) File {
	return File{Path: ".agent-delivery/approvals/T-1/a1.json", Text: fmt.Appendf(nil, "{\n  \"x\": %q,\n  \"deed\": {\n    \"position\": %d\n  }\n}\n", text, position), Position: events.Position(position)}
}

// TestCompare tells what is behind from what was changed, and drafts from what belongs to nobody.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	box, err := workspace.OpenBox(dir)
	must(t, err)
	defer box.Close()
	old, now := print(5, "before"), print(9, "now")
	snapshot := File{Path: ".agent-delivery/snapshots/T-1/a1.json", Text: []byte("{}\n"), Position: 3}
	before := func(at events.Position) ([]File, error) {
		switch {
		case at >= 9:
			return []File{now}, nil
		case at >= 5:
			return []File{old}, nil
		}
		return nil, nil
	}
	look := func() map[string]Entry {
		t.Helper()
		entries, err := Compare(box, "T-1", []File{now, snapshot}, before)
		must(t, err)
		m := map[string]Entry{}
		for _, e := range entries {
			m[e.Path] = e
		}
		return m
	}
	if got := look()[now.Path]; got.Standing != Missing || got.File() == nil {
		t.Errorf("%+v", got)
	}
	for name, c := range map[string]struct {
		text string
		want Standing
	}{
		"same": {string(now.Text), Same}, "behind": {string(old.Text), Behind}, "changed": {strings.Replace(string(now.Text), "now", "new", 1), Edited},
		"changed when behind": {strings.Replace(string(old.Text), "before", "after", 1), Edited}, "of another position": {strings.Replace(string(old.Text), "5", "7", 1), Edited},
		"of a far position": {strings.Replace(string(now.Text), "9", "999", 1), Edited}, "without a position": {"{\"x\": \"now\"}", Behind}, "empty": {"", Edited}, "no JSON": {"x", Edited},
		"without a position and other": {"{\"x\": \"other\"}", Edited}, "CRLF": {strings.ReplaceAll(string(now.Text), "\n", "\r\n"), Behind}, "a byte more": {string(now.Text) + " ", Edited},
		"no UTF-8": {"\xff" + string(now.Text), Edited},
	} {
		must(t, box.Write(now.Path, []byte(c.text), 0o644))
		if got := look()[now.Path].Standing; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	must(t, box.Write(".agent-delivery/contracts/T-1.v1.json", []byte("{}"), 0o644))
	must(t, box.Write(".agent-delivery/contracts/T-1.v3.json", []byte("{}"), 0o644))
	must(t, box.Write(".agent-delivery/contracts/T-2.v3.json", []byte("{}"), 0o644))
	must(t, box.Write(".agent-delivery/results/T-1/a1/impl-01.json", []byte("{}"), 0o644))
	must(t, box.Write(".agent-delivery/results/T-1/a0/impl-01.json", []byte("{}"), 0o644))
	must(t, box.Write(".agent-delivery/receipts/T-1/a1/test-01.json", []byte("{}"), 0o644))
	must(t, box.Write(".agent-delivery/receipts/T-1/a1/large", make([]byte, MaxFileBytes+1), 0o644))
	got := look()
	for name, want := range map[string]Standing{
		"contracts/T-1.v1.json": Draft, "contracts/T-1.v3.json": Foreign, "results/T-1/a1/impl-01.json": Draft, "results/T-1/a0/impl-01.json": Foreign,
		"receipts/T-1/a1/test-01.json": Foreign, "receipts/T-1/a1/large": Foreign,
	} {
		if e := got[".agent-delivery/"+name]; e.Standing != want {
			t.Errorf("%s: %s (%s), want %s", name, e.Standing, e.Why, want)
		}
	}
	if _, ok := got[".agent-delivery/contracts/T-2.v3.json"]; ok {
		t.Error("a file of another task")
	}
	must(t, os.RemoveAll(filepath.Join(dir, ".agent-delivery/receipts")))
	must(t, os.Symlink(t.TempDir(), filepath.Join(dir, ".agent-delivery/receipts")))
	if _, err := Compare(box, "T-1", nil, before); !errors.Is(err, workspace.ErrLink) {
		t.Errorf("through a link: %v", err)
	}
}

func draft(name, text string) Entry { return Entry{Path: Dir + "/" + name, text: []byte(text)} }

// TestReadDrafts: a draft says what is its author's to say, and nothing else.
func TestReadDrafts(t *testing.T) {
	good := `{"taskId":"T-1","version":2,"goal":"g","nonGoals":["n"],"acceptance":[{"id":"A1","text":"t","checks":[]}],"requiredEvidence":{"A1":"screenshot"},"expiry":"2030-01-31T00:00:00Z","scope":{"include":["src/**"]}}`
	text, err := ReadContract("T-1", draft("contracts/T-1.v2.json", good))
	must(t, err)
	for _, want := range []string{`"version":2`, `"evidence":"screenshot"`, `"expires":"2030-01-31T00:00:00Z"`, `"nonGoals":["n"]`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("draft %s lacks %s", text, want)
		}
	}
	for _, bad := range []string{
		"", "[]", "{}", strings.Replace(good, "T-1", "T-2", 1), strings.Replace(good, `"version":2`, `"version":3`, 1), strings.Replace(good, `"goal"`, `"confidence":1,"goal"`, 1),
		strings.Replace(good, `"goal"`, `"digest":"x","goal"`, 1), strings.Replace(good, `"goal"`, `"accepted":true,"goal"`, 1), strings.Replace(good, `"goal"`, `"deed":{},"goal"`, 1),
		strings.Replace(good, `{"A1":"screenshot"}`, `{"A2":"test"}`, 1), good + good, strings.Replace(good, `"goal":"g"`, `"goal":"g","goal":"h"`, 1), "\xff",
	} {
		if _, err := ReadContract("T-1", draft("contracts/T-1.v2.json", bad)); !errors.Is(err, ErrDraft) {
			t.Errorf("contract %.80q: %v", bad, err)
		}
	}
	result := `{"taskId":"T-1","attemptId":"a1","commit":"HEAD","changes":[{"path":"a","status":"M","acceptance":["A1"]}],"commands":[],"uncovered":["x"]}`
	r, err := ReadResult("T-1", draft("results/T-1/a1/impl-01.json", result))
	if err != nil || r.Commit != "HEAD" || !slices.Equal(r.Uncovered, []string{"x"}) {
		t.Errorf("%+v, %v", r, err)
	}
	for _, bad := range []string{
		"", "{}", strings.Replace(result, "a1", "a2", 1), strings.Replace(result, `"HEAD"`, `""`, 1), strings.Replace(result, `"commit"`, `"tree":"x","commit"`, 1),
		strings.Replace(result, `"commit"`, `"deployed":true,"commit"`, 1), strings.Replace(result, `"path":"a"`, `"path":""`, 1), strings.Replace(result, `"commit"`, `"deed":{},"commit"`, 1),
	} {
		if _, err := ReadResult("T-1", draft("results/T-1/a1/impl-01.json", bad)); !errors.Is(err, ErrDraft) {
			t.Errorf("result %.80q: %v", bad, err)
		}
	}
}

func TestCommandLine(t *testing.T) {
	for want, argv := range map[string][]string{"go test ./...": {"go", "test", "./..."}, `sh -c "a && b"`: {"sh", "-c", "a && b"}, `x "" "\x1b"`: {"x", "", "\x1b"}, `"a\"b"`: {`a"b`}} {
		if got := commandLine(argv); got != want {
			t.Errorf("%q: %s, want %s", argv, got, want)
		}
	}
}

// TestPrepare is given twice, in folders that have some of it.
func TestPrepare(t *testing.T) {
	for name, before := range map[string]map[string]string{
		"nothing": {}, "a list without an end": {".gitignore": "bin"}, "CRLF": {".gitignore": "bin\r\n", "CODEOWNERS": "* @a\r\n"}, "some lines": {".gitignore": "/HANDOFF.md\n"},
	} {
		dir := t.TempDir()
		for file, text := range before {
			must(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
		}
		box, err := workspace.OpenBox(dir)
		must(t, err)
		defer box.Close()
		p := Preparation{Owners: []string{"@a"}, Include: []string{"it's/**"}, Commands: []string{"make"}, Example: []byte("x")}
		dry, err := Prepare(box, p, false)
		must(t, err)
		if box.Exists(Dir) {
			t.Errorf("%s: a look wrote", name)
		}
		first, err := Prepare(box, p, true)
		must(t, err)
		if len(dry) != len(first) {
			t.Errorf("%s: said %d steps, made %d", name, len(dry), len(first))
		}
		again, err := Prepare(box, p, true)
		must(t, err)
		for _, s := range again {
			if s.Done != StepThere {
				t.Errorf("%s: second time: %+v", name, s)
			}
		}
		text, _, err := box.Read(".gitignore", MaxFileBytes)
		if err != nil || !strings.HasPrefix(string(text), before[".gitignore"]) || strings.Count(string(text), "/HANDOFF.md") != 1 || strings.Contains(before[".gitignore"], "\r") != strings.Contains(string(text), "/HANDOFF.md\r\n") {
			t.Errorf("%s: .gitignore is %q, %v", name, text, err)
		}
	}
}

func FuzzReadContract(f *testing.F) {
	f.Add([]byte(`{"taskId":"T-1","version":2,"goal":"g","nonGoals":[],"acceptance":[],"scope":{"include":[]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := ReadContract("T-1", Entry{Path: Dir + "/contracts/T-1.v2.json", text: text}); err != nil && !errors.Is(err, ErrDraft) {
			t.Fatal(err)
		}
	})
}

func FuzzReadResult(f *testing.F) {
	f.Add([]byte(`{"taskId":"T-1","attemptId":"a1","commit":"HEAD","changes":[],"commands":[],"uncovered":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := ReadResult("T-1", Entry{Path: Dir + "/results/T-1/a1/impl-01.json", text: text}); err != nil && !errors.Is(err, ErrDraft) {
			t.Fatal(err)
		}
	})
}

// FuzzStanding: whatever a file holds, it is the ledger's or it is refused; only the ledger's own bytes, or a draft that says no more, pass.
func FuzzStanding(f *testing.F) {
	now := print(9, "now")
	f.Add(now.Text)
	f.Add([]byte("  \"position\": 18446744073709551615\n"))
	f.Add([]byte(`{"x":"now"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := standing(now, text, func(events.Position) ([]File, error) { return []File{now}, nil })
		if err != nil {
			t.Fatal(err)
		}
		if (got == Same) != (string(text) == string(now.Text)) || got == Behind && !says(text, now.Text) {
			t.Fatalf("%q is %s", text, got)
		}
	})
}
