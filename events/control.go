package events

// Pause is the data of task.paused: nothing advances until task.unpaused.
type Pause struct {
	Reason string `json:"reason"`
}

// Type returns TaskPaused.
func (*Pause) Type() Type { return TaskPaused }

// Validate checks p; see [Payload].
func (p *Pause) Validate() error {
	var v validation
	v.need("reason", p.Reason, MaxText)
	return v.err
}

// Unpause is the data of task.unpaused.
type Unpause struct {
	Reason string `json:"reason"`
}

// Type returns TaskUnpaused.
func (*Unpause) Type() Type { return TaskUnpaused }

// Validate checks u; see [Payload].
func (u *Unpause) Validate() error {
	var v validation
	v.need("reason", u.Reason, MaxText)
	return v.err
}

// Trespass is one changed path outside the boundary.
type Trespass struct {
	Path string `json:"path"` // encoded
	Side string `json:"side"` // old or new: of a change that moves or removes
	Rule string `json:"rule"` // of the boundary that was broken
}

// Violation is the data of boundary.violated. It is fatal for the named tree
// and for no other.
type Violation struct {
	Tree   string     `json:"tree"`
	Commit string     `json:"commit,omitzero"`
	Paths  []Trespass `json:"paths"`
}

// Type returns BoundaryViolated.
func (*Violation) Type() Type { return BoundaryViolated }

// Validate checks b; see [Payload].
func (b *Violation) Validate() error {
	var v validation
	v.object("tree", b.Tree, false)
	v.object("commit", b.Commit, true)
	v.count("paths", len(b.Paths), 1, MaxList)
	validTrespasses(&v, "paths", b.Paths)
	return v.err
}

func validTrespasses(v *validation, member string, list []Trespass) {
	for i, p := range list {
		v.path(index(member, i)+".path", p.Path)
		v.oneOf(index(member, i)+".side", p.Side, "old", "new")
		v.line(index(member, i)+".rule", p.Rule, false)
	}
}

// DefectReport is the data of defect.reported: somebody found a fault of what
// was or will be delivered.
type DefectReport struct {
	Text       string `json:"text"`
	Severity   string `json:"severity"` // low, medium, high or critical
	Acceptance string `json:"acceptance,omitzero"`
	Path       string `json:"path,omitzero"`
	Commit     string `json:"commit,omitzero"`
}

// Type returns DefectReported.
func (*DefectReport) Type() Type { return DefectReported }

// Validate checks d; see [Payload].
func (d *DefectReport) Validate() error {
	var v validation
	v.need("text", d.Text, MaxText)
	v.oneOf("severity", d.Severity, "low", "medium", "high", "critical")
	if d.Acceptance != "" {
		v.name("acceptance", d.Acceptance)
	}
	if d.Path != "" {
		v.path("path", d.Path)
	}
	v.object("commit", d.Commit, true)
	return v.err
}
