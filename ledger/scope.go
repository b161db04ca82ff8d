package ledger

import (
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/workspace"
)

// scopeOf returns the paths of a contract's scope as a boundary. A malformed
// scope allows nothing.
func scopeOf(c events.Contract) workspace.Boundary {
	b, err := workspace.ParseBoundary(c.Scope.Include, c.Scope.Exclude)
	if err != nil {
		return workspace.Boundary{}
	}
	return b
}

// inScope reports whether an encoded path lies inside a boundary. A malformed
// path does not.
func inScope(b workspace.Boundary, path string) bool {
	raw, err := workspace.DecodePath(path)
	return err == nil && b.Allows(raw)
}
