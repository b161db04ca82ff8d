package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestErrorForm finds the form of errors in command lines that cannot be read.
func TestErrorForm(t *testing.T) {
	for line, want := range map[string]bool{
		"task list --bogus -o json":                 true,
		"task list --bogus -ojson":                  true,
		"task list --bogus -o=json":                 true,
		"task list --bogus --output json":           true,
		"task list --bogus --output=json":           true,
		"-o json task list --bogus":                 true,
		"task list --bogus -o text -o json":         true,
		"nothing -o json":                           true,
		"task list --since -o json":                 true,
		"task list --bogus":                         false,
		"task list --bogus json":                    false,
		"task list --bogus -o":                      false,
		"task list --bogus -o text":                 false,
		"task list --bogus -o json -o text":         false,
		"task list --bogus --outputjson":            false,
		"task list --bogus --output=jsonl":          false,
		"effect run T-1 --bogus -- tool -o json":    false,
		"-o text task list --bogus --output=json":   false,
		"effect run T-1 --bogus -o json -- tool -o": true,
	} {
		var stdout, stderr bytes.Buffer
		e := &Env{Stdout: &stdout, Stderr: &stderr, Args: strings.Fields(line), Getenv: func(string) string { return "" }}
		root := New(e)
		root.SetArgs(e.Args)
		err := root.ExecuteContext(t.Context())
		if exit := Report(e, root, err); exit != ExitUsage && !errors.Is(err, errNoService) {
			t.Errorf("%s: exit code %d: %v", line, exit, err)
		}
		if got := strings.HasPrefix(stdout.String(), `{"schema":"deed.cli/v1","kind":"error"`); got != want {
			t.Errorf("%s: JSON %v, want %v: %s", line, got, want, stdout.String())
		}
	}
}
