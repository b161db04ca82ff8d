package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// helperVariable makes the test binary act as a process of a test.
const helperVariable = "DEED_TEST_HELPER"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == confineArgument {
		fmt.Fprintln(os.Stderr, "helper confine:", Confine(os.Args[2], os.Args[3:]))
		os.Exit(126)
	}
	switch os.Getenv(helperVariable) {
	case "":
		os.Exit(m.Run())
	case "parent":
		helperParent(os.Args[1], os.Args[2:])
	case "victim":
		helperVictim(os.Args[1])
	case "escape":
		helperEscape(os.Args[1])
	}
	os.Exit(0)
}

// confineArgument makes the test binary confine itself and become a command.
const confineArgument = "confine-and-become"

// confinement gives the confinement of this machine for a test; ok is false where there
// is none.
func confinement(t *testing.T, denied ...string) (c *Confinement, ok bool) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	version, reason := Landlock()
	if (version == 0) == (reason == "") {
		t.Fatalf("Landlock: version %d, reason %q", version, reason)
	}
	if version == 0 {
		t.Log(reason)
	}
	return &Confinement{Launch: []string{self, confineArgument}, Denied: denied}, version > 0
}

// helperParent makes an effect call and is meant to be killed during it.
func helperParent(lockPath string, command []string) {
	lock, err := AcquireLock(lockPath, "key")
	if err == nil {
		_, err = RunEffect(context.Background(), lock, EffectCall{Key: "key", Fence: "1", Token: "t", Command: command, Dir: filepath.Dir(lockPath)})
	}
	fmt.Fprintln(os.Stderr, "helper parent:", err)
}

// helperVictim runs a confined check that wants to kill it and its group, in a folder, and
// tells the rule.
func helperVictim(root string) {
	self, err := os.Executable()
	if err != nil {
		os.Exit(1)
	}
	b := bench{root: root, confine: &Confinement{Launch: []string{self, confineArgument}}, env: []string{fmt.Sprint("GROUP=", os.Getpid())}}
	out := b.run(context.Background(), Check{Command: shell(`kill -KILL "$PPID" && exit 3; kill -KILL -- "-$GROUP" && exit 4; exit 0`)})
	fmt.Println(out.Rule, out.ExitCode)
}

// helperEscape starts a process in a session of its own that keeps all descriptors, and
// writes its number to a file.
func helperEscape(pidFile string) {
	cmd := exec.Command("/bin/sh", "-c", "tail -f /dev/null >/dev/null; :")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if lock := os.NewFile(3, "lock"); lock != nil {
		cmd.ExtraFiles = []*os.File{lock}
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "helper escape:", err)
		os.Exit(1)
	}
	if err := os.WriteFile(pidFile, []byte(fmt.Sprint(cmd.Process.Pid)), 0o600); err != nil {
		os.Exit(1)
	}
}

// killEscaped ends the session that helperEscape left.
func killEscaped(t *testing.T, pidFile string) {
	t.Helper()
	text, err := os.ReadFile(pidFile)
	must(t, err)
	var pid int
	_, err = fmt.Sscan(string(text), &pid)
	must(t, err)
	must(t, syscall.Kill(-pid, syscall.SIGKILL))
}

// eventually polls until the condition holds, and fails after a generous limit.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("never: %s", what)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pin gives a file of a check with the digest of its text.
func pin(path, text string) []PinnedFile {
	sum := sha256.Sum256([]byte(text))
	return []PinnedFile{{path, hex.EncodeToString(sum[:])}}
}

func shell(script string) []string { return []string{"/bin/sh", "-c", script} }

// gitFixture makes a repository and commits the files.
func gitFixture(t *testing.T, files map[string]string) (dir, commit string) {
	t.Helper()
	dir = t.TempDir()
	for path, text := range files {
		full := filepath.Join(dir, path)
		must(t, os.MkdirAll(filepath.Dir(full), 0o755))
		must(t, os.WriteFile(full, []byte(text), 0o755))
	}
	for _, args := range [][]string{
		{"init", "--quiet"}, {"add", "--all"}, {"commit", "--quiet", "--message", "first"}, {"rev-parse", "HEAD"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z",
			"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z",
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		commit = strings.TrimSpace(string(out))
	}
	return dir, commit
}
