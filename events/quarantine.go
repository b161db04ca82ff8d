package events

// Extent is the part of a ledger that damage concerns.
type Extent string

// The extents of a report of damage.
const (
	ExtentTask     Extent = "task"     // one task
	ExtentRegistry Extent = "registry" // actors, keys, policy
	ExtentLedger   Extent = "ledger"   // everything
)

// Integrity is the data of integrity.reported: history is not what it was.
// Its extent takes no more events until quarantine.lifted.
type Integrity struct {
	Extent Extent   `json:"extent"`
	Task   string   `json:"task,omitzero"` // with extent task alone
	At     Position `json:"position"`      // first bad event, 0 = not known
	Reason string   `json:"reason"`
}

// Type returns IntegrityReported.
func (*Integrity) Type() Type { return IntegrityReported }

// Validate checks i; see [Payload].
func (i *Integrity) Validate() error {
	var v validation
	validExtent(&v, i.Extent, i.Task)
	v.that(i.At <= maxInt, "position", "%d is beyond 2^53", i.At)
	v.line("reason", i.Reason, false)
	return v.err
}

// Lift is the data of quarantine.lifted: a person looked, and the extent takes
// events again.
type Lift struct {
	Extent Extent `json:"extent"`
	Task   string `json:"task,omitzero"` // with extent task alone
	Reason string `json:"reason"`
}

// Type returns QuarantineLifted.
func (*Lift) Type() Type { return QuarantineLifted }

// Validate checks l; see [Payload].
func (l *Lift) Validate() error {
	var v validation
	validExtent(&v, l.Extent, l.Task)
	v.line("reason", l.Reason, false)
	return v.err
}

func validExtent(v *validation, extent Extent, task string) {
	v.oneOf("extent", string(extent), string(ExtentTask), string(ExtentRegistry), string(ExtentLedger))
	if extent == ExtentTask {
		v.that(ValidTask(task), "task", "%q is no task name ([A-Za-z0-9][A-Za-z0-9_-]{0,63})", clip(task))
		return
	}
	v.that(task == "", "task", "extent %s names no task", extent)
}
