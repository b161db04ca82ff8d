package ledger

import (
	"slices"
	"strings"
	"time"

	"github.com/cedar-policy/cedar-go"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// Question is what a policy is asked about one event of a task. Everything in
// it comes from the event, the history before it, and its admission stamp.
type Question struct {
	Actor, Principal string
	Kind             events.Kind
	Roles            []events.Role

	Type events.Type
	// Row is the name of the event's row of the authority table.
	Row string

	Task              string
	State             projections.State
	Tier              string // of the accepted contract, else of the newest
	Paths             []string
	Attempts, Repairs int64
	Approvers         int64 // distinct principals whose approval counts
	EffectKind        string
	EffectTarget      string
	Admitted          int64 // unix nanoseconds
}

// exempt reports whether a policy has no say: the service's own events, which
// only record what happened, and facts.
func (q Question) exempt() bool {
	return q.Kind == events.KindService || slices.Contains(facts(), q.Type.Short())
}

// Ask returns the question that a submission by an actor is. The actor may be
// nil: then the question is nobody's.
func Ask(l *projections.Ledger, s Submission, author *projections.Actor, row string) Question {
	t := l.Task(s.Event.Source.Task)
	q := AskAbout(l, t, s.Admitted)
	q.Type, q.Row = s.Payload.Type(), row
	if author != nil {
		q.Actor, q.Principal, q.Kind, q.Roles = author.Name, author.Principal, author.Kind, author.Roles
	}
	if tier := tierAfter(t, s.Payload); tier != "" && t.Contract() == nil {
		q.Tier = tier
	}
	switch d := s.Payload.(type) {
	case *events.Result:
		q.Paths = changedPaths(d)
	case *events.Intent:
		q.EffectKind, q.EffectTarget = string(d.Kind), d.Target
	case events.AboutEffect:
		if e := t.Effect(d.Effect().Key); e != nil {
			q.EffectKind, q.EffectTarget = string(e.Intent.Kind), e.Intent.Target
		}
	}
	return q
}

// tierAfter returns the risk tier of the contract that an event proposes or
// accepts, "" for other events.
func tierAfter(t *projections.Task, p events.Payload) string {
	switch d := p.(type) {
	case *events.Contract:
		return d.RiskTier
	case *events.Acceptance:
		if v := t.Version(d.Version); v != nil {
			return v.Contract.RiskTier
		}
	}
	return ""
}

// AskAbout returns what a question says of a task at an admission stamp.
func AskAbout(l *projections.Ledger, t *projections.Task, admitted int64) Question {
	q := Question{
		Task: t.ID, State: t.State, Attempts: int64(len(t.Attempts)), Repairs: t.Repairs,
		Approvers: approvingPrincipals(&l.Registry, t), Admitted: admitted,
	}
	switch c := t.Contract(); {
	case c != nil:
		q.Tier = c.Contract.RiskTier
	case len(t.Contracts) > 0:
		q.Tier = t.Contracts[len(t.Contracts)-1].Contract.RiskTier
	}
	if t.Result != nil {
		q.Paths = changedPaths(&t.Result.Data)
	}
	return q
}

func changedPaths(r *events.Result) []string {
	paths := make([]string, len(r.Changes))
	for i, c := range r.Changes {
		paths[i] = c.Path
	}
	return paths
}

// approvingPrincipals counts the people whose approval counts now: two actors
// of one principal are one.
func approvingPrincipals(g *projections.Registry, t *projections.Task) int64 {
	seen := map[string]bool{}
	for _, name := range t.Approvers() {
		if a := g.Actor(name); a != nil {
			seen[a.Principal] = true
		}
	}
	return int64(len(seen))
}

// cedar spells the question in Cedar's terms; docs/policy.md is the reference.
func (q Question) cedar(tiers events.Tiers) (cedar.EntityMap, cedar.Request) {
	principal := cedar.NewEntityUID("Actor", cedar.String(q.Actor))
	action := cedar.NewEntityUID("Action", cedar.String(q.Row))
	resource := cedar.NewEntityUID("Task", cedar.String(q.Task))
	entities := cedar.EntityMap{
		principal: q.principal(principal),
		action:    {UID: action, Parents: actionParents(q.Row, q.Type.Short())},
		resource:  q.resource(resource),
	}
	return entities, cedar.Request{Principal: principal, Action: action, Resource: resource, Context: cedar.NewRecord(cedar.RecordMap{
		"effect": cedar.NewRecord(cedar.RecordMap{
			"kind": cedar.String(q.EffectKind), "target": cedar.String(q.EffectTarget),
		}),
		"time":       cedarTime(q.Admitted),
		"approvers":  cedar.Long(q.Approvers),
		"automation": cedar.String(tiers.Of(q.Tier)),
	})}
}

func (q Question) principal(id cedar.EntityUID) cedar.Entity {
	parents := []cedar.EntityUID{cedar.NewEntityUID("Kind", cedar.String(q.Kind)), cedar.NewEntityUID("Principal", cedar.String(q.Principal))}
	roles := make([]cedar.Value, len(q.Roles))
	for i, r := range q.Roles {
		roles[i] = cedar.String(r)
		parents = append(parents, cedar.NewEntityUID("Role", cedar.String(r)))
	}
	return cedar.Entity{UID: id, Parents: cedar.NewEntityUIDSet(parents...), Attributes: cedar.NewRecord(cedar.RecordMap{
		"actor": cedar.String(q.Actor), "principal": cedar.String(q.Principal), "kind": cedar.String(q.Kind), "roles": cedar.NewSet(roles...),
	})}
}

// actionParents puts an action into the groups "<noun>.<verb>", where its row
// is a variant of that, and "<noun>".
func actionParents(row, short string) cedar.EntityUIDSet {
	noun, _, _ := strings.Cut(short, ".")
	parents := []cedar.EntityUID{cedar.NewEntityUID("Action", cedar.String(noun))}
	if row != short {
		parents = append(parents, cedar.NewEntityUID("Action", cedar.String(short)))
	}
	return cedar.NewEntityUIDSet(parents...)
}

func (q Question) resource(id cedar.EntityUID) cedar.Entity {
	paths := make([]cedar.Value, len(q.Paths))
	// No encoded path holds a space, so that a pattern can name the start of
	// one: "* src/auth/*".
	list := " "
	for i, p := range q.Paths {
		paths[i] = cedar.String(p)
		list += p + " "
	}
	return cedar.Entity{UID: id, Attributes: cedar.NewRecord(cedar.RecordMap{
		"id": cedar.String(q.Task), "state": cedar.String(q.State.String()), "riskTier": cedar.String(q.Tier),
		"paths": cedar.NewSet(paths...), "pathList": cedar.String(list),
		"attempts": cedar.Long(q.Attempts), "repairs": cedar.Long(q.Repairs),
	})}
}

// cedarTime splits an admission stamp, in UTC.
func cedarTime(admitted int64) cedar.Record {
	at := time.Unix(0, admitted).UTC()
	return cedar.NewRecord(cedar.RecordMap{
		"stamp": cedar.NewDatetime(at), "date": cedar.String(at.Format(time.DateOnly)),
		"weekday": cedar.String(at.Weekday().String()), "hour": cedar.Long(at.Hour()),
	})
}
