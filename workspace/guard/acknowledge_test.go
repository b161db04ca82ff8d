package guard_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedledger/deed/schemas"
	"github.com/deedledger/deed/workspace/guard"
)

// TestAcknowledge: what a person says holds for exactly the finding that they
// saw, and never for one that is fatal.
func TestAcknowledge(t *testing.T) {
	seen := guard.Finding{Code: guard.W4, Path: "a b.go", Claim: "done", Text: "not touched"}
	said := []guard.Acknowledgement{{Code: guard.W4, Path: "a%20b.go", Claim: "done", Text: "not touched", By: "ann", Reason: "as agreed", At: "2026-01-02T03:04:05Z"}}
	for name, c := range map[string]struct {
		change func(f *guard.Finding)
		want   int
	}{
		"the same":      {func(*guard.Finding) {}, 0},
		"another file":  {func(f *guard.Finding) { f.Path = "c.go" }, 1},
		"another claim": {func(f *guard.Finding) { f.Claim = "more" }, 1},
		"another text":  {func(f *guard.Finding) { f.Text = "the snapshot was taken at c2" }, 1},
		"another rule":  {func(f *guard.Finding) { f.Code = guard.W1 }, 1},
	} {
		f := seen
		c.change(&f)
		if got := guard.Pending(guard.Acknowledge([]guard.Finding{f}, said)); got != c.want {
			t.Errorf("%s: %d wait, want %d", name, got, c.want)
		}
	}
	fatal := guard.Finding{Code: guard.R1, Text: "gone"}
	forged := []guard.Acknowledgement{{Code: guard.R1, Text: "gone", By: "ann", Reason: "fine"}}
	if found := guard.Acknowledge([]guard.Finding{fatal}, forged); found[0].Acknowledged != "" || guard.Count(found, 'R') != 1 {
		t.Errorf("a fatal finding was waved through: %+v", found)
	}

	dir := t.TempDir()
	if err := guard.WriteAcknowledged(dir, []guard.Finding{seen}, []guard.Acknowledgement{{Code: guard.W1, Text: "old", By: "b", Reason: "r"}, said[0]}, said); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, ".resume/acknowledged.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := schemas.ValidateFile("guard.acknowledged", text); err != nil {
		t.Error(err)
	}
	if got, err := guard.ReadAcknowledged(dir); err != nil || len(got) != 1 || got[0] != said[0] {
		t.Errorf("read %+v (%v): what covers nothing any more goes, what is said again is said once", got, err)
	}
	for _, bad := range []string{
		"", "[]", "{}", `{"schema":"deed.guard.acknowledged/v2","entries":[]}`, strings.Replace(string(text), `"W4"`, `"R1"`, 1), strings.Replace(string(text), `"W4"`, `""`, 1),
		strings.Replace(string(text), `"ann"`, `""`, 1), strings.Replace(string(text), `"as agreed"`, `""`, 1), strings.Replace(string(text), `"by"`, `"who"`, 1), string(text) + "{}",
	} {
		if err := os.WriteFile(filepath.Join(dir, ".resume/acknowledged.json"), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := guard.ReadAcknowledged(dir); !errors.Is(err, guard.ErrAcknowledged) {
			t.Errorf("%.60q: %v", bad, err)
		}
	}
}
