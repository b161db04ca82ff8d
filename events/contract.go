package events

// Check is one executable proof of one acceptance item: a command and the
// digests of the files that belong to the check itself.
type Check struct {
	ID string `json:"id"`
	// Command is an argument vector; no shell is involved unless it names one.
	Command []string `json:"command"`
	// Dir is where the command runs, an encoded path below the repository.
	Dir string `json:"dir,omitzero"`
	// Files are the check's own files, sorted by path. The verifier runs
	// exactly these bytes.
	Files          []PinnedFile `json:"files,omitempty"`
	TimeoutSeconds int64        `json:"timeoutSeconds"`
	// Report is the test report that the command writes; nil when only its exit
	// status speaks.
	Report *ReportRef `json:"report,omitempty"`
	// Skips are the names of tests that may be skipped, sorted; any other
	// skipped test leaves the check unproven.
	Skips []string `json:"skips,omitempty"`
}

// ReportRef says where a check's command writes its test report, and in which
// form.
type ReportRef struct {
	Format string `json:"format"` // one of ReportFormats
	// Path is an encoded path below the repository; "-" is the command's
	// output, for go-test-json and tap only.
	Path string `json:"path"`
}

// ReportFormats returns the forms of test reports that a check may name.
func ReportFormats() []string { return []string{"go-test-json", "junit", "tap", "ctrf", "sarif"} }

// Service is something outside the repository that checks need, such as a
// database. Its command exits with 0 exactly while the service is healthy.
type Service struct {
	Name           string   `json:"name"`
	Command        []string `json:"command"`
	TimeoutSeconds int64    `json:"timeoutSeconds"`
}

// PinnedFile is a path and the SHA-256 of its content.
type PinnedFile struct {
	Path   string `json:"path"`
	Digest string `json:"digest"`
}

// Item is one acceptance item of a contract.
type Item struct {
	ID       string  `json:"id"`
	Text     string  `json:"text"`
	Required bool    `json:"required"`
	Evidence string  `json:"evidence"` // test, screenshot, api-response or human-review
	Checks   []Check `json:"checks"`
}

// Owners are the actors responsible for a contract's parts.
type Owners struct {
	Product string `json:"product"`
	Code    string `json:"code,omitzero"`
	Test    string `json:"test,omitzero"`
	Release string `json:"release,omitzero"`
}

// Scope is what a run may touch: paths by glob, commands, effects by kind.
type Scope struct {
	Include  []string     `json:"include"`
	Exclude  []string     `json:"exclude,omitempty"`
	Commands []string     `json:"commands,omitempty"`
	Effects  []EffectKind `json:"effects,omitempty"`
}

// Contract is the data of contract.proposed: what is to be delivered. Its
// digest is the SHA-256 of the event's data.
type Contract struct {
	Version    int64    `json:"version"`
	Goal       string   `json:"goal"`
	NonGoals   []string `json:"nonGoals,omitempty"`
	Acceptance []Item   `json:"acceptance"`
	RiskTier   string   `json:"riskTier"`
	Owners     Owners   `json:"owners"`
	Scope      Scope    `json:"scope"`
	// Target is the branch that the delivery goes to, such as "main".
	Target     string   `json:"target"`
	Reviewers  []string `json:"reviewers,omitempty"`
	Quorum     int64    `json:"quorum"`
	MaxRepairs int64    `json:"maxRepairs"`
	MaxStalls  int64    `json:"maxStalls"`
	Expires    string   `json:"expires,omitzero"`
	Parent     string   `json:"parent,omitzero"`
	// Services are asked for their health where a check fails: while one is
	// down, a failure is the environment's and not the code's.
	Services []Service `json:"services,omitempty"`
}

// Type returns ContractProposed.
func (*Contract) Type() Type { return ContractProposed }

// Item returns the acceptance item with the given id, nil when there is none.
func (c *Contract) Item(id string) *Item {
	for i := range c.Acceptance {
		if c.Acceptance[i].ID == id {
			return &c.Acceptance[i]
		}
	}
	return nil
}

// Digest returns the contract digest: SHA-256 of the canonical data.
func (c *Contract) Digest() (Hash, error) {
	data, err := EncodeData(c)
	if err != nil {
		return Hash{}, err
	}
	return Sum(data), nil
}

// ChecksDigest returns the SHA-256 of the RFC 8785 form of the acceptance
// items with their pinned checks: what a receipt says it ran.
func (c *Contract) ChecksDigest() (Hash, error) { return DigestOf(c.Acceptance) }

// Validate checks c; see [Payload].
func (c *Contract) Validate() error {
	var v validation
	v.number("version", c.Version, 1, 1_000_000)
	v.need("goal", c.Goal, MaxText)
	v.lines("nonGoals", c.NonGoals, 32)
	v.count("acceptance", len(c.Acceptance), 1, 64)
	c.validateItems(&v)
	v.oneOf("riskTier", c.RiskTier, "read-only", "code", "preview", "production")
	v.within("owners", c.Owners.validate)
	v.within("scope", c.Scope.validate)
	v.line("target", c.Target, false)
	for i, r := range c.Reviewers {
		v.actor(index("reviewers", i), r)
	}
	v.count("reviewers", len(c.Reviewers), 0, 16)
	v.sorted("reviewers", c.Reviewers)
	v.number("quorum", c.Quorum, 1, 16)
	v.that(len(c.Reviewers) == 0 || int64(len(c.Reviewers)) >= c.Quorum, "quorum", "%d is more than the named reviewers", c.Quorum)
	v.number("maxRepairs", c.MaxRepairs, 0, 100)
	v.number("maxStalls", c.MaxStalls, 1, 100)
	v.when("expires", c.Expires)
	v.that(c.Parent == "" || ValidTask(c.Parent), "parent", "%q is no task", clip(c.Parent))
	v.count("services", len(c.Services), 0, 16)
	names := make([]string, len(c.Services))
	for i, s := range c.Services {
		names[i] = s.Name
		v.within(index("services", i), s.validate)
	}
	v.unique("services", names)
	return v.err
}

func (c *Contract) validateItems(v *validation) {
	required := false
	var items, checks []string
	for i, item := range c.Acceptance {
		v.within(index("acceptance", i), item.validate)
		required = required || item.Required
		items = append(items, item.ID)
		for _, check := range item.Checks {
			checks = append(checks, check.ID)
		}
	}
	v.that(required, "acceptance", "no item is required")
	v.unique("acceptance", items)
	v.unique("checks", checks)
}

func (i Item) validate(v *validation) {
	v.name("id", i.ID)
	v.need("text", i.Text, MaxText)
	v.oneOf("evidence", i.Evidence, "test", "screenshot", "api-response", "human-review")
	v.count("checks", len(i.Checks), 1, 16)
	for n, c := range i.Checks {
		v.within(index("checks", n), c.validate)
	}
}

func (c Check) validate(v *validation) {
	v.name("id", c.ID)
	v.command("command", c.Command, false)
	if c.Dir != "" {
		v.path("dir", c.Dir)
	}
	v.count("files", len(c.Files), 0, 64)
	paths := make([]string, len(c.Files))
	for i, f := range c.Files {
		paths[i] = f.Path
		v.path(index("files", i)+".path", f.Path)
		v.digest(index("files", i)+".digest", f.Digest, false)
	}
	v.sorted("files", paths)
	v.number("timeoutSeconds", c.TimeoutSeconds, 1, 86_400)
	if c.Report != nil {
		v.within("report", c.Report.validate)
	}
	v.lines("skips", c.Skips, 64)
	v.sorted("skips", c.Skips)
}

func (r *ReportRef) validate(v *validation) {
	v.oneOf("format", r.Format, ReportFormats()...)
	v.path("path", r.Path)
	v.that(r.Path != "-" || r.Format == "go-test-json" || r.Format == "tap", "path", "the output of a command is no %s report", r.Format)
}

func (s Service) validate(v *validation) {
	v.name("name", s.Name)
	v.command("command", s.Command, false)
	v.number("timeoutSeconds", s.TimeoutSeconds, 1, 86_400)
}

func (o Owners) validate(v *validation) {
	v.actor("product", o.Product)
	for _, f := range [...][2]string{{"code", o.Code}, {"test", o.Test}, {"release", o.Release}} {
		if f[1] != "" {
			v.actor(f[0], f[1])
		}
	}
}

func (s Scope) validate(v *validation) {
	v.count("include", len(s.Include), 1, 64)
	v.lines("include", s.Include, 64)
	v.lines("exclude", s.Exclude, 64)
	v.lines("commands", s.Commands, 64)
	v.count("effects", len(s.Effects), 0, 16)
	for i, k := range s.Effects {
		v.that(k.Valid(), index("effects", i), "%q is no kind of effect", clip(string(k)))
	}
}

// Acceptance is the data of contract.accepted.
type Acceptance struct {
	Version int64  `json:"version"`
	Digest  string `json:"digest"` // contract digest
}

// Type returns ContractAccepted.
func (*Acceptance) Type() Type { return ContractAccepted }

// Validate checks a; see [Payload].
func (a *Acceptance) Validate() error {
	var v validation
	v.number("version", a.Version, 1, 1_000_000)
	v.digest("digest", a.Digest, false)
	return v.err
}

// Withdrawal is the data of contract.withdrawn; it ends the task.
type Withdrawal struct {
	Reason string `json:"reason"`
}

// Type returns ContractWithdrawn.
func (*Withdrawal) Type() Type { return ContractWithdrawn }

// Validate checks w; see [Payload].
func (w *Withdrawal) Validate() error { return validReason(w.Reason) }

// Cancellation is the data of task.cancelled.
type Cancellation struct {
	Reason string `json:"reason"`
}

// Type returns TaskCancelled.
func (*Cancellation) Type() Type { return TaskCancelled }

// Validate checks c; see [Payload].
func (c *Cancellation) Validate() error { return validReason(c.Reason) }

// validReason checks a data object that holds only a reason.
func validReason(reason string) error {
	var v validation
	v.need("reason", reason, MaxText)
	return v.err
}
