package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/runner"
	"github.com/deedledger/deed/workspace"
)

// askBytes bounds what is kept of a probe's output.
const askBytes = 32 << 10

// probing returns what runs the commands of a capture policy in dir: in a minimal
// environment, with a time limit and bounded output.
func (s *session) probing(dir string) workspace.Ask {
	return func(ctx context.Context, command []string, limit time.Duration) (string, bool) {
		out := runner.Run(ctx, dir, runner.Check{ID: "probe", Command: command, Timeout: limit, OutputBytes: askBytes}, s.childEnv())
		return out.Output.Window(), out.Result == runner.ResultPass
	}
}

// questions are what a repository's capture policy lets a snapshot and a world
// ask, so that both ask the same.
type questions struct {
	policy workspace.CapturePolicy
	ask    workspace.Ask
	// fault says why the policy allows and asks nothing: it is malformed.
	fault error
}

// questionsAt reads the capture policy of a commit.
func (s *session) questionsAt(ctx context.Context, repo *workspace.Repo, commit string) (questions, error) {
	q := questions{ask: s.probing(repo.Top())}
	var err error
	q.policy, err = repo.CapturePolicyAt(ctx, commit)
	if errors.Is(err, workspace.ErrCapturePolicy) || errors.Is(err, workspace.ErrNotFile) {
		q.fault, err = err, nil
	}
	return q, err
}

// errProbe says that a command of the capture policy did not tell what it is
// for.
var errProbe = errors.New("the policy's command does not answer")

// fill adds skills, image, schema and flags to inputs. What no command of the
// policy tells the environment states: DEED_SCHEMA the version of the
// database's schema, DEED_FLAGS the feature flags, separated by commas, and
// DEED_IMAGE the runtime image, which the policy may name too.
//
// Error: errProbe when a command did not answer, with everything else filled:
// no answer is another answer than each that was pinned.
func (q questions) fill(ctx context.Context, s *session, at place, in *events.Inputs) error {
	var err error
	in.Skills, err = at.repo.Skills(ctx, at.commit, q.policy)
	if err != nil {
		return err
	}
	in.RuntimeImage = first(s.env.Getenv("DEED_IMAGE"), q.policy.Image)
	var silent []error
	if q.policy.Schema == nil {
		in.Schema = s.env.Getenv("DEED_SCHEMA")
	} else if version, ok := q.policy.AskSchema(ctx, q.ask); ok {
		in.Schema = version
	} else {
		silent = append(silent, fmt.Errorf("%w: schema", errProbe))
	}
	switch flags, ok := q.policy.AskFlags(ctx, q.ask); {
	case ok:
		in.Flags = flags
	case q.policy.FlagsCommand != nil:
		silent = append(silent, fmt.Errorf("%w: flags", errProbe))
	default:
		in.Flags = s.statedFlags()
	}
	return errors.Join(append(silent, ctx.Err())...)
}

// statedFlags returns the feature flags that the environment states, sorted.
func (s *session) statedFlags() []string {
	var flags []string
	for flag := range strings.SplitSeq(s.env.Getenv("DEED_FLAGS"), ",") {
		if flag = strings.TrimSpace(flag); flag != "" {
			flags = append(flags, flag)
		}
	}
	slices.Sort(flags)
	return slices.Compact(flags)
}

// has reports whether a capability is there: its probe finds it, or where the
// policy has no probe of that name, an environment variable has a value.
func (q questions) has(ctx context.Context, s *session, name string) bool {
	if probe := q.policy.Capability(name); probe != nil {
		_, ok := q.ask(ctx, probe.Command, probe.Limit)
		return ok
	}
	return s.env.Getenv(name) != ""
}

// capabilities returns those that a new attempt pins, sorted: all that the
// policy's probes find, and those that were named, which have to be there.
func (q questions) capabilities(ctx context.Context, s *session, named []string) ([]string, error) {
	found, _ := q.policy.AskCapabilities(ctx, q.ask)
	for _, name := range named {
		switch {
		case slices.Contains(found, name):
		case q.policy.Capability(name) != nil:
			return nil, fmt.Errorf("%w: capability %s: the policy's probe does not find it", errMissing, plain(name))
		case s.env.Getenv(name) == "":
			return nil, fmt.Errorf("%w: capability %s: no such environment variable is set", errMissing, plain(name))
		default:
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}
