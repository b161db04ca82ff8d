package boundary

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// Limits are all that a run may do. The zero Limits allow nothing.
type Limits struct {
	Paths    Boundary
	Commands Commands
	// Effects are the kinds that need no approval of their own, Approvals those that
	// always need one although somebody lists them.
	Effects, Approvals []string
}

// Under gives the limits of a run whose contract has limits l in a repository with a
// policy: what both allow, and the approvals that either asks for. They are never wider
// than either.
func (l Limits) Under(p Policy) Limits {
	return Limits{
		Paths:     l.Paths.Intersect(p.bounds),
		Commands:  l.Commands.Intersect(p.commands),
		Effects:   slices.DeleteFunc(slices.Clone(l.Effects), func(kind string) bool { return !p.FreeEffect(kind) }),
		Approvals: sortedSet(slices.Concat(l.Approvals, p.Approvals)),
	}
}

// Limits gives what a policy allows by itself.
func (p Policy) Limits() Limits {
	free := slices.DeleteFunc(slices.Clone(p.Effects), func(kind string) bool { return !p.FreeEffect(kind) })
	return Limits{Paths: p.bounds, Commands: p.commands, Effects: free, Approvals: p.Approvals}
}

// Digest is the lower-hex SHA-256 of the RFC 8785 form of {"approvals":[…],
// "commands":[[…]…],"effects":[…],"paths":"…"}: the kinds sorted, the lines of each layer
// sorted and the layers too, each once, and the digest of the boundary.
func (l Limits) Digest() string {
	layers := [][]string{}
	for _, layer := range l.Commands.layers {
		lines := make([]string, len(layer))
		for i, allowed := range layer {
			lines[i] = allowed.line
		}
		layers = append(layers, lines) // sorted when they were parsed
	}
	slices.SortFunc(layers, slices.Compare)
	layers = slices.CompactFunc(layers, slices.Equal)
	sum := sha256.Sum256(canonicalJSON(struct {
		Approvals []string   `json:"approvals"`
		Commands  [][]string `json:"commands"`
		Effects   []string   `json:"effects"`
		Paths     string     `json:"paths"`
	}{sortedSet(l.Approvals), layers, sortedSet(l.Effects), l.Paths.Digest()}))
	return hex.EncodeToString(sum[:])
}
