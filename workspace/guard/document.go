package guard

import (
	"maps"
	"slices"
	"strings"

	"github.com/deedledger/deed/workspace"
	"go.yaml.in/yaml/v4"
)

// document returns the root node of exactly one YAML document without aliases.
func document(text []byte) (*yaml.Node, error) {
	return workspace.Document(text, MaxClaimsBytes, ErrClaims)
}

func null(n *yaml.Node) bool { return workspace.NullNode(n) }

// kindOf names what a node is, for people.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if null(n) {
		return "nothing"
	}
	return "a text"
}

// example lists the members that are known.
func example[V any](members map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(members)), ", ")
}

// orFile names the place of a member of the file itself.
func orFile(at string) string {
	if at == "" {
		return "the file"
	}
	return at
}

// clip bounds a text that is quoted in an error.
func clip(s string) string {
	const limit = 60
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
