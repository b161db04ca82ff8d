package deploy

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/deedledger/deed/cli"
)

// TestUnitCommand holds the unit against the command line: the flags of its
// ExecStart parse, and the exit codes that stop a restart are those for which
// another start gives the same answer.
func TestUnitCommand(t *testing.T) {
	text, err := os.ReadFile("deed@.service")
	if err != nil {
		t.Fatal(err)
	}
	u, err := parseUnit(string(text))
	if err != nil {
		t.Fatal(err)
	}
	args, err := serveArguments(u)
	if err != nil {
		t.Fatal(err)
	}
	root := cli.New(&cli.Env{Getenv: func(string) string { return "" }})
	cmd, rest, err := root.Find(append([]string{"serve"}, args...))
	if err != nil || cmd.Name() != "serve" {
		t.Fatalf("find serve: %v, %v", cmd, err)
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("parse %v: %v", rest, err)
	}
	if left := cmd.Flags().Args(); len(left) > 0 {
		t.Errorf("serve takes no arguments, the unit gives %v", left)
	}
	var codes []string
	for _, code := range []int{cli.ExitFatal, cli.ExitUsage, cli.ExitRefused, cli.ExitNotFound, cli.ExitIntegrity} {
		codes = append(codes, strconv.Itoa(code))
	}
	if got := strings.Join(u["Service.RestartPreventExitStatus"], " "); got != strings.Join(codes, " ") {
		t.Errorf("RestartPreventExitStatus is %q, want %v", got, codes)
	}
}
