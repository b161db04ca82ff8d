package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/workspace"
)

// NewestFiles is how many files count as changed where there is no git.
const NewestFiles = 50

// Measurement is the objective layer: what was read from the disk.
type Measurement struct {
	// Git says that there is a git worktree. Without one, Changed are the files
	// that were written last, which is less exact.
	Git bool
	// Head is "" without git or without a commit; Branch "" when detached.
	Head   string
	Branch string
	// Base is where the change starts, "" for the empty tree.
	Base    string
	Changed []string // raw paths below the project, sorted
	Files   []string // of the project, raw paths, sorted
	Notes   []string // what git hides, and where precision is lower
	// Facts are everything else that the disk said.
	Facts workspace.Facts
}

// Measure reads the project in dir. base is a commit, "" to find one: where
// HEAD left its upstream, else the branch main or master, else HEAD itself.
//
// Errors: those of workspace.Open but ErrNotRepository, and of the file system.
func Measure(ctx context.Context, dir, base string) (Measurement, error) {
	repo, err := workspace.Open(ctx, dir)
	if errors.Is(err, workspace.ErrNotRepository) {
		return walk(ctx, dir)
	}
	if err != nil {
		return Measurement{}, err
	}
	m := Measurement{Git: true}
	if m.Head, err = repo.Head(ctx); err != nil && !errors.Is(err, workspace.ErrUnborn) {
		return m, err
	}
	if m.Branch, err = repo.Branch(ctx); err != nil {
		return m, err
	}
	if m.Base, err = startOf(ctx, repo, m.Head, base); err != nil {
		return m, err
	}
	below, err := placeIn(repo.Top(), dir)
	if err != nil {
		return m, err
	}
	return m, m.read(ctx, repo, below)
}

// placeIn returns the prefix of paths below dir in a worktree, "" for its root.
func placeIn(top, dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err == nil {
		if top, err = filepath.EvalSymlinks(top); err == nil {
			real, err = filepath.Rel(top, real)
		}
	}
	if err != nil {
		return "", fmt.Errorf("find project in worktree: %w", err)
	}
	if real == "." {
		return "", nil
	}
	return filepath.ToSlash(real) + "/", nil
}

// startOf returns the commit that the change starts from.
func startOf(ctx context.Context, repo *workspace.Repo, head, base string) (string, error) {
	if head == "" {
		return "", nil
	}
	if base != "" {
		return repo.ResolveCommit(ctx, base)
	}
	for _, name := range []string{"@{upstream}", "refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"} {
		tip, err := repo.ResolveCommit(ctx, name)
		if err != nil {
			continue // there is no such branch
		}
		if found, err := repo.MergeBase(ctx, tip, head); err == nil {
			return found, nil
		}
	}
	return head, nil
}

// read fills what has changed and what there is below a prefix.
func (m *Measurement) read(ctx context.Context, repo *workspace.Repo, below string) error {
	var err error
	if m.Facts, err = repo.Capture(ctx, workspace.CaptureOptions{Base: m.Base}); err != nil {
		return err
	}
	changed, files, err := differing(m.Facts.Worktree)
	if err != nil {
		return err
	}
	if m.Head != "" {
		changes, err := repo.Changes(ctx, m.Base, m.Head)
		if err != nil {
			return err
		}
		for _, c := range changes {
			changed = append(changed, c.Path)
		}
		tracked, err := repo.TreePaths(ctx, m.Head)
		if err != nil {
			return err
		}
		files = append(files, tracked...)
	}
	m.Changed, m.Files = within(changed, below), within(files, below)
	m.Changed = slices.DeleteFunc(m.Changed, isState)
	for _, n := range m.Facts.Notes {
		if n.Code == workspace.NoteNoPolicy { // a guard asks none
			continue
		}
		m.Notes = append(m.Notes, n.Code+": "+n.Text)
	}
	if len(m.Files) > MaxFiles {
		return fmt.Errorf("project has %d files, limit %d", len(m.Files), MaxFiles)
	}
	return nil
}

// differing returns the raw paths that differ from HEAD on the disk or in the
// index, and those of them that HEAD need not have: staged and untracked ones.
// Content decides, so that a flag of the index hides nothing.
func differing(w *workspace.WorktreeFacts) (changed, more []string, err error) {
	add := func(encoded string, to ...*[]string) {
		raw, fault := boundary.DecodePath(encoded)
		if fault != nil {
			err = fault
			return
		}
		for _, list := range to {
			*list = append(*list, raw)
		}
	}
	for _, f := range w.Staged {
		add(f.Path, &changed, &more)
	}
	for _, f := range w.Unstaged {
		add(f.Path, &changed)
	}
	for _, f := range w.Untracked {
		add(f.Path, &changed, &more)
	}
	for _, path := range w.Conflicted {
		add(path, &changed, &more)
	}
	for _, sub := range w.Submodules {
		if sub.Changed > 0 || sub.Disk != "" && sub.Disk != sub.Head {
			add(sub.Path, &changed)
		}
	}
	return changed, more, err
}

// within returns the paths below a prefix, without it, sorted, once each. A
// nested repository, which ends with a slash, is no file.
func within(paths []string, below string) []string {
	list := []string{}
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(p, below); ok && rest != "" && !strings.HasSuffix(rest, "/") {
			list = append(list, rest)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// walk measures a project without git.
func walk(ctx context.Context, dir string) (Measurement, error) {
	m := Measurement{Files: []string{}, Changed: []string{}, Notes: []string{fmt.Sprintf("there is no git: the %d files that were written last count as changed, which is less exact", NewestFiles)}}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return m, fmt.Errorf("read project: %w", err)
	}
	defer func() { _ = root.Close() }() // it was only read
	type file struct {
		path string
		at   int64
	}
	var list []file
	err = fs.WalkDir(root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		switch {
		case context.Cause(ctx) != nil:
			return context.Cause(ctx)
		case err != nil && p == ".":
			return err
		case err != nil:
			return nil // not for us to read
		case e.IsDir() && p != "." && (slices.Contains(SkippedFolders(), path.Base(p)) || isState(p)):
			return fs.SkipDir
		case !e.Type().IsRegular() || isState(p):
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil // it went meanwhile
		}
		if list = append(list, file{p, info.ModTime().UnixNano()}); len(list) > MaxFiles {
			return fmt.Errorf("project has more than %d files", MaxFiles)
		}
		return nil
	})
	if err != nil {
		return m, fmt.Errorf("read project: %w", err)
	}
	slices.SortFunc(list, func(a, b file) int { return cmp.Or(cmp.Compare(b.at, a.at), strings.Compare(a.path, b.path)) })
	for i, f := range list {
		m.Files = append(m.Files, f.path)
		if i < NewestFiles {
			m.Changed = append(m.Changed, f.path)
		}
	}
	slices.Sort(m.Files)
	slices.Sort(m.Changed)
	m.Facts, err = workspace.CaptureFolder(ctx, dir, NewestFiles)
	return m, err
}

// Look measures what claims ask about: their evidence, and where their texts
// occur. stored is the snapshot that is there, nil for none.
func Look(ctx context.Context, dir string, c Claims, m Measurement, stored *Snapshot) (World, Skipped, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return World{}, Skipped{}, fmt.Errorf("read project: %w", err)
	}
	defer func() { _ = root.Close() }() // it was only read
	w := World{Head: m.Head, Changed: m.Changed, Evidence: map[string]Presence{}}
	if stored != nil {
		w.Stored, w.StoredHead = true, stored.Head
	}
	for _, d := range c.Done {
		if d.Evidence != "" {
			w.Evidence[d.Evidence] = look(root, d.Evidence)
		}
	}
	var words []string
	for _, r := range slices.Concat(c.Frozen, c.Banned) {
		words = append(append(words, r.Contains...), r.Forbids...)
	}
	var left Skipped
	w.Hits, left, err = scan(ctx, root, m.Files, words)
	return w, left, err
}
