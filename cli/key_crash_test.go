package cli_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/deedledger/deed/signer"
)

// TestKeyRotateKilled: a rotation is killed by SIGKILL before its event, after
// it, and after it with the public half in place already. The same command
// again finishes what was begun: the actor has one key more, its file holds
// it, and it signs.
func TestKeyRotateKilled(t *testing.T) {
	t.Parallel()
	halfway := func(s *stage, path string) {
		must(s.t, os.Rename(signer.PublicKeyPath(path), signer.PublicKeyPath(path)+".kept"))
		must(s.t, os.Rename(signer.PublicKeyPath(path+".next"), signer.PublicKeyPath(path)))
	}
	for _, kill := range []struct {
		name, place string
		then        func(*stage, string)
	}{
		{"before the event", "before:key.rotated", nil},
		{"after the event", "after:key.rotated", nil},
		{"between the files", "after:key.rotated", halfway},
	} {
		t.Run(kill.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			path := filepath.Join(s.home, "config", "keys", "control-1.key")
			old := s.keys["control-1"].ID()
			s.killedAt("control-1", kill.place, "key", "rotate")
			if kill.then != nil {
				kill.then(s, path)
			}
			var done struct {
				Old   signer.KeyID `json:"old"`
				KeyID signer.KeyID `json:"keyid"`
			}
			s.cmd("control-1", "key", "rotate", "-o", "json").succeeds().data(&done)
			public, err := signer.ReadPublicKeyFile(signer.PublicKeyPath(path))
			must(t, err)
			if done.Old != old || public.ID() != done.KeyID || done.KeyID == old {
				t.Errorf("rotated %s to %s, the file holds %s; the first key is %s", done.Old, done.KeyID, public.ID(), old)
			}
			if _, err := os.Lstat(path + ".next"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a key still waits: %v", err)
			}
			if keys := s.keysOf("control-1"); len(keys) != 2 || keys[1] != public.String() {
				t.Errorf("keys of control-1: %q", keys)
			}
			s.cmd("control-1", "escalate", task, "--reason", "x", "--next", "y", "--dry-run").succeeds() // what it signs is taken
		})
	}
}

// keysOf returns an actor's keys as the ledger has them, the newest last.
func (s *stage) keysOf(actor string) []string {
	s.t.Helper()
	g, err := s.dial(s.local.URL()).Registry(s.t.Context())
	must(s.t, err)
	return g.Registry.Actor(actor).Keys
}
