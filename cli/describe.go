package cli

import (
	"fmt"
	"strings"

	"github.com/deedledger/deed/events"
)

// describe says in a few words what an event says. The text is an author's:
// print it plain.
func describe(e events.Event) string {
	p, err := e.Payload()
	if err != nil {
		return "unreadable: " + err.Error()
	}
	switch d := p.(type) {
	case *events.Genesis:
		return fmt.Sprintf("ledger %s, profile %s", d.Name, d.Profile)
	case *events.Invitation:
		return fmt.Sprintf("%s %s as %s for %s", d.Kind, d.Actor, joined(d.Roles), d.Principal)
	case *events.KeyClaim:
		return d.Key
	case *events.Revocation:
		return d.Actor + ": " + d.Reason
	case *events.Contract:
		return fmt.Sprintf("version %d: %s", d.Version, d.Goal)
	case *events.Acceptance:
		return fmt.Sprintf("version %d", d.Version)
	case *events.Withdrawal:
		return d.Reason
	case *events.Cancellation:
		return d.Reason
	case *events.Attempt:
		return fmt.Sprintf("%s from %s", e.Subject, short(d.Snapshot.BaseCommit))
	}
	return describeRun(e, p)
}

// describeRun is describe for what happens in an attempt.
func describeRun(e events.Event, p events.Payload) string {
	switch d := p.(type) {
	case *events.Claim:
		return fmt.Sprintf("%s, fence %d, %ds", d.Purpose, e.Fence, d.TermSeconds)
	case *events.Release:
		return d.Reason + prefixedBy(", for ", d.To)
	case *events.Interruption:
		return fmt.Sprintf("%s, fence %d", d.Cause, d.Fence)
	case *events.Recovery:
		return d.Decision
	case *events.Escalation:
		return d.Reason
	case *events.Resolution:
		return d.Action + ": " + d.Reason
	case *events.Result:
		return fmt.Sprintf("%s, %s", short(d.Head), counted(len(d.Changes), "path"))
	case *events.Receipt:
		return describeChecks(d.Checks)
	case *events.RepairRequest:
		return strings.Join(d.Items, ", ") + ": " + d.Reason
	case *events.RepairAcceptance:
		return "kind " + d.Kind + prefixedBy(": ", d.Note)
	case *events.Approval:
		return fmt.Sprintf("%s %s", d.Verdict, short(d.Head))
	case *events.Delivery:
		return fmt.Sprintf("%s on %s", short(d.Commit), d.Target)
	case *events.Finding:
		return fmt.Sprintf("%s %s: %s", d.Severity, d.Rule, d.Text)
	case *events.Acknowledgement:
		return d.Reason
	}
	return describeEffect(p)
}

// describeEffect is describe for effects.
func describeEffect(p events.Payload) string {
	switch d := p.(type) {
	case *events.Intent:
		return fmt.Sprintf("%s to %s, key %s", d.Kind, d.Target, shortKey(d.Key))
	case *events.EffectApproval:
		return "key " + shortKey(d.Key)
	case *events.EffectWithdrawal:
		return fmt.Sprintf("key %s: %s", shortKey(d.Key), d.Reason)
	case *events.Dispatch:
		return fmt.Sprintf("key %s, try %d on %s", shortKey(d.Key), d.Try, d.Host)
	case *events.Confirmation:
		return fmt.Sprintf("key %s is %s, by %s", shortKey(d.Key), d.ExternalID, d.Basis)
	case *events.Failure:
		return fmt.Sprintf("key %s, by %s", shortKey(d.Key), d.Basis)
	case *events.Unknown:
		return fmt.Sprintf("key %s: %s", shortKey(d.Key), d.Reason)
	case *events.Compensation:
		return fmt.Sprintf("key %s by %s", shortKey(d.Key), d.By)
	}
	return describeWork(p)
}

// describeChecks counts outcomes.
func describeChecks(checks []events.CheckOutcome) string {
	count := map[events.Outcome]int{}
	for _, c := range checks {
		count[c.Outcome]++
	}
	var parts []string
	for _, o := range []events.Outcome{events.OutcomePass, events.OutcomeFail, events.OutcomeInconclusive} {
		if count[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[o], o))
		}
	}
	return strings.Join(parts, ", ")
}

// joined writes a list of roles.
func joined(roles []events.Role) string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return strings.Join(names, ",")
}

// short cuts an id or digest for people.
func short(id string) string { return id[:min(12, len(id))] }
