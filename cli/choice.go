package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
)

// choose refuses a flag's value that is not in its closed set, and lists it.
func choose[T ~string](flag string, value T, set []T) error {
	if slices.Contains(set, value) {
		return nil
	}
	if value == "" {
		return fmt.Errorf("%w: %s is missing, want %s", errUsage, flag, either(set))
	}
	return fmt.Errorf("%w: %s %q, want %s", errUsage, flag, string(value), either(set))
}

// either lists the values of a closed set: "a, b or c".
func either[T ~string](set []T) string {
	names := make([]string, len(set))
	for i, v := range set {
		names[i] = string(v)
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " or " + names[n-1]
	}
	return strings.Join(names, "")
}

// The closed sets of flags, as the events take them.

func actorKinds() []events.Kind {
	return []events.Kind{events.KindAgent, events.KindCI, events.KindHuman}
}

// givenRoles are the roles that an actor can be given.
func givenRoles() []events.Role {
	return slices.DeleteFunc(events.Roles(), func(r events.Role) bool { return r == events.RoleService })
}

func profiles() []string { return []string{"separate", "solo"} }

func purposes() []events.Purpose {
	return []events.Purpose{events.PurposeWork, events.PurposeRecover, events.PurposeRelease}
}

func releaseReasons() []string { return []string{"context", "quota", "shift", "other"} }

func effectKinds() []events.EffectKind {
	return []events.EffectKind{
		events.EffectPreview, events.EffectDraftPR, events.EffectCommit, events.EffectMerge,
		events.EffectProductionDeploy, events.EffectMigrate, events.EffectPublish, events.EffectNotify,
	}
}

func settledOutcomes() []string { return []string{"confirmed", "failed", "compensated"} }

func resolutions() []string { return []string{"resume", "reverify", "repair", "new-attempt", "cancel"} }

func findingSeverities() []string { return []string{"fatal", "check", "hint"} }

func defectSeverities() []string { return []string{"low", "medium", "high", "critical"} }
