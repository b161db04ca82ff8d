package ledger

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write generated documents instead of comparing them")

// golden compares a generated document with the one in the tree.
func golden(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the rules say: run go test ./ledger -update and read the difference", path)
	}
}
