package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"
)

// LockfileNames lists the file names that pin dependencies, sorted.
func LockfileNames() []string {
	return []string{
		"Cargo.lock", "Gemfile.lock", "Package.resolved", "Pipfile.lock", "Podfile.lock", "bun.lock", "bun.lockb",
		"composer.lock", "conan.lock", "deno.lock", "flake.lock", "go.sum", "go.work.sum", "gradle.lockfile",
		"mix.lock", "npm-shrinkwrap.json", "package-lock.json", "packages.lock.json", "pdm.lock", "pnpm-lock.yaml",
		"poetry.lock", "pubspec.lock", "pylock.toml", "uv.lock", "yarn.lock",
	}
}

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
	names := LockfileNames()
	list = slices.DeleteFunc(list, func(e treeEntry) bool {
		return e.kind != "blob" || !slices.Contains(names, path.Base(e.path))
	})
	files, err := r.digests(ctx, list)
	if err != nil {
		return Lockfiles{}, err
	}
	slices.SortFunc(files, func(a, b FileDigest) int { return strings.Compare(a.Path, b.Path) })
	return Lockfiles{Files: files, Combined: CombineDigests(files)}, nil
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
