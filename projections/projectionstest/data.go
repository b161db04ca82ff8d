package projectionstest

import (
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// Contract returns a contract with the required items A1 and A2 and the
// optional item A3, one check each (C1, C2, C3), and one approval to give.
func Contract(version int64, mods ...func(*events.Contract)) *events.Contract {
	item := func(n string, required bool) events.Item {
		return events.Item{
			ID: "A" + n, Text: "behaviour " + n + " holds", Required: required, Evidence: "test",
			Checks: []events.Check{{ID: "C" + n, Command: []string{"go", "test", "-run", "Test" + n, "./..."}, TimeoutSeconds: 60}},
		}
	}
	c := &events.Contract{
		Version: version, Goal: "export the state of a task", NonGoals: []string{"no change of the database"},
		Acceptance: []events.Item{item("1", true), item("2", true), item("3", false)},
		RiskTier:   "code", Owners: events.Owners{Product: Founder, Code: Founder, Release: "olga"},
		Scope: events.Scope{
			Include: []string{"src/export/**"}, Exclude: []string{"infra/**"}, Commands: []string{"go test"},
			Effects: []events.EffectKind{events.EffectPreview},
		},
		Target: "main", Quorum: 1, MaxRepairs: 5, MaxStalls: 3,
	}
	modify(c, mods)
	return c
}

// Inputs returns pinned inputs under the given policy digest.
func Inputs(policy string) events.Inputs {
	return events.Inputs{
		LockDigest: Digest("lock"), RuntimeImage: "golang:1.26", Tools: []events.Tool{{Name: "go", Version: "1.26.0"}},
		Policy: policy, Boundary: Digest("boundary"),
	}
}

// Snapshot returns the data of attempt.opened for the accepted contract of t.
func Snapshot(t *projections.Task, policy string) *events.Attempt {
	c := t.Contract()
	return &events.Attempt{
		Contract: events.ContractRef{Version: c.Contract.Version, Digest: c.Digest},
		Snapshot: events.Snapshot{
			BaseCommit: Object("base"), MergeBase: Object("base"), Target: "main", Inputs: Inputs(policy),
			Rights: events.Rights{Identity: "impl-a", Capabilities: []string{"SECRET_NAME"}, Paths: []string{"src/export/**"}},
		},
	}
}

// World returns a world in which everything that was pinned still holds.
func World(policy string) events.World {
	return events.World{
		Head: Object("head"), Tree: Object("tree"), BaseKept: true, BaseOnTarget: true,
		TargetTip: Object("tip"), MergeTree: Object("tree"), Inputs: Inputs(policy),
	}
}

// Result returns a result whose commit and tree belong to the label.
func Result(label string, mods ...func(*events.Result)) *events.Result {
	r := &events.Result{
		Base: Object("base"), Head: Object("head " + label), Tree: Object("tree " + label),
		Changes: []events.ChangedPath{{Path: "src/export/state.go", Status: "M", Acceptance: []string{"A1", "A2"}}},
		Claims:  []events.Stated{{Acceptance: "A1", Text: "it exports"}}, Summary: "exports the state",
		Uncovered: []string{"large exports"}, Authors: []string{"impl-a@example.org"},
	}
	modify(r, mods)
	return r
}

// Outcomes says what a receipt found by check id; a check that is not named
// passed.
type Outcomes map[string]events.Class

// Receipt returns a receipt on the current input of t, which has a result,
// over every check of the contract.
func Receipt(t *projections.Task, nonce string, outcomes Outcomes) *events.Receipt {
	r := &events.Receipt{
		Head: t.Result.Data.Head, Environment: events.Environment{OS: "linux", Arch: "amd64", Image: t.Attempt().Snapshot.Inputs.RuntimeImage},
		Verifier: events.Verifier{Kind: "ci", Version: "runner-1", Assurance: "isolated"},
		Nonce:    nonce, ObservedAt: "2026-11-30T12:00:00Z",
	}
	for _, item := range t.Contract().Contract.Acceptance {
		for _, check := range item.Checks {
			r.Checks = append(r.Checks, outcome(item.ID, check, outcomes[check.ID]))
		}
	}
	r.Binding, _ = t.Binding()
	Bind(r)
	return r
}

// Bind recomputes the digests that a receipt states about itself.
func Bind(r *events.Receipt) {
	env, err := events.DigestOf(r.Environment)
	if err != nil {
		panic("projectionstest: " + err.Error())
	}
	r.Binding.Environment = env.String()
	in, err := r.Binding.Digest()
	if err != nil {
		panic("projectionstest: " + err.Error())
	}
	r.InputDigest = in.String()
}

func outcome(item string, check events.Check, class events.Class) events.CheckOutcome {
	c := events.CheckOutcome{
		ID: check.ID, Acceptance: item, Command: check.Command, Outcome: events.OutcomePass, Class: events.ClassPass,
		Rule: "exit code", DurationMS: 20, Executed: 3, Artifact: Digest("output of " + check.ID),
	}
	switch class {
	case "", events.ClassPass:
	case events.ClassCodeFailure:
		c.Outcome, c.Class, c.Exit, c.Output = events.OutcomeFail, class, 1, "--- FAIL: Test\nwant 1, got 2\n"
	default:
		c.Outcome, c.Class, c.Exit, c.Executed = events.OutcomeInconclusive, class, -1, 0
	}
	return c
}

// Intent returns a preview effect with the given key and parts.
func Intent(key string, parts ...string) *events.Intent {
	return &events.Intent{
		Key: key, Kind: events.EffectPreview, Target: "preview-env", InputDigest: Digest("input"),
		PayloadDigest: Digest("payload " + key), Parts: parts, Probe: []string{"probe", key},
	}
}
