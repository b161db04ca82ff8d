package schemas

import (
	"maps"
	"strings"
)

// branchMutations returns the mutations of intents that move a branch, each
// with the payload digest made to follow: else every change would fail for it
// alone. Their names begin with "branch: ".
func branchMutations() []mutation {
	object := func(digit string) string { return strings.Repeat(digit, 40) }
	intent := func(kind, commit string, git map[string]any) map[string]any {
		return map[string]any{
			"key": "k-1", "kind": kind, "target": "work", "inputDigest": strings.Repeat("0", 64), "payloadDigest": digest(git), "commit": commit, "git": git,
		}
	}
	commit := intent("commit", object("a"), map[string]any{
		"ref": "refs/heads/work", "parent": object("a"), "tree": object("b"), "message": "greet", "name": "Ann", "email": "ann@example.org", "date": "2026-01-02T03:04:05Z",
	})
	merge := intent("merge", object("c"), map[string]any{
		"remote": "origin", "ref": "refs/heads/main", "parent": object("a"), "tree": object("b"), "merged": object("c"), "fastForward": true,
	})
	var list []mutation
	for _, m := range append(mutations(commit), mutations(merge)...) {
		if doc, ok := m.value.(map[string]any); ok && strings.HasPrefix(m.path, "git") {
			doc = maps.Clone(doc)
			doc["payloadDigest"] = digest(doc["git"])
			m.value = doc
		}
		m.name = "branch: " + m.name
		list = append(list, m)
	}
	return list
}
