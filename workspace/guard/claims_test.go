package guard_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/deedledger/deed/workspace/guard"
)

func TestParse(t *testing.T) {
	for name, text := range map[string]string{
		"nothing but a task": "task: T\n",
		"lists of nothing":   "task: T\ndone:\ntodo: []\nfrozen: ~\nbanned: null\naccept: []\n",
		"no guard":           "task: T\nfrozen:\n  - decision: d\n    guard:\n",
		"empty":              "{}\n",
		"comments":           "# a\ntask: T # b\n",
		"JSON":               `{"task":"T","done":[{"what":"w","evidence":"a.go"}]}`,
	} {
		if _, err := guard.Parse([]byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, err := guard.Parse([]byte("task: T\nfrozen:\n- decision: d\n  reason: r\n  guard: {contains: [a, b], forbids: ['c d']}\nbanned:\n- {approach: x, forbids: [y]}\naccept:\n- {criterion: q, check: go test}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if f := c.Frozen[0]; f.Line != 3 || f.Title != "d" || len(f.Contains) != 2 || f.Forbids[0] != "c d" || c.Banned[0].Forbids[0] != "y" || c.Accept[0].Check != "go test" {
		t.Errorf("read %+v", c)
	}
}

// TestParseRefuses: every fault names its line, where it has one.
func TestParseRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                   {"", "empty"},
		"a text":                    {"task\n", "line 1"},
		"a list":                    {"- task: T\n", "line 1"},
		"an unknown member":         {"task: T\ndones: []\n", "line 2"},
		"an unknown member inside":  {"done:\n  - what: w\n    evidense: a\n", "line 3"},
		"a member twice":            {"task: T\ntask: U\n", "line 2"},
		"a text for a list":         {"task: T\ndone: everything\n", "line 2: done is a text, want a list"},
		"a text for keywords":       {"frozen:\n  - decision: d\n    guard:\n      forbids: redis\n", `line 4: frozen[0].guard.forbids is a text, want a list: write ["redis"]`},
		"a text for banned words":   {"banned:\n  - approach: d\n    forbids: redis\n", "line 3: banned[0].forbids is a text"},
		"a mapping for a list":      {"done:\n  what: w\n", "line 2: done is a mapping, want a list"},
		"a text for an entry":       {"done:\n  - w\n", "line 2: done[0] is a text"},
		"a list for a text":         {"done:\n  - what: [w]\n", "line 2: done[0].what is a list"},
		"a list for evidence":       {"done:\n  - what: w\n    evidence: [a, b]\n", "line 3: done[0].evidence is a list"},
		"a text for a guard":        {"frozen:\n  - decision: d\n    guard: x\n", "line 3: frozen[0].guard is a text"},
		"an empty keyword":          {"banned:\n  - approach: a\n    forbids: ['']\n", "line 3: banned[0].forbids[0] is empty"},
		"a keyword of nothing":      {"banned:\n  - approach: a\n    forbids: [~]\n", "is empty"},
		"a keyword over lines":      {"banned:\n  - approach: a\n    forbids: [\"x\\ny\"]\n", "line 3"},
		"done without what":         {"done:\n  - evidence: a\n", "line 2: done[0] has no what"},
		"todo without what":         {"todo:\n  - next: a\n", "line 2: todo[0] has no what"},
		"frozen without a decision": {"frozen:\n  - reason: a\n", "line 2: frozen[0] has no decision"},
		"banned without approach":   {"banned:\n  - reason: a\n", "line 2: banned[0] has no approach"},
		"accept without criterion":  {"accept:\n  - check: a\n", "line 2: accept[0] has no criterion"},
		"an alias":                  {"task: &a T\ngoal: *a\n", "alias"},
		"two documents":             {"task: T\n---\ntask: U\n", "more than one document"},
		"a zero byte":               {"task: \"a\\0b\"\n", "line 1"},
		"no UTF-8":                  {"task: \xff\n", "UTF-8"},
		"too large":                 {"task: " + strings.Repeat("x", guard.MaxClaimsBytes), "limit"},
		"a long text":               {"task: " + strings.Repeat("x", 5000) + "\n", "line 1"},
		"too many":                  {"done:\n" + strings.Repeat("- {what: w}\n", 600), "600 entries"},
		"broken":                    {"task: [\n", "task"},
	} {
		_, err := guard.Parse([]byte(c.text))
		if !errors.Is(err, guard.ErrClaims) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want one with %q", name, err, c.want)
		}
	}
}

// FuzzParse: whatever is read keeps its limits, and nothing panics.
func FuzzParse(f *testing.F) {
	f.Add([]byte("task: T\ndone:\n- {what: w, evidence: a}\nfrozen:\n- {decision: d, guard: {contains: [a], forbids: [b]}}\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("? [x]\n: y\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := guard.Parse(text)
		if err != nil {
			if !errors.Is(err, guard.ErrClaims) {
				t.Fatalf("another error: %v", err)
			}
			return
		}
		for _, r := range append(c.Frozen, c.Banned...) {
			for _, word := range append(r.Contains, r.Forbids...) {
				if word == "" || strings.ContainsAny(word, "\n\r") || r.Title == "" || r.Line == 0 {
					t.Fatalf("read %+v", r)
				}
			}
		}
		guard.Check(c, guard.World{})
	})
}
