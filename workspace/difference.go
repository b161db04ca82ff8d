package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// difference is one index entry whose file on the disk is another.
type difference struct {
	entry indexEntry
	disk  diskEntry
}

// differences reads every file of the index from the disk and gives those whose type,
// mode or content differs, sorted. The index's times and flags are not asked. What only
// line ends or encodings by .gitattributes tell apart is equal. Of files that a filter
// driver makes, such as Git LFS, the bytes say nothing: filtered lists those that differ,
// and of them only what git's index calls changed is among the differences.
func (r *Repo) differences(ctx context.Context, in index) (found []difference, filtered []string, err error) {
	disk := make([]diskEntry, len(in.entries))
	r.readDisk(len(in.entries), 0, func(i int) string { return in.entries[i].path }, func(i int, d diskEntry) { disk[i] = d })
	var contents []int // into found: regular files whose bytes differ
	for i, entry := range in.entries {
		d := disk[i]
		switch {
		case d.err == nil && d.mode == entry.mode && (d.id == entry.id || entry.mode == ModeSubmodule):
			continue // a submodule's own head is looked at elsewhere
		case d.mode == ModeNone && (entry.flag == flagSkipped || entry.mode == ModeSubmodule):
			continue // a sparse checkout; a submodule that nobody checked out
		case d.err == nil && isFile(d.mode) && isFile(entry.mode) && d.id != entry.id:
			contents = append(contents, len(found))
		}
		found = append(found, difference{entry, d})
	}
	if len(contents) == 0 {
		return found, nil, nil
	}
	filtered, err = r.convert(ctx, found, contents)
	found = slices.DeleteFunc(found, func(d difference) bool {
		return d.disk.err == nil && d.disk.mode == d.entry.mode && d.disk.id == d.entry.id
	})
	return found, filtered, err
}

func isFile(mode string) bool { return mode == ModeFile || mode == ModeExecutable }

// convert gives the files at some places of found the ids that git would store.
func (r *Repo) convert(ctx context.Context, found []difference, at []int) ([]string, error) {
	paths := make([]string, len(at))
	for i, place := range at {
		paths[i] = found[place].entry.path
	}
	quiet, err := quietFilters(ctx, r.top)
	if err != nil {
		return nil, err
	}
	ids, err := r.storedIDs(ctx, quiet, paths)
	if err != nil {
		return nil, err
	}
	for i, place := range at {
		if ids[i] == found[place].entry.id {
			found[place].disk.id = ids[i]
		}
	}
	if len(quiet) == 0 {
		return nil, nil // no driver is configured, so none made any file
	}
	filtered, err := r.filtered(ctx, paths)
	if err != nil || len(filtered) == 0 {
		return nil, err
	}
	changed, err := r.statChanged(ctx, quiet)
	if err != nil {
		return nil, err
	}
	var unsure []string
	for i, place := range at {
		if d := &found[place]; filtered[paths[i]] && d.disk.id != d.entry.id {
			unsure = append(unsure, paths[i])
			if !changed[paths[i]] {
				d.disk.id = d.entry.id
			}
		}
	}
	return unsure, nil
}

// storedIDs asks git which blobs files would be stored as, by its attributes.
func (r *Repo) storedIDs(ctx context.Context, env, paths []string) ([]string, error) {
	call := r.git("hash-object", "--stdin-paths")
	call.env, call.stdin = env, quotedLines(paths)
	var out bytes.Buffer
	err := call.stream(ctx, func(in io.Reader) error {
		_, err := io.Copy(&out, in)
		return err
	})
	// 128: a file went away or cannot be read. What was hashed before it counts.
	if err != nil && exitCode(err) != 128 {
		return nil, fmt.Errorf("hash files: %w", err)
	}
	return convertedIDs(out.String(), len(paths)), nil
}

// filtered tells which of the paths a filter attribute is set for.
func (r *Repo) filtered(ctx context.Context, paths []string) (map[string]bool, error) {
	call := r.git("check-attr", "-z", "--stdin", "filter")
	call.stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	out, err := call.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("read attributes: %w", err)
	}
	fields, err := splitNUL(out)
	if err != nil || len(fields)%3 != 0 {
		return nil, fmt.Errorf("read attributes: %w", ErrGitOutput)
	}
	set := map[string]bool{}
	for i := 0; i < len(fields); i += 3 {
		if value := fields[i+2]; value != "unspecified" && value != "unset" {
			set[fields[i]] = true
		}
	}
	return set, nil
}

// statChanged gives the paths that git calls changed by the times of its index.
func (r *Repo) statChanged(ctx context.Context, env []string) (map[string]bool, error) {
	call := r.git("diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=all")
	call.env = env
	out, err := call.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("compare times: %w", err)
	}
	paths, err := splitNUL(out)
	if err != nil {
		return nil, fmt.Errorf("compare times: %w", err)
	}
	changed := map[string]bool{}
	for _, p := range paths {
		changed[p] = true
	}
	return changed, nil
}

// untracked lists what is neither tracked nor ignored, raw and sorted. hidden are those
// that only the repository's own info/exclude ignores: no commit shows that rule.
func (r *Repo) untracked(ctx context.Context) (list, hidden []string, err error) {
	ask := func(rules ...string) ([]string, error) {
		out, err := r.git(append([]string{"ls-files", "-z", "--others", "--full-name"}, rules...)...).run(ctx)
		if err != nil {
			return nil, fmt.Errorf("list untracked files: %w", err)
		}
		paths, err := splitNUL(out)
		if err != nil {
			return nil, fmt.Errorf("list untracked files: %w", err)
		}
		slices.Sort(paths)
		return paths, nil
	}
	if list, err = ask("--exclude-standard"); err != nil {
		return nil, nil, err
	}
	rules, err := hasRules(filepath.Join(r.commonDir, "info", "exclude"))
	if err != nil || !rules {
		return list, nil, err
	}
	all, err := ask("--exclude-per-directory=.gitignore")
	if err != nil {
		return nil, nil, err
	}
	hidden = slices.DeleteFunc(all, func(p string) bool {
		_, known := slices.BinarySearch(list, p)
		return known
	})
	return list, hidden, nil
}

// hasRules tells whether an ignore file holds a rule.
func hasRules(name string) (bool, error) {
	text, err := readSmall(name)
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return true, nil
		}
	}
	return false, nil
}

// errNotRead marks a file on disk that could not be read.
var errNotRead = errors.New("file could not be read")
