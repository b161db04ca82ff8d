package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/secrets"
)

// maxJSON is how much of a JSON artifact is looked at member by member, bytes.
const maxJSON = 32 << 20

// redacted returns a copy of an artifact without what looks like a secret, and
// how many places that were: what is hashed and uploaded is what was looked
// through. What cannot be taken out is refused with its place: secrets in binary
// files, and what was said to or with a model, by the name of the member that
// holds it. Without an error file is closed.
func (s *session) redacted(file *os.File, path string) (*os.File, int, error) {
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return file, 0, err // measured, it is refused
	}
	clean, err := anonymous()
	if err != nil {
		return file, 0, err
	}
	text := textSieve{text: true}
	n, err := secrets.RedactStream(clean, io.TeeReader(file, &text), s.known...)
	switch {
	case err != nil:
		err = fmt.Errorf("read artifact: %w", err)
	case n > 0 && !text.whole():
		err = refuse(ledger.CodeSecret, ledger.RuleSecret, "%s is no text, and %s of it look like secrets", plain(path), counted(n, "place"))
	case text.whole():
		err = spokenIn(clean, path, s.known)
	}
	if err == nil {
		err = rewind(clean)
	}
	if err != nil {
		return file, 0, errors.Join(err, clean.Close())
	}
	return clean, n, file.Close()
}

// spokenIn refuses a JSON file that holds prompts or transcripts, or secrets
// that only its escapes hid.
func spokenIn(file *os.File, path string, known []string) error {
	if err := rewind(file); err != nil {
		return fmt.Errorf("read artifact: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxJSON))
	if err != nil {
		return fmt.Errorf("read artifact: %w", err)
	}
	if start := bytes.TrimLeft(data, " \t\r\n"); len(start) == 0 || strings.IndexByte("{[\"", start[0]) < 0 {
		return nil
	}
	if places := secrets.FindJSON(data, known...); len(places) > 0 {
		err := refuse(ledger.CodeSecret, ledger.RuleSecret, "%s holds a %s at %s", plain(path), places[0].Kind, plain(places[0].Pointer))
		return withHint(err, "keep facts, not conversations: leave that member out")
	}
	return nil
}

// copied returns a copy of what a reader has, in a file without a name.
func copied(r io.Reader) (*os.File, error) {
	file, err := anonymous()
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(file, r); err == nil {
		err = rewind(file)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// anonymous returns an empty file without a name.
func anonymous() (*os.File, error) {
	file, err := os.CreateTemp("", "deed-artifact-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
