package workspace

import (
	"cmp"
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
	"github.com/deedledger/deed/events"
)

const (
	// DefaultRecent is how many of the newest files a folder without git shows.
	DefaultRecent = 50
	// maxScan bounds the files that are looked at, maxScanDepth how deep folders nest.
	maxScan      = 200_000
	maxScanDepth = 64
	// maxLockBytes bounds a lockfile that is read from the disk.
	maxLockBytes = 64 << 20
)

// CaptureFolder gives the facts of a folder without git: its newest files by their times
// and sizes, and the lockfiles. Times are whatever the last program set, so the precision
// is lower, and nothing says what is new. Folders named ".git" and "node_modules", and
// links, are not followed. recent is how many files are listed; 0 for [DefaultRecent].
//
// It writes nothing. Error: the folder cannot be read.
func CaptureFolder(ctx context.Context, dir string, recent int) (Facts, error) {
	top, err := filepath.Abs(dir)
	if err == nil {
		top, err = filepath.EvalSymlinks(top)
	}
	if err != nil {
		return Facts{}, fmt.Errorf("scan folder: %w", err)
	}
	s := scan{ctx: ctx, top: top, keep: cmp.Or(max(recent, 0), DefaultRecent)}
	if err := filepath.WalkDir(top, s.visit); err != nil && !errors.Is(err, errScanFull) {
		return Facts{}, fmt.Errorf("scan folder: %w", err)
	}
	s.trim(s.keep)
	n := &notes{}
	n.add("no-git", "no git repository here: files are known by time and size only, which anybody can set; precision is lower")
	n.some("unread", "these could not be read", s.unread)
	n.some("not-entered", "these folders nest deeper than the scan goes", s.deep)
	if s.full {
		n.add("cut", fmt.Sprintf("the scan ended after %d files", maxScan))
	}
	f := Facts{Schema: FactsSchema, Precision: PrecisionMtime, Top: boundary.EncodePath(top), Files: s.files, Recent: s.recent}
	locks := Lockfiles{Files: s.locks, Combined: CombineDigests(s.locks)}
	f.Inputs = CaptureInputs{Lockfiles: locks.pinned(), LockDigest: locks.Combined}
	f.Notes = n.list
	return f, nil
}

var errScanFull = errors.New("scan is full")

// scan walks a folder.
type scan struct {
	ctx    context.Context //nolint:containedctx // of one call
	top    string
	keep   int
	files  int
	full   bool
	recent []RecentFile
	locks  []FileDigest
	unread []string
	deep   []string
}

func (s *scan) visit(full string, entry fs.DirEntry, err error) error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	name, relErr := filepath.Rel(s.top, full)
	if relErr != nil || full == s.top {
		return errors.Join(relErr, err)
	}
	name = filepath.ToSlash(name)
	if err != nil {
		s.unread = append(s.unread, name)
		return nil
	}
	if entry.IsDir() {
		switch {
		case entry.Name() == ".git" || entry.Name() == "node_modules":
			return fs.SkipDir
		case strings.Count(name, "/") >= maxScanDepth:
			s.deep = append(s.deep, name)
			return fs.SkipDir
		}
		return nil
	}
	info, err := entry.Info()
	if err != nil {
		return nil //nolint:nilerr // it went away meanwhile
	}
	if s.files == maxScan {
		s.full = true
		return errScanFull
	}
	s.files++
	s.recent = append(s.recent, RecentFile{
		Path: boundary.EncodePath(name), Modified: info.ModTime().UTC().Format("2006-01-02T15:04:05.000000000Z"), Bytes: info.Size(),
	})
	if len(s.recent) > 2*s.keep+1000 {
		s.trim(s.keep)
	}
	if info.Mode().IsRegular() && isLockfile(entry.Name()) && len(s.locks) < events.MaxList {
		s.lock(full, name)
	}
	return nil
}

// trim keeps the newest files; the name decides between equal times.
func (s *scan) trim(keep int) {
	slices.SortFunc(s.recent, func(a, b RecentFile) int {
		return cmp.Or(strings.Compare(b.Modified, a.Modified), strings.Compare(a.Path, b.Path))
	})
	s.recent = s.recent[:min(len(s.recent), keep)]
}

func (s *scan) lock(full, name string) {
	file, err := os.Open(full) //nolint:gosec // a file of the folder that was asked about
	if err != nil {
		s.unread = append(s.unread, name)
		return
	}
	defer func() { _ = file.Close() }() // it was only read
	hash := sha256.New()
	if n, err := io.Copy(hash, io.LimitReader(file, maxLockBytes+1)); err != nil || n > maxLockBytes {
		s.unread = append(s.unread, name)
		return
	}
	s.locks = append(s.locks, FileDigest{Path: name, SHA256: hex.EncodeToString(hash.Sum(nil))})
}
