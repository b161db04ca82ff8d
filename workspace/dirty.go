package workspace

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Dirty is what the worktree holds beyond its HEAD commit. Paths are raw bytes, sorted.
// An untracked nested repository appears as its folder with a trailing slash.
type Dirty struct {
	Staged     []string // the index differs from HEAD
	Unstaged   []string // the worktree differs from the index
	Untracked  []string // neither tracked nor ignored by the repository's own rules
	Conflicted []string // unmerged
	Hidden     []string // flagged assume-unchanged or skip-worktree: git does not look at them
}

// Clean tells that nothing differs. Hidden paths do not count: sparse checkouts have
// them; a caller that must be sure looks at Hidden too.
func (d Dirty) Clean() bool {
	return len(d.Staged)+len(d.Unstaged)+len(d.Untracked)+len(d.Conflicted) == 0
}

// Paths gives all visible paths once, sorted.
func (d Dirty) Paths() []string {
	all := slices.Concat(d.Staged, d.Unstaged, d.Untracked, d.Conflicted)
	slices.Sort(all)
	return slices.Compact(all)
}

// Dirty compares HEAD, index and worktree. It does not write the index and does not
// look inside submodules. Error: [ErrGitOutput], or git's.
func (r *Repo) Dirty(ctx context.Context) (Dirty, error) {
	quiet, err := quietFilters(ctx, r.top)
	if err != nil {
		return Dirty{}, err
	}
	call := r.git("status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty")
	call.env = quiet
	out, err := call.run(ctx)
	if err != nil {
		return Dirty{}, fmt.Errorf("read status: %w", err)
	}
	d, err := parseStatus(out)
	if err != nil {
		return Dirty{}, err
	}
	flags, err := r.git("ls-files", "-z", "-v", "--full-name").run(ctx)
	if err != nil {
		return Dirty{}, fmt.Errorf("read index flags: %w", err)
	}
	if d.Hidden, err = parseHidden(flags); err != nil {
		return Dirty{}, err
	}
	for _, paths := range [][]string{d.Staged, d.Unstaged, d.Untracked, d.Conflicted, d.Hidden} {
		slices.Sort(paths)
	}
	return d, nil
}

// parseStatus reads "git status --porcelain=v2 -z" without renames.
func parseStatus(out []byte) (Dirty, error) {
	records, err := splitNUL(out)
	if err != nil {
		return Dirty{}, fmt.Errorf("read status: %w", err)
	}
	var d Dirty
	for _, record := range records {
		kind, rest, _ := strings.Cut(record, " ")
		fieldsBefore := map[string]int{"1": 7, "u": 9, "?": 0}
		n, known := fieldsBefore[kind]
		parts := strings.SplitN(rest, " ", n+1)
		if !known || len(parts) != n+1 || parts[n] == "" || (n > 0 && len(parts[0]) != 2) {
			return Dirty{}, fmt.Errorf("read status: %w", ErrGitOutput)
		}
		path := parts[n]
		switch {
		case kind == "?":
			d.Untracked = append(d.Untracked, path)
			continue
		case kind == "u":
			d.Conflicted = append(d.Conflicted, path)
			continue
		}
		if parts[0][0] != '.' {
			d.Staged = append(d.Staged, path)
		}
		if parts[0][1] != '.' {
			d.Unstaged = append(d.Unstaged, path)
		}
	}
	return d, nil
}

// parseHidden reads "git ls-files -v -z": a lower-case tag means assume-unchanged, "S"
// means skip-worktree.
func parseHidden(out []byte) ([]string, error) {
	records, err := splitNUL(out)
	if err != nil {
		return nil, fmt.Errorf("read index flags: %w", err)
	}
	var hidden []string
	for _, record := range records {
		tag, path, ok := strings.Cut(record, " ")
		if !ok || len(tag) != 1 {
			return nil, fmt.Errorf("read index flags: %w", ErrGitOutput)
		}
		if tag == "S" || (tag >= "a" && tag <= "z") {
			hidden = append(hidden, path)
		}
	}
	return hidden, nil
}

// quietFilters gives the environment that switches off every filter driver which the
// repository's configuration defines: git status would run them on changed files.
func quietFilters(ctx context.Context, dir string) ([]string, error) {
	out, err := gitCall{dir: dir, args: []string{"config", "--includes", "-z", "--name-only", "--get-regexp", `^filter\.`}}.run(ctx)
	if exitCode(err) == 1 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read filter drivers: %w", err)
	}
	keys, err := splitNUL(out)
	if err != nil {
		return nil, fmt.Errorf("read filter drivers: %w", err)
	}
	names := map[string]bool{}
	for _, key := range keys {
		if dot := strings.LastIndexByte(key, '.'); dot > len("filter.") {
			names[key[:dot]] = true
		}
	}
	var env []string
	count := 0
	for name := range names {
		for _, setting := range [][2]string{{".clean", ""}, {".smudge", ""}, {".process", ""}, {".required", "false"}} {
			env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s%s", count, name, setting[0]),
				fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", count, setting[1]))
			count++
		}
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(count)), nil
}
