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

// redacted returns an artifact without what looks like a secret, as a copy
// where something was taken out, and how many places that were. What cannot be
// taken out is refused with its place: secrets in binary files, and what was
// said to or with a model, by the name of the member that holds it. file is
// closed where another is returned.
func (s *session) redacted(file *os.File, path string) (*os.File, int, error) {
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return file, 0, err // measured, it is refused
	}
	text := textSieve{text: true}
	if _, err := io.Copy(&text, file); err != nil {
		return file, 0, fmt.Errorf("read artifact: %w", err)
	}
	clean, err := anonymous()
	if err != nil {
		return file, 0, err
	}
	n := 0
	if _, err = file.Seek(0, io.SeekStart); err == nil {
		n, err = secrets.RedactStream(clean, file, s.known...)
	}
	switch {
	case err != nil:
	case n > 0 && !text.whole():
		err = refuse(ledger.CodeSecret, ledger.RuleSecret, "%s is no text, and %s of it look like secrets", plain(path), counted(n, "place"))
	case text.whole():
		err = spokenIn(clean, path, s.known)
	}
	if err == nil && n == 0 {
		_, err = file.Seek(0, io.SeekStart)
		return file, 0, errors.Join(err, clean.Close())
	}
	if err != nil {
		return file, 0, errors.Join(err, clean.Close())
	}
	_, err = clean.Seek(0, io.SeekStart)
	return clean, n, errors.Join(err, file.Close())
}

// spokenIn refuses a JSON file that holds prompts or transcripts, or secrets
// that only its escapes hid.
func spokenIn(file *os.File, path string, known []string) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
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
		_, err = file.Seek(0, io.SeekStart)
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
