package events

// ContractRef names one version of a contract.
type ContractRef struct {
	Version int64  `json:"version"`
	Digest  string `json:"digest"`
}

// Tool is a program or a skill and its version.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest,omitzero"`
}

// Rights are the four layers of right of an attempt, as they were at its
// start. Credentials are named, never shown.
type Rights struct {
	Identity     string       `json:"identity"`
	Capabilities []string     `json:"capabilities,omitempty"`
	Paths        []string     `json:"paths"`
	Effects      []EffectKind `json:"effects,omitempty"`
	Approvals    []EffectKind `json:"approvals,omitempty"`
}

// Inputs are the facts that an attempt depends on. A snapshot pins them, a
// world measures them again; both list the same things in the same form.
type Inputs struct {
	// Lockfiles are sorted by path; LockDigest is their combined digest.
	Lockfiles    []PinnedFile `json:"lockfiles,omitempty"`
	LockDigest   string       `json:"lockDigest"`
	RuntimeImage string       `json:"runtimeImage,omitzero"`
	Tools        []Tool       `json:"tools,omitempty"`
	Skills       []Tool       `json:"skills,omitempty"`
	Flags        []string     `json:"flags,omitempty"`
	Schema       string       `json:"schema,omitzero"`
	// Policy and Boundary are digests of the rules that a run is held to.
	Policy   string `json:"policy"`
	Boundary string `json:"boundary"`
}

func (i Inputs) validate(v *validation) {
	v.count("lockfiles", len(i.Lockfiles), 0, MaxList)
	paths := make([]string, len(i.Lockfiles))
	for n, f := range i.Lockfiles {
		paths[n] = f.Path
		v.path(index("lockfiles", n)+".path", f.Path)
		v.digest(index("lockfiles", n)+".digest", f.Digest, false)
	}
	v.sorted("lockfiles", paths)
	v.digest("lockDigest", i.LockDigest, false)
	v.line("runtimeImage", i.RuntimeImage, true)
	validTools(v, "tools", i.Tools)
	validTools(v, "skills", i.Skills)
	v.lines("flags", i.Flags, MaxList)
	v.line("schema", i.Schema, true)
	v.digest("policy", i.Policy, false)
	v.digest("boundary", i.Boundary, false)
}

// validTools checks a list of tools, sorted by name.
func validTools(v *validation, member string, tools []Tool) {
	v.count(member, len(tools), 0, MaxList)
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
		v.line(index(member, i)+".name", t.Name, false)
		v.line(index(member, i)+".version", t.Version, false)
		v.digest(index(member, i)+".digest", t.Digest, true)
	}
	v.sorted(member, names)
}

// Snapshot is what an attempt starts from.
type Snapshot struct {
	BaseCommit   string `json:"baseCommit"`
	MergeBase    string `json:"mergeBase"`
	Target       string `json:"target"`
	Inputs       Inputs `json:"inputs"`
	Model        string `json:"model,omitzero"`
	PromptDigest string `json:"promptDigest,omitzero"`
	Rights       Rights `json:"rights"`
}

// Attempt is the data of attempt.opened; the event's subject is its id.
type Attempt struct {
	Contract ContractRef `json:"contract"`
	Snapshot Snapshot    `json:"snapshot"`
}

// Type returns AttemptOpened.
func (*Attempt) Type() Type { return AttemptOpened }

// Validate checks a; see [Payload].
func (a *Attempt) Validate() error {
	var v validation
	v.number("contract.version", a.Contract.Version, 1, 1_000_000)
	v.digest("contract.digest", a.Contract.Digest, false)
	v.within("snapshot", a.Snapshot.validate)
	return v.err
}

func (s Snapshot) validate(v *validation) {
	v.object("baseCommit", s.BaseCommit, false)
	v.object("mergeBase", s.MergeBase, false)
	v.line("target", s.Target, false)
	v.within("inputs", s.Inputs.validate)
	v.line("model", s.Model, true)
	v.digest("promptDigest", s.PromptDigest, true)
	v.actor("rights.identity", s.Rights.Identity)
	v.lines("rights.capabilities", s.Rights.Capabilities, 64)
	v.sorted("rights.capabilities", s.Rights.Capabilities)
	v.lines("rights.paths", s.Rights.Paths, 64)
	validKinds(v, s.Rights.Effects, s.Rights.Approvals)
}

func validKinds(v *validation, lists ...[]EffectKind) {
	for _, list := range lists {
		v.count("rights.effects", len(list), 0, 16)
		for _, k := range list {
			v.that(k.Valid(), "rights.effects", "%q is no kind of effect", clip(string(k)))
		}
	}
}

// World is what was measured at the time of an event: git facts relative to
// the attempt's snapshot, and the inputs again.
type World struct {
	Head string `json:"head"`
	Tree string `json:"tree"`
	// BaseKept says that the pinned base is an ancestor of head.
	BaseKept bool `json:"baseKept"`
	// BaseOnTarget says that the pinned base is still in the target's history.
	BaseOnTarget bool   `json:"baseOnTarget"`
	TargetTip    string `json:"targetTip,omitzero"`
	// MergeTree is the tree of a trial merge of the result (else head) onto
	// the target's tip; empty when it conflicts.
	MergeTree string `json:"mergeTree,omitzero"`
	// Foreign are uncommitted changes that no run of the task made, encoded
	// paths, sorted.
	Foreign []string `json:"foreign,omitempty"`
	// Missing are capabilities of the snapshot that are not there now.
	Missing []string `json:"missing,omitempty"`
	Inputs  Inputs   `json:"inputs"`
}

func (w World) validate(v *validation) {
	v.object("head", w.Head, false)
	v.object("tree", w.Tree, false)
	v.object("targetTip", w.TargetTip, true)
	v.object("mergeTree", w.MergeTree, true)
	v.count("foreign", len(w.Foreign), 0, MaxList)
	for i, p := range w.Foreign {
		v.path(index("foreign", i), p)
	}
	v.sorted("foreign", w.Foreign)
	v.lines("missing", w.Missing, 64)
	v.sorted("missing", w.Missing)
	v.within("inputs", w.Inputs.validate)
}

// Interruption is the data of attempt.interrupted: a lease ended without its
// holder's word.
type Interruption struct {
	Cause string `json:"cause"` // "lease-expired", "holder-revoked" or "controller"
	// Fence is the run that was ended.
	Fence int64  `json:"fence"`
	Text  string `json:"text,omitzero"`
}

// Type returns AttemptInterrupted.
func (*Interruption) Type() Type { return AttemptInterrupted }

// Validate checks i; see [Payload].
func (i *Interruption) Validate() error {
	var v validation
	v.oneOf("cause", i.Cause, "lease-expired", "holder-revoked", "controller")
	v.number("fence", i.Fence, 1, maxInt)
	v.text("text", i.Text, MaxText)
	return v.err
}

// Escalation is the data of attempt.escalated.
type Escalation struct {
	Reason string `json:"reason"`
	// NextStep is what a person can do about it.
	NextStep string `json:"nextStep"`
}

// Type returns AttemptEscalated.
func (*Escalation) Type() Type { return AttemptEscalated }

// Validate checks e; see [Payload].
func (e *Escalation) Validate() error {
	var v validation
	v.need("reason", e.Reason, MaxText)
	v.need("nextStep", e.NextStep, MaxText)
	return v.err
}

// Resolution is the data of escalation.resolved: a person's way on.
type Resolution struct {
	Action string `json:"action"` // resume, reverify, repair, new-attempt or cancel
	Reason string `json:"reason"`
	// Allowance is the number of further repairs granted with "repair".
	Allowance int64 `json:"allowance,omitzero"`
	// Policy and Boundary re-pin the attempt's digests.
	Policy   string `json:"policy,omitzero"`
	Boundary string `json:"boundary,omitzero"`
	// Rights re-pins, with Boundary, which kinds of effect are free.
	Rights *EffectRights `json:"rights,omitzero"`
}

// EffectRights are the kinds of effect that need no approval of their own, and
// those that need one although the contract lists them.
type EffectRights struct {
	Effects   []EffectKind `json:"effects,omitempty"`
	Approvals []EffectKind `json:"approvals,omitempty"`
}

// Type returns EscalationResolved.
func (*Resolution) Type() Type { return EscalationResolved }

// Validate checks r; see [Payload].
func (r *Resolution) Validate() error {
	var v validation
	v.oneOf("action", r.Action, "resume", "reverify", "repair", "new-attempt", "cancel")
	v.need("reason", r.Reason, MaxText)
	v.number("allowance", r.Allowance, 0, 100)
	v.that(r.Allowance == 0 || r.Action == "repair", "allowance", "goes with action repair only")
	v.digest("policy", r.Policy, true)
	v.digest("boundary", r.Boundary, true)
	if r.Rights != nil {
		v.that(r.Boundary != "", "rights", "goes with boundary only")
		validKinds(&v, r.Rights.Effects, r.Rights.Approvals)
	}
	return v.err
}
