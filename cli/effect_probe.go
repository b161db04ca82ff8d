package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/workspace"
	"github.com/spf13/cobra"
)

// probeOptions say how effects' own probes are asked.
type probeOptions struct {
	// allow runs probes that the contract does not list.
	allow bool
	limit time.Duration
	// record appends conclusive answers: as a fact of the run with this fence,
	// or with 0 as one of an actor whose role may say so.
	record bool
	fence  uint64
	// all asks about settled parts, too.
	all bool
}

// probeFlags adds the flags of commands that ask recorded probes.
func probeFlags(cmd *cobra.Command, o *probeOptions) {
	cmd.Flags().BoolVar(&o.allow, "allow-probe", false, "run a probe that the contract's scope does not list under commands")
	cmd.Flags().DurationVar(&o.limit, "probe-timeout", probeLimit, "time limit of one probe")
}

// probeAnswer is what was learned about one part of an effect.
type probeAnswer struct {
	Key      string             `json:"key"`
	Part     string             `json:"part,omitzero"`
	Status   projections.Status `json:"status"` // confirmed, failed, unknown or conflict
	Evidence string             `json:"evidence"`
	Recorded bool               `json:"recorded"`
}

// probeEffect asks about each open part of an effect. An effect without a
// probe, or with one that may not be run here, gives unknown answers.
func (s *session) probeEffect(ctx context.Context, repo *workspace.Repo, t *projections.Task, e *projections.Effect, o probeOptions) ([]probeAnswer, error) {
	answers := []probeAnswer{}
	barred := ""
	if probed(e) && e.Intent.Git == nil && !o.allow {
		var err error
		if barred, err = s.unlisted(ctx, repo, t, e.Intent.Probe); err != nil {
			return nil, err
		}
	}
	for _, p := range e.Parts {
		if p.Try == 0 || !o.all && p.Status != projections.StatusDispatched && p.Status != projections.StatusUnknown {
			continue
		}
		f := finding{part: p.Name, status: projections.StatusUnknown, try: p.Try}
		switch {
		case !probed(e):
			f.evidence = "the effect has no probe"
		case barred != "":
			f.evidence = barred + ": --allow-probe runs it all the same"
		default:
			f = s.probe(ctx, repo, e, question{p.Name, t.Fence, o.limit})
		}
		record := o.record && f.conclusive() && !known(&p, f)
		if record {
			var err error
			if f, err = s.recordFact(ctx, t.ID, e.Intent.Key, f, o.fence); err != nil {
				return nil, fmt.Errorf("record outcome of effect %s: %w", e.Intent.Key, err)
			}
		}
		answers = append(answers, probeAnswer{
			Key: e.Intent.Key, Part: f.part, Status: f.status, Evidence: projections.Plain(f.evidence, evidenceLimit), Recorded: record,
		})
	}
	return answers, nil
}

// unlisted says why a probe is not run: the boundary does not list its command; ""
// where it does. Whoever intended the effect wrote the probe, and somebody else runs it.
func (s *session) unlisted(ctx context.Context, repo *workspace.Repo, t *projections.Task, probe []string) (string, error) {
	if t.Attempt() == nil || t.Contract() == nil {
		return "no contract and attempt list the probe", nil
	}
	l, err := s.attemptLimits(ctx, repo, t)
	if err != nil {
		return "", err
	}
	if l.fault != nil {
		return "the repository's policy is malformed and lists no command", nil
	}
	if _, err := l.allowsCommand(probe); err != nil {
		return l.refusing(probe) + " lists no line for the probe", nil
	}
	return "", nil
}
