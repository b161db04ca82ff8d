package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Errors of a [Box].
var (
	// ErrLink reports a link, or something else that is neither file nor folder, where a
	// file or a folder belongs.
	ErrLink = errors.New("not a regular file or folder")
	// ErrTooMuch reports a file or a number of files beyond the limit.
	ErrTooMuch = errors.New("beyond the limit")
)

// Box reads and writes files below one folder. Paths are below it, slash-separated. No link
// is followed, not even one that stays inside.
type Box struct{ root *os.Root }

// OpenBox opens a folder. Close it.
func OpenBox(dir string) (*Box, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open folder: %w", err)
	}
	return &Box{root}, nil
}

// Close closes what OpenBox opened.
func (b *Box) Close() error { return b.root.Close() }

// Folder makes sure that a path is a folder, and every one above it. Errors: fs.ErrNotExist,
// [ErrLink].
func (b *Box) Folder(name string) error {
	for at := range len(name) + 1 {
		if at < len(name) && name[at] != '/' || at == 0 {
			continue
		}
		info, err := b.root.Lstat(name[:at])
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s: %w", name[:at], ErrLink)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// MakeFolder makes a folder and what is missing above it; made says that something was.
func (b *Box) MakeFolder(name string) (made bool, err error) {
	for at := range len(name) + 1 {
		if at < len(name) && name[at] != '/' || at == 0 {
			continue
		}
		info, err := b.root.Lstat(name[:at])
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err = b.root.Mkdir(name[:at], 0o755); err == nil {
				made = true
			} else if errors.Is(err, fs.ErrExist) { // by somebody who was faster
				err = b.Folder(name[:at])
			}
		case err == nil && !info.IsDir():
			err = ErrLink
		}
		if err != nil {
			return made, fmt.Errorf("make %s: %w", name[:at], err)
		}
	}
	return made, nil
}

// Read reads a file of at most limit bytes. Errors: fs.ErrNotExist, [ErrLink], [ErrTooMuch].
func (b *Box) Read(name string, limit int64) ([]byte, fs.FileMode, error) {
	text, mode, err := b.read(name, limit)
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", name, err)
	}
	return text, mode, nil
}

func (b *Box) read(name string, limit int64) ([]byte, fs.FileMode, error) {
	if dir := path.Dir(name); dir != "." {
		if err := b.Folder(dir); err != nil {
			return nil, 0, err
		}
	}
	info, err := b.root.Lstat(name)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, ErrLink
	}
	file, err := b.root.Open(name)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%w: more than %d bytes", ErrTooMuch, limit)
	}
	return text, info.Mode(), err
}

// Write writes a file in one step: a crash leaves the old one or the new one, and perhaps a
// temporary file that no list shows. Of two at once the last one stays. Folders that are missing are made. Errors: [ErrLink], or the file system's.
func (b *Box) Write(name string, text []byte, mode fs.FileMode) error {
	if err := b.write(name, text, mode); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (b *Box) write(name string, text []byte, mode fs.FileMode) error {
	if dir := path.Dir(name); dir != "." {
		if _, err := b.MakeFolder(dir); err != nil {
			return err
		}
	}
	if info, err := b.root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return ErrLink
	}
	temporary := fmt.Sprintf("%s.%d.tmp", name, os.Getpid())                            // two processes may write at once
	if err := b.root.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a run that was killed
		return err
	}
	file, err := b.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = b.root.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, b.root.Remove(temporary))
	}
	return nil
}

// Files lists the files below a folder, sorted; of a run that was killed, without its
// temporary ones. A folder that is missing has none. Errors: [ErrLink] for anything that is no
// file and no folder, [ErrTooMuch] for more than limit.
func (b *Box) Files(dir string, limit int) ([]string, error) {
	var list []string
	err := b.walk(dir, limit, &list)
	if errors.Is(err, fs.ErrNotExist) && len(list) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	slices.Sort(list)
	return list, nil
}

func (b *Box) walk(dir string, limit int, list *[]string) error {
	if err := b.Folder(dir); err != nil {
		return err
	}
	entries, err := fs.ReadDir(b.root.FS(), dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir():
			err = b.walk(name, limit, list)
		case !e.Type().IsRegular():
			err = fmt.Errorf("%s: %w", name, ErrLink)
		case !strings.HasSuffix(name, ".tmp"):
			*list = append(*list, name)
		}
		if err == nil && len(*list) > limit {
			err = fmt.Errorf("%w: more than %d files", ErrTooMuch, limit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Exists reports whether there is anything at a path.
func (b *Box) Exists(name string) bool {
	_, err := b.root.Lstat(name)
	return err == nil
}

// Move gives a file or folder another path, whose folder is made. fs.ErrExist where there is something.
func (b *Box) Move(from, to string) error {
	dir := path.Dir(to)
	if _, err := b.MakeFolder(dir); err != nil {
		return fmt.Errorf("move to %s: %w", to, err)
	}
	if b.Exists(to) {
		return fmt.Errorf("move to %s: %w", to, fs.ErrExist)
	}
	if err := b.root.Rename(from, to); err != nil {
		return fmt.Errorf("move to %s: %w", to, err)
	}
	return nil
}
