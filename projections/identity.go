package projections

import (
	"slices"

	"github.com/deedledger/deed/events"
)

// rulesSecondReviewer is the version of the rules from which on commits by
// identities that nobody mapped need a second reviewer.
const rulesSecondReviewer = 2

// unmapped returns the addresses under which no actor commits, in their order;
// none while rules are in force that did not ask.
func (l *Ledger) unmapped(authors []string) []string {
	if l.Registry.RulesVersion() < rulesSecondReviewer {
		return nil
	}
	var found []string
	for _, email := range authors {
		if len(l.Registry.ByGitIdentity(email)) == 0 {
			found = append(found, email)
		}
	}
	return found
}

// Needed returns how many people have to approve the current result: the
// contract's quorum, and one more where its range holds commits by identities
// that nobody mapped. 0 without an accepted contract.
func (t *Task) Needed() int64 {
	c := t.Contract()
	switch {
	case c == nil:
		return 0
	case t.Result != nil && len(t.Result.Unmapped) > 0:
		return c.Contract.Quorum + 1
	}
	return c.Contract.Quorum
}

// indexRegistry leads the tasks on that a registry event is about.
func (l *Ledger) indexRegistry(r events.Record) {
	p, err := r.Event.Payload()
	if err != nil {
		return // the registry's fold has refused it
	}
	switch d := p.(type) {
	case *events.KeyCompromise:
		l.suspect(r, d)
	case *events.Invitation:
		if len(d.GitIdentities) > 0 {
			l.remap(r, d)
		}
	}
}

// remap looks again at the results with commits under an address that an actor
// was just given, whether or not somebody else commits under it, too. Whoever
// turns out to be an author of a result has not judged it.
func (l *Ledger) remap(r events.Record, d *events.Invitation) {
	if l.Registry.RulesVersion() < rulesSecondReviewer {
		return
	}
	given := func(email string) bool {
		return slices.ContainsFunc(d.GitIdentities, func(own string) bool { return foldCase(own) == foldCase(email) })
	}
	for _, id := range l.TaskIDs() {
		t := l.Tasks[id]
		if t.Result == nil || t.Blocked != nil || t.State.Final() || !slices.ContainsFunc(t.Result.Data.Authors, given) {
			continue
		}
		t.Result.Unmapped = l.unmapped(t.Result.Unmapped)
		t.unjudge(l.Registry.Actor(d.Actor), &l.Registry)
		t.fallBack(r)
		if t.State == AwaitingReview && t.FatalFinding() == nil && t.Verdict() == ItemPass && t.Quorum() {
			t.enter(r, Approved)
		}
	}
}

// voidAuthor says why a receipt or an approval counts as absent whose signer
// turned out to have a commit in the range.
const voidAuthor = "its signer has a commit in the range"

// unjudge voids the receipts and approvals of an author of the current result.
func (t *Task) unjudge(author *Actor, g *Registry) {
	judged := func(name string) bool {
		a := g.Actor(name)
		solo := g.Genesis.Profile == "solo" && a != nil && a.Kind != author.Kind
		return a != nil && (a.Name == author.Name || a.Principal == author.Principal && !solo)
	}
	for i := range t.Receipts {
		if v := &t.Receipts[i]; v.Void == "" && judged(v.Actor) && t.Current(v) {
			v.Void = voidAuthor
		}
	}
	for i := range t.Approvals {
		if v := &t.Approvals[i]; v.Void == "" && judged(v.Actor) && v.Data.Result == t.Result.Hash {
			v.Void = voidAuthor
		}
	}
}

// Unmapped reports whether the current result holds commits of which nobody
// knows whose they are.
func (t *Task) Unmapped() []string {
	if t.Result == nil {
		return nil
	}
	return slices.Clone(t.Result.Unmapped)
}
