package workflow

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/workspace"
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
const MaxFileBytes = 8 << 20

// ErrTask reports a name that no task's folder can have.
var ErrTask = errors.New("invalid task name")

// maxFiles bounds the files of a task.
const maxFiles = 1000

// validTask reports whether a task can have a folder.
func validTask(task string) bool {
	return events.ValidTask(task) && !strings.EqualFold(task, "archive")
}

// Printed tells whether a path of a project is a file of facts, which changes no input of the work: the state of a task, or the journal.
func Printed(name string) bool {
	rest, ok := strings.CutPrefix(name, Dir+"/")
	task, file, _ := strings.Cut(rest, "/")
	return name == JournalName || ok && validTask(task) && file == StateName
}

// Folder is a task's folder.
type Folder struct {
	Task     string
	Archived bool
	box      *workspace.Box // of the project
	name     string         // below it
}

// File is one file of a task's folder.
type File struct {
	Name       string // below the folder, slash-separated
	Executable bool
	Text       []byte
}

// Open opens the folder of a task in a project: the one that is worked in, else the
// archived one. Errors: [ErrTask]; fs.ErrNotExist; [workspace.ErrLink] where the folder, or
// one above it, is a link.
func Open(project, task string) (*Folder, error) {
	f, err := begin(project, task)
	if err != nil {
		return nil, err
	}
	err = f.box.Folder(f.name)
	if errors.Is(err, fs.ErrNotExist) {
		if old := archiveDir + "/" + task; f.box.Folder(old) == nil {
			f.name, f.Archived, err = old, true, nil
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open task folder %s: %w", f.name, err), f.box.Close())
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
	if old := archiveDir + "/" + task; f.box.Exists(old) {
		err = fmt.Errorf("%s: %w", old, fs.ErrExist)
	}
	for _, name := range []string{productDir, checksDir} {
		if err == nil {
			_, err = f.box.MakeFolder(f.name + "/" + name)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make task folder: %w", err), f.box.Close())
	}
	return f, nil
}

func begin(project, task string) (*Folder, error) {
	if !validTask(task) {
		return nil, fmt.Errorf("%w: %q, want [A-Za-z0-9][A-Za-z0-9_-]{0,63}, and not archive", ErrTask, clip(task))
	}
	box, err := workspace.OpenBox(project)
	if err != nil {
		return nil, fmt.Errorf("open project: %w", err)
	}
	return &Folder{Task: task, box: box, name: Dir + "/" + task}, nil
}

// Close closes what Open opened.
func (f *Folder) Close() error { return f.box.Close() }

// Path is the folder below the project, slash-separated.
func (f *Folder) Path() string { return f.name }

// Read reads a file of the task. Errors: fs.ErrNotExist, [workspace.ErrLink], [workspace.ErrTooMuch].
func (f *Folder) Read(name string) ([]byte, error) {
	text, _, err := f.box.Read(f.name+"/"+name, MaxFileBytes)
	return text, err
}

// Write writes a file of the task in one step: a crash leaves the old one or the
// new one. Folders that are missing are made. Errors: [workspace.ErrLink], or the file
// system's.
func (f *Folder) Write(file File) error {
	mode := fs.FileMode(0o644)
	if file.Executable {
		mode = 0o755
	}
	return f.box.Write(f.name+"/"+file.Name, file.Text, mode)
}

// Checks reads the files of checks/, sorted by name; none where it is missing.
// Errors as for [Folder.Read].
func (f *Folder) Checks() ([]File, error) { return f.files(checksDir) }

// Files reads all files of the task, sorted by name. Errors as for [Folder.Read].
func (f *Folder) Files() ([]File, error) { return f.files("") }

func (f *Folder) files(below string) ([]File, error) {
	names, err := f.box.Files(strings.TrimSuffix(f.name+"/"+below, "/"), maxFiles)
	if err != nil {
		return nil, err
	}
	var list []File
	for _, name := range names {
		text, mode, err := f.box.Read(name, MaxFileBytes)
		if err != nil {
			return nil, err
		}
		list = append(list, File{Name: strings.TrimPrefix(name, f.name+"/"), Executable: mode&0o100 != 0, Text: text})
	}
	return list, nil
}
