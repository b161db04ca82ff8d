package ledger_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// pinning is a contract whose check has a file of its own, in the open folder.
func pinning(c *events.Contract) {
	c.Acceptance[0].Checks[0].Files = []events.PinnedFile{{Path: "src/export/check.sh", Digest: projectionstest.Digest("check")}}
}

// begun returns a house whose task impl-a works on, under the rules of a version.
func begun(t *testing.T, rules int64) *ledgertest.House {
	t.Helper()
	h := ledgertest.Found(t, "acme", memory(t, "acme"))
	if rules > 1 {
		h.Do("", ledgertest.Founder, &events.Upgrade{Rules: rules, Reason: "test"})
	}
	steps := ledgertest.Start("T-1")
	steps[0] = ledgertest.Saying("T-1", ledgertest.Founder, projectionstest.Contract(1, pinning))
	h.Play(steps)
	return h
}

// changing returns a result that changes paths.
func changing(label string, paths ...string) *events.Result {
	return projectionstest.Result(label, func(r *events.Result) {
		r.Changes = nil
		for _, path := range slices.Sorted(slices.Values(paths)) {
			status := "M"
			if name, gone := strings.CutPrefix(path, "-"); gone {
				path, status = name, "D"
			}
			r.Changes = append(r.Changes, events.ChangedPath{Path: path, Status: status, Acceptance: []string{"A1"}})
		}
	})
}

// violations returns what is recorded as outside.
func violations(h *ledgertest.House) (list []projections.Violation) {
	h.Writer.View(func(b *ledger.Book) { list = slices.Clone(b.State.Task("T-1").Violations) })
	return list
}

// TestResultOutside: which paths a result may not name, whoever wrote its client.
func TestResultOutside(t *testing.T) {
	for _, c := range []struct {
		path, rule string // "" is inside
		first      string // under the first rules, where they differ
	}{
		{path: "src/export/a.go"},
		{path: "src/export/%FF"},
		{path: "src/exporter/a.go", rule: "outside"},
		{path: "src/Export/a.go", rule: "outside"},
		{path: "-infra/net.tf", rule: "excluded"},
		{path: "src/export/CODEOWNERS", rule: "protected"},
		{path: "src/export/.ENV", rule: "protected"},
		{path: "src/export/id_rsa", rule: "protected", first: "inside"},
		{path: "src/export/owners"},
		{path: "src/export/check.sh", rule: "pinned"},
		{path: "-src/export/check.sh", rule: "pinned"},
		{path: "src/export/Check.SH", rule: "pinned", first: "inside"},
		{path: "src/export/check.sh.", rule: "pinned", first: "inside"},
		{path: "src/export/.git/x", rule: "malformed-path"},
	} {
		for _, version := range []int64{1, events.Rules} {
			want := c.rule
			if version == 1 && c.first != "" {
				want = strings.TrimPrefix(c.first, "inside")
			}
			h := begun(t, version)
			_, err := h.Try("T-1", ledgertest.ImplA, changing("1", c.path))
			found := violations(h)
			if want == "" {
				if err != nil || len(found) != 0 {
					t.Errorf("rules %d: %s: %v, %+v", version, c.path, err, found)
				}
				continue
			}
			refusal, ok := errors.AsType[*ledger.Refusal](err)
			if !ok || refusal.Code != ledger.CodeBoundary || len(found) != 1 {
				t.Errorf("rules %d: %s: %v, %+v", version, c.path, err, found)
				continue
			}
			side, name := "new", c.path
			if gone, ok := strings.CutPrefix(c.path, "-"); ok {
				side, name = "old", gone
			}
			if got := found[0].Data.Paths; len(got) != 1 || got[0] != (events.Trespass{Path: name, Side: side, Rule: want}) {
				t.Errorf("rules %d: %s: recorded %+v, want %s", version, c.path, got, want)
			}
		}
	}
}

// TestTrespassIsRecordedOnce: the holder's result is refused, its service says with
// which paths, once for the tree; nobody else can cause that.
func TestTrespassIsRecordedOnce(t *testing.T) {
	h := begun(t, events.Rules)
	bad := changing("1", "infra/b", "src/export/a.go", "infra/a")
	before := h.Last()
	if _, err := h.Try("T-1", ledgertest.ImplB, bad); err == nil || h.Last() != before {
		t.Fatalf("who has no lease: %v, position %d", err, h.Last())
	}
	for range 3 {
		_, err := h.Try("T-1", ledgertest.ImplA, bad)
		if refusal, ok := errors.AsType[*ledger.Refusal](err); !ok || refusal.Code != ledger.CodeBoundary {
			t.Fatal(err)
		}
	}
	found := violations(h)
	if h.Last() != before+1 || len(found) != 1 || found[0].Actor != ledgertest.Service || len(found[0].Data.Paths) != 2 || found[0].Data.Tree != bad.Tree {
		t.Fatalf("position %d after %d, recorded %+v", h.Last(), before, found)
	}
	if h.State("T-1") != projections.Executing {
		t.Errorf("the task is %s", h.State("T-1"))
	}
	// What its author found counts too, though no path that the ledger reads is outside.
	link := changing("2", "src/export/link")
	link.Outside = []events.Trespass{{Path: "src/export/link", Side: "new", Rule: "link-leaves-boundary"}}
	if _, err := h.Try("T-1", ledgertest.ImplA, link); err == nil || len(violations(h)) != 2 {
		t.Fatalf("%v, %+v", err, violations(h))
	}
	// The very tree passes under no name; another one does.
	same := changing("1", "src/export/a.go")
	if _, err := h.Try("T-1", ledgertest.ImplA, same); err == nil {
		t.Fatal("a tree that is recorded as outside was taken")
	}
	h.Do("T-1", ledgertest.ImplA, changing("3", "src/export/a.go"))
	// What is in the journal is the same after a restart.
	digests := h.Digests()
	h.Restart(h.Journal)
	if !reflect.DeepEqual(h.Digests(), digests) || len(violations(h)) != 2 {
		t.Error("a restart sees something else")
	}
}

// TestTrespassOfManyPaths: as many paths as one event holds are recorded.
func TestTrespassOfManyPaths(t *testing.T) {
	h := begun(t, events.Rules)
	var paths []string
	for i := range events.MaxList + 50 {
		paths = append(paths, "infra/"+strings.Repeat("x", 100)+string(rune('a'+i%26))+strings.Repeat("y", i/26))
	}
	if _, err := h.Try("T-1", ledgertest.ImplA, changing("1", paths...)); err == nil {
		t.Fatal("taken")
	}
	found := violations(h)
	if len(found) != 1 || len(found[0].Data.Paths) == 0 || len(found[0].Data.Paths) > events.MaxList {
		t.Fatalf("recorded %d", len(found))
	}
}
