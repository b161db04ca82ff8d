package cli_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/deedledger/deed/cli"
)

// TestSyncKilled kills a sync by SIGKILL once it has written so and so many files, and lets another one finish: the folder is
// the ledger's print, as if nobody had been killed.
func TestSyncKilled(t *testing.T) {
	s := newStage(t)
	s.invite("ver-1", "verifier")
	s.git("switch", "-qc", "work")
	s.handsOver()
	s.cmd("ver-1", "receipt", "run", task).succeeds()
	s.cmd("owner", "sync", task).succeeds()
	folder := filepath.Join(s.repo, ".agent-delivery")
	want := printed(t, folder)
	for n := range len(want) {
		must(t, os.RemoveAll(folder))
		cmd := exec.CommandContext(t.Context(), deedProgram(), "--as", "owner", "sync", task)
		cmd.Dir = s.repo
		for name, value := range s.vars() {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		must(t, cmd.Start())
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		ended := false
		for !ended && len(printed(t, folder)) < n {
			select {
			case <-done:
				ended = true
			default:
			}
		}
		if !ended {
			_ = cmd.Process.Kill() // it may have ended just now
			<-done
		}
		if code := s.cmd("owner", "sync", task, "--check").code; code != 0 && code != cli.ExitStale {
			t.Fatalf("killed after %d files: a look ends with %d", n, code)
		}
		s.cmd("owner", "sync", task).succeeds()
		if got := printed(t, folder); !equalFiles(got, want) {
			t.Fatalf("killed after %d files: %d files, want %d", n, len(got), len(want))
		}
	}
}

// printed reads the files below a folder that may not be there.
func printed(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) == ".tmp" {
			return nil //nolint:nilerr // it goes away while it is read
		}
		text, err := os.ReadFile(name)
		if err == nil {
			files[name] = text
		}
		return nil
	})
	must(t, err)
	return files
}

func equalFiles(a, b map[string][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for name, text := range a {
		if !bytes.Equal(text, b[name]) {
			return false
		}
	}
	return true
}
