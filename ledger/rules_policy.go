package ledger

import (
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// whileFrozen are the events that a frozen ledger takes: what thaws it, what
// only takes rights away, what ends a run, and facts.
func whileFrozen() []string {
	return append(whileQuarantined(), "ledger.unfrozen", "attempt.interrupted")
}

// whileQuarantined are the events of the registry that it takes in quarantine;
// facts are not among them: nothing can build on a history that is damaged.
func whileQuarantined() []string {
	return []string{"quarantine.lifted", "integrity.reported", "actor.revoked", "key.compromised"}
}

// checkStopped refuses what a frozen ledger or a quarantine holds back.
func checkStopped(g *projections.Registry, s Submission) *Refusal {
	task, short := s.Event.Source.Task, s.Event.Type.Short()
	if q := g.Quarantined(task); q != nil && (task != "" || !slices.Contains(whileQuarantined(), short)) {
		return damage("quarantine", "%s is in quarantine since position %d, reported by %s: %s", extentName(q.Data), q.Position, q.Actor, q.Data.Reason)
	}
	if f := g.Frozen; f != nil && !slices.Contains(whileFrozen(), short) && (task == "" || !slices.Contains(facts(), short)) {
		return refuse(CodeState, "frozen", "the ledger is frozen since position %d by %s: %s", f.Position, f.Actor, f.Reason)
	}
	return nil
}

// checkHeld is checkStopped for the events of tasks.
func checkHeld(s *scene) *Refusal { return checkStopped(&s.ledger.Registry, s.Submission) }

func extentName(d events.Integrity) string {
	switch d.Extent {
	case events.ExtentTask:
		return "task " + d.Task
	case events.ExtentRegistry:
		return "the registry"
	}
	return "the ledger"
}

// checkSteering decides on what steers the whole ledger; how many have to sign
// it, checkThreshold says.
func checkSteering(g *projections.Registry, s Submission) error {
	rule := s.Event.Type.Short()
	if d, ok := s.Payload.(*events.Lift); ok {
		if !g.InQuarantine(d.Extent, d.Task) {
			return refuse(CodeNotFound, rule, "%s is not in quarantine", extentName(events.Integrity{Extent: d.Extent, Task: d.Task}))
		}
		return nil
	}
	switch d := s.Payload.(type) {
	case *events.Policy:
		return checkPublication(g, s, d)
	case *events.Upgrade:
		return checkUpgrade(g.RulesVersion(), events.Rules, d)
	case *events.LedgerFreeze:
		if g.Frozen != nil {
			return refuse(CodeState, rule, "the ledger is frozen since position %d", g.Frozen.Position)
		}
		return nil
	case *events.LedgerThaw:
		if g.Frozen == nil {
			return refuse(CodeState, rule, "the ledger is not frozen")
		}
		return nil
	}
	return refuse(CodeRule, "default-deny", "no rule allows %s", s.Event.Type)
}

// checkIntegrity decides on a report of damage: by the service or an admin,
// alone, so that one who sees it can stop everybody.
func checkIntegrity(g *projections.Registry, s Submission, d *events.Integrity) error {
	rule := s.Event.Type.Short()
	author := g.Actor(s.Event.AuthID)
	switch {
	case author == nil || !author.Has(events.RoleService) && !author.Has(events.RoleAdmin):
		return refuse(CodeRule, rule+"/role", "%s is neither the service nor an admin", s.Event.AuthID)
	case len(s.Signers) != 1:
		return refuse(CodeSignature, rule+"/author", "a report of damage is signed by its author alone")
	case g.InQuarantine(d.Extent, d.Task):
		return refuse(CodeState, rule, "%s is in quarantine already", extentName(*d))
	case d.At >= s.Position:
		return refuse(CodeNotFound, rule, "position %d is not there yet", d.At)
	}
	return nil
}

// checkUpgrade decides on a switch from one version of the rules to another,
// of those that this binary has.
func checkUpgrade(now, newest int64, d *events.Upgrade) error {
	const rule = "rules.upgraded"
	switch {
	case d.Rules > newest:
		return refuse(CodeRule, rule+"/version", "this binary has the rules up to version %d", newest)
	case d.Rules == now:
		return refuse(CodeState, rule+"/version", "version %d is in force already", now)
	case d.Rules < now:
		return refuse(CodeRule, rule+"/version", "version %d is in force; rules never go back", now)
	}
	return nil
}

// checkPublication decides on a new policy: it must compile, forbid only, and
// leave every state a way on.
func checkPublication(g *projections.Registry, s Submission, d *events.Policy) error {
	rule := s.Event.Type.Short()
	if g.Published != nil && g.Published.Data.Cedar == d.Cedar && g.Published.Data.Automation == d.Automation {
		return refuse(CodeState, rule, "this policy is in force since position %d", g.Published.Position)
	}
	p, err := CompilePolicy(d)
	if err != nil {
		return refuse(CodeRule, rule+"/cedar", "%v", err)
	}
	closed := LockedOut(p, g, s.Admitted)
	if len(closed) == 0 {
		return nil
	}
	var names []string
	for _, c := range closed[:min(len(closed), 8)] {
		names = append(names, c.Row+" in "+c.State+" at tier "+c.Tier+" (by "+c.Policy+")")
	}
	return refuse(CodeRule, rule+"/lockout", "nobody could ever do: %s", strings.Join(names, "; "))
}

// checkPolicy asks the policy in force, last of all rules: it can only forbid.
func (r *Rules) checkPolicy(s *scene) *Refusal {
	p := r.policyOf(&s.ledger.Registry)
	if p == nil {
		return nil
	}
	q := Ask(s.ledger, s.Submission, s.author, s.row.Name())
	bans := p.Bans(q)
	// A contract that changes the tier answers to both tiers: else a mild one
	// would open the way to a production one, and the other way round.
	if tier := tierAfter(s.task, s.Payload); len(bans) == 0 && tier != "" && tier != q.Tier {
		q.Tier = tier
		bans = p.Bans(q)
	}
	if len(bans) == 0 {
		return nil
	}
	return refuse(CodeRule, "policy/"+bans[0].Policy, "forbidden by policy %s: %s", bans[0].Policy, reasonOr(bans[0].Reason))
}

func reasonOr(reason string) string {
	if reason == "" {
		return "it gives no @reason"
	}
	return reason
}

// checkPinned keeps judgements under the policy that the attempt pinned: once
// another one is in force they count for nothing, until a person resolves and
// pins it, or a new attempt is made.
func checkPinned(s *scene) *Refusal {
	a, g := s.task.Attempt(), &s.ledger.Registry
	if g.Published == nil || a == nil || a.Snapshot.Inputs.Policy == g.Policy {
		return nil
	}
	judged := false
	switch d := s.Payload.(type) {
	case *events.Approval:
		judged = d.Verdict == "approve"
	case *events.Delivery:
		judged = true
	case *events.Intent, *events.Dispatch:
		judged = s.task.State == projections.Releasing
	}
	if !judged {
		return nil
	}
	return refuse(CodeStale, s.row.Name()+"/policy", "the attempt pinned policy %s, in force is %s since position %d: recover, then a person decides", a.Snapshot.Inputs.Policy, g.Policy, g.Published.Position)
}

// checkRepin lets a resolution pin no policy but the one in force.
func checkRepin(s *scene, d *events.Resolution) *Refusal {
	g := &s.ledger.Registry
	if g.Published == nil || d.Policy == "" || d.Policy == g.Policy {
		return nil
	}
	return refuse(CodeStale, s.row.Name()+"/policy", "the policy in force is %s", g.Policy)
}
