package boundary

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// dialect names, inside a boundary's digest, how its patterns are read.
type dialect string

const (
	dialectV1 dialect = "deed-boundary/v1"
	dialectV2 dialect = "deed-boundary/v2"
)

// Boundary says which paths may change. The zero Boundary, which is also what an error
// leaves, allows nothing. It is a value; its methods do not change it.
type Boundary struct {
	layers  []layer
	dialect dialect // "" is the newest
}

// layer is one include and exclude list, each sorted and without duplicates.
type layer struct {
	Exclude []string `json:"exclude"`
	Include []string `json:"include"`

	denials []denial   // of Exclude
	allowed [][]string // the segments of Include
}

// Parse makes a boundary from two lists of patterns. A path is allowed if an
// include matches it, no exclude does, and no protected pattern does. An empty include
// list allows nothing.
//
// Error: [ErrPattern] for one malformed pattern or more than [MaxPatterns].
func Parse(include, exclude []string) (Boundary, error) {
	return parseLists(include, exclude)
}

// ParseV1 is [Parse] in the first dialect, which the rules of a ledger before version 3
// go by: fewer paths are protected, and an exclude matches exact bytes only. It is for
// histories; nothing new is measured with it.
func ParseV1(include, exclude []string) (Boundary, error) {
	b, err := parseLists(include, exclude)
	if err == nil {
		b.dialect = dialectV1
	}
	return b, err
}

func parseLists(include, exclude []string) (Boundary, error) {
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
	l := layer{Include: sortedSet(include), Exclude: sortedSet(exclude)}
	l.denials = denials(l.Exclude)
	for _, pattern := range l.Include {
		l.allowed = append(l.allowed, strings.Split(pattern, "/"))
	}
	return Boundary{layers: []layer{l}}, nil
}

// Intersect gives the boundary that allows what both allow: a contract's scope under a
// repository's policy. With a boundary that allows nothing it allows nothing. It is of
// the first dialect only where both are.
func (b Boundary) Intersect(other Boundary) Boundary {
	if len(b.layers) == 0 || len(other.layers) == 0 {
		return Boundary{}
	}
	if b.dialect != other.dialect {
		b.dialect = ""
	}
	return Boundary{layers: slices.Concat(b.layers, other.layers), dialect: b.dialect}
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
	if rule, pattern := b.denied(path); rule != "" {
		return rule, pattern
	}
	if len(b.layers) == 0 {
		return RuleOutside, ""
	}
	segments := strings.Split(path, "/")
	for _, l := range b.layers {
		if !slices.ContainsFunc(l.allowed, func(pattern []string) bool { return matchSegments(pattern, segments) }) {
			return RuleOutside, ""
		}
	}
	return "", ""
}

// denied gives the protected or exclude pattern that refuses a path.
func (b Boundary) denied(path string) (Rule, string) {
	if b.dialect == dialectV1 {
		if pattern := protectedByV1(path); pattern != "" {
			return RuleProtected, pattern
		}
		for _, l := range b.layers {
			if i := slices.IndexFunc(l.Exclude, func(pattern string) bool { return MatchPattern(pattern, path) }); i >= 0 {
				return RuleExcluded, l.Exclude[i]
			}
		}
		return "", ""
	}
	spelled := spell(path)
	if pattern := firstRefusal(protected(), spelled); pattern != "" {
		return RuleProtected, pattern
	}
	for _, l := range b.layers {
		if pattern := firstRefusal(l.denials, spelled); pattern != "" {
			return RuleExcluded, pattern
		}
	}
	return "", ""
}

// DeniedBelow gives the protected or exclude pattern that names something below a raw
// path, "" for none. Such a path may change where it is a folder or a file; a link in its
// place would lead what is denied elsewhere. Patterns that begin with a wildcard name no
// place.
func (b Boundary) DeniedBelow(path string) string {
	names := spell(path)
	for _, list := range append([][]denial{protected()}, b.denials()...) {
		for _, d := range list {
			if d.below(names) {
				return d.pattern
			}
		}
	}
	return ""
}

// denials gives the denials of each layer.
func (b Boundary) denials() [][]denial {
	list := make([][]denial, len(b.layers))
	for i, l := range b.layers {
		list[i] = l.denials
	}
	return list
}

// Unmatched gives the patterns that match none of the paths, sorted: rules that guard
// or open nothing, such as those that name a folder which was renamed. A finding for
// people, not an error.
func (b Boundary) Unmatched(paths []string) []string {
	var idle []string
	split, spelledPaths := make([][]string, len(paths)), make([]spelled, len(paths))
	for i, path := range paths {
		split[i], spelledPaths[i] = strings.Split(path, "/"), spell(path)
	}
	for _, l := range b.layers {
		for i, pattern := range l.allowed {
			if !slices.ContainsFunc(split, func(path []string) bool { return matchSegments(pattern, path) }) {
				idle = append(idle, l.Include[i])
			}
		}
		for _, d := range l.denials {
			if !slices.ContainsFunc(spelledPaths, d.refuses) {
				idle = append(idle, d.pattern)
			}
		}
	}
	return sortedSet(idle)
}

// Shadowed gives the include patterns that match some of the paths, each of which is
// protected or excluded: what they open is closed again. Sorted; for people, too.
func (b Boundary) Shadowed(paths []string) []string {
	var list []string
	split, closed := make([][]string, len(paths)), make([]bool, len(paths))
	for i, path := range paths {
		split[i] = strings.Split(path, "/")
		rule, _ := b.denied(path)
		closed[i] = rule != ""
	}
	for _, l := range b.layers {
		for i, pattern := range l.allowed {
			matched, open := false, false
			for n, path := range split {
				if matchSegments(pattern, path) {
					matched, open = true, open || !closed[n]
				}
			}
			if matched && !open {
				list = append(list, l.Include[i])
			}
		}
	}
	return sortedSet(list)
}

// Digest is the lower-hex SHA-256 of the RFC 8785 form of
// {"layers":[{"exclude":[…],"include":[…]}…],"protected":[…],"version":"deed-boundary/v2"}
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
	version, protected := dialectV2, ProtectedPatterns()
	if b.dialect == dialectV1 {
		version, protected = dialectV1, protectedV1()
	}
	sum := sha256.Sum256(canonicalJSON(struct {
		Layers    []jsontext.Value `json:"layers"`
		Protected []string         `json:"protected"`
		Version   dialect          `json:"version"`
	}{raw, sortedSet(protected), version}))
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

// Allowing gives, of each layer, the first include that matches a path, "" where none
// does: with [Boundary.Refusal] it says why a path may change.
func (b Boundary) Allowing(path string) []string {
	segments := strings.Split(path, "/")
	list := make([]string, len(b.layers))
	for n, l := range b.layers {
		if i := slices.IndexFunc(l.allowed, func(pattern []string) bool { return matchSegments(pattern, segments) }); i >= 0 {
			list[n] = l.Include[i]
		}
	}
	return list
}
