package workspace

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/deedledger/deed/boundary"
)

// ErrNoSuchFile reports a path that is no file or link in the commit's tree.
var ErrNoSuchFile = errors.New("no such file in the commit")

// treeEntry is one line of a listed tree.
type treeEntry struct {
	mode, kind, id, path string
}

// entries lists the tree of a commit, without folders, in git's order: the whole of it, or
// what is at or below the given paths.
func (r *Repo) entries(ctx context.Context, commit string, paths ...string) ([]treeEntry, error) {
	id, err := r.ResolveCommit(ctx, commit)
	if err != nil {
		return nil, err
	}
	return r.treeOf(ctx, id, paths...)
}

// treeOf is entries for the id of a commit that is known to be one.
func (r *Repo) treeOf(ctx context.Context, id string, paths ...string) ([]treeEntry, error) {
	out, err := r.git(append([]string{"ls-tree", "-r", "-z", "--full-tree", "--end-of-options", id}, paths...)...).run(ctx)
	if exitCode(err) == 128 {
		return nil, errors.Join(ErrMissingObject, err)
	}
	if err != nil {
		return nil, fmt.Errorf("list tree: %w", err)
	}
	return parseTree(string(out))
}

// parseTree reads "mode kind id\tpath\0" records.
func parseTree(out string) ([]treeEntry, error) {
	list := make([]treeEntry, 0, strings.Count(out, "\x00"))
	for out != "" {
		record, rest, ok := strings.Cut(out, "\x00")
		out = rest
		meta, path, tab := strings.Cut(record, "\t")
		mode, meta, _ := strings.Cut(meta, " ")
		kind, id, space := strings.Cut(meta, " ")
		if !ok || !tab || !space || path == "" || strings.Contains(id, " ") {
			return nil, fmt.Errorf("list tree: %w", ErrGitOutput)
		}
		list = append(list, treeEntry{mode: mode, kind: kind, id: id, path: path})
	}
	return list, nil
}

// TreePaths lists every path in the tree of a commit, as raw bytes, sorted: the whole of
// it, or what is at or below the given folders.
func (r *Repo) TreePaths(ctx context.Context, commit string, folders ...string) ([]string, error) {
	list, err := r.entries(ctx, commit, folders...)
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(list))
	for i, entry := range list {
		paths[i] = entry.path
	}
	slices.Sort(paths)
	return paths, nil
}

// BlobDigest gives the SHA-256 (lower hex) of the content of one file in a commit. Of a
// link the content is its target. Errors: [ErrNoSuchFile], those of ResolveCommit.
func (r *Repo) BlobDigest(ctx context.Context, commit, path string) (string, error) {
	list, err := r.entries(ctx, commit)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(list, func(e treeEntry) bool { return e.path == path && e.kind == "blob" })
	if i < 0 {
		return "", fmt.Errorf("read %q: %w", boundary.DisplayPath(path), ErrNoSuchFile)
	}
	digests, err := r.digests(ctx, list[i:i+1])
	if err != nil {
		return "", err
	}
	return digests[0].SHA256, nil
}

// FileDigest is the SHA-256 (lower hex) of one file's content.
type FileDigest struct {
	Path   string // raw bytes
	SHA256 string
}

func (r *Repo) digests(ctx context.Context, list []treeEntry) ([]FileDigest, error) {
	out := make([]FileDigest, 0, len(list))
	err := r.eachObject(ctx, list, func(entry treeEntry, content io.Reader) error {
		hash := sha256.New()
		if _, err := io.Copy(hash, content); err != nil {
			return err
		}
		out = append(out, FileDigest{Path: entry.path, SHA256: hex.EncodeToString(hash.Sum(nil))})
		return nil
	})
	return out, err
}

// eachObject reads objects in order with one git process. read need not read all.
func (r *Repo) eachObject(ctx context.Context, list []treeEntry, read func(treeEntry, io.Reader) error) error {
	if len(list) == 0 {
		return nil
	}
	var ids strings.Builder
	for _, entry := range list {
		ids.WriteString(entry.id + "\n")
	}
	call := r.git("cat-file", "--batch")
	call.stdin = strings.NewReader(ids.String())
	return call.stream(ctx, func(out io.Reader) error {
		in := bufio.NewReader(out)
		for _, entry := range list {
			if err := readObject(in, entry, read); err != nil {
				return err
			}
		}
		if _, err := in.ReadByte(); err != io.EOF {
			return ErrGitOutput
		}
		return nil
	})
}

// readObject reads "<id> <type> <size>\n<content>\n".
func readObject(in *bufio.Reader, entry treeEntry, read func(treeEntry, io.Reader) error) error {
	header, err := in.ReadString('\n')
	if err != nil {
		return fmt.Errorf("read object %s: %w", entry.id, errors.Join(ErrMissingObject, err))
	}
	parts := strings.Split(strings.TrimSuffix(header, "\n"), " ")
	if len(parts) == 2 && parts[1] == "missing" {
		return fmt.Errorf("read object %s: %w", entry.id, ErrMissingObject)
	}
	if len(parts) != 3 || parts[0] != entry.id || parts[1] != entry.kind {
		return ErrGitOutput
	}
	size, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil || size < 0 {
		return ErrGitOutput
	}
	content := io.LimitReader(in, size)
	if err := read(entry, content); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return err
	}
	if end, err := in.ReadByte(); err != nil || end != '\n' {
		return ErrGitOutput
	}
	return nil
}
