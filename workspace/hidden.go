package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// hiddenByRepository notes what the repository's own state and rules keep from whoever
// asks git.
func (r *Repo) hiddenByRepository(ctx context.Context, n *notes) error {
	if r.shallow {
		n.add("shallow", "history was cut when this repository was cloned or fetched: no statement about what lies before")
	}
	out, err := r.git("for-each-ref", "--format=%(refname)", "refs/replace/").line(ctx)
	if err != nil {
		return fmt.Errorf("read replace refs: %w", err)
	}
	if out != "" {
		n.add("replace-refs", "replace refs are not followed: these facts are about the objects themselves", strings.Split(out, "\n")...)
	}
	for _, setting := range [...][3]string{
		{"extensions.partialClone", "partial-clone", "objects may be missing: they are fetched when git needs them, and nothing was fetched now"},
		{"core.worktree", "worktree-setting", "core.worktree names the folder that git works on"},
	} {
		value, err := r.setting(ctx, setting[0])
		if err != nil {
			return err
		}
		if value != "" {
			n.add(setting[1], setting[2])
		}
	}
	for _, file := range [...][3]string{
		{filepath.Join(r.commonDir, "info", "grafts"), "grafts", "a graft file is there; it was not followed"},
		{filepath.Join(r.commonDir, "objects", "info", "alternates"), "alternates", "objects are borrowed from another repository"},
		{filepath.Join(r.gitDir, "index.lock"), "index-lock", "another git process holds the index, or died with it"},
	} {
		there, err := exists(file[0])
		if err != nil {
			return fmt.Errorf("look at git's folder: %w", err)
		}
		if there {
			n.add(file[1], file[2])
		}
	}
	rules, err := r.ignoreRules(ctx)
	if err != nil {
		return err
	}
	n.some("submodule-ignore", "rules hide changes of submodules from git; they were not followed", rules)
	return nil
}

// hiddenByIndex notes what flags and names of tracked files keep from a reader.
func (r *Repo) hiddenByIndex(in index, n *notes) {
	flagged := map[string][]string{}
	folded := map[string]string{}
	var clash, odd, out []string
	for _, entry := range in.entries {
		if entry.flag != "" {
			flagged[entry.flag] = append(flagged[entry.flag], entry.path)
		}
		if low := strings.ToLower(entry.path); folded[low] != "" {
			clash = append(clash, folded[low], entry.path)
		} else {
			folded[low] = entry.path
		}
		if oddName(entry.path) {
			odd = append(odd, entry.path)
		}
		if entry.mode == ModeLink && r.leadsOut(entry.path) {
			out = append(out, entry.path)
		}
	}
	n.some(flagAssumed, "git does not look at these files; they were read", flagged[flagAssumed])
	n.some(flagSkipped, "git does not look at these files (sparse checkout); those on the disk were read", flagged[flagSkipped])
	slices.Sort(clash)
	n.some("case-collision", "these names differ in case only: some file systems keep one of them", slices.Compact(clash))
	n.some("odd-name", "these names are not plain UTF-8 text: git quotes them in what it prints", odd)
	n.some("link-out", "these links lead out of the worktree or cannot be followed", out)
}

// oddName tells a name that git does not print as it is.
func oddName(path string) bool {
	return !utf8.ValidString(path) || strings.ContainsFunc(path, func(r rune) bool { return r < 0x20 || r == 0x7f || r == '"' || r == '\\' })
}

// leadsOut tells whether a link on the disk leads anywhere but into the worktree.
func (r *Repo) leadsOut(path string) bool {
	links := func(name string) (string, bool, error) {
		info, err := os.Lstat(filepath.Join(r.top, name))
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			return "", false, nil //nolint:nilerr // what is not there is no link
		}
		target, err := os.Readlink(filepath.Join(r.top, name))
		return target, true, err
	}
	_, err := followLink(path, links)
	return err != nil
}
