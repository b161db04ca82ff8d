package delivery

import (
	"github.com/deedledger/deed/events"
)

// Origin says where in the ledger a file comes from.
type Origin struct {
	Schema   string          `json:"schema"`
	Ledger   string          `json:"ledger"`
	Position events.Position `json:"position"` // of the last event that the file says something of
	// Event, Hash, Actor and Admitted are those of the event that the file is about.
	Event    string `json:"event"`
	Hash     string `json:"hash"`
	Actor    string `json:"actor"`
	Admitted string `json:"admitted"` // RFC 3339, UTC
}

// ContractRef names a version of a contract.
type ContractRef struct {
	ID      string `json:"id"`
	Version int64  `json:"version"`
	Digest  string `json:"digest"`
}

// Contract is a version of a contract as people review it. Paths are as git prints them.
type Contract struct {
	TaskID     string         `json:"taskId"`
	Version    int64          `json:"version"`
	Digest     string         `json:"digest,omitzero"`
	Goal       string         `json:"goal"`
	NonGoals   []string       `json:"nonGoals"`
	Acceptance []ContractItem `json:"acceptance"`
	RiskTier   string         `json:"riskTier,omitzero"`
	Owners     *events.Owners `json:"owners,omitempty"`
	// RequiredEvidence says for each acceptance item what shows it: test, screenshot, api-response or human-review.
	RequiredEvidence map[string]string `json:"requiredEvidence,omitempty"`
	Expiry           string            `json:"expiry,omitzero"`
	Scope            events.Scope      `json:"scope"`
	Target           string            `json:"target,omitzero"`
	Reviewers        []string          `json:"reviewers,omitempty"`
	Quorum           int64             `json:"quorum,omitzero"`
	MaxRepairs       *int64            `json:"maxRepairs,omitempty"`
	MaxStalls        *int64            `json:"maxStalls,omitempty"`
	Parent           string            `json:"parent,omitzero"`
	Services         []events.Service  `json:"services,omitempty"`
	// Accepted says that an owner accepted this version.
	Accepted bool    `json:"accepted,omitzero"`
	Deed     *Origin `json:"deed,omitempty"` // nil in what a person writes
}

// ContractItem is an acceptance item.
type ContractItem struct {
	ID       string         `json:"id"`
	Text     string         `json:"text"`
	Required *bool          `json:"required,omitempty"`
	Checks   []events.Check `json:"checks"`
}

// Input is what an attempt depends on.
type Input struct {
	BaseCommit     string `json:"baseCommit"`
	MergeBase      string `json:"mergeBase"`
	LockfileDigest string `json:"lockfileDigest"`
	RuntimeImage   string `json:"runtimeImage"`
	PolicyDigest   string `json:"policyDigest"`
}

// WriteBoundary is what a run of the attempt may touch.
type WriteBoundary struct {
	Paths           []string            `json:"paths"`
	AllowedCommands []string            `json:"allowedCommands"`
	Effects         []events.EffectKind `json:"effects"`
}

// Attempt is a delivery attempt.
type Attempt struct {
	TaskID        string        `json:"taskId"`
	AttemptID     string        `json:"attemptId"`
	Contract      ContractRef   `json:"contract"`
	Input         Input         `json:"input"`
	WriteBoundary WriteBoundary `json:"writeBoundary"`
	ResultRefs    []string      `json:"resultRefs"`   // files below .agent-delivery
	Verification  string        `json:"verification"` // not_started, passed, failed or inconclusive
	Delivery      string        `json:"delivery"`     // not_requested, awaiting_review, approved or rejected
	State         string        `json:"state"`        // of the task, while this attempt was its newest
	Deed          *Origin       `json:"deed,omitempty"`
}

// Snapshot is what an attempt started from.
type Snapshot struct {
	TaskID        string              `json:"taskId"`
	AttemptID     string              `json:"attemptId"`
	Contract      ContractRef         `json:"contract"`
	Input         Input               `json:"input"`
	WriteBoundary WriteBoundary       `json:"writeBoundary"`
	Target        string              `json:"target"`
	Lockfiles     []events.PinnedFile `json:"lockfiles"`
	Tools         []events.Tool       `json:"tools"`
	Skills        []events.Tool       `json:"skills"`
	Flags         []string            `json:"flags"`
	Schema        string              `json:"schema,omitzero"`
	Model         string              `json:"model,omitzero"`
	PromptDigest  string              `json:"promptDigest,omitzero"`
	Rights        events.Rights       `json:"rights"`
	Deed          *Origin             `json:"deed,omitempty"`
}

// Result is what an implementer handed over. It claims nothing about the outside world.
type Result struct {
	TaskID    string               `json:"taskId"`
	AttemptID string               `json:"attemptId"`
	Commit    string               `json:"commit"`
	Base      string               `json:"base,omitzero"`
	Tree      string               `json:"tree,omitzero"`
	Changes   []events.ChangedPath `json:"changes"`
	Commands  []events.Ran         `json:"commands"`
	Claims    []events.Stated      `json:"claims,omitempty"`
	Uncovered []string             `json:"uncovered"`
	Summary   string               `json:"summary,omitzero"`
	Deed      *Origin              `json:"deed,omitempty"` // nil in what an implementer writes
}

// Receipt is what a verifier proved.
type Receipt struct {
	ReceiptID         string          `json:"receiptId"` // event id
	AttemptID         string          `json:"attemptId"`
	Verifier          events.Verifier `json:"verifier"`
	Checks            []ReceiptCheck  `json:"checks"`
	ObservedAt        string          `json:"observedAt"`
	InputDigest       string          `json:"inputDigest"`
	SignatureOrRunURL string          `json:"signatureOrRunUrl"` // URL of the run, else the signature: KEYID BASE64
	Commit            string          `json:"commit"`
	Binding           events.Binding  `json:"binding"`
	Nonce             string          `json:"nonce"`
	// Void says why the receipt counts as absent, "" while it counts.
	Void string  `json:"void,omitzero"`
	Deed *Origin `json:"deed,omitempty"`
}

// ReceiptCheck is the outcome of one check.
type ReceiptCheck struct {
	ID             string         `json:"id"`
	CommandOrSuite string         `json:"commandOrSuite"`
	Outcome        events.Outcome `json:"outcome"`
	ArtifactRef    string         `json:"artifactRef"` // sha256:DIGEST of all of its output
	Acceptance     string         `json:"acceptance"`
	Class          events.Class   `json:"class"`
	Rule           string         `json:"rule"`
	Exit           int64          `json:"exit"`
	Executed       int64          `json:"executed,omitzero"`
	Flaky          bool           `json:"flaky,omitzero"`
}

// Recovery is what was decided after the interruptions of an attempt.
type Recovery struct {
	TaskID    string             `json:"taskId"`
	AttemptID string             `json:"attemptId"`
	Decision  string             `json:"decision"`  // the newest one
	Decisions []RecoveryDecision `json:"decisions"` // newest first
	Deed      *Origin            `json:"deed,omitempty"`
}

// RecoveryDecision is one decision, on one world.
type RecoveryDecision struct {
	Decision string       `json:"decision"`
	Matches  []string     `json:"matches"`
	From     string       `json:"from"`
	To       string       `json:"to"`
	World    events.World `json:"world"`
	Event    string       `json:"event"`
	Actor    string       `json:"actor"`
}

// Approvals is what reviewers and the release gate said of an attempt.
type Approvals struct {
	TaskID    string           `json:"taskId"`
	AttemptID string           `json:"attemptId"`
	Approvals []Approval       `json:"approvals"`
	Delivery  *events.Delivery `json:"delivery,omitempty"`
	Deed      *Origin          `json:"deed,omitempty"`
}

// Approval is one person's yes or no.
type Approval struct {
	Reviewer string `json:"reviewer"`
	events.Approval
	Event string `json:"event"`
	// Void says what ended its force, "" while it counts.
	Void string `json:"void,omitzero"`
}

// Plan is how an attempt is meant to be worked on.
type Plan struct {
	Attempt string     `yaml:"attempt"` // TASK/ATTEMPT
	Summary string     `yaml:"summary"`
	Units   []Unit     `yaml:"units"`
	Deed    PlanOrigin `yaml:"deed"`
}

// Unit is a bounded part of a plan.
type Unit struct {
	Name         string   `yaml:"name"`
	Title        string   `yaml:"title"`
	Files        []string `yaml:"files,omitempty"`
	Acceptance   []string `yaml:"acceptance,omitempty"`
	Verification []string `yaml:"verification,omitempty"`
	Success      string   `yaml:"success"`
}

// PlanOrigin is the [Origin] of a plan.
type PlanOrigin struct {
	Schema   string `yaml:"schema"`
	Ledger   string `yaml:"ledger"`
	Position uint64 `yaml:"position"`
	Event    string `yaml:"event"`
	Hash     string `yaml:"hash"`
	Actor    string `yaml:"actor"`
	Admitted string `yaml:"admitted"`
}
