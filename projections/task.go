package projections

import (
	"github.com/deedledger/deed/events"
)

// Task is the state of one task, folded from its chain of events. Slices are
// in order of history. The zero Task is a task without events.
type Task struct {
	Ledger string `json:"ledger"`
	ID     string `json:"task"`
	State  State  `json:"state"`
	// Since is the admission stamp of the event that led to State.
	Since int64 `json:"since,string"`
	// Sequence, Head, Position and Admitted are those of the last event.
	Sequence uint64          `json:"sequence"`
	Head     string          `json:"head"`
	Position events.Position `json:"position"`
	Admitted int64           `json:"admitted,string"`
	// Blocked says why the fold stopped; nil while it runs.
	Blocked *Block `json:"blocked,omitempty"`

	Contracts []ContractVersion `json:"contracts"`
	Attempts  []Attempt         `json:"attempts,omitempty"`
	// Active is the index of the open attempt in Attempts, -1 when there is none.
	Active int `json:"active"`

	// Fence is the number of the newest run; Lease is the right to act now.
	Fence    uint64       `json:"fence"`
	Lease    *Lease       `json:"lease,omitempty"`
	Runs     []Run        `json:"runs,omitempty"`
	Reserved *Reservation `json:"reserved,omitempty"`
	// Before is the state before the first interruption, for a resume.
	Before State `json:"before,omitempty"`

	Result   *Result   `json:"result,omitempty"`
	Receipts []Receipt `json:"receipts,omitempty"`
	Repair   *Repair   `json:"repair,omitempty"`
	// Repairs, Stalls and Allowance are the repair budget's use.
	Repairs   int64 `json:"repairs"`
	Stalls    int64 `json:"stalls"`
	Allowance int64 `json:"allowance"`
	// Failed are the checks that failed when the last failing receipt came,
	// sorted; none after a pass.
	Failed []string `json:"failed,omitempty"`

	Approvals  []Approval  `json:"approvals,omitempty"`
	Delivery   *Delivery   `json:"delivery,omitempty"`
	Effects    []Effect    `json:"effects,omitempty"`
	Findings   []Finding   `json:"findings,omitempty"`
	Escalation *Escalation `json:"escalation,omitempty"`
	Decisions  []Recovery  `json:"recoveries,omitempty"`
	// Cancelling says that the task ends when its last open effect is settled.
	Cancelling bool `json:"cancelling,omitempty"`
	Work
	// Contributors are actors that held a work lease or signed a step, a result
	// or an effect of the task, sorted.
	Contributors []string `json:"contributors,omitempty"`
	// Suspects are events that a compromised key signed, in order of history.
	Suspects []Suspect `json:"suspects,omitempty"`

	heard int64 // see Heard; in no encoding
}

// Block is where and why a fold stopped.
type Block struct {
	Position events.Position `json:"position"`
	Reason   string          `json:"reason"`
}

// Signed names an event and its author.
type Signed struct {
	EventID  string          `json:"eventId"`
	Hash     string          `json:"hash"`
	Position events.Position `json:"position"`
	Actor    string          `json:"actor"`
	Admitted int64           `json:"admitted,string"`
}

// ContractVersion is one proposed version of a contract.
type ContractVersion struct {
	Signed
	Digest   string          `json:"digest"`
	Checks   string          `json:"checks"` // digest of the pinned checks
	Accepted bool            `json:"accepted"`
	Contract events.Contract `json:"contract"`
}

// Attempt is one try at a contract version.
type Attempt struct {
	Signed
	ID       string             `json:"id"`
	Contract events.ContractRef `json:"contract"`
	Snapshot events.Snapshot    `json:"snapshot"`
}

// Lease is a live right to act.
type Lease struct {
	Fence       uint64          `json:"fence"`
	Purpose     events.Purpose  `json:"purpose"`
	Actor       string          `json:"actor"`
	Key         string          `json:"key"`
	TermSeconds int64           `json:"termSeconds"`
	Position    events.Position `json:"position"`
	Admitted    int64           `json:"admitted,string"`
}

// Run is one execution under one lease.
type Run struct {
	Fence   uint64         `json:"fence"`
	Purpose events.Purpose `json:"purpose"`
	Actor   string         `json:"actor"`
	Attempt string         `json:"attempt"`
	// Ended is the short type of the event that ended the run, "" while live.
	Ended string `json:"ended,omitempty"`
	// Reason and Note are what the holder said when it let go.
	Reason string `json:"reason,omitempty"`
	Note   string `json:"note,omitempty"`
}

// Reservation gives one actor the only right to claim until a time.
type Reservation struct {
	To    string `json:"to"`
	Until int64  `json:"until,string"` // admission stamp, ns
}

// Result is the newest result of the open attempt.
type Result struct {
	Signed
	Fence uint64        `json:"fence"`
	Data  events.Result `json:"data"`
	// Unmapped are the addresses in the range that no actor commits under,
	// sorted: such a result needs a second reviewer.
	Unmapped []string `json:"unmapped,omitempty"`
}

// Repair is the queued or running repair.
type Repair struct {
	Kind string `json:"kind"` // code, rebase or inputs
	// Compensate is the key of the effect that the repair has to undo.
	Compensate string   `json:"compensate,omitempty"`
	Items      []string `json:"items,omitempty"`
	Reason     string   `json:"reason"`
	Accepted   bool     `json:"accepted"`
}

// Approval is a person's verdict.
type Approval struct {
	Signed
	Data events.Approval `json:"data"`
	// Void says what ended the approval's force, "" while it counts.
	Void string `json:"void,omitempty"`
}

// Delivery is the receipt that the gate accepted.
type Delivery struct {
	Signed
	Data events.Delivery `json:"data"`
}

// Finding is a recorded mismatch.
type Finding struct {
	Signed
	Data events.Finding `json:"data"`
	Open bool           `json:"open"`
}

// Escalation says why a person is needed.
type Escalation struct {
	Reason   string `json:"reason"`
	NextStep string `json:"nextStep"`
}

// Recovery is one decision of a controller.
type Recovery struct {
	Signed
	Decision string       `json:"decision"`
	Matches  []string     `json:"matches"`
	From     State        `json:"from"`
	To       State        `json:"to"`
	World    events.World `json:"world"`
}

// Contract returns the accepted version that counts, nil before acceptance.
func (t *Task) Contract() *ContractVersion {
	for i := len(t.Contracts) - 1; i >= 0; i-- {
		if t.Contracts[i].Accepted {
			return &t.Contracts[i]
		}
	}
	return nil
}

// Version returns the given proposed version, nil when there is none.
func (t *Task) Version(n int64) *ContractVersion {
	for i := range t.Contracts {
		if t.Contracts[i].Contract.Version == n {
			return &t.Contracts[i]
		}
	}
	return nil
}

// Attempt returns the open attempt, nil when there is none.
func (t *Task) Attempt() *Attempt {
	if t.Active < 0 || t.Active >= len(t.Attempts) {
		return nil
	}
	return &t.Attempts[t.Active]
}

// Stale reports whether the open attempt works on another contract version
// than the one that was accepted last.
func (t *Task) Stale() bool {
	a, c := t.Attempt(), t.Contract()
	return a != nil && c != nil && a.Contract.Digest != c.Digest
}

// FatalFinding returns the first open fatal finding, nil when there is none.
func (t *Task) FatalFinding() *Finding {
	for i := range t.Findings {
		if f := &t.Findings[i]; f.Open && f.Data.Severity == "fatal" {
			return f
		}
	}
	return nil
}

// Digest returns the SHA-256 of the task's RFC 8785 form.
func (t *Task) Digest() (events.Hash, error) { return events.DigestOf(t) }
