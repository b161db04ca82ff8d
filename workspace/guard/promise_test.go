package guard_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/deedledger/deed/workspace/guard"
)

func TestCheckPromises(t *testing.T) {
	origin := guard.Branch{Remote: "origin", Name: "work"}
	said := guard.Range{
		Head: "c1", Tree: []string{"a.go", "dir-x", "dir/deep/b.go", "dir2/c.go"}, Changed: []string{"dir/deep/b.go", "gone.go"},
		Tips:  map[guard.Branch]guard.Tip{origin: {Commit: "c0"}, {Remote: "far", Name: "work"}: {Commit: "c2", Has: true}},
		Fresh: map[string][]string{"dir/deep/b.go": {"FormatLine"}},
	}
	for name, c := range map[string]struct {
		promise guard.Promise
		want    []string
	}{
		"a changed file":                {guard.Promise{Paths: []string{"dir/deep/b.go"}}, nil},
		"a folder of it":                {guard.Promise{Paths: []string{"dir", "dir/deep", "."}}, nil},
		"a file that stayed":            {guard.Promise{Paths: []string{"a.go"}}, []string{"claim-unchanged"}},
		"a folder that stayed":          {guard.Promise{Paths: []string{"dir2"}}, []string{"claim-unchanged"}},
		"a file that never was":         {guard.Promise{Paths: []string{"format.go"}}, []string{"claim-evidence-absent"}},
		"a file that is gone":           {guard.Promise{Paths: []string{"gone.go"}}, []string{"claim-evidence-absent"}},
		"the beginning of a name":       {guard.Promise{Paths: []string{"dir/de", "di"}}, []string{"claim-evidence-absent", "claim-evidence-absent"}},
		"a branch that has it":          {guard.Promise{Remotes: []guard.Branch{{Remote: "far", Name: "work"}}}, nil},
		"a branch that has not":         {guard.Promise{Remotes: []guard.Branch{origin}}, []string{"claim-not-pushed"}},
		"a branch that nobody asked":    {guard.Promise{Remotes: []guard.Branch{{Remote: "mute", Name: "work"}}}, nil},
		"all of it, each for itself":    {guard.Promise{Paths: []string{"format.go", "a.go"}, Remotes: []guard.Branch{origin}}, []string{"claim-evidence-absent", "claim-unchanged", "claim-not-pushed"}},
		"a claim without any evidence":  {guard.Promise{Text: "done"}, nil},
		"a name that only a shell eats": {guard.Promise{Paths: []string{"*"}}, []string{"claim-evidence-absent"}},
	} {
		var got []string
		for _, m := range guard.CheckPromises([]guard.Promise{c.promise}, said) {
			got = append(got, m.Rule)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	hint := func(text, path string) string {
		return guard.CheckPromises([]guard.Promise{{Text: text, Paths: []string{path}}}, said)[0].Text
	}
	for _, c := range []struct {
		text, path string
		named      bool
	}{
		{"", "src/format.go", true}, {"adds FormatLine", "src/x.go", true}, {"", "other/b.go", true}, {"", "src/other.go", false}, {"", "gone.go", false},
	} {
		if got := hint(c.text, c.path); strings.Contains(got, "dir/deep/b.go has similar new symbols") != c.named {
			t.Errorf("claim %q of %s: %s", c.text, c.path, got)
		}
	}
}
