package ledger

import (
	"slices"
	"sync/atomic"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// Author is one answer to "who may": a role, perhaps of one kind, or the
// holder of the task's lease.
type Author struct {
	Role events.Role `json:"role,omitempty"`
	Kind events.Kind `json:"kind,omitempty"`
	// Holder lists the purposes of the lease that the author must hold.
	Holder []events.Purpose `json:"holder,omitempty"`
	// Former lets the run that dispatched an effect report on it after its
	// lease ended.
	Former bool `json:"former,omitempty"`
	// Basis and Cause narrow an author to data that says so.
	Basis events.Basis `json:"basis,omitempty"`
	Cause string       `json:"cause,omitempty"`
}

// Row says who may append an event of a type, where, and where it leads.
type Row struct {
	Type events.Type
	// Variant tells rows of one type apart, such as the purpose of a claim.
	Variant string
	By      []Author
	In      []projections.State
	// To are the states it can lead to; the same state where empty.
	To []projections.State
	// Stale says that it is legal while the attempt's contract is stale.
	Stale bool
	// Advance says that an open fatal finding blocks it.
	Advance bool
	// Note says what the columns cannot.
	Note string
}

// Name returns the row's name in refusals: "<noun>.<verb>" or
// "<noun>.<verb> <variant>".
func (r *Row) Name() string {
	if r.Variant == "" {
		return r.Type.Short()
	}
	return r.Type.Short() + " " + r.Variant
}

func roles(list ...events.Role) []Author {
	authors := make([]Author, len(list))
	for i, r := range list {
		authors[i] = Author{Role: r}
	}
	return authors
}

func human(r events.Role) Author { return Author{Role: r, Kind: events.KindHuman} }

func holder(p ...events.Purpose) Author { return Author{Holder: p} }

// live returns every state of a task that has events and is not final.
func live() []projections.State {
	return slices.DeleteFunc(projections.States(), func(s projections.State) bool { return s == projections.None || s.Final() })
}

// started returns every state of a task that has events.
func started() []projections.State {
	return slices.DeleteFunc(projections.States(), func(s projections.State) bool { return s == projections.None })
}

// observers may say that nobody knows what became of an effect.
func observers() []Author {
	return []Author{
		{Holder: []events.Purpose{events.PurposeWork, events.PurposeRelease}}, {Former: true},
		{Role: events.RoleController, Basis: events.BasisProbe}, {Role: events.RoleOperator, Basis: events.BasisProbe},
	}
}

// outcomeAuthors may say what became of an effect. A person who states it
// knows.
func outcomeAuthors() []Author {
	return append(observers(), Author{Role: events.RoleOwner, Kind: events.KindHuman, Basis: events.BasisPerson})
}

// Table returns the authority table of task events. What has no row is
// refused.
func Table() []Row {
	return slices.Concat(contractRows(), runRows(), gateRows(), effectRows(), findingRows(), workRows())
}

func contractRows() []Row {
	return []Row{
		{Type: events.ContractProposed, By: roles(events.RoleOwner, events.RoleCompiler), In: append([]projections.State{projections.None}, live()...),
			To: []projections.State{projections.Proposed}, Stale: true, Note: "Proposed from None, else the same state"},
		{Type: events.ContractAccepted, By: []Author{human(events.RoleOwner)}, In: live(),
			To: []projections.State{projections.Contracted, projections.AwaitingVerification}, Stale: true,
			Note: "Contracted from Proposed, else an open attempt becomes stale; its receipts and approvals lose their force"},
		{Type: events.ContractWithdrawn, By: roles(events.RoleOwner), In: live(),
			To: []projections.State{projections.Cancelled, projections.Escalated}, Stale: true, Note: "ends the lease; Escalated while an effect is open"},
		{Type: events.TaskCancelled, By: roles(events.RoleOwner), In: live(),
			To: []projections.State{projections.Cancelled, projections.Escalated}, Stale: true, Note: "ends the lease; Escalated while an effect is open"},
	}
}

func runRows() []Row {
	leased := []projections.State{projections.Executing, projections.Releasing, projections.RecoveryEvaluating}
	anyLease := holder(events.PurposeWork, events.PurposeRecover, events.PurposeRelease)
	return []Row{
		{Type: events.AttemptOpened, By: roles(events.RoleController, events.RolePlanner, events.RoleImplementer),
			In: []projections.State{projections.Contracted, projections.RepairQueued}, To: []projections.State{projections.Snapshotted},
			Note: "from RepairQueued: accepted, kind rebase or inputs"},
		{Type: events.LeaseClaimed, Variant: "work", By: roles(events.RoleImplementer),
			In: []projections.State{projections.Snapshotted, projections.RepairQueued}, To: []projections.State{projections.Executing}, Advance: true,
			Note: "from RepairQueued: accepted, kind code"},
		{Type: events.LeaseClaimed, Variant: "recover", By: roles(events.RoleController), Stale: true,
			In: []projections.State{projections.Interrupted, projections.Snapshotted, projections.AwaitingVerification, projections.AwaitingReview, projections.Approved},
			To: []projections.State{projections.RecoveryEvaluating}},
		{Type: events.LeaseClaimed, Variant: "release", By: roles(events.RoleOperator),
			In: []projections.State{projections.Approved, projections.RepairQueued}, To: []projections.State{projections.Releasing}, Advance: true,
			Note: "from RepairQueued: accepted, its unit is the compensation of a release effect"},
		{Type: events.LeaseReleased, By: []Author{anyLease}, In: leased,
			To:   []projections.State{projections.Snapshotted, projections.Approved, projections.Interrupted, projections.AwaitingReview, projections.AwaitingVerification},
			Note: "Interrupted with an open effect, a fatal finding, or a recover lease; a release run leads to the gate that its proof still reaches"},
		{Type: events.AttemptInterrupted, By: []Author{{Role: events.RoleService, Cause: "lease-expired"}, {Role: events.RoleService, Cause: "holder-revoked"}, {Role: events.RoleController, Cause: "controller"}},
			In: leased, To: []projections.State{projections.Interrupted}, Stale: true},
		{Type: events.ResultRecorded, By: []Author{holder(events.PurposeWork)}, In: []projections.State{projections.Executing},
			To: []projections.State{projections.AwaitingVerification}, Advance: true, Note: "no open effect; ends the run"},
		{Type: events.RecoveryDecided, By: []Author{holder(events.PurposeRecover)}, In: []projections.State{projections.RecoveryEvaluating}, Stale: true,
			To: []projections.State{projections.Escalated, projections.RepairQueued, projections.AwaitingVerification, projections.AwaitingReview,
				projections.Snapshotted, projections.Approved}, Note: "ends the lease; the ledger recomputes it"},
		{Type: events.AttemptEscalated, By: []Author{anyLease, {Role: events.RoleController}}, In: live(), Stale: true,
			To: []projections.State{projections.Escalated}, Note: "ends the lease"},
		{Type: events.EscalationResolved, By: []Author{human(events.RoleOwner)}, In: []projections.State{projections.Escalated}, Stale: true,
			To: []projections.State{projections.Proposed, projections.Contracted, projections.Snapshotted, projections.RepairQueued, projections.AwaitingVerification,
				projections.AwaitingReview, projections.Approved, projections.Cancelled},
			Note: "resume: as recovery row 9; reverify: AwaitingVerification; repair: RepairQueued, accepted; new-attempt: Contracted; cancel: Cancelled once no effect is open"},
	}
}

func gateRows() []Row {
	return []Row{
		{Type: events.ReceiptRecorded, By: roles(events.RoleVerifier), In: started(),
			To:   []projections.State{projections.AwaitingReview, projections.RepairQueued, projections.Interrupted, projections.Escalated},
			Note: "needs a result; leads on only where the receipt decides"},
		{Type: events.RepairRequested, By: roles(events.RoleVerifier, events.RoleController, events.RoleReviewer),
			In: []projections.State{projections.AwaitingVerification, projections.AwaitingReview, projections.Approved, projections.RepairQueued},
			To: []projections.State{projections.RepairQueued, projections.Escalated}, Note: "needs a code failure or a rejection"},
		{Type: events.RepairAccepted, By: roles(events.RoleController, events.RoleOwner), In: []projections.State{projections.RepairQueued}, Note: "within the budget"},
		{Type: events.ApprovalRecorded, By: []Author{human(events.RoleReviewer)}, In: []projections.State{projections.AwaitingReview, projections.Approved}, Advance: true,
			To: []projections.State{projections.Approved, projections.RepairQueued, projections.Escalated}, Note: "the same state below quorum, and for a further one"},
		{Type: events.DeliveryRecorded, By: roles(events.RoleOperator), In: []projections.State{projections.Approved, projections.Releasing},
			To: []projections.State{projections.Delivered}, Advance: true, Note: "no open effect; merged tree = approved tree"},
	}
}

func effectRows() []Row {
	run := holder(events.PurposeWork, events.PurposeRelease)
	running := []projections.State{projections.Executing, projections.Releasing}
	cancelled := []projections.State{projections.Cancelled}
	return []Row{
		{Type: events.EffectIntended, By: []Author{run}, In: running},
		{Type: events.EffectApproved, By: roles(events.RoleOwner, events.RoleReviewer), In: live(), Note: "while intended; by a person where the attempt pinned so"},
		{Type: events.EffectWithdrawn, By: []Author{run, {Role: events.RoleOwner}}, In: live(), Stale: true, Note: "while never dispatched, or failed"},
		{Type: events.EffectDispatched, By: []Author{run}, In: running, Advance: true},
		{Type: events.EffectConfirmed, By: outcomeAuthors(), In: started(), To: cancelled, Stale: true, Note: "Cancelled when it closes the last open effect of a cancelled task"},
		{Type: events.EffectFailed, By: outcomeAuthors(), In: started(), To: cancelled, Stale: true, Note: "as effect.confirmed"},
		{Type: events.EffectUnknown, By: observers(), In: started(), Stale: true},
		{Type: events.EffectCompensated, By: outcomeAuthors(), In: started(), To: cancelled, Stale: true, Note: "as effect.confirmed"},
	}
}

func findingRows() []Row {
	return []Row{
		{Type: events.FindingRecorded, By: roles(events.Roles()...), In: started(), Stale: true, Note: "service: a passed deadline only"},
		{Type: events.FindingAcknowledged, By: []Author{human(events.RoleOwner), human(events.RoleReviewer)}, In: started(), Stale: true,
			To: []projections.State{projections.AwaitingReview}, Note: "leads on only where it alone held a proven result back"},
	}
}

// rowKey finds a row.
type rowKey struct {
	t       events.Type
	variant string
}

// Rules is the authority table, indexed. One value serves any number of
// readers.
type Rules struct {
	rows map[rowKey]*Row
	// compiled is the policy that was in force last; see policyOf.
	compiled atomic.Pointer[Policy]
}

// NewRules indexes the table.
func NewRules() *Rules {
	table := Table()
	rows := make(map[rowKey]*Row, len(table))
	for i := range table {
		rows[rowKey{table[i].Type, table[i].Variant}] = &table[i]
	}
	return &Rules{rows: rows}
}

// Row returns the row that p belongs to, nil when there is none.
func (r *Rules) Row(p events.Payload) *Row {
	variant := ""
	if c, ok := p.(*events.Claim); ok {
		variant = string(c.Purpose)
	}
	return r.rows[rowKey{p.Type(), variant}]
}
