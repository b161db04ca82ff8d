package ledgertest

import (
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// NoFridays forbids production deploys on Fridays.
const NoFridays = `@id("no-friday-deploys")
@reason("nothing goes to production on a Friday")
forbid (principal, action in Action::"effect", resource)
when { context.effect.kind == "production-deploy" && context.time.weekday == "Friday" };
`

// TwoReviewers demands two approvals of changes below src/auth.
const TwoReviewers = `@id("two-reviewers-for-auth")
@reason("a change of src/auth needs two reviewers")
forbid (principal, action in [Action::"lease.claimed release", Action::"delivery.recorded"], resource)
when { resource.pathList like "* src/auth/*" && context.approvers < 2 };
`

// Publish returns a step in which the founder publishes a policy.
func Publish(cedar string, tiers events.Tiers) Step {
	return Saying("", Founder, &events.Policy{Cedar: cedar, Automation: tiers, Reason: "agreed"})
}

// Steering returns a story of the registry: a policy, a freeze and its end, a
// quarantine and its end, the newest rules. It leaves a policy in force that
// no other story meets.
func Steering() []Step {
	return []Step{
		Publish(NoFridays, events.Tiers{Production: events.AutomationDraft}),
		Saying("", Founder, &events.LedgerFreeze{Reason: "a key may have leaked"}),
		Saying("", Founder, &events.LedgerThaw{Reason: "it did not"}),
		{"", Service, func(l *projections.Ledger, _ *projections.Task) events.Payload {
			return &events.Integrity{Extent: events.ExtentTask, Task: "TASK-9", At: l.Position, Reason: "the root is another one"}
		}},
		Saying("", Founder, &events.Lift{Extent: events.ExtentTask, Task: "TASK-9", Reason: "compared with a copy"}),
		Saying("", Founder, &events.Upgrade{Rules: events.Rules, Reason: "every binary has them"}),
	}
}
