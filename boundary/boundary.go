package boundary

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// boundaryVersion names the dialect inside a boundary's digest.
const boundaryVersion = "deed-boundary/v1"

// Boundary says which paths may change. The zero Boundary, which is also what an error
// leaves, allows nothing. It is a value; its methods do not change it.
type Boundary struct {
	layers []layer
}

// layer is one include and exclude list, each sorted and without duplicates.
type layer struct {
	Exclude []string `json:"exclude"`
	Include []string `json:"include"`
}

// Parse makes a boundary from two lists of patterns. A path is allowed if an
// include matches it, no exclude does, and no protected pattern does. An empty include
// list allows nothing.
//
// Error: [ErrPattern] for one malformed pattern or more than [MaxPatterns].
func Parse(include, exclude []string) (Boundary, error) {
	for _, list := range [][]string{include, exclude} {
		if len(list) > MaxPatterns {
			return Boundary{}, fmt.Errorf("parse boundary: %d patterns, limit %d: %w", len(list), MaxPatterns, ErrPattern)
		}
		for _, pattern := range list {
			if err := CheckPattern(pattern); err != nil {
				return Boundary{}, fmt.Errorf("parse boundary: %w", err)
			}
		}
	}
	return Boundary{layers: []layer{{Include: sortedSet(include), Exclude: sortedSet(exclude)}}}, nil
}

// Intersect gives the boundary that allows what both allow: a contract's scope under a
// repository's policy. With a boundary that allows nothing it allows nothing.
func (b Boundary) Intersect(other Boundary) Boundary {
	if len(b.layers) == 0 || len(other.layers) == 0 {
		return Boundary{}
	}
	return Boundary{layers: slices.Concat(b.layers, other.layers)}
}

// Allows tells whether a raw path may change.
func (b Boundary) Allows(path string) bool {
	rule, _ := b.Refusal(path)
	return rule == ""
}

// Refusal gives the rule that refuses a path and the pattern that decided, or "".
func (b Boundary) Refusal(path string) (Rule, string) {
	if !isTreePath(path) {
		return RuleMalformedPath, ""
	}
	if pattern := protectedBy(path); pattern != "" {
		return RuleProtected, pattern
	}
	if len(b.layers) == 0 {
		return RuleOutside, ""
	}
	matches := func(pattern string) bool { return MatchPattern(pattern, path) }
	for _, l := range b.layers {
		if i := slices.IndexFunc(l.Exclude, matches); i >= 0 {
			return RuleExcluded, l.Exclude[i]
		}
	}
	for _, l := range b.layers {
		if !slices.ContainsFunc(l.Include, matches) {
			return RuleOutside, ""
		}
	}
	return "", ""
}

// Unmatched gives the patterns that match none of the paths, sorted: rules that guard
// or open nothing, such as those that name a folder which was renamed. A finding for
// people, not an error.
func (b Boundary) Unmatched(paths []string) []string {
	var idle []string
	for _, l := range b.layers {
		for _, pattern := range slices.Concat(l.Include, l.Exclude) {
			if !slices.ContainsFunc(paths, func(p string) bool { return MatchPattern(pattern, p) }) {
				idle = append(idle, pattern)
			}
		}
	}
	return sortedSet(idle)
}

// Digest is the lower-hex SHA-256 of the RFC 8785 form of
// {"layers":[{"exclude":[…],"include":[…]}…],"protected":[…],"version":"deed-boundary/v1"}
// with every list sorted and the layers in order of their own RFC 8785 forms, each once.
// The order in which patterns were written or boundaries intersected is no matter.
func (b Boundary) Digest() string {
	forms := make([]string, len(b.layers))
	for i, l := range b.layers {
		forms[i] = string(canonicalJSON(l))
	}
	raw := []jsontext.Value{}
	for _, form := range sortedSet(forms) {
		raw = append(raw, jsontext.Value(form))
	}
	sum := sha256.Sum256(canonicalJSON(struct {
		Layers    []jsontext.Value `json:"layers"`
		Protected []string         `json:"protected"`
		Version   string           `json:"version"`
	}{raw, sortedSet(ProtectedPatterns()), boundaryVersion}))
	return hex.EncodeToString(sum[:])
}

// canonicalJSON writes a value that this package made of valid UTF-8; it cannot fail.
func canonicalJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err == nil {
		value := jsontext.Value(text)
		if err = value.Canonicalize(); err == nil {
			return value
		}
	}
	panic(fmt.Sprintf("encode boundary: %v", err))
}

func sortedSet(list []string) []string {
	set := append([]string{}, list...)
	slices.Sort(set)
	return slices.Compact(set)
}
