package events

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

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
	// Counts are what the check's test report counts; nil without a report.
	Counts *Counts `json:"counts,omitempty"`
	// Flaky says that tries on the same input gave different outcomes, or that
	// the report says so of a test.
	Flaky bool `json:"flaky,omitzero"`
	// Tries are the earlier tries of a check that ran again, oldest first.
	Tries []Try `json:"tries,omitempty"`
	// Notes are findings on this outcome, such as "executed 12, before 40".
	Notes []string `json:"notes,omitempty"`
	// Evidence is what else shows the outcome: screenshots, traces, replies.
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Counts are the tests of a report. Those that were neither executed nor
// skipped never ended.
type Counts struct {
	Total    int64 `json:"total"`
	Executed int64 `json:"executed"`
	Passed   int64 `json:"passed"`
	Failed   int64 `json:"failed"`
	Skipped  int64 `json:"skipped"`
	Flaky    int64 `json:"flaky,omitzero"` // failed, and passed when tried again
}

// Try is how an earlier try of a check ended.
type Try struct {
	Outcome    Outcome `json:"outcome"`
	Class      Class   `json:"class"`
	Rule       string  `json:"rule"`
	Exit       int64   `json:"exit"`
	DurationMS int64   `json:"durationMs"`
	Artifact   string  `json:"artifact"`
}

// ReceiptSource says where a receipt's outcomes come from: checks that the verifier
// ran itself, or the run of a CI provider that it imported.
type ReceiptSource struct {
	Kind           string `json:"kind"` // run or import
	Provider       string `json:"provider,omitzero"`
	Workflow       string `json:"workflow,omitzero"`
	WorkflowCommit string `json:"workflowCommit,omitzero"` // where the workflow's own text is from
	RunID          string `json:"runId,omitzero"`
	RunAttempt     int64  `json:"runAttempt,omitzero"`
	URL            string `json:"url,omitzero"`
	Commit         string `json:"commit,omitzero"` // what the run tested
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
	// Confinement is what kept the checks from the rest of the machine:
	// "landlock-N" by the version of that interface, or "none: REASON".
	Confinement string `json:"confinement,omitzero"`
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
	Source      *ReceiptSource `json:"source,omitempty"`
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
	v.that(r.Verifier.Confinement == "" || validConfinement(r.Verifier.Confinement), "verifier.confinement", "%q, want landlock-N or none: REASON", clip(r.Verifier.Confinement))
	v.line("verifier.confinement", r.Verifier.Confinement, true)
	if r.Source != nil {
		v.within("source", r.Source.validate)
	}
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
	Try{c.Outcome, c.Class, c.Rule, c.Exit, c.DurationMS, c.Artifact}.validate(v)
	v.number("executed", c.Executed, 0, maxInt)
	v.text("output", c.Output, MaxText)
	if c.Counts != nil {
		v.within("counts", c.Counts.validate)
	}
	v.count("tries", len(c.Tries), 0, 8)
	for i, t := range c.Tries {
		v.within(index("tries", i), t.validate)
	}
	v.lines("notes", c.Notes, 16)
	v.evidence("evidence", c.Evidence, 0)
}

func (t Try) validate(v *validation) {
	v.outcome("outcome", t.Outcome)
	v.oneOf("class", string(t.Class), string(ClassPass), string(ClassCodeFailure), string(ClassEnvironmentFailure), string(ClassInconclusive))
	want := OutcomeInconclusive
	switch t.Class {
	case ClassPass:
		want = OutcomePass
	case ClassCodeFailure:
		want = OutcomeFail
	}
	v.that(t.Outcome == want, "outcome", "%s does not go with class %s", t.Outcome, t.Class)
	v.line("rule", t.Rule, false)
	v.number("exit", t.Exit, -1, 255)
	v.that(t.Class != ClassPass || t.Exit == 0, "exit", "a pass needs exit code 0")
	v.number("durationMs", t.DurationMS, 0, maxInt)
	v.digest("artifact", t.Artifact, false)
}

// outcome checks one of the three outcomes.
func (v *validation) outcome(member string, o Outcome) {
	v.oneOf(member, string(o), string(OutcomePass), string(OutcomeFail), string(OutcomeInconclusive))
}

func (c *Counts) validate(v *validation) {
	v.number("total", c.Total, 0, maxInt)
	v.number("executed", c.Executed, 0, c.Total)
	v.number("passed", c.Passed, 0, c.Executed)
	v.number("failed", c.Failed, 0, c.Executed-c.Passed)
	v.number("skipped", c.Skipped, 0, c.Total-c.Executed)
	v.number("flaky", c.Flaky, 0, c.Executed)
}

func (s *ReceiptSource) validate(v *validation) {
	v.oneOf("kind", s.Kind, "run", "import")
	v.line("provider", s.Provider, true)
	v.line("workflow", s.Workflow, true)
	v.object("workflowCommit", s.WorkflowCommit, true)
	v.line("runId", s.RunID, true)
	v.number("runAttempt", s.RunAttempt, 0, 1_000_000)
	v.url("url", s.URL)
	v.object("commit", s.Commit, s.Kind != "import")
	v.that(s.Kind != "import" || s.RunID != "", "runId", "an imported run has an id")
}

// validConfinement reports whether s is a word of Verifier.Confinement.
func validConfinement(s string) bool {
	if reason, ok := strings.CutPrefix(s, "none: "); ok {
		return reason != ""
	}
	version, ok := strings.CutPrefix(s, "landlock-")
	n, err := strconv.ParseUint(version, 10, 16)
	return ok && err == nil && n > 0 && version == strconv.FormatUint(n, 10)
}
