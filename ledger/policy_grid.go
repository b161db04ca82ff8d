package ledger

import (
	"slices"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// The grid is what a policy is tried on before it is published: the rows of
// the authority table, by somebody of each role and kind that a row allows, at
// each risk tier, on seven days at four hours.

// tiers lists the risk tiers.
func tiers() []string { return []string{"read-only", "code", "preview", "production"} }

// effectKinds lists what an effect of the grid can be; "" for events that are
// about none.
func effectKinds(t events.Type) []string {
	switch t {
	case events.EffectIntended, events.EffectApproved, events.EffectWithdrawn, events.EffectDispatched:
		return []string{"none", "preview", "draft-pr", "commit", "merge", "production-deploy", "migrate", "publish", "notify"}
	}
	return []string{""}
}

// day and hour are in nanoseconds.
const (
	hour = int64(3600) * 1_000_000_000
	day  = 24 * hour
)

// instants returns four hours of each day of the week that begins a year after
// an admission stamp, so that a policy with an end in sight is not mistaken
// for one that holds for ever.
func instants(admitted int64) []int64 {
	start := admitted - admitted%day + 365*day
	var list []int64
	for d := range int64(7) {
		for _, h := range [...]int64{10, 16, 22, 4} {
			list = append(list, start+d*day+h*hour)
		}
	}
	return list
}

// weekday names the day of an instant.
func weekday(admitted int64) string { return time.Unix(0, admitted).UTC().Weekday().String() }

// player is somebody who may say what a row says.
type player struct {
	name, principal string
	role            events.Role
	kind            events.Kind
	roles           []events.Role
}

// players returns one author of each role and kind that the row allows.
func players(row *Row) []player {
	var list []player
	add := func(role events.Role, kinds ...events.Kind) {
		for _, kind := range kinds {
			p := player{"some-" + string(role), "some-principal", role, kind, []events.Role{role}}
			if !slices.ContainsFunc(list, func(q player) bool { return q.role == role && q.kind == kind }) {
				list = append(list, p)
			}
		}
	}
	for _, by := range row.By {
		given := []events.Kind{events.KindHuman, events.KindAgent, events.KindCI}
		switch {
		case by.Role == events.RoleService:
			add(by.Role, events.KindService)
		case by.Role != "" && by.Kind != "":
			add(by.Role, by.Kind)
		case by.Role != "":
			add(by.Role, given...)
		}
		for _, purpose := range by.Holder {
			add(purpose.Claimant(), given...)
		}
	}
	return list
}

// members returns the actors of the registry that can play the parts of list.
func members(g *projections.Registry, list []player) []player {
	var found []player
	for _, a := range g.Actors {
		plays := slices.ContainsFunc(list, func(p player) bool { return p.kind == a.Kind && a.Has(p.role) })
		if a.Revoked == 0 && plays {
			found = append(found, player{name: a.Name, principal: a.Principal, kind: a.Kind, roles: a.Roles})
		}
	}
	return found
}

// gridQuestion is the question of a cell of the grid, by nobody yet.
func gridQuestion(row *Row, state projections.State, tier string) Question {
	return Question{Type: row.Type, Row: row.Name(), Task: "TASK-1", State: state, Tier: tier, Attempts: 1, Approvers: 8}
}

// by is the question when this player asks it.
func (p player) by(q Question) Question {
	q.Actor, q.Principal, q.Kind, q.Roles = p.name, p.principal, p.kind, p.roles
	return q
}

// way is a row that must stay open in a state.
type way struct {
	state projections.State
	row   string
}

// ways returns what leads a task on, from its contract to its delivery, and
// what leads it out. Each must stay possible, for somebody at some time: what
// ends or turns a task is always there besides, so that it alone would prove
// nothing.
func ways() []way {
	list := []way{
		{projections.None, "contract.proposed"}, {projections.Proposed, "contract.accepted"}, {projections.Contracted, "attempt.opened"},
		{projections.Snapshotted, "lease.claimed work"}, {projections.Executing, "result.recorded"},
		{projections.AwaitingVerification, "receipt.recorded"}, {projections.RepairQueued, "repair.accepted"},
		{projections.RepairQueued, "lease.claimed work"}, {projections.RepairQueued, "attempt.opened"},
		{projections.AwaitingReview, "approval.recorded"}, {projections.Approved, "delivery.recorded"},
		{projections.Interrupted, "lease.claimed recover"}, {projections.RecoveryEvaluating, "recovery.decided"},
		{projections.Escalated, "escalation.resolved"},
	}
	for _, s := range live() {
		list = append(list, way{s, "task.cancelled"})
	}
	return append(list, way{projections.Releasing, "delivery.recorded"}, way{projections.Releasing, "lease.released"})
}

// Blocked is a way on that a policy closes for everybody.
type Blocked struct {
	State string `json:"state"`
	Row   string `json:"row"`
	Tier  string `json:"tier"`
	// Policy is what forbids it to the last one asked.
	Policy string `json:"policy"`
}

// LockedOut returns the ways on that the policy closes to everybody, at every
// time of the grid, for tasks of a tier. It is an approximation from one side:
// a policy that closes a way only under conditions on paths, names or counts
// passes.
func LockedOut(p *Policy, g *projections.Registry, admitted int64) []Blocked {
	rows := map[string]*Row{}
	for _, row := range Table() {
		rows[row.Name()] = &row
	}
	var closed []Blocked
	for _, w := range ways() {
		row := rows[w.row]
		cast := players(row)
		cast = append(cast, members(g, cast)...)
		for _, tier := range tiers() {
			if ban := closedTo(p, cast, gridQuestion(row, w.state, tier), admitted); ban != nil {
				closed = append(closed, Blocked{State: w.state.String(), Row: w.row, Tier: tier, Policy: ban.Policy})
			}
		}
	}
	return closed
}

// closedTo returns what forbids the question to the last of a cast at the last
// time, nil when somebody may at some time.
func closedTo(p *Policy, cast []player, q Question, admitted int64) *Ban {
	var last *Ban
	for _, who := range cast {
		q := who.by(q)
		for _, q.Admitted = range instants(admitted) {
			bans := p.Bans(q)
			if len(bans) == 0 {
				return nil
			}
			last = &bans[0]
		}
	}
	return last
}

// Verdict is what a policy makes of one row of the table for one sort of
// author.
type Verdict struct {
	Row    string      `json:"row"`
	Role   events.Role `json:"role"`
	Kind   events.Kind `json:"kind"`
	Tier   string      `json:"tier"`
	Effect string      `json:"effect,omitzero"`
	// Days are the weekdays on which it is forbidden at some hour in some
	// state, all seven in their order from Monday where it always is.
	Days []string `json:"days"`
	// Policies forbid it.
	Policies []string `json:"policies"`
}

// Survey returns every cell of the grid that the policy forbids at some time,
// in the order of the table.
func Survey(p *Policy, admitted int64) []Verdict {
	var list []Verdict
	for _, row := range Table() {
		for _, who := range players(&row) {
			for _, tier := range tiers() {
				for _, effect := range effectKinds(row.Type) {
					v := Verdict{Row: row.Name(), Role: who.role, Kind: who.kind, Tier: tier, Effect: effect}
					if v.try(p, &row, who, admitted); len(v.Policies) > 0 {
						list = append(list, v)
					}
				}
			}
		}
	}
	return list
}

// try asks the policy in every state of the row, at every time of the grid.
func (v *Verdict) try(p *Policy, row *Row, who player, admitted int64) {
	for _, state := range row.In {
		q := who.by(gridQuestion(row, state, v.Tier))
		q.EffectKind = v.Effect
		for _, q.Admitted = range instants(admitted) {
			for _, ban := range p.Bans(q) {
				if !slices.Contains(v.Policies, ban.Policy) {
					v.Policies = append(v.Policies, ban.Policy)
				}
				if day := weekday(q.Admitted); !slices.Contains(v.Days, day) {
					v.Days = append(v.Days, day)
				}
			}
		}
	}
	slices.SortFunc(v.Days, func(a, b string) int { return dayOf(a) - dayOf(b) })
}

// dayOf numbers the days from Monday.
func dayOf(name string) int {
	return slices.Index([]string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}, name)
}

// Fits reports whether an actor of the role can be this author: by the role
// itself, or as the holder of a lease that the role claims.
func (a Author) Fits(role events.Role) bool {
	return a.Role == role || slices.ContainsFunc(a.Holder, func(p events.Purpose) bool { return p.Claimant() == role })
}
