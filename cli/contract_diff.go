package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
	"github.com/spf13/cobra"
)

// contractDiff is the data of "deed contract diff".
type contractDiff struct {
	Task    string                       `json:"task"`
	Old     contractVersion              `json:"old"`
	New     contractVersion              `json:"new"`
	Changes []projections.ContractChange `json:"changes"`
}

// contractVersion names one version of a contract.
type contractVersion struct {
	Version  int64  `json:"version"`
	Digest   string `json:"digest"`
	Accepted bool   `json:"accepted"`
	Actor    string `json:"actor"` // who proposed it
}

func newContractDiffCommand(e *Env, f *flags) *cobra.Command {
	return &cobra.Command{
		Use: "diff [TASK] [V1 V2]", Short: "Show what changed between two contract versions", Args: cobra.MaximumNArgs(3),
		Long: `Show what changed between two versions of a contract: goal, items, checks and their
pinned files, scope, reviewers, owners, limits. Without V1 and V2 it is from the
accepted version, or from the one before the newest where that is accepted itself, to
the newest.`,
		RunE: e.action(f, func(ctx context.Context, s *session, args []string) error {
			named := args
			if len(args) >= 2 { // the last two are the versions
				named = args[:len(args)-2]
			}
			task, err := s.taskArg(ctx, named)
			if err != nil {
				return err
			}
			state, err := s.existing(ctx, task)
			if err != nil {
				return err
			}
			old, now, err := diffedVersions(state, args[len(named):])
			if err != nil {
				return err
			}
			return s.diffContracts(state, old, now)
		}),
	}
}

// diffedVersions returns the two versions that are to be compared.
func diffedVersions(state protocol.TaskState, args []string) (old, now *projections.ContractVersion, err error) {
	t := state.Task
	newest := int64(len(t.Contracts))
	numbers := []int64{newest - 1, newest}
	if c := t.Contract(); c != nil && c.Contract.Version != newest {
		numbers[0] = c.Contract.Version
	}
	if len(args) == 0 && newest < 2 {
		return nil, nil, fmt.Errorf("%w: task %s has one contract version: nothing to compare it with", errMissing, t.ID)
	}
	versions := make([]*projections.ContractVersion, 2)
	for i := range versions {
		if len(args) > 0 {
			if numbers[i], err = strconv.ParseInt(args[i], 10, 32); err != nil || numbers[i] < 1 {
				return nil, nil, fmt.Errorf("%w: %q is no contract version, want 1 to %d", errUsage, args[i], newest)
			}
		}
		if versions[i] = t.Version(numbers[i]); versions[i] == nil {
			return nil, nil, withHint(fmt.Errorf("%w: task %s has no contract version %d", errMissing, t.ID, numbers[i]), "it has versions 1 to %d", newest)
		}
	}
	return versions[0], versions[1], nil
}

func (s *session) diffContracts(state protocol.TaskState, old, now *projections.ContractVersion) error {
	changes, err := projections.DiffContracts(&old.Contract, &now.Contract)
	if err != nil {
		return err
	}
	name := func(v *projections.ContractVersion) contractVersion {
		return contractVersion{v.Contract.Version, v.Digest, v.Accepted, v.Actor}
	}
	d := contractDiff{Task: state.Task.ID, Old: name(old), New: name(now), Changes: changes}
	return s.answer(state.Position, "contract-diff", d, func(w *textWriter) { w.contractDiff(d) })
}

// contractDiff writes a difference for people, as diffs look.
func (w *textWriter) contractDiff(d contractDiff) {
	for _, side := range []struct {
		mark string
		contractVersion
	}{{"---", d.Old}, {"+++", d.New}} {
		accepted := ""
		if side.Accepted {
			accepted = ", accepted"
		}
		w.line("%s %s contract version %d by %s%s, digest %s", side.mark, d.Task, side.Version, side.Actor, accepted, side.Digest)
	}
	if len(d.Changes) == 0 {
		w.line("nothing changed")
	}
	for _, c := range d.Changes {
		w.line("@@ %s", c.Field)
		for _, value := range c.Removed {
			w.line("-%s", value)
		}
		for _, value := range c.Added {
			w.line("+%s", value)
		}
	}
}
