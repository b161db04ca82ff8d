package projections

// Verification sums up what is proven about the current result in the plain
// word of the delivery contract: not_started, passed, failed or inconclusive.
func (t *Task) Verification() string {
	current := t.current()
	started := false
	for i := range t.Receipts {
		started = started || current(&t.Receipts[i])
	}
	switch verdict := t.Verdict(); {
	case !started:
		return "not_started"
	case verdict == ItemPass:
		return "passed"
	case verdict == ItemFail:
		return "failed"
	}
	return "inconclusive"
}

// DeliveryStatus sums up where the current result stands at the gate in the
// plain word of the delivery contract: not_requested, awaiting_review,
// approved or rejected.
func (t *Task) DeliveryStatus() string {
	switch t.State {
	case AwaitingReview:
		return "awaiting_review"
	case Approved, Releasing, Delivered:
		return "approved"
	}
	if t.Result == nil {
		return "not_requested"
	}
	for i := len(t.Approvals) - 1; i >= 0; i-- {
		if a := t.Approvals[i]; a.Data.Result == t.Result.Hash && a.Data.Verdict == "reject" {
			return "rejected"
		}
	}
	return "not_requested"
}
