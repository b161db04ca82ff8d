package delivery

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/workspace"
	"github.com/go-json-experiment/json"
)

// Standing says how a file of a folder stands to the ledger.
type Standing string

// The standings.
const (
	Same    Standing = "same"
	Missing Standing = "missing" // the ledger has it, the folder has not
	Behind  Standing = "behind"  // as the ledger was before
	Draft   Standing = "draft"   // the next contract or result, by a person or an agent
	Edited  Standing = "edited"  // as the ledger never was
	Foreign Standing = "foreign" // of nothing that the ledger has
)

// Refused reports whether such a file stops a sync.
func (s Standing) Refused() bool { return s == Edited || s == Foreign }

// Entry is a file of a task and how it stands.
type Entry struct {
	Path     string   `json:"path"`
	Standing Standing `json:"standing"`
	Why      string   `json:"why,omitzero"`
	file     *File    // as the ledger says; nil for drafts and foreign files
	text     []byte   // on the disk
}

const (
	// MaxFileBytes is the largest file that is read.
	MaxFileBytes = 1 << 20
	// maxFiles is how many files a task may have in each folder.
	maxFiles = 10_000
)

// Compare holds the files of a task in a repository against what the ledger says, sorted by path. before renders the files as of a
// position. Errors: those of [workspace.Box].
func Compare(box *workspace.Box, task string, files []File, before func(events.Position) ([]File, error)) ([]Entry, error) {
	var list []Entry
	byPath := map[string]*File{}
	for i := range files {
		byPath[files[i].Path] = &files[i]
	}
	found, err := onDisk(box, task)
	if err != nil {
		return nil, err
	}
	for _, name := range found {
		text, _, err := box.Read(name, MaxFileBytes)
		if errors.Is(err, fs.ErrNotExist) {
			continue // somebody removed it meanwhile
		}
		if err != nil && !errors.Is(err, workspace.ErrTooMuch) {
			return nil, err
		}
		e := Entry{Path: name, file: byPath[name], text: text}
		switch {
		case err != nil:
			e.Standing, e.Why = Foreign, "it is too large"
		case e.file == nil:
			e.Standing, e.Why = newcomer(task, name, files)
		default:
			if e.Standing, err = standing(*e.file, text, before); err != nil {
				return nil, err
			}
		}
		list = append(list, e)
	}
	for i := range files {
		if !slices.Contains(found, files[i].Path) {
			list = append(list, Entry{Path: files[i].Path, Standing: Missing, file: &files[i]})
		}
	}
	slices.SortFunc(list, func(a, b Entry) int { return compare(a.Path, b.Path) })
	return list, nil
}

// onDisk lists the files of a task.
func onDisk(box *workspace.Box, task string) ([]string, error) {
	var list []string
	for _, dir := range Folders() {
		sub := dir + "/" + task
		switch dir {
		case Dir + "/" + contractsDir:
			sub = dir
		case Dir + "/" + policyDir:
			continue
		}
		names, err := box.Files(sub, maxFiles)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if Owned(task, name) {
				list = append(list, name)
			}
		}
	}
	return list, nil
}

// standing tells a file that is behind from one that somebody changed: what was behind is what the ledger said at the position
// that the file names.
func standing(now File, text []byte, before func(events.Position) ([]File, error)) (Standing, error) {
	if bytes.Equal(now.Text, text) {
		return Same, nil
	}
	at, ok := position(text)
	if !ok {
		if says(text, now.Text) { // a draft that was recorded, by a run that was killed before it wrote this
			return Behind, nil
		}
		return Edited, nil
	}
	then, err := before(at)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(then, func(f File) bool { return f.Path == now.Path && bytes.Equal(f.Text, text) }) {
		return Behind, nil
	}
	return Edited, nil
}

// says reports whether everything that one JSON text says is said by another one, which may say more: the ledger adds defaults and
// what it measured.
func says(draft, recorded []byte) bool {
	var a, b any
	if json.Unmarshal(draft, &a) != nil || json.Unmarshal(recorded, &b) != nil {
		return false
	}
	return within(a, b)
}

func within(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			return false
		}
		for name, v := range a {
			if w, ok := b[name]; !ok || !within(v, w) {
				return false
			}
		}
		return len(a) > 0
	case []any:
		b, ok := b.([]any)
		return ok && !slices.ContainsFunc(a, func(v any) bool { return !slices.ContainsFunc(b, func(w any) bool { return within(v, w) }) })
	}
	return a == b
}

// positionLine matches the position of a file's origin, in JSON and in YAML.
var positionLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s+"?position"?: ([0-9]{1,16}),?$`) })

// position reads the position that a file names: the last line that does.
func position(text []byte) (events.Position, bool) {
	all := positionLine().FindAllSubmatch(text, -1)
	if len(all) == 0 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(all[len(all)-1][1]), 10, 64)
	return events.Position(n), err == nil
}

// newcomer says what a file is that the ledger does not have: the next contract, the next result of the newest attempt, or nothing.
func newcomer(task, name string, files []File) (Standing, string) {
	if version, ok := contractVersion(task, trimContracts(name)); ok {
		next := int64(1)
		for _, f := range files {
			if v, ok := contractVersion(task, trimContracts(f.Path)); ok {
				next = max(next, v+1)
			}
		}
		if version == next {
			return Draft, ""
		}
		return Foreign, fmt.Sprintf("the next version is %d", next)
	}
	if attempt, n, ok := resultNumber(task, name); ok {
		newest, next := newestAttempt(task, files), 1
		for _, f := range files {
			if a, m, ok := resultNumber(task, f.Path); ok && a == attempt {
				next = max(next, m+1)
			}
		}
		switch {
		case attempt != newest:
			return Foreign, "results are of the open attempt, " + orNone(newest)
		case n != next:
			return Foreign, fmt.Sprintf("the next result is impl-%02d", next)
		}
		return Draft, ""
	}
	return Foreign, "the ledger has nothing of it"
}

// trimContracts returns the name of a file in the folder of contracts, "" for another.
func trimContracts(name string) string {
	rest, ok := strings.CutPrefix(name, Dir+"/"+contractsDir+"/")
	if !ok {
		return ""
	}
	return rest
}

// newestAttempt returns the attempt that was opened last, "" for none.
func newestAttempt(task string, files []File) string {
	newest, at := "", events.Position(0)
	for _, f := range files {
		rest, ok := strings.CutPrefix(f.Path, path.Join(Dir, snapshotsDir, task)+"/")
		if ok && f.Position >= at {
			newest, at = strings.TrimSuffix(rest, ".json"), f.Position
		}
	}
	return newest
}

func orNone(name string) string {
	if name == "" {
		return "and none is open"
	}
	return name
}
