package guard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// document returns the root node of exactly one YAML document without aliases.
func document(text []byte) (*yaml.Node, error) {
	bad := func(format string, args ...any) (*yaml.Node, error) {
		return nil, fmt.Errorf("%w: %w", ErrClaims, fmt.Errorf(format, args...))
	}
	switch {
	case len(text) > MaxClaimsBytes:
		return bad("%d bytes, limit %d", len(text), MaxClaimsBytes)
	case !utf8.Valid(text):
		return bad("it is no UTF-8")
	}
	loader, err := yaml.NewLoader(bytes.NewReader(text), yaml.WithUniqueKeys())
	if err != nil {
		return bad("%w", err)
	}
	var doc yaml.Node
	if err := loader.Load(&doc); errors.Is(err, io.EOF) {
		return bad("it is empty: deed guard init writes one to fill in")
	} else if err != nil {
		return bad("%w", err)
	}
	var more yaml.Node
	if err := loader.Load(&more); !errors.Is(err, io.EOF) {
		return bad("there is more than one document")
	}
	root := &doc
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 {
		root = doc.Content[0]
	}
	if n := alias(root); n != nil {
		return bad("line %d: an alias or anchor: write the value again", n.Line)
	}
	return root, nil
}

// alias finds an alias, an anchor, or a merge below n.
func alias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return n
	}
	for _, c := range n.Content {
		if found := alias(c); found != nil {
			return found
		}
	}
	return nil
}

func null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

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
