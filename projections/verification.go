package projections

import (
	"slices"

	"github.com/deedledger/deed/events"
)

// Receipt is a verifier's outcome, kept with its place in history.
type Receipt struct {
	Signed
	Data events.Receipt `json:"data"`
	// Void says why the receipt counts as absent, "" while it counts.
	Void string `json:"void,omitempty"`
}

// ItemStatus is the status of one acceptance item.
type ItemStatus string

// The statuses of acceptance items.
const (
	ItemOpen         ItemStatus = "open"
	ItemClaimed      ItemStatus = "claimed"
	ItemPass         ItemStatus = "pass"
	ItemFail         ItemStatus = "fail"
	ItemInconclusive ItemStatus = "inconclusive"
	ItemStale        ItemStatus = "stale"
)

// Item is an acceptance item with what is proven about it.
type Item struct {
	ID       string     `json:"id"`
	Text     string     `json:"text"`
	Required bool       `json:"required"`
	Status   ItemStatus `json:"status"`
	// Receipt is the event id of the receipt that gave the status.
	Receipt string                `json:"receipt,omitempty"`
	Failing []events.CheckOutcome `json:"failing,omitempty"`
}

// Binding returns what a receipt on the current input must be bound to; the
// environment is the verifier's and left empty. ok is false without a result.
func (t *Task) Binding() (b events.Binding, ok bool) {
	a, c := t.Attempt(), t.Contract()
	if t.Result == nil || a == nil || c == nil {
		return events.Binding{}, false
	}
	return events.Binding{
		Checks: c.Checks, Contract: c.Digest, Policy: a.Snapshot.Inputs.Policy,
		Result: t.Result.Hash, Tree: t.Result.Data.Tree,
	}, true
}

// Current reports whether r was made on the current input: contract, checks,
// policy, result and tree, and the image that the attempt pinned.
func (t *Task) Current(r *Receipt) bool { return t.current()(r) }

// current returns Current for many receipts: it digests the checks once.
func (t *Task) current() func(*Receipt) bool {
	want, ok := t.Binding()
	if !ok {
		return func(*Receipt) bool { return false }
	}
	image := t.Attempt().Snapshot.Inputs.RuntimeImage
	return func(r *Receipt) bool {
		got := r.Data.Binding
		got.Environment = ""
		return r.Void == "" && got == want && (image == "" || image == r.Data.Environment.Image)
	}
}

// Items returns the acceptance items of the accepted contract with their
// statuses. Per item the latest receipt on the current input counts; only
// where each of the item's checks passed is the item a pass.
func (t *Task) Items() []Item {
	c := t.Contract()
	if c == nil {
		return nil
	}
	items := make([]Item, 0, len(c.Contract.Acceptance))
	current := t.current()
	for _, a := range c.Contract.Acceptance {
		items = append(items, t.item(a, current))
	}
	return items
}

func (t *Task) item(a events.Item, current func(*Receipt) bool) Item {
	item := Item{ID: a.ID, Text: a.Text, Required: a.Required, Status: ItemOpen}
	if t.claimed(a.ID) {
		item.Status = ItemClaimed
	}
	for i := len(t.Receipts) - 1; i >= 0; i-- {
		r := &t.Receipts[i]
		if r.Void != "" || !covers(r, a.ID) {
			continue
		}
		if !current(r) {
			if t.Result != nil && item.Receipt == "" {
				item.Status, item.Receipt = ItemStale, r.EventID
			}
			continue
		}
		item.Status, item.Failing = judge(r, a)
		if item.Status == ItemPass && t.tainted(r, a.ID) {
			item.Status = ItemInconclusive
		}
		item.Receipt = r.EventID
		break
	}
	return item
}

// claimed reports whether the newest result says something about the item.
func (t *Task) claimed(id string) bool {
	if t.Result == nil {
		return false
	}
	for _, c := range t.Result.Data.Claims {
		if c.Acceptance == id {
			return true
		}
	}
	for _, c := range t.Result.Data.Changes {
		if slices.Contains(c.Acceptance, id) {
			return true
		}
	}
	return false
}

func covers(r *Receipt, item string) bool {
	return slices.ContainsFunc(r.Data.Checks, func(c events.CheckOutcome) bool { return c.Acceptance == item })
}

// judge returns the status that a receipt gives to an item: a failure wins
// over everything, and a check that is missing proves nothing.
func judge(r *Receipt, a events.Item) (ItemStatus, []events.CheckOutcome) {
	status := ItemPass
	var failing []events.CheckOutcome
	for _, want := range a.Checks {
		i := slices.IndexFunc(r.Data.Checks, func(c events.CheckOutcome) bool { return c.ID == want.ID && c.Acceptance == a.ID })
		if i < 0 {
			status = worse(status, ItemInconclusive)
			continue
		}
		switch c := r.Data.Checks[i]; c.Outcome {
		case events.OutcomePass:
		case events.OutcomeFail:
			status = ItemFail
			failing = append(failing, c)
		default:
			status = worse(status, ItemInconclusive)
			failing = append(failing, c)
		}
	}
	return status, failing
}

// worse returns b unless a is already a failure.
func worse(a, b ItemStatus) ItemStatus {
	if a == ItemFail {
		return a
	}
	return b
}

// Verdict sums the required items up: pass when each is proven, fail when one
// failed, else inconclusive. Whatever is not a proven pass stops.
func (t *Task) Verdict() ItemStatus {
	verdict := ItemPass
	required := 0
	for _, item := range t.Items() {
		if !item.Required {
			continue
		}
		required++
		switch item.Status {
		case ItemPass:
		case ItemFail:
			return ItemFail
		default:
			verdict = ItemInconclusive
		}
	}
	if required == 0 {
		return ItemInconclusive
	}
	return verdict
}

// receive folds receipt.recorded. A receipt on another input, or of an attempt
// whose contract was replaced, is kept and moves nothing.
func (t *Task) receive(r events.Record, d *events.Receipt) {
	t.Receipts = append(t.Receipts, Receipt{Signed: signed(r), Data: *d})
	if !t.Current(&t.Receipts[len(t.Receipts)-1]) || t.Stale() {
		return
	}
	if t.Pause != nil {
		t.holdReceipt(r)
		return
	}
	switch t.Verdict() {
	case ItemPass:
		t.Failed = nil
		if t.State == AwaitingVerification && t.FatalFinding() == nil && t.Violated() == nil {
			t.enter(r, AwaitingReview)
		}
	case ItemFail:
		t.receiveFailure(r)
	}
}

// receiveFailure folds a receipt after which a required item fails.
func (t *Task) receiveFailure(r events.Record) {
	if t.State.Final() {
		t.Findings = append(t.Findings, Finding{Signed: signed(r), Open: true, Data: events.Finding{
			Severity: "check", Rule: "failing-receipt-after-end", Text: "a check failed on the delivered input",
		}})
		return
	}
	t.voidApprovals("failing receipt")
	switch t.State {
	case AwaitingVerification, AwaitingReview, Approved:
		t.fail(r, r.Event.ID)
	case Releasing:
		t.endRun(r)
		t.interrupt(r)
	}
}

// failedChecks returns the checks of required items that fail on the current
// input, sorted.
func (t *Task) failedChecks() []string {
	var ids []string
	for _, item := range t.Items() {
		for _, c := range item.Failing {
			if item.Required && c.Outcome == events.OutcomeFail {
				ids = append(ids, c.ID)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// fail queues a repair after a failing receipt and counts a stall when the
// same checks failed the last time, with no pass between.
func (t *Task) fail(r events.Record, receipt string) {
	now := t.failedChecks()
	if slices.Equal(now, t.Failed) {
		t.Stalls++
	} else {
		t.Stalls = 0
	}
	t.Failed = now
	t.queueRepair(r, Repair{Kind: "code", Items: t.failedItems(), Reason: "failing receipt " + receipt})
}

// failedItems returns the ids of the items that failed on the current input,
// sorted.
func (t *Task) failedItems() []string {
	var items []string
	for _, item := range t.Items() {
		if item.Status == ItemFail {
			items = append(items, item.ID)
		}
	}
	slices.Sort(items)
	return items
}

// queueRepair leads to RepairQueued, or to Escalated when the contract's
// budget of repairs or stalls is used up.
//
// While one is queued, a further cause only adds its items to it.
func (t *Task) queueRepair(r events.Record, repair Repair) {
	if t.State == RepairQueued && t.Repair != nil {
		t.Repair.Items = slices.Concat(t.Repair.Items, repair.Items)
		slices.Sort(t.Repair.Items)
		t.Repair.Items = slices.Compact(t.Repair.Items)
		return
	}
	c := t.Contract().Contract
	t.Repairs++
	t.Repair = &repair
	switch {
	case t.Repairs > c.MaxRepairs+t.Allowance:
		t.escalate(r, "the budget of repairs is used up", "read the failing evidence, then resolve with repair and an allowance, new-attempt or cancel")
	case t.Stalls >= c.MaxStalls:
		t.escalate(r, "repairs change no failing check", "look at the failing checks by hand, then resolve with repair, new-attempt or cancel")
	default:
		t.enter(r, RepairQueued)
	}
}

func (t *Task) voidApprovals(why string) {
	for i := range t.Approvals {
		if t.Approvals[i].Void == "" {
			t.Approvals[i].Void = why
		}
	}
}
