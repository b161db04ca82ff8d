package workspace

import (
	"fmt"
	"slices"

	"github.com/deedledger/deed/boundary"
)

const (
	// MaxFactPaths bounds each list of changes in [Facts]; a note says how many were cut.
	MaxFactPaths = 20_000
	// MaxNotePaths bounds the paths that one note names.
	MaxNotePaths = 20
)

// NoteNoPolicy is the code of the note that no policy counts, since nobody said whose.
const NoteNoPolicy = "no-policy"

// notes collects what the facts cannot show.
type notes struct{ list []Note }

// add appends a note about raw paths, if the list is not empty or there need be none.
func (n *notes) add(code, text string, paths ...string) {
	note := Note{Code: code, Text: text, Count: len(paths)}
	slices.Sort(paths)
	for _, p := range paths[:min(len(paths), MaxNotePaths)] {
		note.Paths = append(note.Paths, boundary.EncodePath(p))
	}
	n.list = append(n.list, note)
}

// some adds a note only if there are paths.
func (n *notes) some(code, text string, paths []string) {
	if len(paths) > 0 {
		n.add(code, text, paths...)
	}
}

// cut bounds a list and says so.
func cut[T any](n *notes, name string, list []T) []T {
	if len(list) <= MaxFactPaths {
		return list
	}
	n.add("cut", fmt.Sprintf("%s: %d of %d are listed", name, MaxFactPaths, len(list)))
	return list[:MaxFactPaths]
}
