package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestGoLeavesTheHomeAlone: the go command's own counters must not outlive a
// command in its home.
func TestGoLeavesTheHomeAlone(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	home, err := makeHome("deed-home-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "version")
	cmd.Env = append(baseEnvironment(home, nil), "PATH="+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go version: %v\n%s", err, out)
	}
	counters, err := filepath.Glob(filepath.Join(home, ".config", "go", "telemetry", "local", "*"))
	if err != nil || len(counters) != 0 {
		t.Errorf("go counts in %v (%v)", counters, err)
	}
}
