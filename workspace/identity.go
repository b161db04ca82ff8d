package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedledger/deed/boundary"
)

// identify fills in which repository and worktree this is. host names the machine, so
// that equal paths on two of them are two workspaces.
func (r *Repo) identify(ctx context.Context, host string) (*Repository, error) {
	id := &Repository{
		ID:        placeID("repository", host, r.commonDir),
		Workspace: placeID("workspace", host, r.gitDir),
		GitDir:    boundary.EncodePath(r.gitDir), CommonDir: boundary.EncodePath(r.commonDir),
		Worktree: "main", Layout: "plain", ObjectFormat: r.objectFormat, Shallow: r.shallow,
	}
	if r.gitDir != r.commonDir {
		id.Worktree, id.Layout = boundary.EncodePath(filepath.Base(r.gitDir)), "linked"
	}
	super, err := r.git("rev-parse", "--show-superproject-working-tree").line(ctx)
	if err != nil {
		return nil, fmt.Errorf("identify repository: %w", err)
	}
	if super != "" {
		id.Layout = "submodule"
	}
	bare, err := r.setting(ctx, "--type=bool", "core.bare")
	if err != nil {
		return nil, err
	}
	id.BareMain = bare == "true"
	if id.Remotes, err = r.remoteAddresses(ctx); err != nil {
		return nil, err
	}
	if task, err := r.BoundTask(); err == nil {
		id.Task = task
	} else if !errors.Is(err, ErrNoTaskBound) && !errors.Is(err, ErrTaskName) {
		return nil, err
	}
	if id.Stashes, err = r.stashes(ctx); err != nil {
		return nil, err
	}
	id.Operations, err = r.operations()
	return id, err
}

// placeID digests a kind of place, a machine and a path.
func placeID(kind, host, dir string) string {
	sum := sha256.Sum256([]byte("deed-" + kind + "/v1\x00" + host + "\x00" + dir))
	return hex.EncodeToString(sum[:])
}

// project gives the identity that a clone shares: the digest of the root commit that the
// first parents of a commit lead to, "" where a shallow clone cut it off.
func (r *Repo) project(ctx context.Context, head string) (string, error) {
	roots, err := r.revList(ctx, []string{"--first-parent", "--max-parents=0", head})
	if err != nil || len(roots) != 1 {
		return "", err
	}
	cut, err := r.cutCommits()
	if err != nil || cut[roots[0]] {
		return "", err
	}
	sum := sha256.Sum256([]byte("deed-project/v1\x00" + roots[0]))
	return hex.EncodeToString(sum[:]), nil
}

// setting gives a value of the repository's configuration, "" where there is none.
func (r *Repo) setting(ctx context.Context, args ...string) (string, error) {
	value, err := r.git(append([]string{"config", "--includes"}, append(args[:len(args)-1:len(args)-1], "--get", args[len(args)-1])...)...).line(ctx)
	if exitCode(err) == 1 {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read configuration: %w", err)
	}
	return value, nil
}

// remoteAddresses lists the remotes, sorted by name, without credentials.
func (r *Repo) remoteAddresses(ctx context.Context) ([]Remote, error) {
	out, err := r.git("config", "--includes", "-z", "--get-regexp", `^remote\..*\.(url|pushurl)$`).run(ctx)
	if exitCode(err) == 1 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read remotes: %w", err)
	}
	settings, err := splitNUL(out)
	if err != nil {
		return nil, fmt.Errorf("read remotes: %w", err)
	}
	var list []Remote
	for _, setting := range settings {
		key, value, _ := strings.Cut(setting, "\n")
		key, push := strings.CutSuffix(key, ".pushurl")
		name := boundary.DisplayPath(strings.TrimSuffix(strings.TrimPrefix(key, "remote."), ".url"))
		i := slices.IndexFunc(list, func(m Remote) bool { return m.Name == name })
		if i < 0 {
			i, list = len(list), append(list, Remote{Name: name})
		}
		switch address := boundary.DisplayPath(CleanAddress(value)); {
		case push && list[i].Push == "":
			list[i].Push = address
		case !push && list[i].URL == "":
			list[i].URL = address
		}
	}
	slices.SortFunc(list, func(a, b Remote) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// stashes counts the stashed changes.
func (r *Repo) stashes(ctx context.Context) (int, error) {
	name, err := r.git("for-each-ref", "--format=%(objectname)", "refs/stash").line(ctx)
	if err != nil || name == "" {
		return 0, err
	}
	list, err := r.revList(ctx, []string{"--walk-reflogs", "refs/stash"})
	if err != nil {
		return 0, err
	}
	return max(len(list), 1), nil
}

// operations names what is in progress in this worktree, sorted.
func (r *Repo) operations() ([]string, error) {
	var found []string
	for _, sign := range [...][2]string{
		{"rebase-apply/applying", "am"}, {"BISECT_LOG", "bisect"}, {"CHERRY_PICK_HEAD", "cherry-pick"}, {"MERGE_HEAD", "merge"},
		{"rebase-apply/rebasing", "rebase"}, {"rebase-merge", "rebase"}, {"REVERT_HEAD", "revert"},
	} {
		there, err := exists(filepath.Join(r.gitDir, filepath.FromSlash(sign[0])))
		if err != nil {
			return nil, fmt.Errorf("look for operations: %w", err)
		}
		if there {
			found = append(found, sign[1])
		}
	}
	// Between the picks of a range there is no head of one: the list of what is left says it.
	todo, err := readSmall(filepath.Join(r.gitDir, "sequencer", "todo"))
	if err != nil {
		return nil, fmt.Errorf("look for operations: %w", err)
	}
	switch word, _, _ := strings.Cut(strings.TrimSpace(todo), " "); word {
	case "pick", "p":
		found = append(found, "cherry-pick")
	case "revert":
		found = append(found, "revert")
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

func exists(name string) (bool, error) {
	_, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// maxSmall bounds files of git's folder that are read whole.
const maxSmall = 1 << 20

// readSmall reads a file of git's folder, at most maxSmall bytes; "" where there is none.
func readSmall(name string) (string, error) {
	file, err := os.Open(name) //nolint:gosec // a fixed name in the repository's own git folder
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxSmall))
	return string(text), err
}
