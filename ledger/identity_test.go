package ledger

import (
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// name lets an admin add an address under which an actor commits.
func name(k *projectionstest.Task, actor, email string) {
	a := k.Story.Ledger.Registry.Actor(actor)
	k.Story.Do(projectionstest.Draft{Actor: projectionstest.Founder, Payload: &events.Invitation{
		Actor: a.Name, Kind: a.Kind, Principal: a.Principal, Roles: a.Roles, GitIdentities: []string{email}}})
}

// TestFirstAddressStays: an address that an admin adds does not hide whose
// the commits under the actor's first one are.
func TestFirstAddressStays(t *testing.T) {
	k := judged("separate", func(r *events.Result) { r.Authors = []string{"Rita@acme.invalid", "impl-a@example.org"} })
	k.Story.Ledger.Registry.Actor("rita").GitIdentities = nil
	k.Do("ci", proof(k))
	separates(t, say(k, "rita", verdict(k, "")), true)
	name(k, "rita", "rita@corp.example")
	separates(t, say(k, "rita", verdict(k, "")), true)
	if got := k.State().Unmapped(); len(got) != 0 {
		t.Errorf("%v belong to nobody", got)
	}
}

// TestSharedAddress: a reviewer who turns out to commit under an address that
// somebody else commits under, too, has not judged what is under it.
func TestSharedAddress(t *testing.T) {
	begin := func(author string) *projectionstest.Task {
		k := judged("separate", func(r *events.Result) { r.Authors = []string{author} })
		k.Do("ci", proof(k))
		k.Do("rita", verdict(k, ""))
		if got := k.State().State; got != projections.Approved {
			t.Fatalf("the task is %s", got)
		}
		return k
	}
	k := begin("impl-a@example.org")
	name(k, "rita", "Impl-A@example.org")
	if got := k.State(); got.State != projections.AwaitingReview || len(got.Approvers()) != 0 {
		t.Errorf("the task is %s, approved by %v", got.State, got.Approvers())
	}
	k = begin("impl-a@example.org")
	name(k, "rita", "rita@corp.example")
	if got := k.State().State; got != projections.Approved {
		t.Errorf("an address of no commit leaves the task %s", got)
	}
}
