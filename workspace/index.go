package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// The flags of index entries that tell git not to look at a file.
const (
	flagAssumed = "assume-unchanged"
	flagSkipped = "skip-worktree"
)

// indexEntry is one file of the index.
type indexEntry struct {
	path, mode, id, flag string
}

// index is what is staged.
type index struct {
	entries    []indexEntry // stage 0, sorted by raw path
	conflicted []string     // raw, sorted
}

// readIndex lists the index without refreshing it.
func (r *Repo) readIndex(ctx context.Context) (index, error) {
	out, err := r.git("ls-files", "-z", "-v", "--stage", "--full-name").run(ctx)
	if err != nil {
		return index{}, fmt.Errorf("read index: %w", err)
	}
	return parseIndex(string(out))
}

// parseIndex reads "T mode id stage\tpath\0" records.
func parseIndex(out string) (index, error) {
	bad := fmt.Errorf("read index: %w", ErrGitOutput)
	var in index
	in.entries = make([]indexEntry, 0, strings.Count(out, "\x00"))
	for out != "" {
		record, rest, ok := strings.Cut(out, "\x00")
		out = rest
		meta, path, tab := strings.Cut(record, "\t")
		parts := strings.SplitN(meta, " ", 5)
		if !ok || !tab || path == "" || len(parts) != 4 || len(parts[0]) != 1 || len(parts[1]) != 6 || len(parts[3]) != 1 {
			return index{}, bad
		}
		if parts[3] != "0" {
			in.conflicted = append(in.conflicted, path)
			continue
		}
		entry := indexEntry{path: path, mode: parts[1], id: parts[2]}
		switch tag := parts[0]; {
		case tag >= "a" && tag <= "z":
			entry.flag = flagAssumed
		case tag == "S":
			entry.flag = flagSkipped
		}
		in.entries = append(in.entries, entry)
	}
	in.conflicted = slices.Compact(in.conflicted)
	byPath := func(a, b indexEntry) int { return strings.Compare(a.path, b.path) }
	if !slices.IsSortedFunc(in.entries, byPath) {
		slices.SortFunc(in.entries, byPath)
	}
	return in, nil
}

// staged compares the index with the tree of the head, both sorted by raw path.
func (in index) staged(tree []treeEntry) []Change {
	var changes []Change
	zero := strings.Repeat("0", 40)
	if len(in.entries) > 0 {
		zero = strings.Repeat("0", len(in.entries[0].id))
	} else if len(tree) > 0 {
		zero = strings.Repeat("0", len(tree[0].id))
	}
	for i, j := 0, 0; i < len(tree) || j < len(in.entries); {
		order := 0
		switch {
		case i == len(tree):
			order = 1
		case j == len(in.entries):
			order = -1
		default:
			order = strings.Compare(tree[i].path, in.entries[j].path)
		}
		switch {
		case order < 0:
			if _, unmerged := slices.BinarySearch(in.conflicted, tree[i].path); !unmerged {
				changes = append(changes, Change{Path: tree[i].path, Status: 'D', OldMode: tree[i].mode, NewMode: ModeNone, OldBlob: tree[i].id, NewBlob: zero})
			}
			i++
		case order > 0:
			entry := in.entries[j]
			changes = append(changes, Change{Path: entry.path, Status: 'A', OldMode: ModeNone, NewMode: entry.mode, OldBlob: zero, NewBlob: entry.id})
			j++
		default:
			if entry := in.entries[j]; tree[i].mode != entry.mode || tree[i].id != entry.id {
				changes = append(changes, Change{
					Path: entry.path, Status: statusOf(tree[i].mode, entry.mode),
					OldMode: tree[i].mode, NewMode: entry.mode, OldBlob: tree[i].id, NewBlob: entry.id,
				})
			}
			i, j = i+1, j+1
		}
	}
	return changes
}

// statusOf tells a change of content or mode from a change of type.
func statusOf(old, new string) byte {
	if old[:3] != new[:3] {
		return 'T'
	}
	return 'M'
}
