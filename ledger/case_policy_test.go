package ledger

import (
	"errors"
	"strings"
	"testing"

	"github.com/deedledger/deed/events"
)

// TestPolicyNamesWhatThereIs holds that a ban on something that does not exist
// is refused when it is published: it would never match, and whoever wrote it
// would believe that it guards.
func TestPolicyNamesWhatThereIs(t *testing.T) {
	whole := func(scope, condition string) string {
		return "forbid(" + scope + ") when { " + condition + " };"
	}
	for _, text := range []string{
		whole(`principal, action == Action::"effect.dispatched", resource`, "true"),
		whole(`principal, action == Action::"lease.claimed release", resource`, "true"),
		whole(`principal, action in [Action::"lease.claimed", Action::"receipt"], resource`, "true"),
		whole(`principal in Role::"owner", action, resource == Task::"TASK-9"`, "true"),
		whole(`principal in Kind::"ci", action, resource`, `principal in Role::"verifier" && principal == Actor::"not-yet"`),
		whole(`principal is Actor, action, resource is Task`, `principal in Principal::"nobody"`),
		whole(`principal, action, resource`, `{type: "Role", id: "king"}.id == "king"`),
		whole(`principal, action, resource`, `resource.id == "Role::\"king\""`),
		`@type("Role") @id("king") forbid(principal, action, resource);`,
	} {
		if _, err := CompilePolicy(&events.Policy{Cedar: text}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, name := range map[string]string{
		whole(`principal, action == Action::"effect.dispatchd", resource`, "true"):                            "effect.dispatchd",
		whole(`principal, action == Action::"Effect.dispatched", resource`, "true"):                           "Effect.dispatched",
		whole(`principal, action == Action::"dev.deed.effect.dispatched.v1", resource`, "true"):               "dev.deed.effect.dispatched.v1",
		whole(`principal, action == Action::"lease.claimed relase", resource`, "true"):                        "lease.claimed relase",
		whole(`principal, action in Action::"effects", resource`, "true"):                                     "effects",
		whole(`principal, action == Action::"", resource`, "true"):                                            `""`,
		whole(`principal, action in [Action::"lease", Action::"lease.taken"], resource`, "true"):              "lease.taken",
		whole(`principal, action == Action::"actor.invited", resource`, "true"):                               "actor.invited",
		whole(`principal in Role::"reviwer", action, resource`, "true"):                                       "reviwer",
		whole(`principal in Kind::"robot", action, resource`, "true"):                                         "robot",
		whole(`principal, action, resource`, `principal in Role::"king"`):                                     "king",
		whole(`principal, action, resource`, `if true then [1, 2].contains(action in Action::"x") else true`): `"x"`,
		whole(`principal, action, resource`, `{a: principal in Role::"king"}.a`):                              "king",
		whole(`principal in User::"ann", action, resource`, "true"):                                           "User",
		whole(`principal == Deed::Actor::"ann", action, resource`, "true"):                                    "Deed::Actor",
		whole(`principal is User, action, resource`, "true"):                                                  "User",
		whole(`principal, action, resource is Repo in Repo::"a"`, "true"):                                     "Repo",
		whole(`principal, action, resource`, "principal is Agent"):                                            "Agent",
	} {
		_, err := CompilePolicy(&events.Policy{Cedar: text})
		if !errors.Is(err, ErrPolicy) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want ErrPolicy that names %s", text, err, name)
		}
	}
}
