package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Document returns the root of a text that is exactly one YAML document, in UTF-8, of at most limit bytes, without aliases,
// anchors, tags and members that repeat: so that people and programs read the same. Errors wrap fault and name the line.
func Document(text []byte, limit int, fault error) (*yaml.Node, error) {
	switch {
	case len(text) > limit:
		return nil, fmt.Errorf("%w: %d bytes, limit %d", fault, len(text), limit)
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return nil, fmt.Errorf("%w: it is no UTF-8 text", fault)
	}
	loader, err := yaml.NewLoader(bytes.NewReader(text), yaml.WithUniqueKeys())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fault, err)
	}
	var doc, more yaml.Node
	if err := loader.Load(&doc); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: it is empty", fault)
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", fault, err)
	}
	if err := loader.Load(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: there is more than one document", fault)
	}
	root := &doc
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 {
		root = doc.Content[0]
	}
	if line := special(root); line > 0 {
		return nil, fmt.Errorf("%w: line %d: an alias, an anchor, a tag or a member twice: write the value itself", fault, line)
	}
	return root, nil
}

// special finds what is more than a plain value, and members that repeat: its line, 0 for none.
func special(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		return max(n.Line, 1)
	}
	seen := map[string]bool{}
	for i, c := range n.Content {
		if line := special(c); line > 0 {
			return line
		}
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if seen[c.Value] {
				return max(c.Line, 1)
			}
			seen[c.Value] = true
		}
	}
	return 0
}

// NullNode tells whether a node says nothing.
func NullNode(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }
