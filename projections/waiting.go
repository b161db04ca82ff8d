package projections

import "github.com/deedledger/deed/events"

// Waiting says who a task waits for, and for what. It is the zero value in a
// final state.
type Waiting struct {
	State State `json:"state"`
	// Roles are those that may give what is waited for.
	Roles []events.Role `json:"roles"`
	// For is the short type of the event that leads on.
	For string `json:"for"`
	// Owner is answerable for it: the holder of the lease, else an owner that
	// the contract names. It is empty before the first contract.
	Owner string `json:"owner,omitzero"`
	// Actors are the only ones that may act, where history narrows the roles:
	// the holder of the lease, a reservation, named reviewers.
	Actors []string `json:"actors,omitempty"`
	// Since and Deadline are in ns of the admission stamp. With a lease the
	// deadline is the end of the term that was claimed; heartbeats, which are
	// in no log, may have moved it.
	Since    int64 `json:"since,string"`
	Deadline int64 `json:"deadline,string"`
}

const (
	second int64 = 1_000_000_000 // ns
	hour         = 3600 * second
)

// wait is one row of the table of deadlines.
type wait struct {
	state State
	// term is how long the state may last, ns; a lease has its own.
	term  int64
	roles []events.Role
	event events.Type
	owner func(events.Owners) string
}

// waits returns who moves a task on from each state, and by when.
func waits() []wait {
	product := func(o events.Owners) string { return o.Product }
	code := func(o events.Owners) string { return or(o.Code, o.Product) }
	test := func(o events.Owners) string { return or(o.Test, o.Product) }
	release := func(o events.Owners) string { return or(o.Release, o.Product) }
	opener := []events.Role{events.RoleController, events.RolePlanner, events.RoleImplementer}
	one := func(r events.Role) []events.Role { return []events.Role{r} }
	return []wait{
		{None, 72 * hour, []events.Role{events.RoleOwner, events.RoleCompiler}, events.ContractProposed, product},
		{Proposed, 72 * hour, one(events.RoleOwner), events.ContractAccepted, product},
		{Contracted, 24 * hour, opener, events.AttemptOpened, code},
		{Snapshotted, 24 * hour, one(events.RoleImplementer), events.LeaseClaimed, code},
		{Executing, 0, one(events.RoleImplementer), events.ResultRecorded, code},
		{AwaitingVerification, 4 * hour, one(events.RoleVerifier), events.ReceiptRecorded, test},
		{RepairQueued, 24 * hour, []events.Role{events.RoleController, events.RoleOwner}, events.RepairAccepted, code},
		{AwaitingReview, 48 * hour, one(events.RoleReviewer), events.ApprovalRecorded, product},
		{Approved, 24 * hour, one(events.RoleOperator), events.DeliveryRecorded, release},
		{Releasing, 0, one(events.RoleOperator), events.DeliveryRecorded, release},
		{Interrupted, 1 * hour, one(events.RoleController), events.LeaseClaimed, code},
		{RecoveryEvaluating, 0, one(events.RoleController), events.RecoveryDecided, code},
		{Escalated, 24 * hour, one(events.RoleOwner), events.EscalationResolved, product},
	}
}

// or returns a, or b where a is empty.
func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// Waiting returns who t waits for now.
func (t *Task) Waiting() Waiting {
	for _, row := range waits() {
		if row.state == t.State {
			return t.waiting(row)
		}
	}
	return Waiting{}
}

func (t *Task) waiting(row wait) Waiting {
	w := Waiting{State: t.State, Roles: row.roles, For: row.event.Short(), Since: t.Since, Deadline: t.Since + row.term}
	if c := t.newest(); c != nil {
		w.Owner = row.owner(c.Contract.Owners)
	}
	switch {
	case t.Pause != nil:
		w.Roles, w.For = []events.Role{events.RoleOwner, events.RoleController}, events.TaskUnpaused.Short()
		w.Since, w.Deadline = t.Pause.Admitted, t.Pause.Admitted+pauseTerm
	case t.outdated():
		w.Roles, w.For, w.Owner = []events.Role{events.RoleController}, events.AttemptInterrupted.Short(), t.Lease.Actor
		w.Deadline = t.Lease.Admitted + t.Lease.TermSeconds*second
	case t.Lease != nil:
		w.Owner, w.Actors = t.Lease.Actor, []string{t.Lease.Actor}
		w.Deadline = t.Lease.Admitted + t.Lease.TermSeconds*second
	case t.Cancelling:
		w.Roles, w.For = []events.Role{events.RoleOwner, events.RoleController, events.RoleOperator}, events.EffectConfirmed.Short()
	case t.Stale() && t.State != Escalated:
		w.Roles, w.For = []events.Role{events.RoleController}, events.LeaseClaimed.Short()
	case t.State == RepairQueued && t.Repair != nil && t.Repair.Accepted:
		w.Roles, w.For = []events.Role{events.RoleImplementer}, events.LeaseClaimed.Short()
		if e := t.Effect(t.Repair.Compensate); e != nil && e.Purpose == events.PurposeRelease {
			w.Roles = []events.Role{events.RoleOperator}
		}
		if t.Repair.Kind != "code" {
			w.Roles, w.For = []events.Role{events.RoleController, events.RolePlanner, events.RoleImplementer}, events.AttemptOpened.Short()
		}
	case t.State == RepairQueued && t.Repair != nil && t.Repair.Compensate != "":
		w.Roles = []events.Role{events.RoleOwner} // nobody else accepts a compensation
	case t.State == Snapshotted && t.Reserved != nil:
		w.Actors = []string{t.Reserved.To}
		w.Deadline = t.Reserved.Until
	case t.State == AwaitingVerification && t.Violated() != nil:
		w.Roles, w.For = []events.Role{events.RoleVerifier, events.RoleController, events.RoleReviewer}, events.RepairRequested.Short()
	case (t.State == AwaitingReview || t.State == Approved) && t.Verdict() != ItemPass:
		w.Roles, w.For = []events.Role{events.RoleVerifier}, events.ReceiptRecorded.Short()
	case t.State == AwaitingReview:
		w.Actors = t.Contract().Contract.Reviewers
	}
	return w
}

// outdated reports whether a run is live of which nothing counts any more: its
// attempt works on an older contract. Its holder may only escalate.
func (t *Task) outdated() bool {
	return t.Lease != nil && t.Lease.Purpose != events.PurposeRecover && t.Stale()
}

// newest returns the accepted version, else the one proposed last, else nil.
func (t *Task) newest() *ContractVersion {
	if c := t.Contract(); c != nil {
		return c
	}
	if n := len(t.Contracts); n > 0 {
		return &t.Contracts[n-1]
	}
	return nil
}
