package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/ledger"
	"github.com/spf13/cobra"
)

// newArtifactVerifyCommand builds "deed artifact verify".
func newArtifactVerifyCommand(e *Env, f *flags) *cobra.Command {
	return &cobra.Command{
		Use: "verify [TASK]", Short: "Check that every recorded artifact is there with the right bytes", Args: cobra.MaximumNArgs(1),
		Long: `Get every recorded artifact, of one task or of all, and compare it with its digest.
Exit code 10: one is missing or damaged; 8: you may not read one, so that nothing is
proven about it. What is quarantined is left out.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error { return s.verifyArtifacts(ctx, args) }),
	}
}

// What verify finds of an artifact.
const (
	artifactGood    = "good"
	artifactMissing = "missing"
	artifactDamaged = "damaged"
	artifactSealed  = "unreadable" // for the caller
	artifactHidden  = "quarantined"
)

// artifactCheck is what verify found of one record.
type artifactCheck struct {
	artifactLine
	Found string `json:"found"`
}

func (s *session) verifyArtifacts(ctx context.Context, args []string) error {
	tasks := args
	c, err := s.dial()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		all, err := c.Tasks(ctx)
		if err != nil {
			return err
		}
		for _, t := range all.Tasks {
			tasks = append(tasks, t.Task)
		}
	}
	list, found := []artifactCheck{}, map[string]string{}
	for _, task := range tasks {
		state, err := s.existing(ctx, task)
		if err != nil {
			return err
		}
		for _, a := range artifactLines(state.Task) {
			if found[a.Digest] == "" {
				if found[a.Digest], err = s.verifyArtifact(ctx, a); err != nil {
					return err
				}
			}
			list = append(list, artifactCheck{a, found[a.Digest]})
		}
	}
	err = s.result("artifacts-verified", list, func(w *textWriter) {
		rows := make([][]string, len(list))
		for i, a := range list {
			rows[i] = []string{a.Found, a.Task, a.Digest, a.Name}
		}
		w.table([]string{"FOUND", "TASK", "DIGEST", "NAME"}, rows)
	})
	if err != nil {
		return err
	}
	return artifactVerdict(list)
}

// verifyArtifact gets one artifact and says what came of it; an error when
// nobody can tell.
func (s *session) verifyArtifact(ctx context.Context, a artifactLine) (string, error) {
	if a.Quarantined {
		return artifactHidden, nil
	}
	file, err := os.CreateTemp("", "deed-artifact-*")
	if err == nil {
		err = os.Remove(file.Name())
	}
	if err != nil {
		return "", fmt.Errorf("verify artifact: %w", err)
	}
	defer file.Close()
	size, err := s.fetchArtifact(ctx, file, a.Digest, false)
	r, refused := errors.AsType[*ledger.Refusal](err)
	switch {
	case err == nil && size == a.Size:
		return artifactGood, nil
	case err == nil, errors.Is(err, client.ErrArtifact), refused && r.Class == ledger.Corrupt:
		return artifactDamaged, nil
	case refused && r.Code == ledger.CodeNotFound:
		return artifactMissing, nil
	case refused && r.Rule == "artifact-get/quarantine": // by another task
		return artifactHidden, nil
	case refused && r.Class == ledger.Refused, errors.Is(err, errMissing), errors.Is(err, errUsage):
		return artifactSealed, nil
	}
	return "", err
}

// artifactVerdict returns the error that gives what was found its exit code.
func artifactVerdict(list []artifactCheck) error {
	open := 0
	for _, a := range list {
		switch a.Found {
		case artifactMissing, artifactDamaged:
			return told{withHint(fmt.Errorf("%w: %s of task %s is %s", client.ErrArtifact, a.Digest, a.Task, a.Found),
				"put the bytes again from a copy: deed artifact put FILE %s", a.Task)}
		case artifactSealed:
			open++
		}
	}
	if open > 0 {
		return told{withHint(fmt.Errorf("%w: %s cannot be read by you", errPending, counted(open, "artifact")), "verify as an auditor: --as ACTOR")}
	}
	return nil
}
