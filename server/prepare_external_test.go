package server_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/journal"
	"github.com/deedledger/deed/server"
)

// TestCreatePreparedOutside: a ledger of several founders on an operator's
// NATS. What a creation that was cut short left in the stream is taken over if
// it is the same genesis, and a refusal if it is another.
func TestCreatePreparedOutside(t *testing.T) {
	outside := single(t)
	dir := filepath.Join(t.TempDir(), "ledger")
	o := servicetest.ExternalOptions(dir, outside)
	genesis := prepared(t, dir)
	folder, err := server.CreatePrepared(servicetest.Within(t), o, genesis)
	if err != nil {
		t.Fatal(err)
	}
	if folder.Identity != genesis.Hash().String() {
		t.Errorf("identity %s", folder.Identity)
	}
	key, err := os.ReadFile(folder.KeyPath())
	if err != nil {
		t.Fatal(err)
	}

	// The folder of another machine: the name is taken.
	elsewhere := filepath.Join(t.TempDir(), "ledger")
	theirs := prepared(t, elsewhere)
	if _, err := server.CreatePrepared(servicetest.Within(t), servicetest.ExternalOptions(elsewhere, outside), theirs); !errors.Is(err, journal.ErrExists) {
		t.Errorf("a second ledger of the name: %v", err)
	}
	for _, left := range []string{"", ".creating"} {
		if _, err := os.Lstat(elsewhere + left); err == nil {
			t.Errorf("ledger%s is left behind", left)
		}
	}

	// Killed after the genesis was written and before the folder was there.
	if err := os.Rename(dir, dir+".founding"); err != nil {
		t.Fatal(err)
	}
	again, err := server.CreatePrepared(servicetest.Within(t), o, genesis)
	if err != nil {
		t.Fatalf("create again after a crash: %v", err)
	}
	if now, err := os.ReadFile(again.KeyPath()); err != nil || string(now) != string(key) {
		t.Errorf("the service's key is another one (%v)", err)
	}
	l := runExternal(t, o)
	c := servicetest.Dial(t, (&servicetest.Ledger{Folder: again}).ExternalConfig(t, outside, filepath.Join(t.TempDir(), "head")))
	wantEvents(t, c, 1)
	awaitTrue(t, "leading", l.Writer().Leading)
}
