package guard

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// samples are two projects: in one everything matches, in the other seven
// things went wrong.
//
//go:embed all:example
var samples embed.FS

// Examples lists the sample projects: good gives R0 W0 N0, drifted R5 W1 N2.
func Examples() []string { return []string{"good", "drifted"} }

// WriteExample writes a sample project into dir, which must be empty or not
// exist: fs.ErrExist.
func WriteExample(dir, name string) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("write example: %s is not empty: %w", dir, fs.ErrExist)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write example: %w", err)
	}
	sample, err := fs.Sub(samples, "example/"+name)
	if err != nil {
		return fmt.Errorf("write example: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("write example: %w", err)
	}
	if err := os.CopyFS(dir, sample); err != nil {
		return fmt.Errorf("write example: %w", err)
	}
	return nil
}
