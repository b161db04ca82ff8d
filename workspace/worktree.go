package workspace

import (
	"context"
	"slices"
	"strings"

	"github.com/deedledger/deed/boundary"
)

// maxUntrackedBytes bounds the untracked files that are read.
const maxUntrackedBytes = 16 << 20

// worktreeRead is one reading of head, index and files.
type worktreeRead struct {
	repo        *Repo
	head        string // commit; "" when unborn
	tree        []treeEntry
	index       index
	differences []difference
	filtered    []string
	untracked   []string
	excluded    []string
	inputs      CaptureInputs
}

// read asks git for the three lists and reads the files.
func (w *worktreeRead) read(ctx context.Context) error {
	return together(
		func() (err error) {
			if w.head == "" {
				return nil
			}
			if w.tree, err = w.repo.treeOf(ctx, w.head); err != nil {
				return err
			}
			locks, err := w.repo.lockfiles(ctx, w.tree)
			w.inputs = CaptureInputs{Commit: w.head, Lockfiles: locks.pinned(), LockDigest: locks.Combined}
			return err
		},
		func() (err error) {
			if w.index, err = w.repo.readIndex(ctx); err != nil {
				return err
			}
			w.differences, w.filtered, err = w.repo.differences(ctx, w.index)
			return err
		},
		func() (err error) {
			w.untracked, w.excluded, err = w.repo.untracked(ctx)
			return err
		},
	)
}

// facts gives what was read in its public form.
func (w *worktreeRead) facts(ctx context.Context, n *notes) (*WorktreeFacts, error) {
	facts := &WorktreeFacts{Staged: []FileChange{}, Untracked: []UntrackedFile{}}
	for _, c := range w.index.staged(w.tree) {
		facts.Staged = append(facts.Staged, FileChange{
			Path: boundary.EncodePath(c.Path), Status: string(c.Status), OldMode: c.OldMode, NewMode: c.NewMode,
			OldID: present(c.OldBlob), NewID: present(c.NewBlob),
		})
	}
	nameMoves(facts.Staged)
	var moved []FileChange
	var err error
	if facts.Submodules, moved, err = w.repo.submodules(ctx, w.tree, w.index, n); err != nil {
		return nil, err
	}
	facts.Unstaged = append(w.unstaged(n), moved...)
	facts.Untracked = append(facts.Untracked, w.repo.untrackedFacts(w.untracked)...)
	for _, path := range w.index.conflicted {
		facts.Conflicted = append(facts.Conflicted, boundary.EncodePath(path))
	}
	byPath := func(a, b FileChange) int { return strings.Compare(a.Path, b.Path) }
	slices.SortFunc(facts.Staged, byPath)
	slices.SortFunc(facts.Unstaged, byPath)
	slices.SortFunc(facts.Untracked, func(a, b UntrackedFile) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(facts.Conflicted)
	n.some("filtered", "a filter driver makes these files, and none was run: git's index says whether they changed", w.filtered)
	n.some("excluded", "the repository's info/exclude hides these untracked files; no commit shows that rule", w.excluded)
	facts.Staged, facts.Unstaged = cut(n, "staged", facts.Staged), cut(n, "unstaged", facts.Unstaged)
	facts.Untracked, facts.Conflicted = cut(n, "untracked", facts.Untracked), cut(n, "conflicted", facts.Conflicted)
	facts.Submodules = cut(n, "submodules", facts.Submodules)
	return facts, nil
}

// unstaged gives the files that differ from the index.
func (w *worktreeRead) unstaged(n *notes) []FileChange {
	list := []FileChange{}
	var unread []string
	for _, d := range w.differences {
		c := FileChange{
			Path: boundary.EncodePath(d.entry.path), Status: "M", OldMode: d.entry.mode, NewMode: d.disk.mode,
			OldID: d.entry.id, NewID: d.disk.id, Flag: d.entry.flag,
		}
		switch {
		case d.disk.err != nil:
			unread = append(unread, d.entry.path)
			c.NewMode, c.NewID = max(c.NewMode, ModeNone), ""
		case d.disk.mode == ModeNone, d.disk.mode == ModeSubmodule: // a folder in a file's place
			c.Status, c.NewMode, c.NewID = "D", ModeNone, ""
		case d.disk.mode == "":
			c.Status, c.NewMode = "T", ModeNone // a pipe, a socket or a device
		default:
			c.Status = string(statusOf(d.entry.mode, d.disk.mode))
		}
		list = append(list, c)
	}
	n.some("unread", "these files could not be read: they count as changed", unread)
	return list
}

// present gives an object id, "" for the zeros that stand for none.
func present(id string) string {
	if strings.Trim(id, "0") == "" {
		return ""
	}
	return id
}

// nameMoves gives added paths the name that their content had before, where exactly one
// path with that content went away and one came.
func nameMoves(changes []FileChange) {
	gone, come := map[string][]int{}, map[string][]int{}
	for i, c := range changes {
		switch c.Status {
		case "D":
			gone[c.OldID] = append(gone[c.OldID], i)
		case "A":
			come[c.NewID] = append(come[c.NewID], i)
		}
	}
	for id, to := range come {
		if from := gone[id]; len(from) == 1 && len(to) == 1 {
			changes[to[0]].From = changes[from[0]].Path
		}
	}
}

// untrackedFacts reads untracked files.
func (r *Repo) untrackedFacts(paths []string) []UntrackedFile {
	disk := make([]diskEntry, len(paths))
	r.readDisk(len(paths), maxUntrackedBytes, func(i int) string { return strings.TrimSuffix(paths[i], "/") }, func(i int, d diskEntry) { disk[i] = d })
	list := make([]UntrackedFile, len(paths))
	for i, path := range paths {
		list[i] = UntrackedFile{Path: boundary.EncodePath(path), Mode: max(disk[i].mode, ModeNone), ID: disk[i].id}
	}
	return list
}
