package workspace

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedledger/deed/boundary"
)

// maxSubmodules bounds how many submodules are looked into.
const maxSubmodules = 200

// submodules compares the pointers of all submodules, sorted by path. moved are those
// whose checked out commit is not the staged one.
func (r *Repo) submodules(ctx context.Context, tree []treeEntry, in index, n *notes) (list []SubmoduleFacts, moved []FileChange, err error) {
	pointers := map[string]*SubmoduleFacts{}
	at := func(path string) *SubmoduleFacts {
		if pointers[path] == nil {
			pointers[path] = &SubmoduleFacts{Path: boundary.EncodePath(path)}
		}
		return pointers[path]
	}
	for _, entry := range tree {
		if entry.mode == ModeSubmodule {
			at(entry.path).Head = entry.id
		}
	}
	for _, entry := range in.entries {
		if entry.mode == ModeSubmodule {
			at(entry.path).Index = entry.id
		}
	}
	var unread []string
	for path, m := range pointers {
		if m.Index == "" || len(list) >= maxSubmodules {
			unread = append(unread, path)
		} else if err := r.lookInto(ctx, path, m); errors.Is(err, errNotRead) {
			unread = append(unread, path)
		} else if err != nil {
			return nil, nil, err
		}
		list = append(list, *m)
		if m.Disk != "" && m.Disk != m.Index {
			moved = append(moved, FileChange{Path: m.Path, Status: "M", OldMode: ModeSubmodule, NewMode: ModeSubmodule, OldID: m.Index, NewID: m.Disk})
		}
	}
	n.some("submodule-unread", "what is checked out in these submodules was not read", unread)
	slices.SortFunc(list, func(a, b SubmoduleFacts) int { return strings.Compare(a.Path, b.Path) })
	return list, moved, nil
}

// lookInto fills in what is checked out in a submodule's folder. It is opened only if no
// part of its path is a link: a link could lead to any repository.
func (r *Repo) lookInto(ctx context.Context, path string, m *SubmoduleFacts) error {
	dir := filepath.Join(r.top, path)
	if !newHasher(r.top, r.objectFormat, 0).real(path) {
		return nil
	}
	there, err := exists(filepath.Join(dir, ".git"))
	if err != nil || !there {
		return err
	}
	sub, err := Open(ctx, dir)
	if err != nil {
		return errors.Join(errNotRead, ctx.Err(), err)
	}
	if m.Disk, err = sub.Head(ctx); err != nil {
		return errors.Join(errNotRead, err)
	}
	dirty, err := sub.Dirty(ctx)
	if err != nil {
		return errors.Join(errNotRead, err)
	}
	m.Changed = len(dirty.Paths())
	return nil
}

// ignoreRules names the submodules whose changes a rule hides from git status.
func (r *Repo) ignoreRules(ctx context.Context) ([]string, error) {
	var names []string
	for _, source := range [][]string{{"--file", filepath.Join(r.top, ".gitmodules")}, {"--includes"}} {
		args := append(append([]string{"config"}, source...), "-z", "--get-regexp", `^(submodule\..*\.ignore|diff\.ignoresubmodules)$`)
		out, err := r.git(args...).run(ctx)
		if code := exitCode(err); code == 1 || code == 3 || code == 128 {
			continue // no rule, or no file that git can read
		}
		if err != nil {
			return nil, fmt.Errorf("read submodule rules: %w", err)
		}
		settings, err := splitNUL(out)
		if err != nil {
			return nil, fmt.Errorf("read submodule rules: %w", err)
		}
		for _, setting := range settings {
			key, value, _ := strings.Cut(setting, "\n")
			if value != "none" {
				names = append(names, key+"="+value)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
