package events

// Defect is one reason of a rejection.
type Defect struct {
	Acceptance string `json:"acceptance,omitzero"`
	Path       string `json:"path,omitzero"`
	Text       string `json:"text"`
	Severity   string `json:"severity"` // low, medium, high or critical
}

// Approval is the data of approval.recorded: a person's yes or no to exact
// things.
type Approval struct {
	Verdict  string   `json:"verdict"`  // approve or reject
	Contract string   `json:"contract"` // contract digest
	Result   string   `json:"result"`   // eventhash of result.recorded
	Head     string   `json:"head"`
	Tree     string   `json:"tree"`
	Packet   string   `json:"packet"` // digest of the review packet that was read
	Defects  []Defect `json:"defects,omitempty"`
	Note     string   `json:"note,omitzero"`
	// Assurance is "" or AssuranceDegraded: the reviewer's principal took part
	// in the work, which a solo ledger allows.
	Assurance string `json:"assurance,omitzero"`
}

// AssuranceDegraded marks a receipt or an approval by the principal of whoever
// did the work.
const AssuranceDegraded = "same-principal-degraded"

// Type returns ApprovalRecorded.
func (*Approval) Type() Type { return ApprovalRecorded }

// Validate checks a; see [Payload].
func (a *Approval) Validate() error {
	var v validation
	v.oneOf("verdict", a.Verdict, "approve", "reject")
	v.digest("contract", a.Contract, false)
	v.digest("result", a.Result, false)
	v.object("head", a.Head, false)
	v.object("tree", a.Tree, false)
	v.digest("packet", a.Packet, false)
	v.that(a.Verdict == "reject" || len(a.Defects) == 0, "defects", "go with a rejection only")
	v.that(a.Verdict == "approve" || len(a.Defects) > 0, "defects", "a rejection names at least one")
	v.count("defects", len(a.Defects), 0, 64)
	for i, d := range a.Defects {
		if d.Acceptance != "" {
			v.name(index("defects", i)+".acceptance", d.Acceptance)
		}
		if d.Path != "" {
			v.path(index("defects", i)+".path", d.Path)
		}
		v.need(index("defects", i)+".text", d.Text, MaxText)
		v.oneOf(index("defects", i)+".severity", d.Severity, "low", "medium", "high", "critical")
	}
	v.text("note", a.Note, MaxText)
	v.that(a.Assurance == "" || a.Assurance == AssuranceDegraded, "assurance", "%q, want none or %s", clip(a.Assurance), AssuranceDegraded)
	return v.err
}

// Delivery is the data of delivery.recorded: the immutable receipt that the
// gate accepted.
type Delivery struct {
	Contract string `json:"contract"`
	Result   string `json:"result"`
	Target   string `json:"target"`
	// Commit and Tree are what is on the target now.
	Commit string `json:"commit"`
	Tree   string `json:"tree"`
}

// Type returns DeliveryRecorded.
func (*Delivery) Type() Type { return DeliveryRecorded }

// Validate checks d; see [Payload].
func (d *Delivery) Validate() error {
	var v validation
	v.digest("contract", d.Contract, false)
	v.digest("result", d.Result, false)
	v.line("target", d.Target, false)
	v.object("commit", d.Commit, false)
	v.object("tree", d.Tree, false)
	return v.err
}

// Finding is the data of finding.recorded: a mismatch between a claim and an
// objective fact.
type Finding struct {
	Severity string `json:"severity"` // fatal, check or hint
	Rule     string `json:"rule"`
	Text     string `json:"text"`
	Path     string `json:"path,omitzero"`
}

// Type returns FindingRecorded.
func (*Finding) Type() Type { return FindingRecorded }

// Validate checks f; see [Payload].
func (f *Finding) Validate() error {
	var v validation
	v.oneOf("severity", f.Severity, "fatal", "check", "hint")
	v.line("rule", f.Rule, false)
	v.need("text", f.Text, MaxText)
	if f.Path != "" {
		v.path("path", f.Path)
	}
	return v.err
}

// Acknowledgement is the data of finding.acknowledged; it closes a finding.
type Acknowledgement struct {
	Finding string `json:"finding"` // event id of finding.recorded
	Reason  string `json:"reason"`
}

// Type returns FindingAcknowledged.
func (*Acknowledgement) Type() Type { return FindingAcknowledged }

// Validate checks a; see [Payload].
func (a *Acknowledgement) Validate() error {
	var v validation
	v.that(validID(a.Finding), "finding", "%q is no event id", clip(a.Finding))
	v.need("reason", a.Reason, MaxText)
	return v.err
}
