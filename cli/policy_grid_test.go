package cli

import (
	"slices"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
)

// TestBlocks gathers what differs in one thing alone, and nothing else.
func TestBlocks(t *testing.T) {
	grid := func(role events.Role, kinds []events.Kind, tiers []string, days ...string) (list []ledger.Verdict) {
		for _, kind := range kinds {
			for _, tier := range tiers {
				list = append(list, ledger.Verdict{Row: "effect.dispatched", Role: role, Kind: kind, Tier: tier, Effect: "migrate", Days: days, Policies: []string{"p"}})
			}
		}
		return list
	}
	all := grid(events.RoleOperator, ledgerKinds(), riskTiers(), "Friday")
	for name, c := range map[string]struct {
		cells []ledger.Verdict
		want  []string
	}{
		"none":       {nil, nil},
		"everything": {all, []string{"forbids effect.dispatched to operator, migrate: Friday, by p"}},
		"one is left": {all[:11], []string{
			"forbids effect.dispatched to operator (human, agent), migrate: Friday, by p",
			"forbids effect.dispatched to operator (ci), read-only, code, preview, migrate: Friday, by p"}},
		"other days": {append(slices.Clone(all[:1]), grid(events.RoleOperator, ledgerKinds()[:1], riskTiers()[1:2], "Monday")...), []string{
			"forbids effect.dispatched to operator (human), read-only, migrate: Friday, by p",
			"forbids effect.dispatched to operator (human), code, migrate: Monday, by p"}},
		"other role": {append(slices.Clone(all[:1]), grid(events.RoleOwner, ledgerKinds()[:1], riskTiers()[:1], "Friday")...), []string{
			"forbids effect.dispatched to operator (human), read-only, migrate: Friday, by p",
			"forbids effect.dispatched to owner (human), read-only, migrate: Friday, by p"}},
	} {
		var got []string
		for _, f := range blocks(c.cells) {
			got = append(got, f.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
