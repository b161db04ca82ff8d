package ledger_test

import (
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/ledger/ledgertest"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/projections/projectionstest"
)

// discredit quarantines the output of the first check of the first receipt.
func discredit(_ *projections.Ledger, k *projections.Task) events.Payload {
	return &events.Quarantine{Digest: k.Receipts[0].Data.Checks[0].Artifact, Reason: "it is forged"}
}

// proveAgain is a receipt whose outputs are others than those before.
func proveAgain(l *projections.Ledger, k *projections.Task) events.Payload {
	r := ledgertest.Receipt(nil)(l, k).(*events.Receipt)
	for i := range r.Checks {
		r.Checks[i].Artifact = projectionstest.Digest("another output of " + r.Checks[i].ID)
	}
	projectionstest.Bind(r)
	return r
}

// TestReleaseOfWhatIsProvenNoMore: approvals do not outlive the proof that was
// approved; a new receipt lets the release go on.
func TestReleaseOfWhatIsProvenNoMore(t *testing.T) {
	deploy := projectionstest.Intent("deploy")
	deploy.Kind = events.EffectProductionDeploy
	by := func(actor string, say func(*projections.Ledger, *projections.Task) events.Payload) ledgertest.Step {
		return ledgertest.Step{Task: "TASK-1", Actor: actor, Say: say}
	}
	quarantine, prove := by(ledgertest.Operator, discredit), by(ledgertest.Verifier, proveAgain)
	intend, dispatch := ledgertest.Saying("TASK-1", ledgertest.Operator, deploy), by(ledgertest.Operator, ledgertest.Dispatch("deploy"))
	agree := ledgertest.Saying("TASK-1", ledgertest.Founder, &events.EffectApproval{Key: "deploy", PayloadDigest: deploy.PayloadDigest})
	for _, c := range []struct {
		name   string
		before []ledgertest.Step
		next   ledgertest.Step
		rule   string
	}{
		{"claim", nil, release(), "lease.claimed release/evidence"},
		{"intent", []ledgertest.Step{release()}, intend, "effect.intended/evidence"},
		{"dispatch", []ledgertest.Step{release(), intend, agree}, dispatch, "effect.dispatched/evidence"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := ledgertest.Found(t, "acme", memory(t, "acme"))
			until(h, "src/export/state.go", approved)
			h.Play(append(c.before, quarantine))
			wantRule(t, told(h, c.next), ledger.CodeRule, c.rule)
			h.Play([]ledgertest.Step{prove, c.next})
			sameAfter(t, h)
		})
	}
}
