package projections

import (
	"fmt"
	"slices"

	"github.com/deedledger/deed/events"
)

// Published is the policy in force, once one was published.
type Published struct {
	Signed
	// Digest is the SHA-256 of the data of policy.published; Registry.Policy
	// is the same.
	Digest string        `json:"digest"`
	Data   events.Policy `json:"data"`
}

// Frozen says that a ledger takes almost nothing until it is unfrozen.
type Frozen struct {
	Signed
	Reason string `json:"reason"`
}

// Quarantine is a part of the ledger that takes no events.
type Quarantine struct {
	Signed
	Data events.Integrity `json:"data"`
}

// RulesVersion returns the version of the rules in force, 0 before genesis.
func (g *Registry) RulesVersion() int64 {
	if g.Rules != 0 {
		return g.Rules
	}
	return g.Genesis.Rules
}

// Quarantined returns what stops events of a task, or with "" of the registry;
// nil when nothing does.
func (g *Registry) Quarantined(task string) *Quarantine {
	for i := range g.Quarantines {
		switch q := &g.Quarantines[i]; q.Data.Extent {
		case events.ExtentLedger:
			return q
		case events.ExtentRegistry:
			if task == "" {
				return q
			}
		case events.ExtentTask:
			if task != "" && q.Data.Task == task {
				return q
			}
		}
	}
	return nil
}

// quarantine returns the index of the quarantine of exactly this extent, -1
// when there is none.
func (g *Registry) quarantine(extent events.Extent, task string) int {
	return slices.IndexFunc(g.Quarantines, func(q Quarantine) bool { return q.Data.Extent == extent && q.Data.Task == task })
}

// InQuarantine reports whether exactly this extent is in quarantine.
func (g *Registry) InQuarantine(extent events.Extent, task string) bool {
	return g.quarantine(extent, task) >= 0
}

// checkSteering makes sure that what ends something exists.
func (g *Registry) checkSteering(p events.Payload) error {
	switch d := p.(type) {
	case *events.LedgerThaw:
		if g.Frozen == nil {
			return fmt.Errorf("%w: freeze of the ledger", ErrReference)
		}
	case *events.Lift:
		if !g.InQuarantine(d.Extent, d.Task) {
			return fmt.Errorf("%w: quarantine of %s %s", ErrReference, d.Extent, d.Task)
		}
	}
	return nil
}

// steer folds what steers the whole ledger.
func (g *Registry) steer(r events.Record, p events.Payload) {
	switch d := p.(type) {
	case *events.Policy:
		g.Policy = events.Sum(r.Event.Data).String()
		g.Published = &Published{Signed: signed(r), Digest: g.Policy, Data: *d}
	case *events.Upgrade:
		g.Rules = d.Rules
	case *events.LedgerFreeze:
		g.Frozen = &Frozen{Signed: signed(r), Reason: d.Reason}
	case *events.LedgerThaw:
		g.Frozen = nil
	case *events.Integrity:
		g.Quarantines = append(g.Quarantines, Quarantine{Signed: signed(r), Data: *d})
	case *events.Lift:
		i := g.quarantine(d.Extent, d.Task)
		g.Quarantines = slices.Delete(g.Quarantines, i, i+1)
	}
}
