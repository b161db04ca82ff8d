package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/journal/jetstream/embedded"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server"
	"github.com/deedledger/deed/signer"
)

// refusal returns the class and code of a refusal, empty for another error.
func refusal(err error) (ledger.Class, ledger.Code) {
	r, ok := errors.AsType[*ledger.Refusal](err)
	if !ok {
		return "", ""
	}
	return r.Class, r.Code
}

// appendAll submits n more events of a chain.
func appendAll(t *testing.T, c *client.Client, chain *servicetest.Chain, n int) {
	t.Helper()
	for range n {
		e, err := chain.Next()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Submit(servicetest.Within(t), e, false); err != nil {
			t.Fatal(err)
		}
		chain.Took(e)
	}
}

// chain begins a chain of a task.
func chain(t *testing.T, l *servicetest.Ledger, task string) *servicetest.Chain {
	t.Helper()
	c, err := l.Chain(task)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// runs starts the service and stops it again; the error is that of the start.
func runs(t *testing.T, dir string) error {
	t.Helper()
	local, err := server.Run(servicetest.Within(t), servicetest.Options(dir))
	if err != nil {
		return err
	}
	if err := local.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	return nil
}

// copyDir copies a folder whose files nobody writes to.
func copyDir(t *testing.T, from, to string) {
	t.Helper()
	private := func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			err = os.Chmod(path, 0o600) // a copy is open to others
		}
		return err
	}
	if err := errors.Join(os.RemoveAll(to), os.CopyFS(to, os.DirFS(from)), filepath.WalkDir(to, private)); err != nil {
		t.Fatal(err)
	}
}

// rewrite changes ledger.json.
func rewrite(t *testing.T, dir string, change func(*server.Folder)) {
	t.Helper()
	path := filepath.Join(dir, "ledger.json")
	f, err := server.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	change(&f)
	text, err := json.Marshal(f)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestSecondInstance(t *testing.T) {
	l := servicetest.New(t)
	first := l.Run(t)
	before, err := l.Folder.Running()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Run(servicetest.Within(t), servicetest.Options(l.Folder.Dir)); !errors.Is(err, embedded.ErrInUse) {
		t.Errorf("second service: %v, want ErrInUse", err)
	}
	if _, err := server.OpenReader(servicetest.Within(t), servicetest.Options(l.Folder.Dir)); !errors.Is(err, embedded.ErrInUse) {
		t.Errorf("reader beside a service: %v, want ErrInUse", err)
	}
	// The one that was refused leaves the first alone.
	if after, err := l.Folder.Running(); err != nil || after != before {
		t.Errorf("run.json is %+v, %v, want %+v", after, err, before)
	}
	c := servicetest.Dial(t, l.Config(t, first.URL(), ""))
	appendAll(t, c, chain(t, l, "TASK-1"), 2)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := runs(t, l.Folder.Dir); err != nil {
		t.Errorf("run after the first ended: %v", err)
	}
}

// wantDamage demands that an error is the refusal of damage by a rule, and no
// advice to create a ledger.
func wantDamage(t *testing.T, what string, err error, rule string) {
	t.Helper()
	r, ok := errors.AsType[*ledger.Refusal](err)
	if !ok || r.Class != ledger.Corrupt || r.Code != ledger.CodeDamage || r.Rule != rule || errors.Is(err, server.ErrNoLedger) {
		t.Errorf("%s: %v, want damage by %s", what, err, rule)
	}
}

func TestMissingLedger(t *testing.T) {
	empty := t.TempDir()
	whole := servicetest.New(t).Folder.Dir
	noStore, noStream, noJSON := servicetest.New(t).Folder.Dir, servicetest.New(t).Folder.Dir, servicetest.New(t).Folder.Dir
	for _, path := range []string{
		filepath.Join(noStore, "store"), filepath.Join(noStream, "store", "jetstream"), filepath.Join(noJSON, "ledger.json"),
	} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	for name, dir := range map[string]string{
		"empty folder": empty, "no folder": filepath.Join(empty, "none"), "no store": noStore, "no stream": noStream, "no ledger.json": noJSON,
	} {
		err := runs(t, dir)
		if dir == noStore || dir == noStream { // ledger.json says that there was one
			wantDamage(t, "run on "+name, err, "stream")
		} else if !errors.Is(err, server.ErrNoLedger) {
			t.Errorf("run on %s: %v, want ErrNoLedger", name, err)
		}
		if name == "empty folder" || name == "no folder" {
			continue
		}
		// What is left is not taken for a place to begin anew.
		_, err = server.Create(servicetest.Within(t), servicetest.Options(dir), "acme", nil)
		if !errors.Is(err, server.ErrLedgerExists) {
			t.Errorf("create on %s: %v, want ErrLedgerExists", name, err)
		}
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) != 0 {
		t.Errorf("run left %v in the empty folder, %v", left, err)
	}
	if err := runs(t, whole); err != nil {
		t.Errorf("run on a whole ledger: %v", err)
	}
}

func TestCreateRefuses(t *testing.T) {
	never := func(signer.PublicKey) (events.Event, error) {
		t.Error("genesis is asked for")
		return events.Event{}, nil
	}
	l := servicetest.New(t)
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "notes"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"a ledger": l.Folder.Dir, "other files": other} {
		if _, err := server.Create(servicetest.Within(t), servicetest.Options(dir), "acme", never); !errors.Is(err, server.ErrLedgerExists) {
			t.Errorf("create on %s: %v, want ErrLedgerExists", name, err)
		}
	}
	for _, name := range []string{"", "Acme", "a/b", "../up", strings.Repeat("a", 33), "a b"} {
		dir := filepath.Join(t.TempDir(), "ledger")
		if _, err := server.Create(servicetest.Within(t), servicetest.Options(dir), name, never); !errors.Is(err, events.ErrForm) {
			t.Errorf("create with name %q: %v, want ErrForm", name, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("create with name %q left a folder, %v", name, err)
		}
	}
	broken := errors.New("signer is broken")
	dir := filepath.Join(t.TempDir(), "ledger")
	_, err := server.Create(servicetest.Within(t), servicetest.Options(dir), "acme", func(signer.PublicKey) (events.Event, error) { return events.Event{}, broken })
	if !errors.Is(err, broken) {
		t.Errorf("create with a broken signer: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused genesis left a folder, %v", err)
	}
}

func TestOtherLedger(t *testing.T) {
	l, other := servicetest.New(t), servicetest.New(t)
	for name, test := range map[string]struct {
		change func(dir string)
		want   error
	}{
		"another identity in ledger.json": {func(dir string) {
			rewrite(t, dir, func(f *server.Folder) { f.Identity = other.Folder.Identity })
		}, server.ErrOtherLedger},
		"the store of another ledger": {func(dir string) {
			copyDir(t, other.Folder.StoreDir(), filepath.Join(dir, "store"))
		}, server.ErrOtherLedger},
		"the key of another ledger": {func(dir string) {
			text, err := os.ReadFile(other.Folder.KeyPath())
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "service.key"), text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, server.ErrOtherLedger},
	} {
		dir := filepath.Join(t.TempDir(), "ledger")
		copyDir(t, l.Folder.Dir, dir)
		test.change(dir)
		if err := runs(t, dir); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		if in, err := (server.Folder{Dir: dir}).InUse(); err != nil || in {
			t.Errorf("%s: folder is in use %t after the refusal, %v", name, in, err)
		}
	}
}

// TestStaleRunFile: a service that was killed leaves run.json behind.
func TestStaleRunFile(t *testing.T) {
	l := servicetest.New(t)
	p := startProcess(t, l.Folder.Dir, "127.0.0.1:0")
	if in, err := l.Folder.InUse(); err != nil || !in {
		t.Errorf("in use %t while the service runs, %v", in, err)
	}
	p.kill(t)
	running, err := l.Folder.Running()
	if err != nil || running.URL != p.url || running.PID != p.cmd.Process.Pid {
		t.Fatalf("run.json says %+v, %v", running, err)
	}
	if in, err := l.Folder.InUse(); err != nil || in {
		t.Errorf("in use %t after the kill, %v", in, err)
	}
	_, err = client.Dial(l.Config(t, running.URL, ""))
	if class, _ := refusal(err); class != ledger.Unavailable {
		t.Errorf("dial a dead service: %v, want unavailable", err)
	}
	local := l.Run(t)
	if running, err = l.Folder.Running(); err != nil || running.URL != local.URL() {
		t.Errorf("run.json says %+v, %v, want %s", running, err, local.URL())
	}
	if err := local.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Folder.Running(); !errors.Is(err, server.ErrNotRunning) {
		t.Errorf("after a stop: %v, want ErrNotRunning", err)
	}
	for name, text := range map[string]string{"empty": "", "cut": `{"pid":`, "no object": `7`, "unknown member": `{"pid":1,"url":"","more":1}`} {
		if err := os.WriteFile(filepath.Join(l.Folder.Dir, "run.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Folder.Running(); err == nil {
			t.Errorf("run.json %s is read", name)
		}
		if err := runs(t, l.Folder.Dir); err != nil {
			t.Errorf("run over a run.json that is %s: %v", name, err)
		}
	}
}

// TestCancelledStart: a start that is given up leaves a folder that starts.
func TestCancelledStart(t *testing.T) {
	l := servicetest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := server.Run(ctx, servicetest.Options(l.Folder.Dir)); err == nil {
		t.Error("a cancelled start runs")
	}
	if _, err := l.Folder.Running(); !errors.Is(err, server.ErrNotRunning) {
		t.Errorf("a cancelled start left run.json: %v", err)
	}
	if err := runs(t, l.Folder.Dir); err != nil {
		t.Errorf("run after a cancelled start: %v", err)
	}
}

func TestServiceListensOnLoopbackOnly(t *testing.T) {
	l := servicetest.New(t)
	for _, listen := range []string{"0.0.0.0:0", ":0", "192.0.2.1:4222", "localhost:0", "127.0.0.1", "127.0.0.1:http"} {
		o := servicetest.Options(l.Folder.Dir)
		o.Listen = listen
		local, err := server.Run(servicetest.Within(t), o)
		if err == nil {
			t.Errorf("listens at %q", listen)
			_ = local.Close()
		}
	}
}
