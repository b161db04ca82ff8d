package tidy

import (
	"os"
	"testing"
)

// rules are all checks, by the name of their subtest.
func rules() map[string]func(*tree) []finding {
	return map[string]func(*tree) []finding{
		"arrows": checkArrows, "vendors": checkVendors, "pure": checkPure, "process": checkProcess, "json": checkStrictJSON,
		"size": checkSize, "init": checkInit, "globals": checkGlobals, "docs": checkDocs, "names": checkNames,
		"unfinished": checkUnfinished, "tests": checkTests, "stale": checkStale,
	}
}

// TestTree holds the whole source tree against every rule.
func TestTree(t *testing.T) {
	source, broken, err := load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range broken {
		t.Error(f)
	}
	if len(source.files) < 10 {
		t.Fatalf("only %d files found: the root is wrong", len(source.files))
	}
	for name, check := range rules() {
		t.Run(name, func(t *testing.T) {
			for _, f := range check(source) {
				t.Error(f)
			}
		})
	}
}
