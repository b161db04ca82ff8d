package server_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedledger/deed/evidence"
	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/server"
)

// TestLostStream: a folder whose ledger.json names a stream that is not in its
// store has lost it; there is nothing to create.
func TestLostStream(t *testing.T) {
	l := servicetest.New(t)
	for name, change := range map[string]func(dir string){
		"another name in ledger.json": func(dir string) { rewrite(t, dir, func(f *server.Folder) { f.Ledger = "another" }) },
		"no meta.inf": func(dir string) {
			found, err := filepath.Glob(filepath.Join(dir, "store", "jetstream", "*", "streams", "*", "meta.inf"))
			if err != nil || len(found) != 1 {
				t.Fatalf("found %v, %v", found, err)
			}
			if err := os.Remove(found[0]); err != nil {
				t.Fatal(err)
			}
		},
	} {
		dir := filepath.Join(t.TempDir(), "ledger")
		copyDir(t, l.Folder.Dir, dir)
		change(dir)
		_, err := server.OpenReader(servicetest.Within(t), servicetest.Options(dir))
		if _, code := refusal(err); code != ledger.CodeDamage || !errors.Is(err, server.ErrNoLedger) {
			t.Errorf("%s: read: %v, want damage and ErrNoLedger", name, err)
		}
		wantDamage(t, name, runs(t, dir), "stream")
		if in, err := (server.Folder{Dir: dir}).InUse(); err != nil || in {
			t.Errorf("%s: folder is in use %t after the refusal, %v", name, in, err)
		}
	}
}

func TestDamagedFolder(t *testing.T) {
	l := servicetest.New(t)
	whole, err := os.ReadFile(filepath.Join(l.Folder.Dir, "ledger.json"))
	if err != nil {
		t.Fatal(err)
	}
	without := func(old, new string) string { return strings.Replace(string(whole), old, new, 1) }
	for name, text := range map[string]string{
		"empty": "", "cut": string(whole[:len(whole)/2]), "no object": "[]", "null": "null", "two values": string(whole) + string(whole),
		"unknown member": without(`"schema"`, `"more": 1, "schema"`), "repeated member": without(`"schema"`, `"ledger": "acme", "schema"`),
		"other case": without(`"schema"`, `"Schema"`), "other version": without("deed.folder/v1", "deed.folder/v2"),
		"no ledger": without(`"acme"`, `""`), "ledger with a path": without(`"acme"`, `"../acme"`),
		"no identity": without(l.Folder.Identity, ""), "short identity": without(l.Folder.Identity, l.Folder.Identity[1:]),
		"no service key": without(l.Folder.Service, ""), "huge": strings.Repeat(" ", 1<<20) + string(whole), "bytes": "\x00\xff\xfe",
	} {
		dir := filepath.Join(t.TempDir(), "ledger")
		copyDir(t, l.Folder.Dir, dir)
		if err := os.WriteFile(filepath.Join(dir, "ledger.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := runs(t, dir); err == nil {
			t.Errorf("ledger.json %s: it runs", name)
		}
		if after, err := os.ReadFile(filepath.Join(dir, "ledger.json")); err != nil || string(after) != text {
			t.Errorf("ledger.json %s: it was changed, %v", name, err)
		}
	}
	dir := filepath.Join(t.TempDir(), "ledger")
	copyDir(t, l.Folder.Dir, dir)
	if err := runs(t, dir); err != nil {
		t.Errorf("a whole copy: %v", err)
	}
}

// TestRollback puts an earlier copy of the store back. The heads that the
// service retained show it; without them, those that a client remembers.
func TestRollback(t *testing.T) {
	l := servicetest.New(t)
	first := l.Run(t)
	head := filepath.Join(t.TempDir(), "head")
	task := chain(t, l, "TASK-1")
	appendAll(t, servicetest.Dial(t, l.Config(t, first.URL(), head)), task, 3)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	earlier := filepath.Join(t.TempDir(), "store")
	copyDir(t, l.Folder.StoreDir(), earlier)
	second := l.Run(t)
	appendAll(t, servicetest.Dial(t, l.Config(t, second.URL(), head)), task, 3)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}

	copyDir(t, earlier, l.Folder.StoreDir())
	class, code := refusal(runs(t, l.Folder.Dir))
	if class != ledger.Corrupt || code != ledger.CodeDamage {
		t.Fatalf("run on an earlier store: %s %s, want corrupt damage", class, code)
	}

	if err := os.Remove(l.Folder.HeadsPath()); err != nil {
		t.Fatal(err)
	}
	third := l.Run(t)
	c := servicetest.Dial(t, l.Config(t, third.URL(), head))
	if _, err := c.Status(servicetest.Within(t)); !errors.Is(err, evidence.ErrRollback) {
		t.Errorf("status of a ledger without its newest events: %v, want ErrRollback", err)
	}
	again := chain(t, l, "TASK-2")
	e, err := again.Next()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Submit(servicetest.Within(t), e, false); !errors.Is(err, evidence.ErrRollback) {
		t.Errorf("submit to a ledger without its newest events: %v, want ErrRollback", err)
	}
	// With as many events as before it is no rollback any more, but a fork.
	// Nothing was written for the client that knows better.
	other := servicetest.Dial(t, l.Config(t, third.URL(), ""))
	if ack, err := other.Submit(servicetest.Within(t), e, false); err != nil || ack.Existing {
		t.Fatalf("submit of a client without memory: %+v, %v", ack, err)
	}
	again.Took(e)
	appendAll(t, other, again, 4)
	if _, err := c.Status(servicetest.Within(t)); !errors.Is(err, evidence.ErrForked) {
		t.Errorf("status of a ledger with other newest events: %v, want ErrForked", err)
	}
}

// TestDamagedHeads: the service does not run without the heads that it wrote.
func TestDamagedHeads(t *testing.T) {
	l := servicetest.New(t)
	local := l.Run(t)
	appendAll(t, servicetest.Dial(t, l.Config(t, local.URL(), "")), chain(t, l, "TASK-1"), 3)
	if err := local.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(l.Folder.HeadsPath())
	if err != nil || len(text) == 0 {
		t.Fatalf("no head was retained: %v", err)
	}
	for i := range text {
		damaged := append([]byte{}, text...)
		damaged[i] ^= 1
		if err := os.WriteFile(l.Folder.HeadsPath(), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if i%37 != 0 && i != len(text)-1 { // each start reads the whole folder: a few will do
			continue
		}
		if i == len(text)-1 { // without its last byte the record is one that a crash cut short
			continue
		}
		if err := runs(t, l.Folder.Dir); !errors.Is(err, evidence.ErrHeadLog) {
			t.Errorf("byte %d of the heads changed: %v, want ErrHeadLog", i, err)
		}
	}
	// A record that a crash cut short was never relied on.
	if err := os.WriteFile(l.Folder.HeadsPath(), text[:len(text)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := runs(t, l.Folder.Dir); err != nil {
		t.Errorf("run after a head cut short: %v", err)
	}
}

// TestHeadsMissing: a history that is longer than what a crash can leave without a
// head had heads, and does not run when they are gone.
func TestHeadsMissing(t *testing.T) {
	l := servicetest.New(t)
	first := l.Run(t)
	c, task := servicetest.Dial(t, l.Config(t, first.URL(), "")), chain(t, l, "TASK-1")
	appendAll(t, c, task, 159) // 160 events with the genesis
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	limit := filepath.Join(t.TempDir(), "limit")
	copyDir(t, l.Folder.Dir, limit)
	second := l.Run(t)
	appendAll(t, servicetest.Dial(t, l.Config(t, second.URL(), "")), task, 1)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(l.Folder.HeadsPath())
	if err != nil {
		t.Fatal(err)
	}
	heads := func(dir string) string { return filepath.Join(dir, "heads") }
	for name, change := range map[string]func(dir string) error{
		"removed": func(dir string) error { return os.Remove(heads(dir)) },
		"emptied": func(dir string) error { return os.Truncate(heads(dir), 0) },
		"torn":    func(dir string) error { return os.Truncate(heads(dir), 20) },
	} {
		dir := filepath.Join(t.TempDir(), "ledger")
		copyDir(t, l.Folder.Dir, dir)
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the refusal does not heal what it found
			wantDamage(t, "heads "+name, runs(t, dir), "retained-head")
		}
	}

	// A crash leaves that much, at most. The next start keeps a head of it.
	if err := os.Remove(heads(limit)); err != nil {
		t.Fatal(err)
	}
	if err := runs(t, limit); err != nil {
		t.Errorf("run on 160 events without a head: %v", err)
	}
	if kept, err := os.ReadFile(heads(limit)); err != nil || !strings.Contains(string(kept), "\n160\n") {
		t.Errorf("the start kept %q, %v, want a head of 160 events", kept, err)
	}
	if err := runs(t, l.Folder.Dir); err != nil {
		t.Errorf("run with all heads: %v", err)
	}
	if kept, err := os.ReadFile(l.Folder.HeadsPath()); err != nil || string(kept) != string(whole) {
		t.Errorf("a start without events changed the heads, %v", err)
	}
}
