package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// DefaultTimeout limits a command that names no limit.
	DefaultTimeout = 10 * time.Minute
	// MaxTimeout is the longest limit.
	MaxTimeout = 24 * time.Hour
)

// ErrCommand reports a command, limit or environment that cannot be run as given.
var ErrCommand = errors.New("invalid command")

// Check is one executable proof.
type Check struct {
	ID          string
	Command     []string      // argument list; a shell only if it names one
	Dir         string        // below the checkout, slash-separated; "" for its root
	Timeout     time.Duration // 0 for DefaultTimeout, at most MaxTimeout
	OutputBytes int           // window kept of the output; 0 for DefaultOutputBytes
	Pinned      []PinnedFile  // files of the check itself, which must have these bytes
}

// PinnedFile is a file that a check needs unchanged.
type PinnedFile struct {
	Path   string // raw bytes, from the root of the tree
	SHA256 string // of its content, lower hex
}

// Outcome is what one check gave.
type Outcome struct {
	ID       string
	Result   Result
	Class    Class
	Rule     string        // the rule of Classify, or of Verify, that decided
	Detail   string        // why it could not run; may hold untrusted names; often ""
	ExitCode int           // -1 when it did not exit by itself
	Signal   string        // such as "SIGKILL"; "" when none killed it
	TimedOut bool          // killed at its limit
	Duration time.Duration // wall time
	Output   Output        // standard output and error in the order of writing
	Tests    Tests         // what a go test run told; zero for other commands
}

// Run executes a check in the folder root, which the caller has prepared, and classifies
// how it ended. env adds "NAME=value" entries to the minimal environment. It always gives
// an Outcome: what cannot be run is inconclusive. Pinned files are Verify's matter.
func Run(ctx context.Context, root string, check Check, env []string) Outcome {
	facts := Facts{Command: check.Command, ExitCode: -1}
	fail := func(err error) Outcome {
		facts.StartErr = err
		return outcomeOf(check, facts, newRecorder(0, nil).output())
	}
	limit, err := checkCommand(check.Command, check.Timeout, env)
	if err != nil {
		return fail(err)
	}
	dir, err := folderBelow(root, check.Dir)
	if err != nil {
		return fail(err)
	}
	home, err := makeHome("deed-home-")
	if err != nil {
		return fail(fmt.Errorf("prepare check: %w", err))
	}
	defer func() { _ = removeTree(home) }()
	reader := newTestReader(check.Command)
	record := newRecorder(check.OutputBytes, reader)
	end := process{
		argv: check.Command, dir: dir, env: baseEnvironment(home, env), timeout: limit, stdout: record, stderr: record,
	}.run(ctx)
	facts = Facts{
		Command: check.Command, StartErr: end.startErr, ExitCode: end.exitCode, Signal: end.signal,
		TimedOut: end.timedOut, Interrupted: end.interrupted, Tests: reader.tests(),
	}
	out := outcomeOf(check, facts, record.output())
	out.Duration = end.duration
	return out
}

func outcomeOf(check Check, facts Facts, output Output) Outcome {
	verdict := Classify(facts)
	out := Outcome{
		ID: check.ID, Result: verdict.Class.Result(), Class: verdict.Class, Rule: verdict.Rule,
		ExitCode: facts.ExitCode, Signal: facts.Signal, TimedOut: facts.TimedOut, Output: output, Tests: facts.Tests,
	}
	if facts.StartErr != nil {
		out.Detail = facts.StartErr.Error()
	}
	return out
}

// checkCommand refuses what exec would misread, and gives the time limit to use.
func checkCommand(argv []string, limit time.Duration, env []string) (time.Duration, error) {
	if len(argv) == 0 || argv[0] == "" {
		return 0, fmt.Errorf("check command: empty: %w", ErrCommand)
	}
	for _, argument := range argv {
		if strings.IndexByte(argument, 0) >= 0 {
			return 0, fmt.Errorf("check command: zero byte: %w", ErrCommand)
		}
	}
	for _, entry := range env {
		name, _, ok := strings.Cut(entry, "=")
		if !ok || name == "" || strings.IndexByte(entry, 0) >= 0 {
			return 0, fmt.Errorf("check environment: %w", ErrCommand)
		}
	}
	switch {
	case limit < 0 || limit > MaxTimeout:
		return 0, fmt.Errorf("check time limit %s: %w", limit, ErrCommand)
	case limit == 0:
		return DefaultTimeout, nil
	}
	return limit, nil
}

// folderBelow gives a folder inside root and refuses links that lead out of it.
func folderBelow(root, dir string) (string, error) {
	if dir == "" {
		dir = "."
	}
	box, err := os.OpenRoot(root)
	if err != nil {
		return "", fmt.Errorf("open folder: %w", err)
	}
	defer func() { _ = box.Close() }()
	info, err := box.Stat(filepath.FromSlash(dir))
	if err != nil {
		return "", fmt.Errorf("open folder: %w", err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("open folder %q: %w", dir, ErrCommand)
	}
	return filepath.Join(root, filepath.FromSlash(dir)), nil
}

// removeTree removes a folder even if a command made parts of it read-only, as Go's
// module cache is. It changes modes of folders only and follows no links.
func removeTree(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	// The walk shows a folder before it reads it, so the new mode lets it go on.
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir
		}
		if entry.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove folder: %w", err)
	}
	return nil
}
