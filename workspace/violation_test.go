package workspace

import (
	"slices"
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
	read := func(path string) (string, bool, error) {
		target, ok := tree[path]
		return target, ok, nil
	}
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
	if got := Check(b, []Change{{Path: "src/export/in", NewMode: ModeLink}}, nil, nil); len(got) != 1 {
		t.Error("a link passed although nobody could read it")
	}
}
