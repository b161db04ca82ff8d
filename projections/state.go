package projections

// State is where a task stands.
type State string

// The states of a task. None is the state before the first event.
const (
	None                 State = ""
	Proposed             State = "Proposed"
	Contracted           State = "Contracted"
	Snapshotted          State = "Snapshotted"
	Executing            State = "Executing"
	AwaitingVerification State = "AwaitingVerification"
	RepairQueued         State = "RepairQueued"
	AwaitingReview       State = "AwaitingReview"
	Approved             State = "Approved"
	Releasing            State = "Releasing"
	Delivered            State = "Delivered"
	Interrupted          State = "Interrupted"
	RecoveryEvaluating   State = "RecoveryEvaluating"
	Escalated            State = "Escalated"
	Cancelled            State = "Cancelled"
)

// States returns every state in the order of the constants, None included.
func States() []State {
	return []State{
		None, Proposed, Contracted, Snapshotted, Executing, AwaitingVerification, RepairQueued,
		AwaitingReview, Approved, Releasing, Delivered, Interrupted, RecoveryEvaluating, Escalated, Cancelled,
	}
}

// Final reports whether no event leads out of s.
func (s State) Final() bool { return s == Delivered || s == Cancelled }

// String returns the state's name, "None" before the first event.
func (s State) String() string {
	if s == None {
		return "None"
	}
	return string(s)
}
