package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Modes of tree entries, as git prints them.
const (
	ModeNone       = "000000" // no entry on this side
	ModeFile       = "100644"
	ModeExecutable = "100755"
	ModeLink       = "120000"
	ModeSubmodule  = "160000"
)

// ErrGitOutput reports output of git that does not have the documented shape.
var ErrGitOutput = errors.New("git output has an unexpected shape")

// Change is one path that differs between two commits. A rename is two changes: the
// old path deleted, the new path added.
type Change struct {
	Path    string // raw bytes
	Status  byte   // 'A' added, 'M' content or mode modified, 'D' deleted, 'T' type changed
	OldMode string // six octal digits; ModeNone when added
	NewMode string // six octal digits; ModeNone when deleted
	OldBlob string // object id; zeros when added
	NewBlob string // object id; zeros when deleted
}

// Changes lists every path whose entry differs between the trees of two commits, sorted
// by raw bytes. It compares trees, so the way through history does not matter.
//
// Errors: [ErrMissingObject], [ErrUnknownRevision], [ErrGitOutput].
func (r *Repo) Changes(ctx context.Context, base, head string) ([]Change, error) {
	ids, err := r.resolveAll(ctx, base, head)
	if err != nil {
		return nil, err
	}
	out, err := r.git("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff",
		"--no-textconv", "--no-relative", "--ignore-submodules=none", "--end-of-options", ids[0], ids[1]).run(ctx)
	if exitCode(err) == 128 {
		return nil, errors.Join(ErrMissingObject, err)
	}
	if err != nil {
		return nil, fmt.Errorf("list changes: %w", err)
	}
	return parseRawDiff(out)
}

// parseRawDiff reads ":oldmode newmode oldblob newblob S\0path\0" records.
func parseRawDiff(out []byte) ([]Change, error) {
	fields, err := splitNUL(out)
	if err != nil || len(fields)%2 != 0 {
		return nil, fmt.Errorf("read changes: %w", ErrGitOutput)
	}
	changes := make([]Change, 0, len(fields)/2)
	for i := 0; i < len(fields); i += 2 {
		meta, ok := strings.CutPrefix(fields[i], ":")
		parts := strings.Split(meta, " ")
		if !ok || len(parts) != 5 || len(parts[4]) != 1 || !strings.Contains("AMDT", parts[4]) || fields[i+1] == "" {
			return nil, fmt.Errorf("read changes: %w", ErrGitOutput)
		}
		changes = append(changes, Change{
			Path: fields[i+1], Status: parts[4][0],
			OldMode: parts[0], NewMode: parts[1], OldBlob: parts[2], NewBlob: parts[3],
		})
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return changes, nil
}

// splitNUL cuts NUL-terminated fields; a last field without its NUL is an error, since
// it would be a cut-off name.
func splitNUL(out []byte) ([]string, error) {
	if len(out) == 0 {
		return nil, nil
	}
	if out[len(out)-1] != 0 {
		return nil, ErrGitOutput
	}
	var fields []string
	for field := range bytes.SplitSeq(out[:len(out)-1], []byte{0}) {
		fields = append(fields, string(field))
	}
	return fields, nil
}
