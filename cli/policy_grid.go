package cli

import (
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
)

// forbiddance is a block of cells of the policy's grid, for people: what is
// forbidden to all of its kinds, at all of its tiers, for all of its effects.
type forbiddance struct {
	row, role, when       string
	kinds, tiers, effects []string
}

// blocks gathers the cells that differ in one thing alone: first the tiers, then
// the kinds, then the effects. Cells keep the order of the grid.
func blocks(cells []ledger.Verdict) []forbiddance {
	list := make([]forbiddance, 0, len(cells))
	for _, v := range cells {
		days := strings.Join(v.Days, ", ")
		if len(v.Days) == 7 {
			days = "every day"
		}
		list = append(list, forbiddance{row: v.Row, role: string(v.Role), when: days + ", by " + strings.Join(v.Policies, ", "),
			kinds: []string{string(v.Kind)}, tiers: []string{v.Tier}, effects: []string{v.Effect}})
	}
	list = gather(list, func(f *forbiddance) *[]string { return &f.tiers })
	list = gather(list, func(f *forbiddance) *[]string { return &f.kinds })
	return gather(list, func(f *forbiddance) *[]string { return &f.effects })
}

// gather makes one block of those that are equal but for one part.
func gather(list []forbiddance, part func(*forbiddance) *[]string) []forbiddance {
	var out []forbiddance
	for _, f := range list {
		i := slices.IndexFunc(out, func(o forbiddance) bool { return sameBut(o, f, part) })
		if i < 0 {
			out = append(out, f)
			continue
		}
		into := part(&out[i])
		*into = append(slices.Clone(*into), *part(&f)...)
	}
	return out
}

// sameBut takes copies: it clears the part that does not count.
func sameBut(a, b forbiddance, part func(*forbiddance) *[]string) bool {
	*part(&a), *part(&b) = nil, nil
	return a.row == b.row && a.role == b.role && a.when == b.when &&
		slices.Equal(a.kinds, b.kinds) && slices.Equal(a.tiers, b.tiers) && slices.Equal(a.effects, b.effects)
}

// ledgerKinds are those of the grid's actors; the service is none of them.
func ledgerKinds() []events.Kind {
	return []events.Kind{events.KindHuman, events.KindAgent, events.KindCI}
}

// String returns the block as one line, which leaves out what covers everything.
func (f forbiddance) String() string {
	text := "forbids " + f.row + " to " + f.role
	if len(f.kinds) < len(ledgerKinds()) {
		text += " (" + strings.Join(f.kinds, ", ") + ")"
	}
	if len(f.tiers) < len(riskTiers()) {
		text += ", " + strings.Join(f.tiers, ", ")
	}
	if effects := strings.Join(f.effects, ", "); effects != "" {
		if len(f.effects) > len(effectKinds()) { // these and "none"
			effects = "any effect"
		}
		text += ", " + effects
	}
	return text + ": " + f.when
}
