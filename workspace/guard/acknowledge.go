package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/deedledger/deed/boundary"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	acknowledgedName = ".resume/acknowledged.json"
	// AcknowledgedSchema is the version of stored acknowledgements; the JSON
	// Schema is published as schemas/file/guard.acknowledged.v1.json.
	AcknowledgedSchema = "deed.guard.acknowledged/v1"
	maxAcknowledged    = 1 << 20 // bytes
)

// ErrAcknowledged reports stored acknowledgements that are not as they were
// written.
var ErrAcknowledged = errors.New("invalid acknowledgements")

// Acknowledgement is what a person says of one W finding: it was looked at and
// may pass. It holds for exactly that finding: of W2 the text has both commits,
// so that the next commit needs another look. Who says so is a claim; where it
// has to be proven there is a ledger.
type Acknowledgement struct {
	Code   Code   `json:"code"`
	Path   string `json:"path,omitzero"` // encoded
	Claim  string `json:"claim,omitzero"`
	Text   string `json:"text"`
	By     string `json:"by"`
	Reason string `json:"reason"`
	At     string `json:"at"` // RFC 3339, UTC
}

// acknowledged is the stored form.
type acknowledged struct {
	Schema  string            `json:"schema"`
	Entries []Acknowledgement `json:"entries"`
}

// covers reports whether a was said of f.
func (a Acknowledgement) covers(f Finding) bool {
	return f.Code.Level() == 'W' && a.Code == f.Code && a.Path == boundary.EncodePath(f.Path) && a.Claim == f.Claim && a.Text == f.Text
}

// Acknowledge marks the findings that were looked at. What is fatal cannot be
// acknowledged, only mended.
func Acknowledge(found []Finding, said []Acknowledgement) []Finding {
	found = slices.Clone(found)
	for i := range found {
		for _, a := range said {
			if a.covers(found[i]) {
				found[i].Acknowledged = a.By + ": " + a.Reason
			}
		}
	}
	return found
}

// Pending returns how many W findings nobody has looked at.
func Pending(found []Finding) int {
	n := 0
	for _, f := range found {
		if f.Code.Level() == 'W' && f.Acknowledged == "" {
			n++
		}
	}
	return n
}

// ReadAcknowledged reads what was said of a project's findings, nothing where
// there is no file. Errors: [ErrAcknowledged], or the file system's.
func ReadAcknowledged(dir string) ([]Acknowledgement, error) {
	text, err := readState(dir, acknowledgedName, maxAcknowledged)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var a acknowledged
	if err := json.Unmarshal(text, &a, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrAcknowledged, acknowledgedName, err)
	}
	if a.Schema != AcknowledgedSchema {
		return nil, fmt.Errorf("%w: %s has schema %q, want %s", ErrAcknowledged, acknowledgedName, clip(a.Schema), AcknowledgedSchema)
	}
	for i, e := range a.Entries {
		if !slices.Contains([]Code{W1, W2, W4}, e.Code) || e.By == "" || e.Reason == "" {
			return nil, fmt.Errorf("%w: %s: entry %d is none of a W finding with by and reason", ErrAcknowledged, acknowledgedName, i+1)
		}
	}
	return a.Entries, nil
}

// WriteAcknowledged stores acknowledgements. Of the old ones those are kept
// that still cover a finding.
func WriteAcknowledged(dir string, found []Finding, old, added []Acknowledgement) error {
	kept := []Acknowledgement{}
	for _, a := range old {
		still := slices.ContainsFunc(found, a.covers)
		again := slices.ContainsFunc(added, func(b Acknowledgement) bool {
			return a.Code == b.Code && a.Path == b.Path && a.Claim == b.Claim && a.Text == b.Text
		})
		if still && !again {
			kept = append(kept, a)
		}
	}
	text, err := json.Marshal(acknowledged{AcknowledgedSchema, append(kept, added...)}, jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("write %s: %w", acknowledgedName, err)
	}
	return writeState(dir, acknowledgedName, append(text, '\n'))
}
