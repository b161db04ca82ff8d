package runner

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func call(dir string, command []string) EffectCall {
	return EffectCall{Key: "key", Fence: "7", Token: "token", Command: command, Dir: dir, Timeout: time.Minute}
}

func runEffect(t *testing.T, c EffectCall) EffectOutcome {
	t.Helper()
	lock, err := AcquireLock(filepath.Join(c.Dir, "lock"), c.Key)
	must(t, err)
	out, err := RunEffect(t.Context(), lock, c)
	must(t, err)
	return out
}

func TestRunEffect(t *testing.T) {
	dir := t.TempDir()
	c := call(dir, shell(`echo "$DEED_IDEMPOTENCY_KEY $DEED_FENCE $DEED_TOKEN $MINE"
printf '{"externalId":"run/1","token":"%s","digest":""}' "$DEED_TOKEN" > "$DEED_RESULT_FILE"`))
	c.Env = []string{"MINE=yes", "DEED_TOKEN=forged"}
	out := runEffect(t, c)
	if !out.Succeeded() || out.Output.Window() != "key 7 token yes\n" || out.Reply == nil || *out.Reply != (EffectReply{"run/1", "token", ""}) {
		t.Errorf("%+v %+v", out, out.Reply)
	}
	seen, err := ReadLock(filepath.Join(dir, "lock"), "key")
	if err != nil || seen.Held || !seen.CallDead() {
		t.Errorf("after the call: %+v, %v", seen, err)
	}
	for name, script := range map[string]string{
		"junk": "echo hello", "unknown member": `echo '{"externalId":"a","extra":1}'`, "two": `echo '{}{}'`, "list": "echo '[]'",
		"repeated": `echo '{"token":"a","token":"b"}'`, "case": `echo '{"Token":"a"}'`, "digest": `echo '{"digest":"AB"}'`,
		"control": `printf '{"externalId":"\\u001b[2J"}'`, "flood": "head -c 100000 /dev/zero",
	} {
		if out := runEffect(t, call(dir, shell(script+` > "$DEED_RESULT_FILE"`))); out.Reply != nil || out.ReplyErr == nil {
			t.Errorf("%s: %+v, %v", name, out.Reply, out.ReplyErr)
		}
	}
	if out := runEffect(t, call(dir, shell(`ln -s /etc/hostname "$DEED_RESULT_FILE"`))); out.Reply != nil || out.ReplyErr == nil {
		t.Errorf("link: %+v", out.Reply)
	}
	if out := runEffect(t, call(dir, shell("exit 4"))); out.Succeeded() || out.ExitCode != 4 || out.NotStarted != nil || out.Reply != nil || out.ReplyErr != nil {
		t.Errorf("exit 4: %+v", out)
	}
	if out := runEffect(t, call(dir, []string{"no-such-program-here"})); out.NotStarted == nil || out.Succeeded() {
		t.Errorf("no program: %+v", out)
	}
	slow := call(dir, shell("exec tail -f /dev/null"))
	slow.Timeout = 50 * time.Millisecond
	if out := runEffect(t, slow); !out.TimedOut || out.Succeeded() || out.Survivors {
		t.Errorf("timeout: %+v", out)
	}
}

func TestRunEffectRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lock")
	for name, spoil := range map[string]func(*EffectCall){
		"no key":   func(c *EffectCall) { c.Key = "" },
		"no fence": func(c *EffectCall) { c.Fence = "" },
		"no token": func(c *EffectCall) { c.Token = "" },
		"newline":  func(c *EffectCall) { c.Token = "a\nb" },
		"other":    func(c *EffectCall) { c.Key = "key2" },
		"command":  func(c *EffectCall) { c.Command = nil },
		"folder":   func(c *EffectCall) { c.Dir = "." },
		"missing":  func(c *EffectCall) { c.Dir = filepath.Join(dir, "none") },
		"limit":    func(c *EffectCall) { c.Timeout = -1 },
	} {
		lock, err := AcquireLock(path, "key")
		must(t, err)
		c := call(dir, shell("touch called"))
		spoil(&c)
		if out, err := RunEffect(t.Context(), lock, c); err == nil {
			t.Errorf("%s: %+v", name, out)
		}
		if _, err := RunEffect(t.Context(), lock, call(dir, shell("touch called"))); !errors.Is(err, ErrLockDamaged) {
			t.Errorf("%s: second use of a lock: %v", name, err)
		}
		if seen, err := ReadLock(path, "key"); err != nil || !seen.CallDead() {
			t.Errorf("%s: %+v, %v", name, seen, err)
		}
	}
	if exists(filepath.Join(dir, "called")) {
		t.Error("a refused call was made")
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if _, err := ReadLock(path, "key"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := LockHeld(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	lock, err := AcquireLock(path, "key")
	must(t, err)
	if _, err := AcquireLock(path, "key"); !errors.Is(err, ErrEffectRunning) {
		t.Errorf("second holder: %v", err)
	}
	if held, err := LockHeld(path); err != nil || !held {
		t.Errorf("held %v, %v", held, err)
	}
	if seen, err := ReadLock(path, "key"); err != nil || !seen.Held || seen.CallDead() {
		t.Errorf("%+v, %v", seen, err)
	}
	must(t, lock.Release())
	must(t, lock.Release())
	if seen, err := ReadLock(path, "key"); err != nil || seen.Held || !seen.CallDead() {
		t.Errorf("released before any call: %+v, %v", seen, err)
	}
	for _, other := range []string{"", "key2", "KEY"} {
		if _, err := ReadLock(path, other); !errors.Is(err, ErrLockDamaged) {
			t.Errorf("read as %q: %v", other, err)
		}
		if _, err := AcquireLock(path, other); !errors.Is(err, ErrLockDamaged) {
			t.Errorf("taken as %q: %v", other, err)
		}
	}
	must(t, os.WriteFile(path, []byte("junk"), 0o600))
	if _, err := ReadLock(path, "key"); !errors.Is(err, ErrLockDamaged) {
		t.Errorf("junk: %v", err)
	}
	if _, err := AcquireLock(path, "key"); !errors.Is(err, ErrLockDamaged) {
		t.Errorf("junk: %v", err)
	}
	link := path + "-link"
	must(t, os.Symlink(path, link))
	if _, err := AcquireLock(link, "key"); err == nil {
		t.Error("a link was taken for a lock")
	}
}

func TestCallDead(t *testing.T) {
	here, other := Place{"b", "n"}, Place{"b", "m"}
	for name, c := range map[string]struct {
		lock Lock
		want bool
	}{
		"never started":   {Lock{Place: here, Here: here, state: lockPrepared}, true},
		"ended":           {Lock{Place: here, Here: here, state: lockEnded}, true},
		"group gone":      {Lock{Place: here, Here: here, state: lockRunning}, true},
		"group alive":     {Lock{Place: here, Here: here, state: lockRunning, groupAlive: true}, false},
		"starting":        {Lock{Place: here, Here: here, state: lockStarting}, false},
		"held":            {Lock{Held: true, Place: here, Here: here, state: lockEnded}, false},
		"other namespace": {Lock{Place: other, Here: here, state: lockEnded}, false},
		"no place":        {Lock{state: lockEnded}, false},
		"no record":       {Lock{Place: here, Here: here}, false},
		"nothing":         {Lock{}, false},
	} {
		if got := c.lock.CallDead(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestEffectDiesWithItsParent kills the calling process with SIGKILL while a grandchild of
// the call runs.
func TestEffectDiesWithItsParent(t *testing.T) {
	dir := t.TempDir()
	path, up := filepath.Join(dir, "lock"), filepath.Join(dir, "up")
	self, err := os.Executable()
	must(t, err)
	parent := exec.Command(self, append([]string{path}, shell("sh -c 'trap \"\" HUP TERM; echo $$ > up.part; mv up.part up; tail -f /dev/null; echo more > late' & wait")...)...)
	parent.Env = []string{helperVariable + "=parent"}
	parent.Stderr = os.Stderr
	must(t, parent.Start())
	eventually(t, "the grandchild is up", func() bool { return exists(up) })
	text, err := os.ReadFile(up)
	must(t, err)
	if seen, err := ReadLock(path, "key"); err != nil || !seen.Held || seen.CallDead() {
		t.Errorf("while it runs: %+v, %v", seen, err)
	}
	if _, err := AcquireLock(path, "key"); !errors.Is(err, ErrEffectRunning) {
		t.Errorf("second call while it runs: %v", err)
	}
	must(t, parent.Process.Kill())
	_ = parent.Wait()
	eventually(t, "the call is proven dead", func() bool {
		seen, err := ReadLock(path, "key")
		return err == nil && seen.CallDead()
	})
	if running(strings.TrimSpace(string(text))) {
		t.Error("proven dead, yet the grandchild runs")
	}
	out := runEffect(t, call(dir, []string{"true"}))
	if !out.Succeeded() || exists(filepath.Join(dir, "late")) {
		t.Errorf("next call: %+v", out)
	}
}

// TestEffectSurvivor lets a descendant leave the group: the lock must tell.
func TestEffectSurvivor(t *testing.T) {
	dir := t.TempDir()
	pid := filepath.Join(dir, "pid")
	self, err := os.Executable()
	must(t, err)
	c := call(dir, []string{self, pid})
	c.Env = []string{helperVariable + "=escape"}
	out := runEffect(t, c)
	if !out.Survivors || out.Succeeded() || out.ExitCode != 0 {
		t.Errorf("%+v", out)
	}
	path := filepath.Join(dir, "lock")
	if seen, err := ReadLock(path, "key"); err != nil || !seen.Held || seen.CallDead() {
		t.Errorf("%+v, %v", seen, err)
	}
	if _, err := AcquireLock(path, "key"); !errors.Is(err, ErrEffectRunning) {
		t.Errorf("call beside a survivor: %v", err)
	}
	killEscaped(t, pid)
	eventually(t, "the survivor is gone", func() bool {
		seen, err := ReadLock(path, "key")
		return err == nil && seen.CallDead()
	})
}
