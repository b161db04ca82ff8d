package guard

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/deedledger/deed/boundary"
)

// Limits of a scan.
const (
	MaxFileBytes = 8 << 20
	// MaxFiles is how many files a project may have.
	MaxFiles = 500_000
	// binaryPrefix is how much of a file is looked at for a zero byte.
	binaryPrefix = 8000
)

// StateFolders are the folders that hold what is said of the work, and not the
// work: a decision's own text would violate it there.
func StateFolders() []string { return []string{".resume", ".agent-delivery", ".workflow"} }

// SkippedFolders are the folders that are not looked into where there is no
// git to say what is ignored.
func SkippedFolders() []string {
	return []string{".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", "vendor", "dist", "build", "target"}
}

// Skipped counts the files that were not scanned, and why.
type Skipped struct {
	Binary int `json:"binary,omitzero"`
	Large  int `json:"large,omitzero"`
	Links  int `json:"links,omitzero"` // and what else is no regular file
	Gone   int `json:"gone,omitzero"`  // deleted on the disk, or not readable
}

// isState reports whether a raw path is a state file or the hand-over itself.
func isState(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return path == handoffName || slices.Contains(StateFolders(), first)
}

// scan looks for texts in files below root. Hits are sorted by keyword, then
// path.
func scan(ctx context.Context, root *os.Root, paths, words []string) ([]Hit, Skipped, error) {
	var hits []Hit
	var left Skipped
	words = slices.Compact(slices.Sorted(slices.Values(words)))
	if len(words) == 0 {
		return nil, left, nil
	}
	var buffer bytes.Buffer
	for _, path := range paths {
		if err := context.Cause(ctx); err != nil {
			return nil, left, err
		}
		if isState(path) {
			continue
		}
		text, err := readFile(root, path, &buffer, &left)
		if err != nil {
			return nil, left, err
		}
		for _, word := range words {
			if at := bytes.Index(text, []byte(word)); at >= 0 {
				hits = append(hits, Hit{word, path, 1 + bytes.Count(text[:at], []byte("\n"))})
			}
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(strings.Compare(a.Keyword, b.Keyword), strings.Compare(a.Path, b.Path))
	})
	return hits, left, nil
}

// readFile returns the content of a text file, nil for what is not scanned.
// The bytes are valid until buffer is used again.
func readFile(root *os.Root, path string, buffer *bytes.Buffer, left *Skipped) ([]byte, error) {
	info, err := root.Lstat(path)
	switch {
	case err != nil && ended(err):
		left.Gone++
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("scan %s: %w", boundary.DisplayPath(path), err)
	case !info.Mode().IsRegular():
		left.Links++
		return nil, nil
	case info.Size() > MaxFileBytes:
		left.Large++
		return nil, nil
	}
	file, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		left.Gone++
		return nil, nil
	}
	defer func() { _ = file.Close() }() // it was only read
	buffer.Reset()
	if _, err := buffer.ReadFrom(io.LimitReader(file, MaxFileBytes)); err != nil {
		return nil, fmt.Errorf("scan %s: %w", boundary.DisplayPath(path), err)
	}
	text := buffer.Bytes()
	if bytes.IndexByte(text[:min(len(text), binaryPrefix)], 0) >= 0 {
		left.Binary++
		return nil, nil
	}
	return text, nil
}

// ended reports an error that a file which is not there, or not for us, gives.
func ended(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR)
}

// look says whether a path that is named as evidence is there. Nothing outside
// root is looked at, through whatever link.
func look(root *os.Root, path string) Presence {
	clean, err := boundary.CleanPath(strings.TrimRight(path, "/"))
	if strings.TrimRight(path, "/") == "." {
		clean, err = ".", nil
	}
	if err != nil {
		return Presence{Reason: "is no path inside the project"}
	}
	info, err := root.Stat(clean)
	switch {
	case err == nil:
		return Presence{Found: true, Folder: info.IsDir()}
	case ended(err):
		return Presence{}
	}
	return Presence{Reason: "cannot be looked at: a link leads out of the project, or in a circle"}
}

// cleaned is a path as [look] reads it.
func cleaned(path string) string {
	path = strings.TrimRight(path, "/")
	if clean, err := boundary.CleanPath(path); err == nil {
		return clean
	}
	return path
}
