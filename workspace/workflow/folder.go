package workflow

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
)

// The places below a project.
const (
	Dir         = ".workflow"
	archiveDir  = Dir + "/archive"
	JournalName = Dir + "/journal.md"
)

// The files of a task.
const (
	BriefName  = "brief.md"
	SpecName   = "spec.md"
	StateName  = "state.yaml"
	PatchName  = "lessons.patch"
	checksDir  = "checks"
	productDir = "artifacts"
)

// MaxFileBytes bounds one file that is read from a task's folder.
const MaxFileBytes = 1 << 20

var (
	// ErrTask reports a name that no task's folder can have.
	ErrTask = errors.New("invalid task name")
	// ErrLink reports a link, or another thing that is neither file nor folder,
	// where a task's file or folder belongs.
	ErrLink = errors.New("not a regular file or folder")
	// ErrTooMuch reports a file or a number of files beyond the limit.
	ErrTooMuch = errors.New("beyond the limit")
)

// validTask reports whether a task can have a folder.
func validTask(task string) bool {
	return events.ValidTask(task) && !strings.EqualFold(task, "archive")
}

// Folder is a task's folder.
type Folder struct {
	Task     string
	Archived bool
	root     *os.Root // of the project
	name     string   // below it
}

// File is one file of a task's folder.
type File struct {
	Name       string // below the folder, slash-separated
	Executable bool
	Text       []byte
}

// Open opens the folder of a task in a project: the one that is worked in, else the
// archived one. Errors: [ErrTask]; fs.ErrNotExist; [ErrLink] where the folder, or
// one above it, is a link.
func Open(project, task string) (*Folder, error) {
	f, err := begin(project, task)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{Dir, f.name} {
		if err = f.folder(name); err != nil {
			break
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		if err = f.folder(archiveDir); err == nil {
			f.name, f.Archived = archiveDir+"/"+task, true
			err = f.folder(f.name)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open task folder %s: %w", f.name, err), f.root.Close())
	}
	return f, nil
}

// Create makes the folder of a task, or what is missing of it, and opens it. An
// archived task is not made again: fs.ErrExist. Errors otherwise as for [Open].
func Create(project, task string) (*Folder, error) {
	f, err := begin(project, task)
	if err != nil {
		return nil, err
	}
	if _, err = f.root.Lstat(archiveDir + "/" + task); err == nil {
		err = fmt.Errorf("%s/%s: %w", archiveDir, task, fs.ErrExist)
	} else {
		err = nil
	}
	for _, name := range []string{Dir, f.name, f.name + "/" + productDir, f.name + "/" + checksDir} {
		if err == nil {
			err = f.mkdir(name)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make task folder: %w", err), f.root.Close())
	}
	return f, nil
}

func begin(project, task string) (*Folder, error) {
	if !validTask(task) {
		return nil, fmt.Errorf("%w: %q, want [A-Za-z0-9][A-Za-z0-9_-]{0,63}, and not archive", ErrTask, clip(task))
	}
	root, err := os.OpenRoot(project)
	if err != nil {
		return nil, fmt.Errorf("open project: %w", err)
	}
	return &Folder{Task: task, root: root, name: Dir + "/" + task}, nil
}

// Close closes what Open opened.
func (f *Folder) Close() error { return f.root.Close() }

// Path is the folder below the project, slash-separated.
func (f *Folder) Path() string { return f.name }

// folder makes sure that a path below the project is a folder and no link.
func (f *Folder) folder(name string) error {
	info, err := f.root.Lstat(name)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s: %w", name, ErrLink)
	}
	return err
}

func (f *Folder) mkdir(name string) error {
	if err := f.root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return f.folder(name)
}

// Read reads a file of the task. Errors: fs.ErrNotExist, [ErrLink], [ErrTooMuch].
func (f *Folder) Read(name string) ([]byte, error) {
	text, _, err := f.read(f.name + "/" + name)
	return text, err
}

func (f *Folder) read(full string) ([]byte, fs.FileMode, error) {
	for at := range len(full) {
		if full[at] == '/' {
			if err := f.folder(full[:at]); err != nil {
				return nil, 0, fmt.Errorf("read %s: %w", full, err)
			}
		}
	}
	info, err := f.root.Lstat(full)
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", full, err)
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("read %s: %w", full, ErrLink)
	}
	file, err := f.root.Open(full)
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", full, err)
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, MaxFileBytes+1))
	if err == nil && len(text) > MaxFileBytes {
		err = fmt.Errorf("%w: more than %d bytes", ErrTooMuch, MaxFileBytes)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", full, err)
	}
	return text, info.Mode(), nil
}

// Checks reads the files of checks/, sorted by name; none where it is missing.
// Errors as for [Folder.Read].
func (f *Folder) Checks() ([]File, error) {
	var list []File
	if err := f.walk(checksDir, &list); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	slices.SortFunc(list, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// walk reads the files below a folder of the task.
func (f *Folder) walk(dir string, list *[]File) error {
	if err := f.folder(f.name + "/" + dir); err != nil {
		return fmt.Errorf("read %s/%s: %w", f.name, dir, err)
	}
	entries, err := fs.ReadDir(f.root.FS(), f.name+"/"+dir)
	if err != nil {
		return fmt.Errorf("read %s: %w", dir, err)
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			if strings.Count(name, "/") > 8 {
				return fmt.Errorf("read %s: %w: folders in folders", name, ErrTooMuch)
			}
			if err := f.walk(name, list); err != nil {
				return err
			}
			continue
		}
		text, mode, err := f.read(f.name + "/" + name)
		if err != nil {
			return err
		}
		if *list = append(*list, File{Name: name, Executable: mode&0o100 != 0, Text: text}); len(*list) > MaxCheckFiles {
			return fmt.Errorf("read %s: %w: more than %d files", dir, ErrTooMuch, MaxCheckFiles)
		}
	}
	return nil
}

// Write writes a file of the task in one step: a crash leaves the old one or the
// new one. Folders that are missing are made. Errors: [ErrLink], or the file
// system's.
func (f *Folder) Write(file File) error { return f.write(f.name+"/"+file.Name, file) }

func (f *Folder) write(full string, file File) error {
	for at := range len(full) {
		if full[at] == '/' {
			if err := f.mkdir(full[:at]); err != nil {
				return fmt.Errorf("write %s: %w", full, err)
			}
		}
	}
	if info, err := f.root.Lstat(full); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("write %s: %w", full, ErrLink)
	}
	mode := fs.FileMode(0o644)
	if file.Executable {
		mode = 0o755
	}
	temporary := full + ".tmp"
	if err := f.root.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a run that was killed
		return fmt.Errorf("write %s: %w", full, err)
	}
	out, err := f.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("write %s: %w", full, err)
	}
	_, err = out.Write(file.Text)
	if err = errors.Join(err, out.Sync(), out.Close()); err == nil {
		err = f.root.Rename(temporary, full)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", full, errors.Join(err, f.root.Remove(temporary)))
	}
	return nil
}
