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

// MaxRetries is how often a failing check may be run again.
const MaxRetries = 8

// RuleFlaky says that a check failed, and passed when it was run again on the same input.
// It is inconclusive: neither a pass, nor a reason to repair anything.
const RuleFlaky = "flaky"

// Plan is what Verify does.
type Plan struct {
	Checks   []Check
	Services []Service // whose health tells a failure of the environment from the code's
	Env      []string  // "NAME=value" entries beyond the minimal environment
	// Retries is how often a check of class code_failure is run again, 0 to
	// MaxRetries. It fails when the last try fails; it is flaky when that passes.
	Retries     int
	Confinement *Confinement // nil for none
}

// verification is one run of Verify.
type verification struct {
	repo   *workspace.Repo
	commit string
	plan   Plan
	bare   string // a checkout for the health checks; "" without services
}

// Verify runs every check on a clean checkout of its own of exactly that commit, so that
// no check sees what another left behind. It gives an Outcome for each check, in order, or
// an error when there is no such commit or no checkout could be made or removed; then
// nothing is proven.
//
// Errors: ErrCommand for the retries, those of [workspace.Repo.CleanCheckout], or the file
// system's.
func Verify(ctx context.Context, repo *workspace.Repo, commit string, plan Plan) (report Report, err error) {
	if plan.Retries < 0 || plan.Retries > MaxRetries {
		return Report{}, fmt.Errorf("verify with %d retries, limit %d: %w", plan.Retries, MaxRetries, ErrCommand)
	}
	id, err := repo.ResolveCommit(ctx, commit)
	if err != nil {
		return Report{}, fmt.Errorf("verify commit: %w", err)
	}
	tree, err := repo.Tree(ctx, id)
	if err != nil {
		return Report{}, fmt.Errorf("verify commit: %w", err)
	}
	v := &verification{repo: repo, commit: id, plan: plan}
	if len(plan.Services) > 0 {
		var dir string
		_, dir, err = v.checkout(ctx)
		defer v.discard(dir, &err)
		if err != nil {
			return Report{}, fmt.Errorf("verify commit: %w", err)
		}
		v.bare = filepath.Join(dir, "checkout")
	}
	report = Report{Commit: id, Tree: tree}
	for _, check := range plan.Checks {
		outcome, err := v.prove(ctx, check)
		if err != nil {
			return Report{}, fmt.Errorf("verify check: %w", err)
		}
		report.Outcomes = append(report.Outcomes, outcome)
	}
	return report, nil
}

// prove tries a check until it does not fail or the tries are used up.
func (v *verification) prove(ctx context.Context, check Check) (Outcome, error) {
	var tries []Outcome
	for {
		out, err := v.try(ctx, check)
		if err != nil {
			return Outcome{}, err
		}
		if out.Class == ClassCodeFailure && len(tries) < v.plan.Retries {
			tries = append(tries, out)
			continue
		}
		out.Tries = tries
		if len(tries) > 0 && out.Class != ClassCodeFailure {
			out.note(fmt.Sprintf("failed %d times before on the same input, by rule %s", len(tries), tries[len(tries)-1].Rule))
		}
		if len(tries) > 0 && out.Result == ResultPass {
			out.Flaky = true
			out.settle(ClassInconclusive, RuleFlaky)
		}
		return out, nil
	}
}

// try runs a check once on a clean checkout, with the services asked before and, where it
// does not pass, after it.
func (v *verification) try(ctx context.Context, check Check) (out Outcome, err error) {
	clean, dir, err := v.checkout(ctx)
	defer v.discard(dir, &err)
	if err != nil {
		return Outcome{}, err
	}
	root := filepath.Join(dir, "checkout")
	if path, ok := pinnedHold(root, check.Pinned); !ok {
		return Outcome{
			ID: check.ID, Result: ResultInconclusive, Class: ClassInconclusive, Rule: RulePinnedDiffers,
			Detail: boundary.DisplayPath(path), ExitCode: -1, Output: newRecorder(0).output(),
		}, nil
	}
	before := v.sick(ctx)
	out = v.run(ctx, root, check)
	var after []string
	if out.Result != ResultPass {
		after = v.sick(ctx)
	}
	weigh(&out, before, after)
	look, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
	defer cancel()
	if err := clean.Unchanged(look, v.commit); err != nil {
		out.settle(ClassInconclusive, RuleCheckoutChanged)
		out.Detail = err.Error()
	}
	return out, nil
}

func (v *verification) run(ctx context.Context, root string, check Check) Outcome {
	return bench{root: root, env: v.plan.Env, confine: v.plan.Confinement}.run(ctx, check)
}

// checkout makes a clean checkout in the folder "checkout" of a folder of its own, which
// is given even with an error, to be discarded.
func (v *verification) checkout(ctx context.Context) (*workspace.Repo, string, error) {
	dir, err := os.MkdirTemp("", "deed-verify-")
	if err != nil {
		return nil, "", fmt.Errorf("prepare checkout: %w", err)
	}
	clean, err := v.repo.CleanCheckout(ctx, v.commit, filepath.Join(dir, "checkout"))
	return clean, dir, err
}

// discard removes a folder and reports a failure to do so where there is no other.
func (v *verification) discard(dir string, err *error) {
	if dir == "" {
		return
	}
	if removeErr := removeTree(dir); removeErr != nil && *err == nil {
		*err = removeErr
	}
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
