package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
)

// lockfileNames are the file names that pin dependencies, sorted. Read-only.
var lockfileNames = [...]string{
	"Cargo.lock", "Gemfile.lock", "Package.resolved", "Pipfile.lock", "Podfile.lock",
	"buildscript-gradle.lockfile", "bun.lock", "bun.lockb", "composer.lock", "conan.lock", "deno.lock",
	"flake.lock", "gems.locked", "go.sum", "go.work.sum", "gradle.lockfile", "mix.lock", "npm-shrinkwrap.json",
	"package-lock.json", "packages.lock.json", "pdm.lock", "pixi.lock", "pnpm-lock.yaml", "poetry.lock",
	"pubspec.lock", "pylock.toml", "uv.lock", "verification-metadata.xml", "yarn.lock",
}

// LockfileNames lists the file names that pin dependencies, sorted. Files of pip's
// requirements count too, which have many names.
func LockfileNames() []string { return slices.Clone(lockfileNames[:]) }

// Lockfiles are the dependency pins of one commit.
type Lockfiles struct {
	Files    []FileDigest // sorted by raw path
	Combined string       // SHA-256, lower hex; see CombineDigests
}

// LockfileDigests reads every file of the commit's tree, in any folder, that has one of
// the LockfileNames: from the commit, never from the disk. Errors as for ResolveCommit.
func (r *Repo) LockfileDigests(ctx context.Context, commit string) (Lockfiles, error) {
	list, err := r.entries(ctx, commit)
	if err != nil {
		return Lockfiles{}, err
	}
	return r.lockfiles(ctx, list)
}

// lockfiles reads the lockfiles among the entries of a tree.
func (r *Repo) lockfiles(ctx context.Context, tree []treeEntry) (Lockfiles, error) {
	var list []treeEntry
	for _, e := range tree {
		if e.kind == "blob" && isLockfile(path.Base(e.path)) {
			list = append(list, e)
		}
	}
	files, err := r.digests(ctx, list)
	if err != nil {
		return Lockfiles{}, err
	}
	slices.SortFunc(files, func(a, b FileDigest) int { return strings.Compare(a.Path, b.Path) })
	return Lockfiles{Files: files, Combined: CombineDigests(files)}, nil
}

// isLockfile tells a file that pins dependencies by its name.
func isLockfile(name string) bool {
	_, known := slices.BinarySearch(lockfileNames[:], name)
	return known || isRequirements(name)
}

// isRequirements tells pip's files, which have many names: requirements.txt,
// requirements-dev.txt, dev-requirements.txt.
func isRequirements(name string) bool {
	stem, ok := strings.CutSuffix(name, ".txt")
	return ok && (stem == "requirements" || strings.HasPrefix(stem, "requirements-") || strings.HasPrefix(stem, "requirements_") ||
		strings.HasSuffix(stem, "-requirements") || strings.HasSuffix(stem, "_requirements"))
}

// pinned gives the lockfiles in the words of events, sorted by encoded path.
func (l Lockfiles) pinned() []events.PinnedFile {
	var list []events.PinnedFile
	for _, f := range l.Files {
		list = append(list, events.PinnedFile{Path: boundary.EncodePath(f.Path), Digest: f.SHA256})
	}
	slices.SortFunc(list, func(a, b events.PinnedFile) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// CombineDigests gives the lower-hex SHA-256 over, for each file sorted by raw path: the
// path, a zero byte, the lower-hex SHA-256 of its content, a line feed. No file at all
// gives the SHA-256 of nothing.
func CombineDigests(files []FileDigest) string {
	sorted := slices.Clone(files)
	slices.SortFunc(sorted, func(a, b FileDigest) int { return strings.Compare(a.Path, b.Path) })
	hash := sha256.New()
	for _, file := range sorted {
		hash.Write([]byte(file.Path + "\x00" + file.SHA256 + "\n"))
	}
	return hex.EncodeToString(hash.Sum(nil))
}
