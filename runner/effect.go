package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

const (
	// maxReplyBytes bounds a result file and what a probe prints.
	maxReplyBytes = 64 << 10
	// maxReplyFieldBytes bounds one field of either.
	maxReplyFieldBytes = 1024
)

// EffectCall is a command that changes the outside world, or that asks about it. The
// command finds DEED_IDEMPOTENCY_KEY, DEED_FENCE and DEED_TOKEN in its environment.
type EffectCall struct {
	Key         string
	Fence       string // decimal
	Token       string // to carry to the provider, so that a probe can find it
	Command     []string
	Dir         string        // an existing folder, absolute
	Timeout     time.Duration // 0 for DefaultTimeout, at most MaxTimeout
	OutputBytes int           // window kept of the output; 0 for DefaultOutputBytes
	Env         []string      // "NAME=value" entries beyond the minimal environment
}

// EffectReply is what a call says of itself in the file that DEED_RESULT_FILE names: one
// JSON object with these members. A claim of the command, not a proof.
type EffectReply struct {
	ExternalID string `json:"externalId"`
	Token      string `json:"token"`
	Digest     string `json:"digest"` // SHA-256 of what was applied, lower hex, or ""
}

// EffectOutcome is how a call ended. Only NotStarted proves that nothing happened; any
// exit status but 0 leaves it unknown.
type EffectOutcome struct {
	NotStarted error // why the command never ran; nil if it ran
	ExitCode   int   // -1 when it did not exit by itself
	Signal     string
	TimedOut   bool
	Duration   time.Duration
	Output     Output
	Reply      *EffectReply // nil without a valid one
	ReplyErr   error        // why there is no valid one although the file has content
	Survivors  bool         // something that the call started still holds the lock
}

// Succeeded tells that the call exited with status 0 in time and left nothing running.
func (o EffectOutcome) Succeeded() bool {
	return o.NotStarted == nil && o.ExitCode == 0 && !o.TimedOut && o.Signal == "" && !o.Survivors
}

// RunEffect makes one call under a lock from [AcquireLock], which it uses up. The
// command inherits the lock as descriptor 3.
//
// Errors: [ErrCommand], [ErrLockDamaged] when the lock was used or is another effect's, or the
// file system's. On an error nothing was called. All else is in the outcome.
func RunEffect(ctx context.Context, lock *EffectLock, call EffectCall) (out EffectOutcome, err error) {
	defer func() {
		if releaseErr := lock.Release(); releaseErr != nil {
			out.Survivors = true
		}
	}()
	if lock.file == nil || lock.record.Key != call.Key {
		return EffectOutcome{}, fmt.Errorf("run effect: %w", ErrLockDamaged)
	}
	limit, err := checkCall(call)
	if err != nil {
		return EffectOutcome{}, err
	}
	home, err := makeHome("deed-effect-")
	if err != nil {
		return EffectOutcome{}, fmt.Errorf("prepare effect: %w", err)
	}
	defer func() { _ = removeTree(home) }()
	if err := lock.enter(lockStarting, 0); err != nil {
		return EffectOutcome{}, fmt.Errorf("prepare effect: %w", err)
	}
	reply := filepath.Join(home, "result.json")
	record := newRecorder(call.OutputBytes)
	end := process{
		argv: call.Command, dir: call.Dir, timeout: limit, stdout: record, stderr: record, lock: lock.file,
		env: append(call.environment(home), "DEED_RESULT_FILE="+reply),
		// Without the number the record stays at starting, which proves nothing.
		started: func(group int) { _ = lock.enter(lockRunning, group) },
	}.run(ctx)
	_ = lock.enter(lockEnded, lock.record.Group)
	out = EffectOutcome{
		NotStarted: end.startErr, ExitCode: end.exitCode, Signal: end.signal, TimedOut: end.timedOut,
		Duration: end.duration, Output: record.output(),
	}
	if end.startErr == nil {
		out.Reply, out.ReplyErr = readReply(reply)
	}
	out.Survivors = lock.survivors()
	return out, nil
}

// survivors gives the lock back and looks whether anybody else has it. What cannot be
// known counts as a survivor.
func (l *EffectLock) survivors() bool {
	if err := l.Release(); err != nil {
		return true
	}
	held, err := LockHeld(l.path)
	return held || err != nil
}

func checkCall(call EffectCall) (time.Duration, error) {
	for _, value := range []string{call.Key, call.Fence, call.Token} {
		if value == "" || !isPlainField(value) {
			return 0, fmt.Errorf("check effect: key, fence or token: %w", ErrCommand)
		}
	}
	if info, err := os.Stat(call.Dir); err != nil || !info.IsDir() || !filepath.IsAbs(call.Dir) {
		return 0, fmt.Errorf("check effect folder: %w", errors.Join(ErrCommand, err))
	}
	return checkCommand(call.Command, call.Timeout, call.Env)
}

// environment puts the names that Deed sets last, so that the caller's cannot win.
func (c EffectCall) environment(home string) []string {
	return append(baseEnvironment(home, c.Env), "DEED_IDEMPOTENCY_KEY="+c.Key, "DEED_FENCE="+c.Fence, "DEED_TOKEN="+c.Token)
}

// readReply reads a result file; none, or an empty one, is no reply and no error.
func readReply(path string) (*EffectReply, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return nil, nil
	}
	if err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read effect reply: %w", errors.Join(errReply, err))
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read effect reply: %w", err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxReplyBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read effect reply: %w", err)
	}
	var reply EffectReply
	if err := parseReply(text, &reply); err != nil {
		return nil, fmt.Errorf("read effect reply: %w", err)
	}
	if !isPlainField(reply.ExternalID) || !isPlainField(reply.Token) || !isDigestOrNone(reply.Digest) {
		return nil, fmt.Errorf("read effect reply: %w", errReply)
	}
	return &reply, nil
}

var errReply = errors.New("reply is not of the agreed form")

// parseReply reads exactly one JSON object: no unknown, repeated or differently spelled
// member, nothing after it.
func parseReply(text []byte, into any) error {
	if len(text) > maxReplyBytes {
		return errReply
	}
	if err := json.Unmarshal(text, into, json.RejectUnknownMembers(true)); err != nil {
		return errors.Join(errReply, err)
	}
	return nil
}

func isPlainField(s string) bool {
	if len(s) > maxReplyFieldBytes || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

func isDigestOrNone(s string) bool {
	if s == "" {
		return true
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 64
}
