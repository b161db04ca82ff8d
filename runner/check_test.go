package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRunOutcomes(t *testing.T) {
	root := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(root, "sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "plain"), []byte("x"), 0o644))
	must(t, os.Symlink("/", filepath.Join(root, "out")))
	for name, c := range map[string]struct {
		check Check
		class Class
		rule  string
		exit  int
	}{
		"pass":           {Check{Command: []string{"true"}}, ClassPass, "exit-zero", 0},
		"folder":         {Check{Command: shell("test $(basename $PWD) = sub"), Dir: "sub"}, ClassPass, "exit-zero", 0},
		"fail":           {Check{Command: []string{"false"}}, ClassCodeFailure, "exit-nonzero", 1},
		"exit 3":         {Check{Command: shell("exit 3")}, ClassCodeFailure, "exit-nonzero", 3},
		"shell 127":      {Check{Command: shell("no-such-program-here")}, ClassEnvironmentFailure, "shell-could-not-run", 127},
		"shell 126":      {Check{Command: shell("./plain")}, ClassEnvironmentFailure, "shell-could-not-run", 126},
		"no program":     {Check{Command: []string{"no-such-program-here"}}, ClassEnvironmentFailure, "could-not-start", -1},
		"not executable": {Check{Command: []string{"./plain"}}, ClassEnvironmentFailure, "could-not-start", -1},
		"no folder":      {Check{Command: []string{"true"}, Dir: "none"}, ClassEnvironmentFailure, "could-not-start", -1},
		"folder above":   {Check{Command: []string{"true"}, Dir: "../"}, ClassEnvironmentFailure, "could-not-start", -1},
		"folder outside": {Check{Command: []string{"true"}, Dir: "out"}, ClassEnvironmentFailure, "could-not-start", -1},
		"folder is file": {Check{Command: []string{"true"}, Dir: "plain"}, ClassInconclusive, "malformed-command", -1},
		"empty":          {Check{}, ClassInconclusive, "malformed-command", -1},
		"empty name":     {Check{Command: []string{""}}, ClassInconclusive, "malformed-command", -1},
		"zero byte":      {Check{Command: []string{"true", "a\x00"}}, ClassInconclusive, "malformed-command", -1},
		"limit":          {Check{Command: []string{"true"}, Timeout: -1}, ClassInconclusive, "malformed-command", -1},
		"long limit":     {Check{Command: []string{"true"}, Timeout: MaxTimeout + 1}, ClassInconclusive, "malformed-command", -1},
		"timeout":        {Check{Command: shell("exec tail -f /dev/null"), Timeout: 50 * time.Millisecond}, ClassInconclusive, "timed-out", -1},
		"killed":         {Check{Command: shell("kill -9 $$")}, ClassInconclusive, "killed-by-signal", -1},
		"crashed":        {Check{Command: shell("kill -SEGV $$")}, ClassInconclusive, "killed-by-signal", -1},
	} {
		t.Run(name, func(t *testing.T) {
			got := Run(t.Context(), root, c.check, nil)
			if got.Class != c.class || got.Rule != c.rule || got.ExitCode != c.exit || got.Result != c.class.Result() {
				t.Errorf("%+v, want %s by %s, exit %d", got, c.class, c.rule, c.exit)
			}
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := Run(ended, root, Check{Command: []string{"true"}}, nil); got.Rule != "interrupted" || got.Result != ResultInconclusive {
		t.Errorf("ended context: %+v", got)
	}
	if got := Run(t.Context(), root, Check{Command: []string{"true"}}, []string{"NAME"}); got.Rule != "malformed-command" {
		t.Errorf("environment: %+v", got)
	}
}

func TestRunEnvironment(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "s3cret")
	t.Setenv("GIT_DIR", "/nowhere")
	check := Check{Command: shell(`env | cut -d= -f1 | sort | tr '\n' ' '; echo "$GIVEN"; cat; test -w "$HOME" && test ! -e "$HOME/.gitconfig"`)}
	got := Run(t.Context(), t.TempDir(), check, []string{"GIVEN=yes"})
	if got.Result != ResultPass || got.Output.Window() != "GIVEN HOME LANG LC_ALL PATH PWD TMPDIR yes\n" {
		t.Errorf("%s %q", got.Rule, got.Output.Window())
	}
	tools := t.TempDir()
	must(t, os.WriteFile(filepath.Join(tools, "mine"), []byte("#!/bin/sh\necho mine\n"), 0o755))
	if got := Run(t.Context(), t.TempDir(), Check{Command: []string{"mine"}}, []string{"PATH=.:" + tools}); got.Output.Window() != "mine\n" {
		t.Errorf("given PATH: %+v", got)
	}
	t.Chdir(tools)
	if got := Run(t.Context(), tools, Check{Command: []string{"mine"}}, []string{"PATH=.:"}); got.Rule != "could-not-start" {
		t.Errorf("relative PATH: %+v", got)
	}
}

func TestRunKillsGrandchildren(t *testing.T) {
	for name, c := range map[string]struct {
		end   string
		limit time.Duration
		rule  string
	}{
		"after its end": {"exit 0", time.Minute, "exit-zero"},
		"at its limit":  {"wait", 300 * time.Millisecond, "timed-out"},
	} {
		root := t.TempDir()
		pid := filepath.Join(root, "pid")
		script := "(trap '' TERM HUP; exec tail -f /dev/null) & echo $! > pid; " + c.end
		got := Run(t.Context(), root, Check{Command: shell(script), Timeout: c.limit}, nil)
		if got.Rule != c.rule {
			t.Errorf("%s: %+v", name, got)
		}
		text, err := os.ReadFile(pid)
		must(t, err)
		eventually(t, name+": the grandchild is gone", func() bool { return !running(strings.TrimSpace(string(text))) })
	}
}

// running tells whether a process exists and is no zombie.
func running(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestRunDoesNotWaitForEscapedOutput(t *testing.T) {
	root := t.TempDir()
	pid := filepath.Join(root, "pid")
	self, err := os.Executable()
	must(t, err)
	got := Run(t.Context(), root, Check{Command: []string{self, pid}, Timeout: time.Minute}, []string{helperVariable + "=escape"})
	defer killEscaped(t, pid)
	if got.Result != ResultPass || got.Duration > 30*time.Second {
		t.Errorf("%+v", got)
	}
}

func TestRunInterrupted(t *testing.T) {
	root := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan Outcome, 1)
	go func() { done <- Run(ctx, root, Check{Command: shell("echo x > up; exec tail -f /dev/null")}, nil) }()
	eventually(t, "the command is up", func() bool { return exists(filepath.Join(root, "up")) })
	cancel()
	if got := <-done; got.Rule != "interrupted" || got.ExitCode != -1 {
		t.Errorf("%+v", got)
	}
}

func TestRunFlood(t *testing.T) {
	got := Run(t.Context(), t.TempDir(), Check{Command: shell("head -c 30000000 /dev/zero; echo end >&2"), OutputBytes: 1000}, nil)
	sum := sha256.New()
	sum.Write(make([]byte, 30_000_000))
	sum.Write([]byte("end\n"))
	if got.Output.Bytes != 30_000_004 || got.Output.Digest != hex.EncodeToString(sum.Sum(nil)) {
		t.Errorf("%d bytes, digest %s", got.Output.Bytes, got.Output.Digest)
	}
	if len(got.Output.Head) != 500 || len(got.Output.Tail) != 500 || !strings.HasSuffix(string(got.Output.Tail), "\x00end\n") {
		t.Errorf("head %d, tail %d", len(got.Output.Head), len(got.Output.Tail))
	}
}

func TestRecorder(t *testing.T) {
	text := "abcdefghijklmnopqrstuvwxyz"
	for size := 1; size <= len(text); size++ {
		for length := 0; length <= len(text); length++ {
			r := newRecorder(10)
			for rest := text[:length]; rest != ""; {
				n := min(size, len(rest))
				_, _ = r.Write([]byte(rest[:n]))
				rest = rest[n:]
			}
			o := r.output()
			head, tail := text[:min(5, length)], text[max(min(5, length), length-5):length]
			if string(o.Head) != head || string(o.Tail) != tail || o.Bytes != int64(length) || o.Omitted() != int64(length-len(head)-len(tail)) {
				t.Fatalf("%d bytes by %d: %q %q", length, size, o.Head, o.Tail)
			}
		}
	}
}

func TestRemoveTree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	deep := filepath.Join(dir, "a/b/c")
	must(t, os.MkdirAll(deep, 0o755))
	must(t, os.WriteFile(filepath.Join(deep, "f"), nil, 0o400))
	for _, path := range []string{deep, filepath.Dir(deep), dir} {
		must(t, os.Chmod(path, 0o500))
	}
	must(t, os.Chmod(deep, 0))
	must(t, removeTree(dir))
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
	must(t, removeTree(dir))
}
