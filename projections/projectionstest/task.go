package projectionstest

import (
	"fmt"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

// Task tells the story of one task. Each method appends one event.
type Task struct {
	Story *Story
	ID    string
	n     int // results, attempts and nonces so far
}

// Task returns the teller of a task.
func (s *Story) Task(id string) *Task { return &Task{Story: s, ID: id} }

// State returns the folded state.
func (k *Task) State() *projections.Task { return k.Story.Ledger.Task(k.ID) }

// Policy returns the digest of the policy in force.
func (k *Task) Policy() string { return k.Story.Ledger.Registry.Policy }

// Draft returns the record of what an actor says, at its place: about the open
// attempt, with the fence of its lease where it holds one.
func (k *Task) Draft(actor string, p events.Payload) events.Record {
	t := k.State()
	d := Draft{Task: k.ID, Actor: actor, Payload: p}
	if a := t.Attempt(); a != nil {
		d.Subject = a.ID
	}
	if p.Type() == events.LeaseClaimed {
		d.Fence = t.Fence + 1
	} else if t.Lease != nil && t.Lease.Actor == actor {
		d.Fence = t.Lease.Fence
	}
	if p.Type() == events.AttemptOpened {
		d.Subject = fmt.Sprintf("a%d", len(t.Attempts)+1)
	}
	return k.Story.Draft(d)
}

// Do appends what an actor says.
func (k *Task) Do(actor string, p events.Payload) events.Record {
	r := k.Draft(actor, p)
	if err := k.Story.Add(r); err != nil {
		panic(fmt.Sprintf("projectionstest: %v", err))
	}
	return r
}

// DoFenced appends what an actor says with the fence of an older run.
func (k *Task) DoFenced(actor string, fence uint64, p events.Payload) events.Record {
	d := Draft{Task: k.ID, Actor: actor, Fence: fence, Payload: p}
	if a := k.State().Attempt(); a != nil {
		d.Subject = a.ID
	}
	return k.Story.Do(d)
}

// Propose proposes the next contract version.
func (k *Task) Propose(mods ...func(*events.Contract)) events.Record {
	return k.Do(Founder, Contract(int64(len(k.State().Contracts))+1, mods...))
}

// Accept accepts the version proposed last.
func (k *Task) Accept() events.Record {
	list := k.State().Contracts
	v := list[len(list)-1]
	return k.Do(Founder, &events.Acceptance{Version: v.Contract.Version, Digest: v.Digest})
}

// Open opens an attempt.
func (k *Task) Open() events.Record { return k.Do("carl", Snapshot(k.State(), k.Policy())) }

// Claim claims a lease for 60 seconds.
func (k *Task) Claim(actor string, purpose events.Purpose) events.Record {
	return k.Do(actor, &events.Claim{Purpose: purpose, TermSeconds: 60, World: World(k.Policy())})
}

// Hand records a new result of the lease's holder.
func (k *Task) Hand(mods ...func(*events.Result)) events.Record {
	k.n++
	return k.Do(k.State().Lease.Actor, Result(fmt.Sprint(k.n), mods...))
}

// Verify records a receipt on the current input.
func (k *Task) Verify(outcomes Outcomes) events.Record {
	k.n++
	return k.Do("ci", Receipt(k.State(), fmt.Sprintf("nonce-of-16-bytes-%d", k.n), outcomes))
}

// Approve approves the current result.
func (k *Task) Approve(actor string) events.Record { return k.Do(actor, k.verdict("approve")) }

// Reject rejects the current result for an item.
func (k *Task) Reject(actor, item, text string) events.Record {
	a := k.verdict("reject")
	a.Defects = []events.Defect{{Acceptance: item, Text: text, Severity: "high"}}
	return k.Do(actor, a)
}

func (k *Task) verdict(verdict string) *events.Approval {
	t := k.State()
	_, digest, err := projections.ReviewPacket(t).Encode(0)
	if err != nil {
		panic(fmt.Sprintf("projectionstest: %v", err))
	}
	return &events.Approval{
		Verdict: verdict, Contract: t.Contract().Digest, Result: t.Result.Hash,
		Head: t.Result.Data.Head, Tree: t.Result.Data.Tree, Packet: digest.String(),
	}
}

// Deliver records the delivery of the current result.
func (k *Task) Deliver() events.Record {
	t := k.State()
	return k.Do("olga", &events.Delivery{
		Contract: t.Contract().Digest, Result: t.Result.Hash, Target: "main", Commit: t.Result.Data.Head, Tree: t.Result.Data.Tree,
	})
}

// Interrupt ends the live lease by its term.
func (k *Task) Interrupt() events.Record {
	return k.Do("service", &events.Interruption{Cause: "lease-expired", Fence: int64(k.State().Fence)})
}

// Recover claims a recover lease and records the decision.
func (k *Task) Recover(decision string) events.Record {
	if k.State().State != projections.RecoveryEvaluating {
		k.Claim("carl", events.PurposeRecover)
	}
	return k.Do("carl", &events.Recovery{Decision: decision, Matches: []string{decision}, World: World(k.Policy())})
}

// Resolve resolves an escalation.
func (k *Task) Resolve(action string, mods ...func(*events.Resolution)) events.Record {
	r := &events.Resolution{Action: action, Reason: "decided"}
	modify(r, mods)
	return k.Do(Founder, r)
}

// AcceptRepair accepts the queued repair.
func (k *Task) AcceptRepair() events.Record {
	return k.Do("carl", &events.RepairAcceptance{Kind: k.State().Repair.Kind})
}

// Intend intends an effect.
func (k *Task) Intend(key string, parts ...string) events.Record {
	return k.Do(k.State().Lease.Actor, Intent(key, parts...))
}

// Dispatch starts the next try of an effect.
func (k *Task) Dispatch(key string) events.Record {
	n := int64(len(k.State().Effect(key).Tries)) + 1
	return k.Do(k.State().Lease.Actor, &events.Dispatch{Key: key, Try: n, Token: fmt.Sprintf("%s-%d", key, n), Host: "host", Boot: "boot"})
}

// Settle records an outcome of an effect's newest try: confirmed, failed,
// unknown, conflict or compensated.
func (k *Task) Settle(actor, key, part string, status projections.Status) events.Record {
	n := int64(len(k.State().Effect(key).Tries))
	return k.Do(actor, Outcome(key, part, n, status))
}

// Outcome returns the data of an outcome of one try of an effect.
func Outcome(key, part string, try int64, status projections.Status) events.Payload {
	switch status {
	case projections.StatusConfirmed:
		return &events.Confirmation{
			Key: key, Try: try, Part: part, ExternalID: "ext-" + key + part, Token: fmt.Sprintf("%s-%d", key, try),
			Basis: events.BasisProbe, Evidence: "found",
		}
	case projections.StatusFailed:
		return &events.Failure{Key: key, Try: try, Part: part, Basis: events.BasisProbe, Evidence: "absent"}
	case projections.StatusCompensated:
		return &events.Compensation{Key: key, Part: part, By: "undo-1", Basis: events.BasisProbe, Evidence: "gone"}
	}
	return &events.Unknown{Key: key, Try: try, Part: part, Conflict: status == projections.StatusConflict, Reason: "no answer"}
}

// ToResult tells the story from the proposal to a first result by impl-a.
func (k *Task) ToResult(mods ...func(*events.Contract)) {
	k.Propose(mods...)
	k.Accept()
	k.Open()
	k.Claim("impl-a", events.PurposeWork)
	k.Hand()
}
