package cli

import (
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/server/protocol"
)

// barredMove is a command that the table allows and that everybody who could
// give it is forbidden now.
type barredMove struct {
	move
	// Policy is the id of the statement, or the digest of the policy in force
	// where the attempt pinned another one.
	Policy string `json:"policy"`
	Reason string `json:"reason"`
}

// yourMoves are the commands that one actor may give.
type yourMoves struct {
	Actor string   `json:"actor"`
	Moves []string `json:"moves"`
	// Not says why there are none.
	Not string `json:"not,omitzero"`
}

// prospects are the moves of a task as authority has it at an instant of the
// admission clock.
type prospects struct {
	open   []move
	barred []barredMove
	you    *yourMoves
}

// judge is what moves are held against.
type judge struct {
	state  protocol.TaskState
	g      *projections.Registry
	policy *ledger.Policy
	now    int64 // unix ns
}

// prospectsOf sorts the moves of a task. What a policy says of paths that
// nobody knows yet, or of who took part in what, shows only when it is tried.
func prospectsOf(state protocol.TaskState, o whyOptions) prospects {
	p := prospects{open: []move{}, barred: []barredMove{}}
	if o.registry == nil {
		p.open = movesOf(state)
		return p
	}
	j := judge{state, o.registry, ledger.PolicyInForce(o.registry), o.now}
	for _, m := range j.moves() {
		cast := j.cast(m)
		ban := j.ban(m, cast)
		switch {
		case ban != nil:
			p.barred = append(p.barred, barredMove{m, ban.Policy, first(ban.Reason, "it gives no reason")})
			continue
		case len(cast) == 0:
			m.Note = "no actor that can sign may give it"
		}
		p.open = append(p.open, m)
	}
	if o.you != "" {
		p.you = j.yours(o.you, p)
	}
	return p
}

// moves are those of the task, and the recovery that leads back under the
// policy in force.
func (j judge) moves() []move {
	list := movesOf(j.state)
	const recovery = "lease.claimed recover"
	legal := slices.ContainsFunc(j.state.Next, func(n ledger.NextEvent) bool { return n.Event == recovery })
	known := slices.ContainsFunc(list, func(m move) bool { return m.Event == recovery })
	if j.repinned() && legal && !known {
		list = append(list, newMove(recovery, "deed recover "+j.state.Task.ID, signers(recovery, j.state)))
	}
	return list
}

// repinned reports whether another policy is in force than the open attempt
// pinned: nothing is approved or delivered under it.
func (j judge) repinned() bool {
	a := j.state.Task.Attempt()
	return j.g.Published != nil && a != nil && a.Snapshot.Inputs.Policy != j.g.Policy
}

// cast returns the actors that can sign and whom the row allows; those who
// took part in the work prove and approve nothing of it.
func (j judge) cast(m move) []*projections.Actor {
	var cast []*projections.Actor
	by := authorsOf(m.Event)
	named := len(m.As) > 0 && !slices.ContainsFunc(m.As, func(name string) bool { return slices.Contains(events.Roles(), events.Role(name)) })
	for _, a := range j.g.Actors {
		allowed := slices.ContainsFunc(by, func(author ledger.Author) bool {
			return author.Role != "" && author.Role != events.RoleService && a.Has(author.Role) && (author.Kind == "" || author.Kind == a.Kind)
		})
		if named {
			allowed = slices.Contains(m.As, a.Name)
		}
		if allowed && a.Signs() && !(judges(m.Event) && j.tookPart(a)) {
			cast = append(cast, a)
		}
	}
	return cast
}

// judges reports whether a row is about others' work.
func judges(row string) bool { return row == "receipt.recorded" || row == "approval.recorded" }

// tookPart reports whether an actor, or another one of its principal, took
// part in the work. One person with agents is allowed that.
func (j judge) tookPart(a *projections.Actor) bool {
	if j.g.Genesis.Profile == "solo" {
		return false
	}
	return slices.ContainsFunc(j.state.Task.Contributors, func(name string) bool {
		other := j.g.Actor(name)
		return name == a.Name || other != nil && other.Principal == a.Principal
	})
}

// ban returns why everybody of a cast is forbidden a move, nil where somebody
// is not.
func (j judge) ban(m move, cast []*projections.Actor) *ledger.Ban {
	if j.repinned() && (m.Event == "approval.recorded" || m.Event == "delivery.recorded") {
		return &ledger.Ban{Policy: j.g.Policy, Reason: "the attempt pinned the policy before it: recover, then the owner resolves with --repin"}
	}
	var last *ledger.Ban
	for _, a := range cast {
		bans := j.bans(m, a)
		if len(bans) == 0 {
			return nil
		}
		last = &bans[0]
	}
	return last
}

// bans asks the policy in force about one actor. What a first contract will
// say, its tier above all, nobody knows yet.
func (j judge) bans(m move, a *projections.Actor) []ledger.Ban {
	if m.Event == "contract.proposed" && len(j.state.Task.Contracts) == 0 {
		return nil
	}
	q := ledger.AskAbout(&projections.Ledger{Registry: *j.g}, j.state.Task, j.now)
	q.Type, q.Row = events.TypeOf(rowType(m.Event)), m.Event
	q.Actor, q.Principal, q.Kind, q.Roles = a.Name, a.Principal, a.Kind, a.Roles
	if m.effect != nil {
		q.EffectKind, q.EffectTarget = string(m.effect.Intent.Kind), m.effect.Intent.Target
	}
	return j.policy.Bans(q)
}

// yours says which of the moves an actor may give, or why none.
func (j judge) yours(name string, p prospects) *yourMoves {
	y := &yourMoves{Actor: name, Moves: []string{}}
	a := j.g.Actor(name)
	switch {
	case a == nil:
		y.Not = "there is no such actor here"
		return y
	case !a.Signs():
		y.Not = "without a key that still signs"
		return y
	}
	for _, m := range p.barred {
		if slices.Contains(j.cast(m.move), a) {
			y.Not = "forbidden by policy " + m.Policy + ": " + m.Reason
		}
	}
	for _, m := range p.open {
		if !slices.Contains(j.cast(m), a) {
			continue
		}
		if bans := j.bans(m, a); len(bans) > 0 {
			y.Not = "forbidden by policy " + bans[0].Policy + ": " + first(bans[0].Reason, "it gives no reason")
			continue
		}
		y.Moves = append(y.Moves, m.Command)
	}
	switch {
	case len(y.Moves) > 0:
		y.Not = ""
	case y.Not == "" && j.tookPart(a) && slices.ContainsFunc(p.open, func(m move) bool { return judges(m.Event) }):
		y.Not = "who took part in the work neither proves nor approves it"
	case y.Not == "":
		y.Not = "it is the turn of others"
	}
	return y
}

// prospects writes them for people.
func (w *textWriter) prospects(p prospects) {
	for _, m := range p.open {
		if m.Note != "" {
			w.line("next: %s (%s)", m.String(), m.Note)
		} else {
			w.line("next: %s", m.String())
		}
	}
	for _, m := range p.barred {
		w.line("not now: %s: forbidden by policy %s: %s", m.String(), m.Policy, m.Reason)
	}
	switch y := p.you; {
	case y == nil:
	case len(y.Moves) > 0:
		w.line("you, %s: %s", y.Actor, strings.Join(y.Moves, "; "))
	default:
		w.line("you, %s: nothing that leads on: %s", y.Actor, y.Not)
	}
}
