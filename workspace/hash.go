package workspace

import (
	"crypto/sha1" //nolint:gosec // git's own hash of a repository in its older format
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// diskEntry is what lies on the disk at a path.
type diskEntry struct {
	mode string // ModeNone: nothing; ModeSubmodule: a folder; "" neither file, link nor folder
	id   string // blob id of a file's bytes or a link's target; "" where it was not read
	err  error  // why it could not be read
}

// hasher reads files and gives their blob ids. It is for one goroutine.
type hasher struct {
	top    string
	hash   hash.Hash
	buffer []byte
	header []byte
	sum    []byte
	limit  int64 // files larger than it are not read; 0: no limit
	// Folders that were looked at: whether each is a real one, reached through no link.
	folders map[string]bool
}

func newHasher(top, objectFormat string, limit int64) *hasher {
	h := &hasher{top: top, buffer: make([]byte, 64<<10), limit: limit, folders: map[string]bool{".": true}}
	h.hash = sha1.New() //nolint:gosec // see the import
	if objectFormat == "sha256" {
		h.hash = sha256.New()
	}
	return h
}

// real tells whether a folder is there and no part of its path is a link.
func (h *hasher) real(dir string) bool {
	if known, ok := h.folders[dir]; ok {
		return known
	}
	info, err := os.Lstat(filepath.Join(h.top, dir))
	ok := h.real(path.Dir(dir)) && err == nil && info.IsDir()
	h.folders[dir] = ok
	return ok
}

// read looks at a raw path below the top.
func (h *hasher) read(name string) diskEntry {
	if dir := path.Dir(name); !h.real(dir) {
		return diskEntry{mode: ModeNone}
	}
	full := h.top + "/" + name
	var stat syscall.Stat_t
	if err := retry(func() error { return syscall.Lstat(full, &stat) }); err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return diskEntry{mode: ModeNone}
		}
		return diskEntry{err: err}
	}
	switch stat.Mode & syscall.S_IFMT {
	case syscall.S_IFDIR:
		return diskEntry{mode: ModeSubmodule}
	case syscall.S_IFLNK:
		target, err := os.Readlink(full)
		return diskEntry{mode: ModeLink, id: h.blob([]byte(target)), err: err}
	case syscall.S_IFREG:
	default:
		return diskEntry{}
	}
	entry := diskEntry{mode: ModeFile}
	if stat.Mode&0o100 != 0 {
		entry.mode = ModeExecutable
	}
	if h.limit == 0 || stat.Size <= h.limit {
		entry.id, entry.err = h.file(full, stat.Size)
	}
	return entry
}

func (h *hasher) blob(content []byte) string {
	h.begin(int64(len(content)))
	h.hash.Write(content)
	return h.end()
}

func (h *hasher) begin(size int64) {
	h.hash.Reset()
	h.header = append(strconv.AppendInt(append(h.header[:0], "blob "...), size, 10), 0)
	h.hash.Write(h.header)
}

func (h *hasher) end() string {
	h.sum = h.hash.Sum(h.sum[:0])
	return hex.EncodeToString(h.sum)
}

// errChanging reports a file whose size changed while it was read.
var errChanging = errors.New("file changed while it was read")

// file hashes a regular file of a known size. It calls the kernel directly: the runtime's
// poller costs as much as reading a small file does.
func (h *hasher) file(full string, size int64) (string, error) {
	var fd int
	err := retry(func() (err error) {
		fd, err = syscall.Open(full, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return "", err
	}
	defer func() { _ = syscall.Close(fd) }() // it was only read
	h.begin(size)
	for left := size; ; {
		var n int
		err := retry(func() (err error) { n, err = syscall.Read(fd, h.buffer); return err })
		if err != nil {
			return "", err
		}
		if left -= int64(n); left < 0 || n == 0 && left > 0 {
			return "", errChanging
		}
		if n == 0 {
			return h.end(), nil
		}
		h.hash.Write(h.buffer[:n])
		if left == 0 && n < len(h.buffer) && int64(n) == size {
			return h.end(), nil // one short read of a small file: the kernel has no more
		}
	}
}

// retry repeats a call that a signal interrupted.
func retry(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR { //nolint:errorlint // the kernel's own number
			return err
		}
	}
}

// readDisk looks at n paths with one worker per processor. name gives the i-th path, found
// gets what lies there; found is called from several goroutines, once for each i.
func (r *Repo) readDisk(n int, limit int64, name func(int) string, found func(int, diskEntry)) {
	const batch = 64
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n/batch+1) {
		group.Go(func() {
			h := newHasher(r.top, r.objectFormat, limit)
			for {
				end := int(next.Add(batch))
				for i := end - batch; i < min(end, n); i++ {
					found(i, h.read(name(i)))
				}
				if end >= n {
					return
				}
			}
		})
	}
	group.Wait()
}

// convertedIDs gives the blob ids that git would store for files, after the conversions
// of line ends and encodings that .gitattributes ask for; no filter runs. A file that git
// cannot read ends the list: the rest has no id.
func convertedIDs(out string, n int) []string {
	ids := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if out == "" {
		ids = nil
	}
	for len(ids) < n {
		ids = append(ids, "")
	}
	return ids[:n]
}

// quotedLines writes paths as git reads them from lines.
func quotedLines(paths []string) io.Reader {
	var b strings.Builder
	for _, p := range paths {
		b.WriteString(cQuote(p))
		b.WriteByte('\n')
	}
	return strings.NewReader(b.String())
}
