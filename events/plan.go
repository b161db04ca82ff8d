package events

// MaxUnits is how many units a plan may have.
const MaxUnits = 64

// Unit is a bounded part of a plan: an intent, never a right.
type Unit struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Files are path patterns that the unit is about.
	Files []string `json:"files,omitempty"`
	// Acceptance are the acceptance items that the unit serves.
	Acceptance []string `json:"acceptance,omitempty"`
	// Verification says, a line each, how the unit will be verified.
	Verification []string `json:"verification,omitempty"`
	// Success says when the unit is done.
	Success string `json:"success"`
}

// Plan is the data of plan.recorded. The newest one of an attempt counts. It
// authorises nothing.
type Plan struct {
	Summary string `json:"summary"`
	Units   []Unit `json:"units"`
}

// Type returns PlanRecorded.
func (*Plan) Type() Type { return PlanRecorded }

// Validate checks p; see [Payload].
func (p *Plan) Validate() error {
	var v validation
	v.line("summary", p.Summary, false)
	v.count("units", len(p.Units), 1, MaxUnits)
	names := make([]string, len(p.Units))
	for i := range p.Units {
		names[i] = p.Units[i].Name
		v.within(index("units", i), p.Units[i].validate)
	}
	v.unique("units", names)
	return v.err
}

func (u *Unit) validate(v *validation) {
	v.name("name", u.Name)
	v.line("title", u.Title, false)
	v.lines("files", u.Files, 64)
	v.count("acceptance", len(u.Acceptance), 0, 64)
	for i, a := range u.Acceptance {
		v.name(index("acceptance", i), a)
	}
	v.lines("verification", u.Verification, 16)
	v.line("success", u.Success, false)
}

// StepIssue is the data of step.issued: a holder begins a bounded step.
type StepIssue struct {
	Step    string   `json:"step"`          // unique in the attempt
	Unit    string   `json:"unit,omitzero"` // of the newest plan
	Title   string   `json:"title"`
	Success string   `json:"success"`
	Files   []string `json:"files,omitempty"` // path patterns
}

// Type returns StepIssued.
func (*StepIssue) Type() Type { return StepIssued }

// Validate checks s; see [Payload].
func (s *StepIssue) Validate() error {
	var v validation
	v.name("step", s.Step)
	if s.Unit != "" {
		v.name("unit", s.Unit)
	}
	v.line("title", s.Title, false)
	v.line("success", s.Success, false)
	v.lines("files", s.Files, 64)
	return v.err
}

// StepCompletion is the data of step.completed.
type StepCompletion struct {
	Step     string     `json:"step"`
	Summary  string     `json:"summary"`
	Evidence []Evidence `json:"evidence"`
	Commit   string     `json:"commit,omitzero"` // that holds the step's changes
}

// Type returns StepCompleted.
func (*StepCompletion) Type() Type { return StepCompleted }

// Validate checks s; see [Payload].
func (s *StepCompletion) Validate() error {
	var v validation
	v.name("step", s.Step)
	v.need("summary", s.Summary, MaxText)
	v.evidence("evidence", s.Evidence, 1)
	v.object("commit", s.Commit, true)
	return v.err
}

// StepFailure is the data of step.failed: the step is given up.
type StepFailure struct {
	Step     string     `json:"step"`
	Reason   string     `json:"reason"`
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Type returns StepFailed.
func (*StepFailure) Type() Type { return StepFailed }

// Validate checks s; see [Payload].
func (s *StepFailure) Validate() error {
	var v validation
	v.name("step", s.Step)
	v.need("reason", s.Reason, MaxText)
	v.evidence("evidence", s.Evidence, 0)
	return v.err
}

// Progress is the data of progress.recorded: how far a run has come, in its
// own words. It proves nothing.
type Progress struct {
	Step string `json:"step,omitzero"`
	Note string `json:"note"`
	// Done of Total are counted in whatever the note names.
	Done  int64 `json:"done,omitzero"`
	Total int64 `json:"total,omitzero"`
}

// Type returns ProgressRecorded.
func (*Progress) Type() Type { return ProgressRecorded }

// Validate checks p; see [Payload].
func (p *Progress) Validate() error {
	var v validation
	if p.Step != "" {
		v.name("step", p.Step)
	}
	v.need("note", p.Note, MaxText)
	v.number("done", p.Done, 0, 1_000_000)
	v.number("total", p.Total, 0, 1_000_000)
	v.that(p.Done <= p.Total, "done", "%d of %d", p.Done, p.Total)
	return v.err
}
