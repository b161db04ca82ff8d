package ledger

import (
	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
)

// scopeOf returns the paths of a contract's scope as a boundary. A malformed
// scope allows nothing.
func scopeOf(c events.Contract) boundary.Boundary {
	b, err := boundary.Parse(c.Scope.Include, c.Scope.Exclude)
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
