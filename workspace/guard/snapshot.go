package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/workspace"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The files of a guarded project.
const (
	ClaimsName   = ".resume/task.yaml"
	snapshotName = ".resume/snapshot.json"
	packName     = ".resume/handoff.json"
	reportName   = ".resume/report.md"
	handoffName  = "HANDOFF.md"
)

// SnapshotSchema is the version of a stored snapshot.
const SnapshotSchema = "deed.guard.snapshot/v1"

// maxSnapshot bounds a stored snapshot, in bytes.
const maxSnapshot = 64 << 20

// ErrSnapshot reports a stored snapshot that is not as it was written.
var ErrSnapshot = errors.New("invalid snapshot")

// Snapshot is the objective layer as it is stored.
type Snapshot struct {
	Schema   string   `json:"schema"`
	Captured string   `json:"captured"` // RFC 3339, UTC
	Git      bool     `json:"git"`
	Head     string   `json:"head,omitzero"`
	Branch   string   `json:"branch,omitzero"`
	Base     string   `json:"base,omitzero"`
	Changed  []string `json:"changed"` // encoded, sorted
	Files    int      `json:"files"`
	Notes    []string `json:"notes,omitempty"`
	// Facts are everything else that the disk said; a hand-over has none, since
	// they name folders of one machine.
	Facts *workspace.Facts `json:"facts,omitempty"`
}

// SnapshotOf returns what is stored of a measurement. captured is the time of
// it, in RFC 3339.
func SnapshotOf(m Measurement, captured string) Snapshot {
	s := Snapshot{
		Schema: SnapshotSchema, Captured: captured, Git: m.Git, Head: m.Head, Branch: m.Branch, Base: m.Base,
		Changed: []string{}, Files: len(m.Files), Notes: m.Notes,
	}
	for _, p := range m.Changed {
		s.Changed = append(s.Changed, boundary.EncodePath(p))
	}
	return s
}

// ReadClaims reads the task file of a project. Errors: fs.ErrNotExist,
// [ErrClaims], or the file system's.
func ReadClaims(dir string) (Claims, error) {
	text, err := readState(dir, ClaimsName, MaxClaimsBytes)
	if err != nil {
		return Claims{}, err
	}
	c, err := Parse(text)
	if err != nil {
		return Claims{}, fmt.Errorf("read %s: %w", ClaimsName, err)
	}
	return c, nil
}

// ReadSnapshot reads the stored snapshot of a project. Errors: fs.ErrNotExist,
// [ErrSnapshot], or the file system's.
func ReadSnapshot(dir string) (*Snapshot, error) {
	text, err := readState(dir, snapshotName, maxSnapshot)
	if err != nil {
		return nil, err
	}
	var s Snapshot
	if err := json.Unmarshal(text, &s, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrSnapshot, snapshotName, err)
	}
	if s.Schema != SnapshotSchema {
		return nil, fmt.Errorf("%w: %s has schema %q, want %s", ErrSnapshot, snapshotName, clip(s.Schema), SnapshotSchema)
	}
	return &s, nil
}

// readState reads a state file, through no link.
func readState(dir, name string, limit int64) ([]byte, error) {
	box, err := workspace.OpenBox(dir)
	if err != nil {
		return nil, fmt.Errorf("read project: %w", err)
	}
	defer func() { _ = box.Close() }() // it was only read
	text, _, err := box.Read(name, limit)
	if errors.Is(err, workspace.ErrLink) || errors.Is(err, workspace.ErrTooMuch) {
		err = fmt.Errorf("%w: %w", ErrClaims, err)
	}
	return text, err
}

// writeState writes a file of the project in one step: a crash leaves the old
// one or the new one.
func writeState(dir, name string, text []byte) error {
	box, err := workspace.OpenBox(dir)
	if err != nil {
		return fmt.Errorf("write project: %w", err)
	}
	defer func() { _ = box.Close() }() // each file was closed
	return box.Write(name, text, 0o644)
}

// WriteSnapshot stores a snapshot in a project.
func WriteSnapshot(dir string, s Snapshot) error {
	text, err := json.Marshal(s, jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("write %s: %w", snapshotName, err)
	}
	return writeState(dir, snapshotName, append(text, '\n'))
}

// template is the task file of a new project.
const template = `# What is said of the work. deed guard check holds it against the disk.
task: %q
goal: ""

done: []      # - {what: text, evidence: path}
todo: []      # - {what: text, next: text}

frozen: []    # what nobody may turn over:
              # - decision: text
              #   reason: text
              #   guard: {contains: [text], forbids: [text]}

banned: []    # what was tried and rejected:
              # - {approach: text, reason: text, forbids: [text]}

accept: []    # - {criterion: text, check: command}
`

// Init writes an empty task file for a task of a name. It replaces none:
// fs.ErrExist.
func Init(dir, name string) error {
	if _, err := os.Lstat(dir); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if _, err := readState(dir, ClaimsName, MaxClaimsBytes); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("begin: %s: %w", ClaimsName, fs.ErrExist)
	}
	return writeState(dir, ClaimsName, fmt.Appendf(nil, template, name))
}
