package events

// ChangedPath is one changed path of a result and the acceptance items that
// it serves.
type ChangedPath struct {
	Path       string   `json:"path"`
	Status     string   `json:"status"` // A added, M modified, D deleted, T type changed
	Acceptance []string `json:"acceptance,omitempty"`
}

// Stated is what an implementer says about one acceptance item.
type Stated struct {
	Acceptance string   `json:"acceptance"`
	Text       string   `json:"text"`
	Evidence   []string `json:"evidence,omitempty"`
}

// Ran is a command that an implementer says it ran, and its exit code.
type Ran struct {
	Command []string `json:"command"`
	Exit    int64    `json:"exit"`
}

// Result is the data of result.recorded: what an implementer hands over. It
// says nothing about the outside world.
type Result struct {
	Base      string        `json:"base"`
	Head      string        `json:"head"`
	Tree      string        `json:"tree"`
	Changes   []ChangedPath `json:"changes"`
	Claims    []Stated      `json:"claims,omitempty"`
	Commands  []Ran         `json:"commands,omitempty"`
	Uncovered []string      `json:"uncovered,omitempty"`
	Summary   string        `json:"summary,omitzero"`
	// Authors are the e-mail addresses of authors and committers in
	// base..head, sorted.
	Authors []string `json:"authors"`
	// Outside are changes that the author found to be outside the boundary. Such
	// a result is refused, and the service records boundary.violated.
	Outside []Trespass `json:"outside,omitempty"`
}

// Type returns ResultRecorded.
func (*Result) Type() Type { return ResultRecorded }

// Validate checks r; see [Payload].
func (r *Result) Validate() error {
	var v validation
	v.object("base", r.Base, false)
	v.object("head", r.Head, false)
	v.object("tree", r.Tree, false)
	v.count("changes", len(r.Changes), 1, MaxChanges)
	paths := make([]string, len(r.Changes))
	for i, c := range r.Changes {
		paths[i] = c.Path
		v.path(index("changes", i)+".path", c.Path)
		v.oneOf(index("changes", i)+".status", c.Status, "A", "M", "D", "T")
		v.count(index("changes", i)+".acceptance", len(c.Acceptance), 0, 64)
		for _, a := range c.Acceptance {
			v.name(index("changes", i)+".acceptance", a)
		}
	}
	v.sorted("changes", paths)
	v.count("claims", len(r.Claims), 0, 64)
	for i, c := range r.Claims {
		v.name(index("claims", i)+".acceptance", c.Acceptance)
		v.need(index("claims", i)+".text", c.Text, MaxText)
		v.lines(index("claims", i)+".evidence", c.Evidence, 64)
	}
	v.count("commands", len(r.Commands), 0, 64)
	for i, c := range r.Commands {
		v.command(index("commands", i)+".command", c.Command, false)
		v.number(index("commands", i)+".exit", c.Exit, -1, 255)
	}
	v.lines("uncovered", r.Uncovered, 64)
	v.text("summary", r.Summary, MaxText)
	v.count("authors", len(r.Authors), 1, MaxList)
	v.lines("authors", r.Authors, MaxList)
	v.sorted("authors", r.Authors)
	v.count("outside", len(r.Outside), 0, MaxList)
	validTrespasses(&v, "outside", r.Outside)
	return v.err
}

// RepairRequest is the data of repair.requested.
type RepairRequest struct {
	Items  []string `json:"items"` // acceptance items to mend
	Reason string   `json:"reason"`
}

// Type returns RepairRequested.
func (*RepairRequest) Type() Type { return RepairRequested }

// Validate checks r; see [Payload].
func (r *RepairRequest) Validate() error {
	var v validation
	v.count("items", len(r.Items), 1, 64)
	for i, s := range r.Items {
		v.name(index("items", i), s)
	}
	v.sorted("items", r.Items)
	v.need("reason", r.Reason, MaxText)
	return v.err
}

// RepairAcceptance is the data of repair.accepted: the queued repair may be
// worked on.
type RepairAcceptance struct {
	Kind string `json:"kind"` // code, rebase or inputs
	Note string `json:"note,omitzero"`
}

// Type returns RepairAccepted.
func (*RepairAcceptance) Type() Type { return RepairAccepted }

// Validate checks r; see [Payload].
func (r *RepairAcceptance) Validate() error {
	var v validation
	v.oneOf("kind", r.Kind, "code", "rebase", "inputs")
	v.text("note", r.Note, MaxText)
	return v.err
}
