package events

// EffectKind is a kind of change to the outside world.
type EffectKind string

// The kinds of effects.
const (
	EffectNone             EffectKind = "none"
	EffectPreview          EffectKind = "preview"
	EffectDraftPR          EffectKind = "draft-pr"
	EffectCommit           EffectKind = "commit"
	EffectMerge            EffectKind = "merge"
	EffectProductionDeploy EffectKind = "production-deploy"
	EffectMigrate          EffectKind = "migrate"
	EffectPublish          EffectKind = "publish"
	EffectNotify           EffectKind = "notify"
)

// Valid reports whether k is one of the kinds.
func (k EffectKind) Valid() bool {
	switch k {
	case EffectNone, EffectPreview, EffectDraftPR, EffectCommit, EffectMerge, EffectProductionDeploy, EffectMigrate, EffectPublish, EffectNotify:
		return true
	}
	return false
}

// ReleaseOnly reports whether k needs an approval always and a release run.
func (k EffectKind) ReleaseOnly() bool { return k == EffectMerge || k == EffectProductionDeploy }

// MaxKey bounds an idempotency key, in characters.
const MaxKey = 256

// Identity is what an effect's key is derived from.
type Identity struct {
	InputDigest string     `json:"inputDigest"`
	Kind        EffectKind `json:"kind"`
	Occurrence  string     `json:"occurrence"`
	Target      string     `json:"target"`
	Task        string     `json:"task"`
}

// Key returns the idempotency key: SHA-256 of the RFC 8785 form of i, in
// lower-case hex.
func (i Identity) Key() (string, error) {
	h, err := DigestOf(i)
	if err != nil {
		return "", err
	}
	return h.String(), nil
}

// Intent is the data of effect.intended. Key, and with it everything else
// here, is unique for ever in the ledger.
type Intent struct {
	Key           string     `json:"key"`
	Kind          EffectKind `json:"kind"`
	Target        string     `json:"target"`
	Occurrence    string     `json:"occurrence,omitzero"`
	InputDigest   string     `json:"inputDigest"`
	PayloadDigest string     `json:"payloadDigest"`
	// Provider says what the provider does with a call that comes a second
	// time or late, where it does anything.
	Provider Provider `json:"provider,omitzero"`
	// Commit is the commit that the effect acts on, where there is one.
	Commit string `json:"commit,omitzero"`
	// Parts name what can succeed or fail by itself; none means one part.
	Parts []string `json:"parts,omitempty"`
	// Probe is the command that can tell later whether the effect happened.
	Probe []string `json:"probe,omitempty"`
	// Git is the whole effect where Deed itself moves a branch. The payload
	// digest is its own, and the repository can be asked instead of a probe.
	Git *GitChange `json:"git,omitempty"`
	// Compensates is the key of the effect that this one undoes, in the parts
	// that it names.
	Compensates string `json:"compensates,omitzero"`
}

// Type returns EffectIntended.
func (*Intent) Type() Type { return EffectIntended }

// Validate checks i; see [Payload].
func (i *Intent) Validate() error {
	var v validation
	validKey(&v, i.Key)
	v.that(i.Kind.Valid() && i.Kind != EffectNone, "kind", "%q is no kind of effect", clip(string(i.Kind)))
	v.line("target", i.Target, false)
	v.line("occurrence", i.Occurrence, true)
	v.digest("inputDigest", i.InputDigest, false)
	v.digest("payloadDigest", i.PayloadDigest, false)
	if i.Provider != "" {
		v.oneOf("provider", string(i.Provider), string(ProviderDedupes), string(ProviderFences))
	}
	v.object("commit", i.Commit, true)
	v.count("parts", len(i.Parts), 0, 64)
	for n, p := range i.Parts {
		v.name(index("parts", n), p)
	}
	v.sorted("parts", i.Parts)
	v.command("probe", i.Probe, true)
	if i.Git != nil {
		i.validateGit(&v)
	}
	if i.Compensates != "" {
		v.within("compensates", func(v *validation) { validKey(v, i.Compensates) })
		v.that(i.Compensates != i.Key, "compensates", "is the effect itself")
	}
	return v.err
}

// validateGit checks that an intent says nothing else than its change of a
// branch does.
func (i *Intent) validateGit(v *validation) {
	v.within("git", func(v *validation) { i.Git.validate(v, i.Kind) })
	digest, err := i.Git.Digest()
	v.that(err == nil && digest == i.PayloadDigest, "payloadDigest", "is not the digest of git")
	v.that(len(i.Parts) == 0 && len(i.Probe) == 0 && i.Compensates == "", "git", "goes with no parts, no probe, and undoes nothing")
	want := i.Git.Parent
	if i.Kind == EffectMerge {
		want = i.Git.Merged
	}
	v.that(i.Commit == want, "commit", "%q, want %q", i.Commit, want)
}

// validKey checks an idempotency key.
func validKey(v *validation, key string) {
	v.that(key != "" && len(key) <= MaxKey, "key", "%d characters, want 1 to %d", len(key), MaxKey)
	for i := range len(key) {
		v.that(key[i] > 0x20 && key[i] < 0x7f, "key", "byte %d is not printable ASCII", i)
	}
}

// EffectApproval is the data of effect.approved.
type EffectApproval struct {
	Key           string `json:"key"`
	PayloadDigest string `json:"payloadDigest"`
}

// Type returns EffectApproved.
func (*EffectApproval) Type() Type { return EffectApproved }

// Validate checks e; see [Payload].
func (e *EffectApproval) Validate() error {
	var v validation
	validKey(&v, e.Key)
	v.digest("payloadDigest", e.PayloadDigest, false)
	return v.err
}

// EffectWithdrawal is the data of effect.withdrawn.
type EffectWithdrawal struct {
	Key    string `json:"key"`
	Reason string `json:"reason"`
}

// Type returns EffectWithdrawn.
func (*EffectWithdrawal) Type() Type { return EffectWithdrawn }

// Validate checks e; see [Payload].
func (e *EffectWithdrawal) Validate() error {
	var v validation
	validKey(&v, e.Key)
	v.need("reason", e.Reason, MaxText)
	return v.err
}

// Dispatch is the data of effect.dispatched: from here a crash means unknown
// until proven otherwise.
type Dispatch struct {
	Key string `json:"key"`
	Try int64  `json:"try"` // from 1
	// Token is the correlation token that the call carries to the provider.
	Token string `json:"token"`
	// Host and Boot name the machine and its boot on which the call runs.
	Host string `json:"host"`
	Boot string `json:"boot"`
}

// Type returns EffectDispatched.
func (*Dispatch) Type() Type { return EffectDispatched }

// Validate checks d; see [Payload].
func (d *Dispatch) Validate() error {
	var v validation
	validKey(&v, d.Key)
	v.number("try", d.Try, 1, 1000)
	v.line("token", d.Token, false)
	v.line("host", d.Host, false)
	v.line("boot", d.Boot, false)
	return v.err
}

// Basis says where an outcome's evidence comes from.
type Basis string

// The bases of an outcome.
const (
	BasisReply  Basis = "reply"  // what the call itself returned
	BasisProbe  Basis = "probe"  // what a probe found
	BasisPerson Basis = "person" // what a person states
)

// Confirmation is the data of effect.confirmed.
type Confirmation struct {
	Key  string `json:"key"`
	Try  int64  `json:"try"`
	Part string `json:"part,omitzero"`
	// ExternalID is the provider's id of what exists now; it binds to one key.
	ExternalID string `json:"externalId"`
	// Token is the correlation token that the evidence carries.
	Token    string `json:"token"`
	Basis    Basis  `json:"basis"`
	Evidence string `json:"evidence"` // bounded text: reply, probe's answer, or statement
}

// Type returns EffectConfirmed.
func (*Confirmation) Type() Type { return EffectConfirmed }

// Validate checks c; see [Payload].
func (c *Confirmation) Validate() error {
	var v validation
	validKey(&v, c.Key)
	v.number("try", c.Try, 1, 1000)
	validPart(&v, c.Part)
	v.line("externalId", c.ExternalID, false)
	v.line("token", c.Token, false)
	validBasis(&v, c.Basis, c.Evidence)
	return v.err
}

// validPart checks the name of a part; "" is the only part of an effect
// without parts.
func validPart(v *validation, part string) {
	if part != "" {
		v.name("part", part)
	}
}

// validBasis checks an outcome's evidence.
func validBasis(v *validation, basis Basis, evidence string) {
	v.oneOf("basis", string(basis), string(BasisReply), string(BasisProbe), string(BasisPerson))
	v.need("evidence", evidence, MaxText)
}

// Failure is the data of effect.failed: proof that nothing was applied.
type Failure struct {
	Key      string `json:"key"`
	Try      int64  `json:"try"`
	Part     string `json:"part,omitzero"`
	Basis    Basis  `json:"basis"`
	Evidence string `json:"evidence"`
}

// Type returns EffectFailed.
func (*Failure) Type() Type { return EffectFailed }

// Validate checks f; see [Payload].
func (f *Failure) Validate() error {
	var v validation
	validKey(&v, f.Key)
	v.number("try", f.Try, 1, 1000)
	validPart(&v, f.Part)
	validBasis(&v, f.Basis, f.Evidence)
	return v.err
}

// Unknown is the data of effect.unknown.
type Unknown struct {
	Key  string `json:"key"`
	Try  int64  `json:"try"`
	Part string `json:"part,omitzero"`
	// Conflict says that something is there, but not ours.
	Conflict bool   `json:"conflict,omitzero"`
	Reason   string `json:"reason"`
}

// Type returns EffectUnknown.
func (*Unknown) Type() Type { return EffectUnknown }

// Validate checks u; see [Payload].
func (u *Unknown) Validate() error {
	var v validation
	validKey(&v, u.Key)
	v.number("try", u.Try, 1, 1000)
	validPart(&v, u.Part)
	v.need("reason", u.Reason, MaxText)
	return v.err
}

// Compensation is the data of effect.compensated: a confirmed or partly
// applied effect was undone.
type Compensation struct {
	Key      string `json:"key"`
	Part     string `json:"part,omitzero"`
	By       string `json:"by"` // external id or commit of what undid it
	Basis    Basis  `json:"basis"`
	Evidence string `json:"evidence"`
}

// Type returns EffectCompensated.
func (*Compensation) Type() Type { return EffectCompensated }

// Validate checks c; see [Payload].
func (c *Compensation) Validate() error {
	var v validation
	validKey(&v, c.Key)
	validPart(&v, c.Part)
	v.line("by", c.By, false)
	validBasis(&v, c.Basis, c.Evidence)
	return v.err
}
