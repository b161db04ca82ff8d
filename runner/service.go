package runner

import (
	"context"
	"fmt"
	"time"
)

// RuleServiceDown says that a check did not pass while a service that it needs was not
// healthy: the environment's failure, whatever the check says.
const RuleServiceDown = "service-not-healthy"

// Service is something outside the repository that checks need. Its command exits with 0
// exactly while the service is healthy; it runs as a check does, in a checkout that no
// check has touched.
type Service struct {
	Name    string
	Command []string
	Timeout time.Duration // as of a check
}

// sick names the services that are not healthy now, with how their health checks ended.
func (v *verification) sick(ctx context.Context) []string {
	var list []string
	for _, s := range v.plan.Services {
		out := v.run(ctx, v.bare, Check{ID: s.Name, Command: s.Command, Timeout: s.Timeout})
		if out.Result != ResultPass {
			list = append(list, fmt.Sprintf("service %s is not healthy: %s, exit code %d", s.Name, out.Rule, out.ExitCode))
		}
	}
	return list
}

// weigh gives a check that did not pass to the environment where a service was not
// healthy before or after it. What never ran because of its own command, or because we
// stopped, stays what it is.
func weigh(out *Outcome, before, after []string) {
	if len(before)+len(after) == 0 || out.Rule == "interrupted" || out.Rule == "malformed-command" {
		return
	}
	if out.Result != ResultPass {
		out.settle(ClassEnvironmentFailure, RuleServiceDown)
	}
	for _, s := range before {
		out.note(s + ", before the check")
	}
	for _, s := range after {
		out.note(s + ", after the check")
	}
}
