package workflow

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// ErrBundle reports bytes that are no bundle of a task's files.
var ErrBundle = errors.New("invalid bundle of a task's folder")

// BundleType is the media type of a bundle.
const BundleType = "application/vnd.deed.workflow+json"

// MaxBundleBytes bounds a bundle.
const MaxBundleBytes = 16 << 20

const bundleSchema = "urn:deed:file:workflow.bundle:v1"

// bundle is a task's folder as one JSON object.
type bundle struct {
	Schema string   `json:"schema"`
	Task   string   `json:"task"`
	Files  []packed `json:"files"` // sorted by name
}

// packed is one file: its text, or its bytes where they are no UTF-8.
type packed struct {
	Name       string `json:"name"`
	Executable bool   `json:"executable,omitzero"`
	Text       string `json:"text,omitzero"`
	Bytes      []byte `json:"bytes,omitzero"`
}

// Pack returns the files of a task as one JSON object, the same bytes each time. Error: [ErrBundle] beyond
// [MaxBundleBytes].
func Pack(task string, files []File) ([]byte, error) {
	b := bundle{Schema: bundleSchema, Task: task}
	for _, f := range files {
		p := packed{Name: f.Name, Executable: f.Executable}
		if utf8.Valid(f.Text) {
			p.Text = string(f.Text)
		} else {
			p.Bytes = f.Text
		}
		b.Files = append(b.Files, p)
	}
	slices.SortFunc(b.Files, func(a, b packed) int { return strings.Compare(a.Name, b.Name) })
	text, err := json.Marshal(b, json.Deterministic(true))
	if err == nil && len(text) > MaxBundleBytes {
		err = fmt.Errorf("%d bytes, limit %d", len(text), MaxBundleBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBundle, err)
	}
	return text, nil
}

// Unpack reads the files of a task. Error: [ErrBundle], for another task, a name that leads out of the folder, or a name twice, too.
func Unpack(task string, text []byte) ([]File, error) {
	var b bundle
	fail := func(format string, args ...any) ([]File, error) {
		return nil, fmt.Errorf("%w: %w", ErrBundle, fmt.Errorf(format, args...))
	}
	if len(text) > MaxBundleBytes {
		return fail("%d bytes, limit %d", len(text), MaxBundleBytes)
	}
	if err := json.Unmarshal(text, &b, json.RejectUnknownMembers(true)); err != nil {
		return fail("%w", err)
	}
	if b.Schema != bundleSchema || b.Task != task {
		return fail("schema %q of task %q", clip(b.Schema), clip(b.Task))
	}
	var files []File
	for i, p := range b.Files {
		switch {
		case !local(p.Name):
			return fail("name %q", clip(p.Name))
		case i > 0 && b.Files[i-1].Name >= p.Name:
			return fail("%q does not come after %q", clip(p.Name), clip(b.Files[i-1].Name))
		case len(p.Text) > 0 && len(p.Bytes) > 0:
			return fail("%q is text and bytes", clip(p.Name))
		case len(p.Text) > MaxFileBytes || len(p.Bytes) > MaxFileBytes:
			return fail("%q is too large", clip(p.Name))
		}
		f := File{Name: p.Name, Executable: p.Executable, Text: []byte(p.Text)}
		if len(p.Bytes) > 0 {
			f.Text = p.Bytes
		}
		files = append(files, f)
	}
	return files, nil
}

// local reports whether a name is a clean path below the folder.
func local(name string) bool {
	return name != "" && name == path.Clean(name) && name != "." && name[0] != '/' && name != ".." && !strings.HasPrefix(name, "../") &&
		!strings.ContainsAny(name, "\x00\\") && !strings.HasSuffix(name, ".tmp")
}
