package ledger_test

import (
	"fmt"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
)

// shelved returns a ledger in which artifact "x" was recorded with classes, in
// tasks of their own, one after the other.
func shelved(classes ...string) *projections.Ledger {
	l := projections.NewLedger("test")
	for i, class := range classes {
		id := fmt.Sprintf("T-%d", i)
		l.Tasks[id] = &projections.Task{ID: id}
		l.Tasks[id].Artifacts = []projections.Artifact{{
			Signed: projections.Signed{Position: events.Position(i + 1), Actor: fmt.Sprintf("actor-%d", i)},
			Data:   events.Artifact{Digest: "x", Size: int64(i), Class: class},
		}, {Data: events.Artifact{Digest: "y", Class: "restricted"}}}
	}
	return l
}

func TestArtifactFacts(t *testing.T) {
	for want, lists := range map[string][][]string{
		"public":     {{"public"}, {"public", "public"}},
		"internal":   {{"internal"}, {"public", "internal"}, {"internal", "public", "public"}},
		"restricted": {{"restricted", "public"}, {"public", "restricted"}, {"internal", "public", "restricted"}, {"restricted", "internal", "public"}},
	} {
		for _, classes := range lists {
			for range 8 { // tasks are in a map
				got, ok := ledger.Artifact(shelved(classes...), "x")
				if want := (ledger.ArtifactFacts{Class: want, Recorder: "actor-0"}); !ok || got != want {
					t.Errorf("recorded as %v: %+v, %v, want %+v", classes, got, ok, want)
				}
			}
		}
	}
	if _, ok := ledger.Artifact(shelved("public"), "z"); ok || ledger.MentionsArtifact(shelved("public"), "z") || !ledger.MentionsArtifact(shelved("public"), "x") {
		t.Error("what is recorded is not told from what is not")
	}
	l := shelved("public", "public")
	l.Tasks["T-1"].Quarantine = []projections.ArtifactQuarantine{{Data: events.Quarantine{Digest: "x"}}}
	if got, _ := ledger.Artifact(l, "x"); !got.Quarantined {
		t.Error("another task's quarantine does not count")
	}
}

func TestMayRead(t *testing.T) {
	for _, class := range []string{"public", "internal", "restricted"} {
		for _, quarantined := range []bool{false, true} {
			for _, asked := range []bool{false, true} {
				facts := ledger.ArtifactFacts{Class: class, Recorder: "first", Quarantined: quarantined}
				for _, role := range append(events.Roles(), "nobody", "first") {
					a := &projections.Actor{Name: "actor", Roles: []events.Role{role}}
					want := class != "restricted"
					switch role {
					case "nobody":
						a, want = nil, class == "public"
					case "first":
						a, want = &projections.Actor{Name: "first", Roles: []events.Role{events.RoleImplementer}}, true
					case events.RoleOwner, events.RoleReviewer, events.RoleVerifier, events.RoleAuditor, events.RoleOperator, events.RoleAdmin:
						want = true
					}
					if quarantined {
						want = asked && role == events.RoleAdmin
					}
					if refusal := facts.MayRead(a, asked); (refusal == nil) != want {
						t.Errorf("%s, quarantined %v, asked as such %v: %s gets it: %v, want %v", class, quarantined, asked, role, refusal == nil, want)
					}
				}
			}
		}
	}
}
