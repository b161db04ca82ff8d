package ledger

import (
	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// rulesBoundary is the version of the rules from which on a scope is read in
// the second dialect of patterns, and an effect needs the approvals that the
// attempt pinned.
const rulesBoundary = 3

// scopeOf returns the paths of a contract's scope as a boundary, as the rules
// in force read it. A malformed scope allows nothing.
func scopeOf(g *projections.Registry, c events.Contract) boundary.Boundary {
	parse := boundary.Parse
	if g.RulesVersion() < rulesBoundary {
		parse = boundary.ParseV1
	}
	b, err := parse(c.Scope.Include, c.Scope.Exclude)
	if err != nil {
		return boundary.Boundary{}
	}
	return b
}

// inScope reports whether an encoded path lies inside a boundary. A malformed
// path does not.
func inScope(b boundary.Boundary, path string) bool {
	raw, err := boundary.DecodePath(path)
	return err == nil && b.Allows(raw)
}
