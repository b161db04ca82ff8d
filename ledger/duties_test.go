package ledger

import (
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// judged tells a story up to a result by impl-a that waits for a receipt, in a
// ledger under the newest rules.
func judged(profile string, mods ...func(*events.Result)) *projectionstest.Task {
	story := projectionstest.New("acme")
	story.Genesis(func(g *events.Genesis) { g.Rules, g.Profile = events.Rules, profile })
	k := story.Task("TASK-1")
	k.Propose()
	k.Accept()
	k.Open()
	k.Claim("impl-a", events.PurposeWork)
	k.Do("impl-a", projectionstest.Result("r1", mods...))
	return k
}

// say asks the rules about an event.
func say(k *projectionstest.Task, actor string, p events.Payload) error {
	r := k.Draft(actor, p)
	return NewRules().Check(k.Story.Ledger, Submission{Event: r.Event, Payload: p, Position: r.Position, Admitted: r.Admitted})
}

// verdict is an approval of the current result, with an assurance.
func verdict(k *projectionstest.Task, assurance string) *events.Approval {
	t := k.State()
	return &events.Approval{Verdict: "approve", Contract: t.Contract().Digest, Result: t.Result.Hash,
		Head: t.Result.Data.Head, Tree: t.Result.Data.Tree, Packet: packetDigest(t), Assurance: assurance}
}

// proof is a receipt of the CI on the current input.
func proof(k *projectionstest.Task) *events.Receipt {
	return projectionstest.Receipt(k.State(), "00000000000000000000000000000001", nil)
}

// TestReviewerBecameAuthor: whoever has a part in what is judged, by
// key, by principal or by a commit, judges nothing; anybody else does.
func TestReviewerBecameAuthor(t *testing.T) {
	t.Run("the reviewer has a commit in the range", func(t *testing.T) {
		k := judged("separate", func(r *events.Result) { r.Authors = []string{"impl-a@example.org", "rita@example.org"} })
		k.Verify(nil)
		k.Story.Ledger.Registry.Actor("rita").GitIdentities = []string{"Rita@example.org"}
		separates(t, say(k, "rita", verdict(k, "")), true)
		if err := say(k, "rob", verdict(k, "")); err != nil {
			t.Errorf("another reviewer: %v", err)
		}
		if got := k.State().State; got != projections.AwaitingReview {
			t.Errorf("the task is %s", got)
		}
	})
	t.Run("the verifier signed the result", func(t *testing.T) {
		k := judged("separate")
		k.Story.Ledger.Registry.Actor("impl-a").Roles = []events.Role{events.RoleImplementer, events.RoleVerifier}
		separates(t, say(k, "impl-a", proof(k)), true)
	})
	t.Run("two keys of one principal", func(t *testing.T) {
		k := judged("separate")
		g := &k.Story.Ledger.Registry
		g.Actor("ci").Principal = g.Actor("impl-a").Principal
		separates(t, say(k, "ci", proof(k)), true)
		k.Verify(nil)
		g.Actor("rita").Principal = g.Actor("impl-a").Principal
		separates(t, say(k, "rita", verdict(k, "")), true)
	})
	t.Run("code in run 1 and a receipt in run 3", func(t *testing.T) {
		k := judged("separate")
		k.Verify(projectionstest.Outcomes{"C1": events.ClassCodeFailure})
		k.AcceptRepair()
		k.Claim("impl-b", events.PurposeWork)
		k.Do("impl-b", projectionstest.Result("r2"))
		k.Story.Ledger.Registry.Actor("impl-a").Roles = []events.Role{events.RoleImplementer, events.RoleVerifier}
		separates(t, say(k, "impl-a", proof(k)), true)
	})
	t.Run("the verifier has a commit in the range", func(t *testing.T) {
		k := judged("separate", func(r *events.Result) { r.Authors = []string{"ci@example.org", "impl-a@example.org"} })
		k.Story.Ledger.Registry.Actor("ci").GitIdentities = []string{"ci@example.org"}
		separates(t, say(k, "ci", proof(k)), true)
	})
	t.Run("the key was rotated in between", func(t *testing.T) {
		k := judged("separate")
		key := "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
		k.Story.Do(projectionstest.Draft{Actor: "impl-a", Payload: &events.KeyRotation{Actor: "impl-a", Old: key, Key: "ed25519:another"}})
		k.Story.Ledger.Registry.Actor("impl-a").Roles = []events.Role{events.RoleImplementer, events.RoleVerifier}
		separates(t, say(k, "impl-a", proof(k)), true)
	})
}

// TestSolo: one person works with an agent, verifies by CI and approves
// themselves; every step says so, and no two of them are by one kind of key.
func TestSolo(t *testing.T) {
	one := func(k *projectionstest.Task) *projections.Registry {
		g := &k.Story.Ledger.Registry
		for _, name := range []string{"impl-a", "ci", "rita"} {
			g.Actor(name).Principal = "paul"
		}
		return g
	}
	k := judged("solo")
	g := one(k)
	plain := proof(k)
	if err := say(k, "ci", plain); err == nil {
		t.Error("a receipt hides that one principal worked and verified")
	}
	degraded := proof(k)
	degraded.Verifier.Assurance = events.AssuranceDegraded
	projectionstest.Bind(degraded)
	if err := say(k, "ci", degraded); err != nil {
		t.Errorf("a degraded receipt: %v", err)
	}
	k.Do("ci", degraded)
	if err := say(k, "rita", verdict(k, "")); err == nil {
		t.Error("an approval hides that one principal worked and approved")
	}
	if err := say(k, "rita", verdict(k, events.AssuranceDegraded)); err != nil {
		t.Errorf("a degraded approval: %v", err)
	}
	if err := say(k, "rob", verdict(k, events.AssuranceDegraded)); err == nil {
		t.Error("somebody else's approval claims to be degraded")
	}
	g.Actor("ci").Kind = events.KindHuman
	separates(t, say(k, "rita", verdict(k, events.AssuranceDegraded)), true)
	g.Actor("ci").Kind, g.Actor("impl-a").Kind = events.KindCI, events.KindHuman
	separates(t, say(k, "rita", verdict(k, events.AssuranceDegraded)), true)
	g.Actor("impl-a").Kind = events.KindAgent
	g.Genesis.Profile = "separate"
	separates(t, say(k, "rita", verdict(k, events.AssuranceDegraded)), true)
}

// TestUnmappedAuthors: commits of which nobody knows whose they are need a
// second reviewer, until an admin says whose they are; and whoever that is has
// not judged them.
func TestUnmappedAuthors(t *testing.T) {
	begin := func() *projectionstest.Task {
		k := judged("separate", func(r *events.Result) { r.Authors = []string{"impl-a@example.org", "stranger@example.org"} })
		k.Do("ci", proof(k))
		k.Do("rita", verdict(k, ""))
		return k
	}
	amend := func(k *projectionstest.Task, actor string) {
		a := k.Story.Ledger.Registry.Actor(actor)
		k.Story.Do(projectionstest.Draft{Actor: projectionstest.Founder, Payload: &events.Invitation{
			Actor: a.Name, Kind: a.Kind, Principal: a.Principal, Roles: a.Roles, GitIdentities: []string{"Stranger@example.org"}}})
	}
	k := begin()
	if got := k.State(); got.State != projections.AwaitingReview || got.Needed() != 2 {
		t.Fatalf("after one approval the task is %s and needs %d", got.State, got.Needed())
	}
	k.Do("rob", verdict(k, ""))
	if got := k.State().State; got != projections.Approved {
		t.Errorf("after two approvals the task is %s", got)
	}
	k = begin()
	amend(k, "impl-a")
	if got := k.State(); got.State != projections.Approved || got.Needed() != 1 {
		t.Errorf("with the stranger known the task is %s and needs %d", got.State, got.Needed())
	}
	k = begin()
	amend(k, "rita")
	if got := k.State(); got.State != projections.AwaitingReview || len(got.Approvers()) != 0 {
		t.Errorf("with the reviewer as the stranger the task is %s, approved by %v", got.State, got.Approvers())
	}
	k = begin()
	amend(k, "ci")
	if got := k.State(); got.State != projections.AwaitingVerification || got.Verdict() == projections.ItemPass {
		t.Errorf("with the verifier as the stranger the task is %s, %s", got.State, got.Verdict())
	}
}
