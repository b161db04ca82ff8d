package ledger

import (
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// scene is what a rule looks at: the submission and the state before it.
type scene struct {
	Submission
	ledger *projections.Ledger
	task   *projections.Task
	author *projections.Actor
	row    *Row
	// former says that the author counts only as a former holder.
	former bool
}

// Check decides whether a task event may happen now: table row, role, state,
// lease, staleness, findings, the type's own rules, then the policy in force.
// It returns nil or a [*Refusal] that names the row or rule.
func (r *Rules) Check(l *projections.Ledger, s Submission) error {
	row := r.Row(s.Payload)
	if row == nil {
		return refuse(CodeRule, "default-deny", "no row of the authority table allows %s", s.Event.Type)
	}
	sc := &scene{Submission: s, ledger: l, task: l.Task(s.Event.Source.Task), author: l.Registry.Actor(s.Event.AuthID), row: row}
	for _, rule := range [...]func(*scene) *Refusal{
		checkBlocked, checkHeld, checkAuthor, checkState, checkPaused, checkCancelling, checkSubject, checkStale, checkFindings, checkViolated, checkType, checkPinned, r.checkPolicy,
	} {
		if refusal := rule(sc); refusal != nil {
			return refusal
		}
	}
	return nil
}

func checkBlocked(s *scene) *Refusal {
	if b := s.task.Blocked; b != nil {
		return &Refusal{Class: Corrupt, Code: CodeDamage, Rule: "blocked", Text: "the task's history is blocked: " + b.Reason}
	}
	return nil
}

// checkAuthor looks for one way in which the row allows the author.
func checkAuthor(s *scene) *Refusal {
	if s.author == nil {
		return refuse(CodeSignature, s.row.Name()+"/author", "actor %q is not in the registry", s.Event.AuthID)
	}
	var fence *Refusal
	for _, by := range s.row.By {
		switch {
		case len(by.Holder) > 0:
			if fence = checkHolder(s, by.Holder); fence == nil {
				return nil
			}
		case by.Former:
			if s.isFormer() {
				s.former = true
				return nil
			}
		case s.allows(by):
			if s.Event.Fence != 0 && s.Event.Type != events.LeaseClaimed {
				return refuse(CodeFence, s.row.Name()+"/fence", "only a lease's holder names a fence")
			}
			return nil
		}
	}
	// A holder of another lease, or of none, hears about the lease; others
	// hear about the roles.
	if fence != nil && (s.Event.Fence != 0 || len(s.row.By) == 1) {
		return fence
	}
	return refuse(CodeRule, s.row.Name()+"/role", "%s has roles %v of kind %s; the row allows %s", s.author.Name, s.author.Roles, s.author.Kind, describe(s.row.By))
}

// allows reports whether a role entry of the row fits the author and data.
func (s *scene) allows(by Author) bool {
	if by.Role == "" || !s.author.Has(by.Role) || by.Kind != "" && by.Kind != s.author.Kind {
		return false
	}
	if by.Basis != "" && basis(s.Payload) != by.Basis {
		return false
	}
	if by.Cause != "" {
		d, ok := s.Payload.(*events.Interruption)
		return ok && d.Cause == by.Cause
	}
	return true
}

// basis returns where an outcome's evidence comes from, "" for other events.
func basis(p events.Payload) events.Basis {
	if about, ok := p.(events.AboutEffect); ok {
		return about.Effect().Basis
	}
	return ""
}

// checkHolder checks that the author acts under the task's live lease.
func checkHolder(s *scene, purposes []events.Purpose) *Refusal {
	rule := s.row.Name() + "/fence"
	lease := s.task.Lease
	switch {
	case s.Event.Fence == 0:
		return refuse(CodeFence, rule, "a holder's event names its fence")
	case lease == nil:
		return refuse(CodeFence, rule, "fence %d is not live: the task has no lease", s.Event.Fence)
	case lease.Fence != s.Event.Fence:
		return refuse(CodeFence, rule, "fence %d is old: the live one is %d", s.Event.Fence, lease.Fence)
	case lease.Actor != s.Event.AuthID:
		return refuse(CodeFence, rule, "the lease is %s's", lease.Actor)
	case !slices.Contains(purposes, lease.Purpose):
		return refuse(CodeFence, rule, "the lease is for %s", lease.Purpose)
	}
	return nil
}

// isFormer reports whether the author's run dispatched the try that an
// outcome is about.
func (s *scene) isFormer() bool {
	about, ok := s.Payload.(events.AboutEffect)
	if !ok || s.Event.Fence == 0 {
		return false
	}
	e := s.task.Effect(about.Effect().Key)
	if e == nil {
		return false
	}
	for _, t := range e.Tries {
		if t.Number == about.Effect().Try && t.Fence == s.Event.Fence && t.Actor == s.Event.AuthID {
			return true
		}
	}
	return false
}

func checkState(s *scene) *Refusal {
	if slices.Contains(s.row.In, s.task.State) {
		return nil
	}
	return refuse(CodeState, s.row.Name()+"/state", "not legal in %s; legal in %s", s.task.State, list(s.row.In))
}

// checkCancelling lets nothing but the settling of effects happen to a task
// that ends as soon as its effects are settled.
func checkCancelling(s *scene) *Refusal {
	if !s.task.Cancelling {
		return nil
	}
	switch s.Event.Type {
	case events.EffectConfirmed, events.EffectFailed, events.EffectUnknown, events.EffectCompensated,
		events.FindingRecorded, events.FindingAcknowledged, events.ReceiptRecorded:
		return nil
	}
	return refuse(CodeState, "cancelling", "the task is cancelled and waits for its open effects: %v", s.task.OpenEffects())
}

// checkSubject holds the event's attempt id against the open attempt.
func checkSubject(s *scene) *Refusal {
	want := ""
	switch s.Event.Type {
	case events.ContractProposed, events.ContractAccepted, events.ContractWithdrawn, events.TaskCancelled:
	case events.AttemptOpened:
		if s.Event.Subject == "" {
			return refuse(CodeForm, "subject", "attempt.opened names the new attempt's id as its subject")
		}
		for _, a := range s.task.Attempts {
			if a.ID == s.Event.Subject {
				return refuse(CodeRule, "subject", "attempt %s exists already; ids are unique in a task for ever", a.ID)
			}
		}
		return nil
	default:
		if a := s.task.Attempt(); a != nil {
			want = a.ID
		}
		if about, ok := s.Payload.(events.AboutEffect); ok {
			if e := s.task.Effect(about.Effect().Key); e != nil {
				want = e.Attempt
			}
		}
	}
	if s.Event.Subject != want {
		return refuse(CodeStale, "subject", "subject is %q, the attempt concerned is %q", s.Event.Subject, want)
	}
	return nil
}

func checkStale(s *scene) *Refusal {
	if s.row.Stale || !s.task.Stale() {
		return nil
	}
	return refuse(CodeStale, "stale-contract", "attempt %s works on contract version %d, accepted is %d: recover or escalate", s.task.Attempt().ID, s.task.Attempt().Contract.Version, s.task.Contract().Contract.Version)
}

func checkFindings(s *scene) *Refusal {
	f := s.task.FatalFinding()
	if f == nil || !s.row.Advance {
		return nil
	}
	if d, ok := s.Payload.(*events.Approval); ok && d.Verdict == "reject" {
		return nil
	}
	return refuse(CodeRule, "fatal-finding", "finding %s (%s) is open: acknowledge or mend it first", f.EventID, f.Data.Rule)
}

// checkType applies the rules of the event's own type.
func checkType(s *scene) *Refusal {
	switch d := s.Payload.(type) {
	case *events.Contract:
		return checkProposal(s, d)
	case *events.Acceptance:
		return checkAcceptance(s, d)
	case *events.Attempt:
		return checkAttempt(s, d)
	case *events.Claim:
		return checkClaim(s, d)
	case *events.Interruption:
		if s.task.Lease == nil || uint64(d.Fence) != s.task.Lease.Fence {
			return refuse(CodeFence, s.row.Name(), "fence %d is not live", d.Fence)
		}
		if d.Cause == "holder-revoked" && orphaned(&s.ledger.Registry, s.task) == "" {
			return refuse(CodeRule, s.row.Name()+"/holder", "%s holds the lease by right", s.task.Lease.Actor)
		}
	case *events.Release:
		if d.To != "" && s.ledger.Registry.Actor(d.To) == nil {
			return refuse(CodeNotFound, s.row.Name(), "actor %q is not in the registry", d.To)
		}
	case *events.Result:
		return checkResult(s, d)
	case *events.Receipt:
		return checkReceipt(s, d)
	case *events.RepairRequest:
		return checkRepairRequest(s, d)
	case *events.RepairAcceptance:
		return checkRepairAcceptance(s, d)
	case *events.Approval:
		return checkApproval(s, d)
	case *events.Delivery:
		return checkDelivery(s, d)
	case *events.Recovery:
		return checkRecovery(s, d)
	case *events.Resolution:
		if refusal := checkRepin(s, d); refusal != nil {
			return refusal
		}
		return checkResolution(s, d)
	case *events.Finding:
		return checkReminder(s, d)
	case *events.Acknowledgement:
		return checkAcknowledgement(s, d)
	}
	if refusal, mine := checkWork(s); mine {
		return refusal
	}
	return checkEffect(s)
}

func checkAcknowledgement(s *scene, d *events.Acknowledgement) *Refusal {
	for _, f := range s.task.Findings {
		if f.EventID == d.Finding {
			if !f.Open {
				return refuse(CodeState, s.row.Name(), "finding %s is closed already", d.Finding)
			}
			return nil
		}
	}
	return refuse(CodeNotFound, s.row.Name(), "the task has no finding %s", d.Finding)
}

// describe prints who a row allows.
func describe(by []Author) string {
	text := ""
	for i, a := range by {
		if i > 0 {
			text += ", "
		}
		text += a.String()
	}
	return text
}

// String prints an author entry for people.
func (a Author) String() string {
	text := string(a.Role)
	switch {
	case len(a.Holder) > 0:
		text = "holder of a lease for"
		for i, p := range a.Holder {
			if i > 0 {
				text += " or"
			}
			text += " " + string(p)
		}
	case a.Former:
		text = "former holder"
	}
	if a.Kind != "" {
		text += " (" + string(a.Kind) + ")"
	}
	if a.Basis != "" {
		text += " with evidence by " + string(a.Basis)
	}
	if a.Cause != "" {
		text += " for " + a.Cause
	}
	return text
}

// list prints states for people.
func list(states []projections.State) string {
	text := ""
	for i, s := range states {
		if i > 0 {
			text += ", "
		}
		text += s.String()
	}
	return text
}
