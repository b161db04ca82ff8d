package ledger

import (
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// rulesAssurance is the version of the rules from which on an approval states
// a degraded assurance, and commits in the range count for it.
const rulesAssurance = 2

// degraded reports whether the author shares its principal with whoever did
// the work.
func degraded(s *scene) bool {
	g := &s.ledger.Registry
	return Degraded(g, s.task, s.author)
}

// Degraded reports whether a receipt or an approval by an actor on the current
// result has the assurance same-principal-degraded: its principal is also that
// of a contributor, or of somebody with a commit in the range. Only a solo
// ledger takes one.
func Degraded(g *projections.Registry, t *projections.Task, a *projections.Actor) bool {
	same := func(other *projections.Actor) bool { return other != nil && other.Principal == a.Principal }
	if slices.ContainsFunc(t.Contributors, func(name string) bool { return same(g.Actor(name)) }) {
		return true
	}
	if t.Result == nil || g.RulesVersion() < rulesAssurance {
		return false
	}
	return slices.ContainsFunc(t.Result.Data.Authors, func(email string) bool {
		return slices.ContainsFunc(g.ByGitIdentity(email), same)
	})
}

// checkSolo decides what a solo ledger lets one person do: approve with a key
// of another kind than those that worked and verified, and say so.
func checkSolo(s *scene, d *events.Approval) *Refusal {
	g, rule := &s.ledger.Registry, s.row.Name()
	if g.RulesVersion() < rulesAssurance {
		if d.Assurance != "" {
			return refuse(CodeRule, rule+"/assurance", "rules of version %d know no assurance of an approval", g.RulesVersion())
		}
		return nil
	}
	want := ""
	if degraded(s) {
		want = events.AssuranceDegraded
	}
	if d.Assurance != want {
		return refuse(CodeRule, rule+"/assurance", "assurance is %q, and who did the work makes it %q", d.Assurance, want)
	}
	if want == "" {
		return nil
	}
	for i := range s.task.Receipts {
		r := &s.task.Receipts[i]
		verifier := g.Actor(r.Actor)
		if verifier != nil && verifier.Principal == s.author.Principal && verifier.Kind == s.author.Kind && s.task.Current(r) {
			return refuse(CodeRule, "separation", "%s verified this and is of the same kind and principal: another kind of key approves", r.Actor)
		}
	}
	return nil
}
