package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/deedledger/deed/workspace"
)

func TestVerify(t *testing.T) {
	const script = "#!/bin/sh\ntest \"$(cat value)\" = good\n"
	dir, commit := gitFixture(t, map[string]string{"check.sh": script, "value": "good\n", "sub/x": "x"})
	repo, err := workspace.Open(t.Context(), dir)
	must(t, err)
	// What lies in the worktree must not matter.
	must(t, os.WriteFile(filepath.Join(dir, "value"), []byte("bad\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "stray"), []byte("x"), 0o644))
	sum := sha256.Sum256([]byte(script))
	pin := hex.EncodeToString(sum[:])
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	checks := []Check{
		{ID: "pinned", Command: []string{"./check.sh"}, Pinned: []PinnedFile{{"check.sh", pin}}},
		{ID: "litter", Command: shell("mkdir -p ro/deep && touch ro/deep/f && chmod -R a-w ro && test ! -e stray")},
		{ID: "isolated", Command: shell("test ! -e ro")},
		{ID: "fails", Command: shell("test -e ro")},
		{ID: "changes", Command: shell("echo more >> value")},
		{ID: "same size", Command: shell("printf 'dead\n' > value && git update-index --assume-unchanged value 2>/dev/null; true")},
		{ID: "deletes", Command: shell("rm sub/x; exit 1")},
		{ID: "breaks git", Command: shell("rm -rf .git")},
		{ID: "other pin", Command: []string{"true"}, Pinned: []PinnedFile{{"value", pin}}},
		{ID: "no such pin", Command: []string{"true"}, Pinned: []PinnedFile{{"none", pin}}},
		{ID: "pin by detour", Command: []string{"true"}, Pinned: []PinnedFile{{"sub/../check.sh", pin}}},
		{ID: "pin a folder", Command: []string{"true"}, Pinned: []PinnedFile{{"sub", pin}}},
		{ID: "pin upper case", Command: []string{"true"}, Pinned: []PinnedFile{{"check.sh", "X" + pin[1:]}}},
	}
	report, err := Verify(t.Context(), repo, "HEAD", Plan{Checks: checks})
	must(t, err)
	if report.Commit != commit || len(report.Tree) != 40 || len(report.Outcomes) != len(checks) {
		t.Fatalf("report %+v", report)
	}
	want := map[string]string{
		"pinned": "exit-zero", "litter": "exit-zero", "isolated": "exit-zero", "fails": "exit-nonzero",
		"changes": RuleCheckoutChanged, "same size": RuleCheckoutChanged, "deletes": RuleCheckoutChanged, "breaks git": RuleCheckoutChanged,
		"other pin": RulePinnedDiffers, "no such pin": RulePinnedDiffers, "pin by detour": RulePinnedDiffers, "pin a folder": RulePinnedDiffers,
		"pin upper case": RulePinnedDiffers,
	}
	for i, out := range report.Outcomes {
		if out.ID != checks[i].ID || out.Rule != want[out.ID] {
			t.Errorf("%s: rule %s, want %s (%s)", out.ID, out.Rule, want[out.ID], out.Detail)
		}
		if inconclusive := out.Rule == RuleCheckoutChanged || out.Rule == RulePinnedDiffers; inconclusive != (out.Result == ResultInconclusive) {
			t.Errorf("%s: %s by %s", out.ID, out.Result, out.Rule)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := Verify(t.Context(), repo, "none", Plan{Checks: checks}); !errors.Is(err, workspace.ErrUnknownRevision) {
		t.Errorf("unknown commit: %v", err)
	}
}

func TestVerifyPinnedLink(t *testing.T) {
	dir, _ := gitFixture(t, map[string]string{"real/check.sh": "exit 0\n"})
	must(t, os.Symlink("real", filepath.Join(dir, "alias")))
	must(t, os.Symlink("real/check.sh", filepath.Join(dir, "link.sh")))
	for _, args := range [][]string{{"add", "--all"}, {"-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "links"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v %s", args, err, out)
		}
	}
	repo, err := workspace.Open(t.Context(), dir)
	must(t, err)
	sum := sha256.Sum256([]byte("exit 0\n"))
	pin := hex.EncodeToString(sum[:])
	for path, rule := range map[string]string{"real/check.sh": "exit-zero", "alias/check.sh": RulePinnedDiffers, "link.sh": RulePinnedDiffers} {
		report, err := Verify(t.Context(), repo, "HEAD", Plan{Checks: []Check{{Command: []string{"true"}, Pinned: []PinnedFile{{path, pin}}}}})
		must(t, err)
		if report.Outcomes[0].Rule != rule {
			t.Errorf("%s: %+v", path, report.Outcomes[0])
		}
	}
}
