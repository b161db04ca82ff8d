package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/deedledger/deed/boundary"
)

const (
	// maxOutputBytes bounds what one git command may print before it is refused.
	maxOutputBytes = 256 << 20
	// maxStderrBytes bounds the part of git's messages kept in an error.
	maxStderrBytes = 4 << 10
	// killGrace is how long git's pipes may stay open after git was killed.
	killGrace = 2 * time.Second
)

// errOutputTooLarge reports that git printed more than maxOutputBytes.
var errOutputTooLarge = errors.New("git output exceeds its limit")

// GitError is a git command that ended with an unexpected status.
type GitError struct {
	Command  string // the git subcommand
	ExitCode int    // -1 when it was killed
	Stderr   string // at most 4 KiB of what it said, escaped for terminals
}

// Error names the command, its status and what it said.
func (e *GitError) Error() string {
	return fmt.Sprintf("run git %s: exit %d: %s", e.Command, e.ExitCode, e.Stderr)
}

// gitCall is one run of git: where, with what, and its additional environment.
type gitCall struct {
	dir   string
	args  []string
	env   []string
	stdin io.Reader
}

// run gives the whole standard output of one git command.
func (c gitCall) run(ctx context.Context) ([]byte, error) {
	out := &boundedBuffer{limit: maxOutputBytes}
	err := c.stream(ctx, func(r io.Reader) error {
		_, err := io.Copy(out, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out.buf.Bytes(), nil
}

// line gives the standard output less its final newline. Names that hold newlines
// survive, since only the one that git adds is cut.
func (c gitCall) line(ctx context.Context) (string, error) {
	out, err := c.run(ctx)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// stream runs git and hands its standard output to read while it runs.
func (c gitCall) stream(ctx context.Context, read func(io.Reader) error) error {
	program, err := exec.LookPath("git")
	if err != nil {
		return fmt.Errorf("find git: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append(fixedFlags(), c.args...)...)
	cmd.Dir = c.dir
	cmd.Env = append(fixedEnv(), c.env...)
	cmd.Stdin = c.stdin
	cmd.WaitDelay = killGrace
	stderr := &headBuffer{limit: maxStderrBytes}
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("open git output: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start git: %w", err)
	}
	readErr := read(stdout)
	if readErr != nil {
		cancel()
	}
	waitErr := cmd.Wait()
	if parent := context.Cause(ctx); parent != nil && readErr == nil {
		return fmt.Errorf("run git %s: %w", c.args[0], parent)
	}
	if readErr != nil {
		return fmt.Errorf("read git %s: %w", c.args[0], readErr)
	}
	if exit, ok := errors.AsType[*exec.ExitError](waitErr); ok {
		return &GitError{Command: c.args[0], ExitCode: exit.ExitCode(), Stderr: boundary.DisplayPath(strings.TrimSpace(stderr.buf.String()))}
	}
	if waitErr != nil {
		return fmt.Errorf("run git %s: %w", c.args[0], waitErr)
	}
	return nil
}

// exitCode gives the status that git ended with, or -1 for any other error.
func exitCode(err error) int {
	if g, ok := errors.AsType[*GitError](err); ok {
		return g.ExitCode
	}
	return -1
}

// fixedFlags hold the settings that could run code or hide a change. Given on the
// command line they win over every configuration file.
func fixedFlags() []string {
	flags := []string{"--no-pager", "--literal-pathspecs"}
	for _, setting := range []string{
		"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=false",
		"core.attributesFile=/dev/null", "core.excludesFile=/dev/null", "core.quotePath=true",
		"core.fileMode=true", "core.symlinks=true", "core.ignoreStat=false", "core.trustctime=true",
		"core.checkStat=default", "core.autocrlf=false", "core.safecrlf=false",
		"core.commitGraph=false", "core.useReplaceRefs=false", "core.precomposeUnicode=false",
		"core.ignoreCase=false", "protocol.allow=never", "advice.detachedHead=false", "gc.auto=0", "maintenance.auto=false",
	} {
		flags = append(flags, "-c", setting)
	}
	return flags
}

// fixedEnv is the whole environment of every git command.
func fixedEnv() []string {
	return []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_GRAFT_FILE=/dev/null", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
		"GIT_ADVICE=0",
	}
}

// boundedBuffer keeps everything and fails once it would grow beyond its limit.
type boundedBuffer struct {
	buf   bytes.Buffer
	limit int
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.buf.Len()+len(p) > b.limit {
		return 0, errOutputTooLarge
	}
	return b.buf.Write(p)
}

// headBuffer keeps the first limit bytes and drops the rest without failing.
type headBuffer struct {
	buf   bytes.Buffer
	limit int
}

func (b *headBuffer) Write(p []byte) (int, error) {
	if room := b.limit - b.buf.Len(); room > 0 {
		b.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
