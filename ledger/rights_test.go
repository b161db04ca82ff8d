package ledger

import (
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// TestPinnedRightsOfEffects: what an attempt pinned of the repository's policy
// says which effects are free, and which need a person, though the contract
// lists all of them.
func TestPinnedRightsOfEffects(t *testing.T) {
	const preview, notify = events.EffectPreview, events.EffectNotify
	kinds := func(list ...events.EffectKind) []events.EffectKind { return list }
	for name, c := range map[string]struct {
		rules           int64
		free, approvals []events.EffectKind
		reviewer        events.Kind
		approval        string // the rule that refuses rita's approval
		before, after   string // the rules that refuse a dispatch, before it and after
	}{
		"free":                          {3, kinds(preview), nil, events.KindHuman, "", "", ""},
		"not pinned":                    {3, nil, nil, events.KindHuman, "", "effect.dispatched/approval", ""},
		"not pinned, by an agent":       {3, nil, nil, events.KindAgent, "", "effect.dispatched/approval", ""},
		"needs a person":                {3, nil, kinds(preview), events.KindHuman, "", "effect.dispatched/approval", ""},
		"needs a person, by an agent":   {3, nil, kinds(preview), events.KindAgent, "effect.approved/human", "effect.dispatched/approval", "effect.dispatched/approval"},
		"needs a person though free":    {3, kinds(preview), kinds(preview), events.KindCI, "effect.approved/human", "effect.dispatched/approval", "effect.dispatched/approval"},
		"another kind needs one":        {3, kinds(preview), kinds(notify), events.KindAgent, "", "", ""},
		"rules that know no pin":        {2, nil, kinds(preview), events.KindAgent, "", "", ""},
		"another kind is the free one":  {3, kinds(notify), nil, events.KindHuman, "", "effect.dispatched/approval", ""},
		"the newest rules go on asking": {events.Rules, nil, nil, events.KindHuman, "", "effect.dispatched/approval", ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := in(projections.Executing)
			rights := &k.State().Attempt().Snapshot.Rights
			rights.Effects, rights.Approvals = c.free, c.approvals
			k.Story.Ledger.Registry.Rules = c.rules
			k.Story.Ledger.Registry.Actor("rita").Kind = c.reviewer
			try(t, k, said{"impl-a", projectionstest.Intent("e"), ""})
			e := k.State().Effect("e")
			dispatch := func() *events.Dispatch {
				return &events.Dispatch{Key: "e", Try: 1, Token: "token-1", Host: "host", Boot: "boot"}
			}
			if c.before != "" {
				try(t, k, said{"impl-a", dispatch(), c.before})
			}
			try(t, k, said{"rita", &events.EffectApproval{Key: "e", PayloadDigest: e.Intent.PayloadDigest}, c.approval})
			try(t, k, said{"impl-a", dispatch(), c.after})
		})
	}
}

// TestPinnedLaterAsksForAPerson: an agent's approval does not count any more once
// the attempt pins that a person is needed.
func TestPinnedLaterAsksForAPerson(t *testing.T) {
	k := in(projections.Executing)
	k.Story.Ledger.Registry.Rules = rulesBoundary
	k.Story.Ledger.Registry.Actor("rita").Kind = events.KindAgent
	rights := &k.State().Attempt().Snapshot.Rights
	rights.Effects, rights.Approvals = nil, nil
	try(t, k, said{"impl-a", projectionstest.Intent("e"), ""})
	approval := &events.EffectApproval{Key: "e", PayloadDigest: k.State().Effect("e").Intent.PayloadDigest}
	try(t, k, said{"rita", approval, ""})
	rights.Approvals = []events.EffectKind{events.EffectPreview}
	dispatch := &events.Dispatch{Key: "e", Try: 1, Token: "token-1", Host: "host", Boot: "boot"}
	try(t, k, said{"impl-a", dispatch, "effect.dispatched/approval"},
		said{"ann", approval, ""}, said{"impl-a", dispatch, ""})
}
