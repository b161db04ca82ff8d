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

	"github.com/deedledger/deed/runner/testreport"
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
	Report      *ReportRef    // the test report that it writes; nil for none
	Skips       []string      // tests of the report that may be skipped, by name
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
	Tests    Tests         // what a go test run in text told; zero for other commands
	// Report is what the test report held; nil where none was read.
	Report *testreport.Report
	Reason string // what decided, for people; may hold untrusted names; often ""
	// Flaky says that tries on the same input differ, or that the report says so
	// of a test. Tries are the earlier tries, oldest first.
	Flaky bool
	Tries []Outcome
	Notes []string // findings on the outcome, one line each; may hold untrusted names
}

// settle replaces the class and the rule.
func (o *Outcome) settle(c Class, rule string) { o.Class, o.Result, o.Rule = c, c.Result(), rule }

func (o *Outcome) note(text string) { o.Notes = append(o.Notes, text) }

// Run executes a check in the folder root, which the caller has prepared, and classifies
// how it ended. env adds "NAME=value" entries to the minimal environment. It always gives
// an Outcome: what cannot be run is inconclusive. Pinned files are Verify's matter, and so
// is confinement.
func Run(ctx context.Context, root string, check Check, env []string) Outcome {
	return bench{root: root, env: env}.run(ctx, check)
}

// bench is where a command runs, and how.
type bench struct {
	root    string
	env     []string     // beyond the minimal environment
	confine *Confinement // nil for none
}

func (b bench) run(ctx context.Context, check Check) Outcome {
	facts := Facts{Command: check.Command, ExitCode: -1}
	fail := func(err error) Outcome {
		facts.StartErr = err
		return outcomeOf(check, facts, newRecorder(0).output())
	}
	limit, err := checkCommand(check.Command, check.Timeout, b.env)
	if err != nil {
		return fail(err)
	}
	dir, err := folderBelow(b.root, check.Dir)
	if err != nil {
		return fail(err)
	}
	home, err := makeHome("deed-home-")
	if err != nil {
		return fail(fmt.Errorf("prepare check: %w", err))
	}
	defer func() { _ = removeTree(home) }()
	p := process{argv: check.Command, dir: dir, env: baseEnvironment(home, b.env), timeout: limit}
	if b.confine != nil {
		if err := b.confine.launch(&p, b.root, home); err != nil {
			return fail(err)
		}
	}
	tests, reporting := newTestReader(check.Command), reportOf(b.root, check)
	record := newRecorder(check.OutputBytes, tests, reporting)
	p.stdout, p.stderr = record, record
	end := p.run(ctx)
	reported, report := reporting.verdict(end.exitCode, check.Skips)
	facts = Facts{
		Command: check.Command, StartErr: end.startErr, ExitCode: end.exitCode, Signal: end.signal,
		TimedOut: end.timedOut, Interrupted: end.interrupted, Tests: tests.tests(), Report: reported,
	}
	out := outcomeOf(check, facts, record.output())
	out.Duration, out.Report = end.duration, report
	if report != nil && report.Counts.Flaky > 0 {
		out.Flaky = true
		out.note(fmt.Sprintf("the report has %d flaky tests", report.Counts.Flaky))
	}
	return out
}

func outcomeOf(check Check, facts Facts, output Output) Outcome {
	verdict := Classify(facts)
	out := Outcome{
		ID: check.ID, Result: verdict.Class.Result(), Class: verdict.Class, Rule: verdict.Rule,
		ExitCode: facts.ExitCode, Signal: facts.Signal, TimedOut: facts.TimedOut, Output: output, Tests: facts.Tests,
	}
	switch {
	case facts.StartErr != nil:
		out.Detail = facts.StartErr.Error()
	case facts.Report != nil && facts.Report.Rule == verdict.Rule:
		out.Reason = facts.Report.Reason
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
