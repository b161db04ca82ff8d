package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
)

// binDirVariable names the folder of the real command and of a key plugin, built once by
// TestMain.
const binDirVariable = "DEED_TEST_BIN"

// deedProgram is the file of the real command.
func deedProgram() string { return filepath.Join(os.Getenv(binDirVariable), "deed") }

// The scripts run thousands of processes. With the race detector each takes
// about three times as long, so that is asked for by name: make race does.
var raced = flag.Bool("raced", false, "build the command that the tests run with the race detector")

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	flag.Parse()
	if os.Getenv(binDirVariable) != "" { // a process of a test, which needs no second build
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "deed-script-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	args := []string{"build", "-o", dir}
	if *raced {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "github.com/deedledger/deed/cmd/deed", "github.com/deedledger/deed/signer/testdata/sigstore-kms-deedtest")...)
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build deed: %v\n%s", err, out)
		return 1
	}
	os.Setenv(binDirVariable, dir)
	return m.Run()
}

// TestScript runs every script of testdata/script against the real command.
//
// Besides the commands of testscript there are
//
//	exits N PROGRAM ARG…     run a program that must exit with this code
//	capture NAME REGEXP      set $NAME to the first group matched in stdout
//	plainout                 stdout holds nothing that drives a terminal
//	killservice FOLDER       SIGKILL the service of a ledger folder, wait for its end
//	jsonout                  every line of stdout is one deed.cli/v1 object
//	enroll NAME KIND ROLES PRINCIPAL [GIT]…   invite an actor and claim the name
//	gitrepo FOLDER           make a repository of a folder
//	losebytes FOLDER         lose a part of every artifact of a ledger folder
//
// Each script has its own DEED_HOME, and git sees no configuration but its own. $ESC
// is text that would turn a terminal red and its letters around.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			bin := os.Getenv(binDirVariable)
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			for name, value := range map[string]string{
				"DEED_HOME": home, "HOME": env.WorkDir, "NO_COLOR": "1", "GORACE": "atexit_sleep_ms=0", "TERM": "dumb", "LC_ALL": "C.UTF-8", "ESC": "\x1b[31m\u202e",
				"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
				"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.org", "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z",
				"GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.org", "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z",
			} {
				env.Setenv(name, value)
			}
			env.Defer(func() { stopServices(env.WorkDir) })
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "capture": capture, "plainout": plainOut, "killservice": killService, "jsonout": jsonOut,
			"enroll": enroll, "gitrepo": gitRepo, "losebytes": loseBytes,
		},
	})
}

// exits runs a program and demands an exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("run %s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d\n%s%s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// capture sets a variable from stdout.
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME REGEXP")
	}
	re, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	m := re.FindStringSubmatch(ts.ReadFile("stdout"))
	if len(m) < 2 {
		ts.Fatalf("no match for %q in stdout", args[1])
	}
	ts.Setenv(args[0], m[1])
}

// plainOut checks the bytes of stdout: valid UTF-8, no control character but
// the line feed, no bidirectional or zero-width character.
func plainOut(ts *testscript.TestScript, neg bool, _ []string) {
	text := ts.ReadFile("stdout")
	if neg || !utf8.ValidString(text) {
		ts.Fatalf("stdout is not UTF-8: %q", text)
	}
	for i, r := range text {
		switch {
		case r == '\n':
		case r < 0x20, r >= 0x7f && r < 0xa0, r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0xfeff:
			ts.Fatalf("stdout has %U at byte %d: %q", r, i, text)
		}
	}
}

// jsonOut checks that stdout holds versioned objects and nothing else.
func jsonOut(ts *testscript.TestScript, neg bool, _ []string) {
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile("stdout"), "\n"), "\n")
	for _, line := range lines {
		var object struct {
			Schema string           `json:"schema"`
			Kind   string           `json:"kind"`
			At     uint64           `json:"position"`
			Data   *json.RawMessage `json:"data"`
		}
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&object); err != nil || neg || object.Schema != "deed.cli/v1" || object.Kind == "" || object.Data == nil {
			ts.Fatalf("not a deed.cli/v1 object: %q (%v)", line, err)
		}
	}
}

// killService ends a ledger's service without warning.
func killService(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: killservice FOLDER")
	}
	pid, err := servicePID(filepath.Join(ts.MkAbs(args[0]), "run.json"))
	ts.Check(err)
	ts.Check(kill(pid))
}

// servicePID reads the process id of a running service.
func servicePID(runFile string) (int, error) {
	text, err := os.ReadFile(runFile)
	if err != nil {
		return 0, err
	}
	var run struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal(text, &run); err != nil {
		return 0, err
	}
	if run.PID <= 1 {
		return 0, fmt.Errorf("%s names process %d", runFile, run.PID)
	}
	return run.PID, nil
}

// kill sends SIGKILL and waits until the process is gone or a zombie.
func kill(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill %d: %w", pid, err)
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for range 5000 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if errors.Is(err, os.ErrNotExist) || bytes.Contains(stat, []byte(") Z ")) || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return nil
		}
		<-tick.C
	}
	return fmt.Errorf("process %d does not end", pid)
}

// stopServices kills what a script left running: only processes that run the
// command under test.
func stopServices(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "run.json" {
			return nil
		}
		pid, err := servicePID(path)
		if err != nil {
			return nil
		}
		exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if filepath.Dir(exe) == os.Getenv(binDirVariable) {
			_ = kill(pid)
		}
		return nil
	})
}
