package server_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/server"
	"github.com/deedledger/deed/signer"
)

// prepared is a genesis for the service key that waits beside dir.
func prepared(t *testing.T, dir string) events.Event {
	t.Helper()
	key, err := server.Prepare(servicetest.Options(dir), "acme")
	if err != nil {
		t.Fatal(err)
	}
	return genesisFor(key)
}

func genesisFor(key signer.PublicKey) events.Event {
	cast := ledgertest.NewCast("acme", servicetest.Options("").Now)
	return cast.Genesis(func(g *events.Genesis) { g.Service.Key = key.String() })
}

// TestCreatePrepared makes a ledger that starts, after a creation that was cut
// short, once.
func TestCreatePrepared(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ledger")
	o := servicetest.Options(dir)
	genesis := prepared(t, dir)
	if again := prepared(t, dir); string(again.Data) != string(genesis.Data) {
		t.Error("a second Prepare made another key")
	}
	if err := os.MkdirAll(filepath.Join(dir+".creating", "store"), 0o700); err != nil { // what a crash leaves
		t.Fatal(err)
	}
	folder, err := server.CreatePrepared(servicetest.Within(t), o, genesis)
	if err != nil {
		t.Fatal(err)
	}
	if folder.Identity != genesis.Hash().String() {
		t.Errorf("identity %s", folder.Identity)
	}
	l, err := server.Run(servicetest.Within(t), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := server.CreatePrepared(servicetest.Within(t), o, genesis); !errors.Is(err, server.ErrLedgerExists) {
		t.Errorf("a second creation: %v", err)
	}
	if _, err := server.Prepare(o, "acme"); !errors.Is(err, server.ErrLedgerExists) {
		t.Errorf("a preparation beside a ledger: %v", err)
	}
	for _, left := range []string{".creating", ".founding"} {
		if _, err := os.Lstat(dir + left); err == nil {
			t.Errorf("%s is left behind", left)
		}
	}
}

// TestCreatePreparedRefused leaves nothing behind, and the key where it was.
func TestCreatePreparedRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ledger")
	o := servicetest.Options(dir)
	if _, err := server.Prepare(o, "No Name"); !errors.Is(err, events.ErrForm) {
		t.Errorf("a bad name: %v", err)
	}
	other := genesisFor(ledgertest.Key("other").Public())
	if _, err := server.CreatePrepared(servicetest.Within(t), o, other); !errors.Is(err, server.ErrNotPrepared) {
		t.Errorf("no key waits: %v", err)
	}
	genesis := prepared(t, dir)
	if _, err := server.CreatePrepared(servicetest.Within(t), o, other); !errors.Is(err, server.ErrNotPrepared) {
		t.Errorf("another key waits: %v", err)
	}
	forged := genesis
	forged.Time = "2026-01-01T00:00:00Z"
	if _, err := server.CreatePrepared(servicetest.Within(t), o, forged); err == nil {
		t.Error("a genesis that nobody signed is taken")
	}
	for _, left := range []string{"", ".creating"} {
		if _, err := os.Lstat(dir + left); err == nil {
			t.Errorf("ledger%s is left behind", left)
		}
	}
	if _, err := server.CreatePrepared(servicetest.Within(t), o, genesis); err != nil {
		t.Errorf("the good genesis: %v", err)
	}
}
