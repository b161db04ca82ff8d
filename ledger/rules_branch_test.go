package ledger

import (
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// moving returns the intent to move a branch as a mod of the change says, else
// to a commit of its own on a branch of its own.
func moving(key string, kind events.EffectKind, mods ...func(*events.GitChange)) *events.Intent {
	g := &events.GitChange{
		Ref: "refs/heads/topic", Parent: projectionstest.Object("tip"), Tree: projectionstest.Object("tree"),
		Message: "export the state", Name: "A", Email: "a@example.org", Date: "2026-12-01T12:00:00Z",
	}
	for _, mod := range mods {
		mod(g)
	}
	i := &events.Intent{Key: key, Kind: kind, Target: "repository", InputDigest: projectionstest.Digest("input"), Commit: g.Parent, Git: g}
	if kind == events.EffectMerge {
		i.Commit = g.Merged
	}
	digest, err := g.Digest()
	if err != nil {
		panic(err)
	}
	i.PayloadDigest = digest
	return i
}

// merging returns the intent to bring the task's result to main.
func merging(k *projectionstest.Task, key string, mods ...func(*events.GitChange)) *events.Intent {
	right := func(g *events.GitChange) {
		r := k.State().Result.Data
		g.Ref, g.Merged, g.Tree = "refs/heads/main", r.Head, r.Tree
	}
	return moving(key, events.EffectMerge, append([]func(*events.GitChange){right}, mods...)...)
}

func approving(i *events.Intent) *events.EffectApproval {
	return &events.EffectApproval{Key: i.Key, PayloadDigest: i.PayloadDigest}
}

func dispatching(key string) *events.Dispatch {
	return &events.Dispatch{Key: key, Try: 1, Token: key + "-1", Host: "host", Boot: "boot"}
}

func confirming(key, id string) *events.Confirmation {
	return &events.Confirmation{Key: key, Try: 1, ExternalID: id, Token: key + "-1", Basis: events.BasisProbe, Evidence: "found"}
}

func releaseOf(k *projectionstest.Task) *events.Claim {
	w := projectionstest.World(k.Policy())
	w.MergeTree = k.State().Result.Data.Tree
	return &events.Claim{Purpose: events.PurposeRelease, TermSeconds: 60, World: w}
}

// TestCommitRules lets a commit go anywhere but to the contract's target.
func TestCommitRules(t *testing.T) {
	ref := func(name string) func(*events.GitChange) { return func(g *events.GitChange) { g.Ref = name } }
	try(t, in(projections.Executing),
		said{"impl-a", moving("one", events.EffectCommit, ref("refs/heads/main")), "effect.intended/target"},
		said{"impl-a", moving("one", events.EffectCommit, ref("refs/heads/main2")), ""},
		said{"impl-a", moving("two", events.EffectCommit), ""},
		said{"impl-b", moving("three", events.EffectCommit), "effect.intended/fence"},
		said{"impl-a", moving("four", events.EffectMerge, ref("refs/heads/main"), func(g *events.GitChange) { g.Merged = projectionstest.Object("head") }), "effect.intended/release"},
	)
}

// TestCommitPlace refuses an intent that names another commit than the change
// starts from, or brings: the rules never see it.
func TestCommitPlace(t *testing.T) {
	k := in(projections.Releasing)
	for _, intent := range []*events.Intent{moving("one", events.EffectCommit), merging(k, "one")} {
		if err := intent.Validate(); err != nil {
			t.Fatalf("%s: %v", intent.Kind, err)
		}
		intent.Commit = projectionstest.Object("other")
		if intent.Validate() == nil {
			t.Errorf("%s: the intent names another commit than its change", intent.Kind)
		}
	}
	intent := moving("one", events.EffectCommit)
	intent.Git.Parent = projectionstest.Object("other")
	intent.Commit = intent.Git.Parent
	if intent.Validate() == nil {
		t.Error("the digest is of a change with another parent")
	}
}

// TestMergeRules lets a merge bring the approved commit and tree to the
// contract's target, and nothing else.
func TestMergeRules(t *testing.T) {
	k := in(projections.Releasing)
	other := projectionstest.Object("other")
	try(t, k,
		said{"olga", merging(k, "one", func(g *events.GitChange) { g.Ref = "refs/heads/topic" }), "effect.intended/target"},
		said{"olga", merging(k, "one", func(g *events.GitChange) { g.Ref = "refs/heads/refs/heads/main" }), "effect.intended/target"},
		said{"olga", merging(k, "one", func(g *events.GitChange) { g.Merged = other }), "effect.intended/head"},
		said{"olga", merging(k, "one", func(g *events.GitChange) { g.Merged = k.State().Attempt().Snapshot.BaseCommit }), "effect.intended/head"},
		said{"olga", merging(k, "one", func(g *events.GitChange) { g.Tree = other }), "effect.intended/tree"},
		said{"rita", merging(k, "one"), "effect.intended/fence"},
	)
	k.State().Approvals[0].Void = "its key is compromised"
	try(t, k, said{"olga", merging(k, "one"), "effect.intended/quorum"})
	k.State().Approvals[0].Void = ""
	try(t, k,
		said{"olga", merging(k, "one"), ""},
		said{"olga", dispatching("one"), "effect.dispatched/approval"},
		said{"rita", approving(merging(k, "one")), ""},
	)
	k.State().Approvals[0].Void = "its key is compromised"
	try(t, k, said{"olga", dispatching("one"), "effect.dispatched/quorum"})
	k.State().Approvals[0].Void = ""
	try(t, k, said{"olga", dispatching("one"), ""})
}

// TestMergeOfFormerResult refuses to dispatch the merge of a result that was
// approved once and then replaced.
func TestMergeOfFormerResult(t *testing.T) {
	k := in(projections.Releasing)
	try(t, k, said{"olga", merging(k, "one"), ""}, said{"rita", approving(merging(k, "one")), ""})
	k.DoFenced("olga", k.State().Fence, &events.Release{Reason: "other"})
	k.Reject("rita", "A1", "not yet")
	k.Do("carl", &events.RepairAcceptance{Kind: "code"})
	k.Claim("impl-a", events.PurposeWork)
	k.Do("impl-a", projectionstest.Result("2"))
	k.Verify(nil)
	k.Approve("rita")
	try(t, k,
		said{"olga", releaseOf(k), ""},
		said{"olga", dispatching("one"), "effect.dispatched/head"},
		said{"olga", merging(k, "two"), ""},
	)
}

// TestDeliveryOfMerge demands that a delivery names the commit that the merge
// made.
func TestDeliveryOfMerge(t *testing.T) {
	k := in(projections.Releasing)
	merged := projectionstest.Object("merged")
	delivery := func(commit string) *events.Delivery {
		s := k.State()
		return &events.Delivery{Contract: s.Contract().Digest, Result: s.Result.Hash, Target: "main", Commit: commit, Tree: s.Result.Data.Tree}
	}
	try(t, k,
		said{"olga", merging(k, "one"), ""},
		said{"rita", approving(merging(k, "one")), ""},
		said{"olga", dispatching("one"), ""},
		said{"olga", confirming("one", merged), ""},
		said{"olga", delivery(projectionstest.Object("other")), "delivery.recorded/merge"},
		said{"olga", delivery(k.State().Result.Data.Head), "delivery.recorded/merge"},
		said{"olga", delivery(merged), ""},
	)
	inState(t, k, projections.Delivered)
}

// undo returns the intent to undo a preview effect.
func undo(key, of string, mods ...func(*events.Intent)) *events.Intent {
	i := projectionstest.Intent(key)
	i.Compensates = of
	for _, mod := range mods {
		mod(i)
	}
	return i
}

// TestUndoing lets an effect undo one of the same task, kind and target that
// is proven to be there, once.
func TestUndoing(t *testing.T) {
	const rule = "effect.intended/compensates"
	k := in(projections.Executing)
	other := k.Story.Task("TASK-2")
	other.Propose()
	other.Accept()
	other.Open()
	other.Claim("impl-b", events.PurposeWork)
	other.Intend("theirs")
	other.Dispatch("theirs")
	other.Settle("impl-b", "theirs", "", projections.StatusConfirmed)
	k.Intend("intended")
	for key, status := range map[string]projections.Status{"failed": projections.StatusFailed, "one": projections.StatusConfirmed} {
		k.Intend(key)
		k.Dispatch(key)
		k.Settle("impl-a", key, "", status)
	}
	parts := func(names ...string) func(*events.Intent) { return func(i *events.Intent) { i.Parts = names } }
	try(t, k,
		said{"impl-a", undo("u", "nothing"), rule},
		said{"impl-a", undo("u", "theirs"), rule},
		said{"impl-a", undo("u", "intended"), rule},
		said{"impl-a", undo("u", "failed"), rule},
		said{"impl-a", undo("u", "one", func(i *events.Intent) { i.Kind = events.EffectNotify }), rule},
		said{"impl-a", undo("u", "one", func(i *events.Intent) { i.Target = "elsewhere" }), rule},
		said{"impl-a", undo("u", "one", parts("a")), rule},
		said{"impl-a", undo("u", "one"), ""},
		said{"impl-a", undo("v", "one"), rule},
		said{"impl-a", undo("v", "u"), rule},
		said{"ann", &events.EffectWithdrawal{Key: "u", Reason: "r"}, ""},
		said{"impl-a", undo("v", "one"), ""},
		said{"impl-a", dispatching("v"), ""},
	)
	undone := func(by string) *events.Compensation {
		return &events.Compensation{Key: "one", By: by, Basis: events.BasisProbe, Evidence: "gone"}
	}
	try(t, k,
		said{"carl", undone("ext-v"), "effect.compensated/by"},
		said{"carl", confirming("v", "ext-v"), ""},
		said{"carl", undone("ext-other"), "effect.compensated/by"},
		said{"carl", undone("ext-v"), ""},
		said{"impl-a", undo("w", "one"), rule},
		said{"impl-a", undo("w", "v"), rule},
	)
}

// TestUndoingAmbiguous refuses to undo what nobody knows to be there, at the
// intent and, where that became so later, at the dispatch.
func TestUndoingAmbiguous(t *testing.T) {
	for _, status := range []projections.Status{projections.StatusDispatched, projections.StatusUnknown, projections.StatusConflict} {
		k := in(projections.Executing)
		k.Intend("one")
		k.Dispatch("one")
		if status != projections.StatusDispatched {
			k.Settle("impl-a", "one", "", status)
		}
		try(t, k, said{"impl-a", undo("u", "one"), "effect.intended/compensates"})
	}
	k := in(projections.Executing)
	k.Intend("one", "a", "b")
	k.Dispatch("one")
	k.Settle("impl-a", "one", "a", projections.StatusConfirmed)
	k.Settle("impl-a", "one", "b", projections.StatusUnknown)
	try(t, k, said{"impl-a", undo("u", "one", func(i *events.Intent) { i.Parts = []string{"a"} }), "effect.intended/compensates"})
	k = in(projections.Executing)
	k.Intend("one")
	k.Dispatch("one")
	k.Settle("impl-a", "one", "", projections.StatusConfirmed)
	try(t, k,
		said{"impl-a", undo("u", "one"), ""},
		said{"carl", confirming("one", "ext-again"), ""}, // it happened twice
		said{"impl-a", dispatching("u"), "effect.dispatched/compensates"},
	)
}
