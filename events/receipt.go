package events

import "unicode/utf8"

// Outcome is what a check proved.
type Outcome string

// Class says why.
type Class string

// The outcomes and classes of a check. Fail goes with CodeFailure and with
// nothing else; the other two classes are inconclusive.
const (
	OutcomePass         Outcome = "pass"
	OutcomeFail         Outcome = "fail"
	OutcomeInconclusive Outcome = "inconclusive"

	ClassPass               Class = "pass"
	ClassCodeFailure        Class = "code_failure"
	ClassEnvironmentFailure Class = "environment_failure"
	ClassInconclusive       Class = "inconclusive"
)

// CheckOutcome is the outcome of one check.
type CheckOutcome struct {
	ID         string   `json:"id"`
	Acceptance string   `json:"acceptance"`
	Command    []string `json:"command"`
	Outcome    Outcome  `json:"outcome"`
	Class      Class    `json:"class"`
	// Rule names the rule that gave the class.
	Rule       string `json:"rule"`
	Exit       int64  `json:"exit"` // -1 when the command did not exit by itself
	DurationMS int64  `json:"durationMs"`
	Executed   int64  `json:"executed,omitzero"` // tests executed, where known
	Output     string `json:"output,omitzero"`   // bounded window of the output
	Artifact   string `json:"artifact"`          // SHA-256 of the whole output
}

// Environment is where a verifier ran.
type Environment struct {
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	Image string `json:"image,omitzero"`
	Tools []Tool `json:"tools,omitempty"`
}

// Verifier says who verified and how independent that was.
type Verifier struct {
	Kind      string `json:"kind"` // ci, human or isolated-agent
	Version   string `json:"version"`
	Assurance string `json:"assurance"` // isolated, same-host or same-principal-degraded
}

// Binding is what a receipt is about. The input digest is the SHA-256 of its
// RFC 8785 form: {checks, contract, environment, policy, result, tree}.
type Binding struct {
	Checks      string `json:"checks"`      // digest of the contract's checks
	Contract    string `json:"contract"`    // contract digest
	Environment string `json:"environment"` // digest of the environment
	Policy      string `json:"policy"`      // the attempt's pinned policy
	Result      string `json:"result"`      // eventhash of result.recorded
	Tree        string `json:"tree"`        // git tree
}

// Digest returns the input digest of b.
func (b Binding) Digest() (Hash, error) {
	text, err := Canonical(b)
	if err != nil {
		return Hash{}, err
	}
	return Sum(text), nil
}

// Receipt is the data of receipt.recorded.
type Receipt struct {
	Binding     Binding        `json:"binding"`
	InputDigest string         `json:"inputDigest"`
	Head        string         `json:"head"`
	Environment Environment    `json:"environment"`
	Verifier    Verifier       `json:"verifier"`
	Nonce       string         `json:"nonce"`
	ObservedAt  string         `json:"observedAt"`
	Checks      []CheckOutcome `json:"checks"`
	RunURL      string         `json:"runUrl,omitzero"`
}

// Type returns ReceiptRecorded.
func (*Receipt) Type() Type { return ReceiptRecorded }

// Validate checks r; see [Payload]. A receipt whose input digest does not
// follow from its binding, or whose environment digest does not follow from
// its environment, is refused here.
func (r *Receipt) Validate() error {
	var v validation
	b := r.Binding
	for _, f := range [...][2]string{{"checks", b.Checks}, {"contract", b.Contract}, {"environment", b.Environment}, {"policy", b.Policy}, {"result", b.Result}} {
		v.digest("binding."+f[0], f[1], false)
	}
	v.object("binding.tree", b.Tree, false)
	v.object("head", r.Head, false)
	v.digest("inputDigest", r.InputDigest, false)
	v.line("environment.os", r.Environment.OS, false)
	v.line("environment.arch", r.Environment.Arch, false)
	v.line("environment.image", r.Environment.Image, true)
	validTools(&v, "environment.tools", r.Environment.Tools)
	v.oneOf("verifier.kind", r.Verifier.Kind, "ci", "human", "isolated-agent")
	v.line("verifier.version", r.Verifier.Version, false)
	v.oneOf("verifier.assurance", r.Verifier.Assurance, "isolated", "same-host", "same-principal-degraded")
	v.that(utf8.RuneCountInString(r.Nonce) >= 16, "nonce", "is shorter than 16 characters")
	v.line("nonce", r.Nonce, false)
	v.that(r.ObservedAt != "", "observedAt", "is missing")
	v.when("observedAt", r.ObservedAt)
	v.line("runUrl", r.RunURL, true)
	v.count("checks", len(r.Checks), 1, 128)
	ids := make([]string, len(r.Checks))
	for i, c := range r.Checks {
		ids[i] = c.ID
		v.within(index("checks", i), c.validate)
	}
	v.unique("checks", ids)
	if v.err == nil {
		r.validateDigests(&v)
	}
	return v.err
}

// validateDigests recomputes the two digests that r states about itself.
func (r *Receipt) validateDigests(v *validation) {
	env, err := DigestOf(r.Environment)
	v.that(err == nil && env.String() == r.Binding.Environment, "binding.environment", "is not the digest of environment")
	in, err := r.Binding.Digest()
	v.that(err == nil && in.String() == r.InputDigest, "inputDigest", "is not the digest of binding")
}

// DigestOf returns the SHA-256 of the RFC 8785 form of v.
func DigestOf(v any) (Hash, error) {
	text, err := Canonical(v)
	if err != nil {
		return Hash{}, err
	}
	return Sum(text), nil
}

func (c CheckOutcome) validate(v *validation) {
	v.name("id", c.ID)
	v.name("acceptance", c.Acceptance)
	v.command("command", c.Command, false)
	v.oneOf("outcome", string(c.Outcome), string(OutcomePass), string(OutcomeFail), string(OutcomeInconclusive))
	v.oneOf("class", string(c.Class), string(ClassPass), string(ClassCodeFailure), string(ClassEnvironmentFailure), string(ClassInconclusive))
	want := OutcomeInconclusive
	switch c.Class {
	case ClassPass:
		want = OutcomePass
	case ClassCodeFailure:
		want = OutcomeFail
	}
	v.that(c.Outcome == want, "outcome", "%s does not go with class %s", c.Outcome, c.Class)
	v.line("rule", c.Rule, false)
	v.number("exit", c.Exit, -1, 255)
	v.that(c.Class != ClassPass || c.Exit == 0, "exit", "a pass needs exit code 0")
	v.number("durationMs", c.DurationMS, 0, maxInt)
	v.number("executed", c.Executed, 0, maxInt)
	v.text("output", c.Output, MaxText)
	v.digest("artifact", c.Artifact, false)
}
