package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// makeHome makes the fresh HOME and TMPDIR of one command.
//
// The go command counts its use in files below its configuration folder, from a
// process that leaves the group and outlives the command: it would write into
// a home that is being removed. A mode file says that it must not.
func makeHome(prefix string) (string, error) {
	home, err := os.MkdirTemp("", prefix)
	if err != nil {
		return "", fmt.Errorf("make home: %w", err)
	}
	for _, config := range []string{".config", filepath.Join("Library", "Application Support")} {
		dir := filepath.Join(home, config, "go", "telemetry")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", errors.Join(fmt.Errorf("make home: %w", err), removeTree(home))
		}
		if err := os.WriteFile(filepath.Join(dir, "mode"), []byte("off"), 0o600); err != nil {
			return "", errors.Join(fmt.Errorf("make home: %w", err), removeTree(home))
		}
	}
	return home, nil
}
