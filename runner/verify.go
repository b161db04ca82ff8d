package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/workspace"
)

// The rules by which Verify decides over Classify; all are inconclusive.
const (
	RulePinnedDiffers   = "pinned-file-differs" // a file of the check lacks the pinned bytes
	RuleCheckoutChanged = "checkout-changed"    // the command changed a tracked file or HEAD
)

// cleanupLimit bounds the look at the checkout after a check, also when ctx has ended.
const cleanupLimit = 5 * time.Minute

// Report is what Verify proved about one commit.
type Report struct {
	Commit   string // object id
	Tree     string // object id
	Outcomes []Outcome
}

// Verify runs every check on a clean checkout of its own of exactly that commit, so that
// no check sees what another left behind. It gives an Outcome for each check, in order, or
// an error when there is no such commit or no checkout could be made or removed; then
// nothing is proven.
//
// Errors: those of [workspace.Repo.CleanCheckout], or the file system's.
func Verify(ctx context.Context, repo *workspace.Repo, commit string, checks []Check, env []string) (Report, error) {
	id, err := repo.ResolveCommit(ctx, commit)
	if err != nil {
		return Report{}, fmt.Errorf("verify commit: %w", err)
	}
	tree, err := repo.Tree(ctx, id)
	if err != nil {
		return Report{}, fmt.Errorf("verify commit: %w", err)
	}
	report := Report{Commit: id, Tree: tree}
	for _, check := range checks {
		outcome, err := verifyOne(ctx, repo, id, check, env)
		if err != nil {
			return Report{}, fmt.Errorf("verify check: %w", err)
		}
		report.Outcomes = append(report.Outcomes, outcome)
	}
	return report, nil
}

func verifyOne(ctx context.Context, repo *workspace.Repo, commit string, check Check, env []string) (out Outcome, err error) {
	dir, err := os.MkdirTemp("", "deed-verify-")
	if err != nil {
		return Outcome{}, fmt.Errorf("prepare checkout: %w", err)
	}
	defer func() {
		if removeErr := removeTree(dir); removeErr != nil && err == nil {
			out, err = Outcome{}, removeErr
		}
	}()
	root := filepath.Join(dir, "checkout")
	clean, err := repo.CleanCheckout(ctx, commit, root)
	if err != nil {
		return Outcome{}, err
	}
	if path, ok := pinnedHold(root, check.Pinned); !ok {
		return Outcome{
			ID: check.ID, Result: ResultInconclusive, Class: ClassInconclusive, Rule: RulePinnedDiffers,
			Detail: boundary.DisplayPath(path), ExitCode: -1, Output: newRecorder(0, nil).output(),
		}, nil
	}
	out = Run(ctx, root, check, env)
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
	defer cancel()
	if err := clean.Unchanged(after, commit); err != nil {
		out.Result, out.Class, out.Rule, out.Detail = ResultInconclusive, ClassInconclusive, RuleCheckoutChanged, err.Error()
	}
	return out, nil
}

// pinnedHold compares the pinned files on disk and names the first that differs. A link,
// also in a folder above the file, never holds: its bytes are another file's.
func pinnedHold(root string, files []PinnedFile) (string, bool) {
	box, err := os.OpenRoot(root)
	if err != nil {
		return root, len(files) == 0
	}
	defer func() { _ = box.Close() }()
	for _, file := range files {
		clean, err := boundary.CleanPath(file.Path)
		if err != nil || clean != file.Path || !hasDigest(box, filepath.FromSlash(clean), file.SHA256) {
			return file.Path, false
		}
	}
	return "", true
}

func hasDigest(box *os.Root, path, want string) bool {
	for above := path; above != "."; above = filepath.Dir(above) {
		info, err := box.Lstat(above)
		if err != nil || info.Mode()&os.ModeSymlink != 0 || (above == path && !info.Mode().IsRegular()) {
			return false
		}
	}
	file, err := box.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return false
	}
	return hex.EncodeToString(sum.Sum(nil)) == want
}
