package bench

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkCommand runs deed version in a process of its own: what every
// command costs before it does anything. CPU is user and system time.
func BenchmarkCommand(b *testing.B) {
	deed := filepath.Join(b.TempDir(), "deed")
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", deed, "github.com/deedledger/deed/cmd/deed").CombinedOutput(); err != nil {
		b.Fatalf("build deed: %v\n%s", err, out)
	}
	var cpu time.Duration
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), deed, "version")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("deed version: %v\n%s", err, out)
		}
		cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	b.ReportMetric(cpu.Seconds()*1000/float64(b.N), "cpu-ms")
}
