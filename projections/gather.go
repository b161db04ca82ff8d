package projections

import (
	"slices"

	"github.com/deedledger/deed/events"
)

// view says what a role sees beyond what everybody sees.
type view struct {
	// outputs are windows of failing checks' output; claims are what the
	// result says of itself; environment are names and versions of tools;
	// evidence is what outcomes of effects rest on; chain is the provenance.
	outputs, claims, environment, evidence, chain bool
}

// viewOf returns what a role sees. A verifier sees no claim, so that it judges
// the tree; an auditor sees digests and history instead of windows.
func viewOf(role events.Role) view {
	switch role {
	case events.RoleImplementer, events.RolePlanner, events.RoleCompiler:
		return view{outputs: true, claims: true, environment: true}
	case events.RoleVerifier:
		return view{environment: true}
	case events.RoleController, events.RoleOperator, events.RoleService, events.RoleAdmin:
		return view{outputs: true, claims: true, environment: true, evidence: true, chain: true}
	case events.RoleOwner, events.RoleReviewer:
		return view{outputs: true, claims: true, evidence: true, chain: true}
	case events.RoleAuditor:
		return view{claims: true, environment: true, evidence: true, chain: true}
	}
	return view{}
}

// role returns the role that r may read with: "" when the registry says that
// the actor does not hold it.
func (g *Registry) role(r Reader) events.Role {
	if r.Actor == "" || g == nil {
		return r.Role
	}
	a := g.Actor(r.Actor)
	if a == nil || a.Revoked != 0 || !a.Has(r.Role) {
		return ""
	}
	return r.Role
}

// ResumePacket returns the resume packet of t for a reader. g may be nil; then
// the reader's word counts for its role. Nobody sees a credential: neither
// capabilities nor keys, correlation tokens or invitations are in any packet.
func ResumePacket(t *Task, g *Registry, reader Reader) Resume {
	role := g.role(reader)
	v := viewOf(role)
	r := Resume{
		Schema: ResumeSchema, Ledger: t.Ledger, Task: t.ID, State: t.State, Role: role,
		Verification: t.Verification(), Delivery: t.DeliveryStatus(),
		NonGoals: []string{}, Acceptance: t.acceptance(), Files: t.files(), Failing: t.failingChecks(),
		Boundary: Boundary{Include: []string{}, Exclude: []string{}, Commands: []string{}, Effects: []events.EffectKind{}},
		Done:     t.done(v), Next: t.next(), Effects: t.effectViews(), Risks: t.risks(), Budget: t.budget(),
		Waiting: t.Waiting(), Recover: t.lastRecovery(), Contract: t.terms(),
		Untrusted: t.untrusted(v), Provenance: t.provenance(g, v),
	}
	r.Totals, r.WorkView = totals(r.Acceptance), t.workView()
	if v.claims {
		r.Untrusted.Steps = t.quoteWork()
	}
	r.Untrusted.Decisions = t.quoteDecisions(&r.WorkView)
	r.Untrusted.Defects = append(r.Untrusted.Defects, t.quoteReports()...)
	if t.Blocked != nil {
		r.BlockedAt = t.Blocked.Position
	}
	if c := t.Contract(); c != nil {
		s := c.Contract.Scope
		r.Goal, r.NonGoals = c.Contract.Goal, slices.Concat(r.NonGoals, c.Contract.NonGoals)
		r.Boundary = Boundary{
			Include: slices.Concat(r.Boundary.Include, s.Include), Exclude: slices.Concat(r.Boundary.Exclude, s.Exclude),
			Commands: slices.Concat(r.Boundary.Commands, s.Commands), Effects: slices.Concat(r.Boundary.Effects, s.Effects),
		}
	}
	if a := t.Attempt(); a != nil {
		s := a.Snapshot
		r.Snapshot = &Pinned{
			Attempt: a.ID, Contract: a.Contract.Version, BaseCommit: s.BaseCommit, MergeBase: s.MergeBase,
			LockDigest: s.Inputs.LockDigest, Policy: s.Inputs.Policy, Boundary: s.Inputs.Boundary, PromptDigest: s.PromptDigest,
		}
	}
	return r
}

func (t *Task) terms() Terms {
	terms := Terms{Versions: []VersionView{}}
	for _, v := range t.Contracts {
		terms.Versions = append(terms.Versions, VersionView{v.Contract.Version, v.Digest, v.Accepted})
	}
	if c := t.Contract(); c != nil {
		d := c.Contract
		terms.Version, terms.Digest, terms.RiskTier, terms.Target = d.Version, c.Digest, d.RiskTier, d.Target
		terms.Quorum, terms.Owners, terms.Expires = d.Quorum, d.Owners, d.Expires
	}
	return terms
}

func (t *Task) acceptance() []Acceptance {
	list := []Acceptance{}
	for i, item := range t.Items() {
		list = append(list, Acceptance{
			ID: item.ID, Text: item.Text, Required: item.Required, Evidence: t.Contract().Contract.Acceptance[i].Evidence,
			Status: item.Status, Receipt: item.Receipt,
		})
	}
	return list
}

func totals(list []Acceptance) Totals {
	n := Totals{Items: len(list)}
	for _, a := range list {
		if a.Required {
			n.Required++
		}
		switch a.Status {
		case ItemOpen:
			n.Open++
		case ItemClaimed:
			n.Claimed++
		case ItemPass:
			n.Pass++
		case ItemFail:
			n.Fail++
		case ItemStale:
			n.Stale++
		default:
			n.Inconclusive++
		}
	}
	return n
}

func (t *Task) files() []FileView {
	list := []FileView{}
	if t.Result != nil {
		for _, c := range t.Result.Data.Changes {
			list = append(list, FileView(c))
		}
	}
	return list
}

func (t *Task) failingChecks() []Failing {
	list := []Failing{}
	for _, item := range t.Items() {
		for _, c := range item.Failing {
			list = append(list, Failing{
				Acceptance: item.ID, Check: c.ID, Outcome: c.Outcome, Class: c.Class,
				Exit: c.Exit, Executed: c.Executed, Receipt: item.Receipt, Artifact: c.Artifact,
			})
		}
	}
	return list
}

// degradedReceipt returns the assurance of a receipt whose verifier shares its
// principal with those who worked, "" for any other.
func (t *Task) degradedReceipt(id string) string {
	for i := range t.Receipts {
		if r := &t.Receipts[i]; r.EventID == id && r.Data.Verifier.Assurance == events.AssuranceDegraded {
			return events.AssuranceDegraded
		}
	}
	return ""
}

func (t *Task) done(v view) Done {
	d := Done{Items: []Proven{}, Runs: slices.Concat([]Run{}, t.Runs)}
	for _, item := range t.Items() {
		if item.Status == ItemPass {
			d.Items = append(d.Items, Proven{item.ID, item.Receipt, t.degradedReceipt(item.Receipt)})
		}
	}
	d.Result = t.resultView()
	counting := t.Approvers()
	for _, a := range t.Approvals {
		counts := a.Void == "" && a.Data.Verdict == "approve" && slices.Contains(counting, a.Actor)
		if v.chain {
			d.Approvals = append(d.Approvals, ApprovalView{a.Actor, a.Data.Verdict, counts})
		}
	}
	if t.Delivery != nil {
		d.Delivery = t.Delivery.Data.Commit
	}
	return d
}

func (t *Task) resultView() *ResultView {
	r := t.Result
	if r == nil {
		return nil
	}
	return &ResultView{Hash: r.Hash, Actor: r.Actor, Fence: r.Fence, Base: r.Data.Base, Head: r.Data.Head, Tree: r.Data.Tree}
}

func (t *Task) effectViews() []EffectView {
	list := []EffectView{}
	for i := range t.Effects {
		e := &t.Effects[i]
		view := EffectView{
			Key: e.Intent.Key, Kind: e.Intent.Kind, Status: e.Status(), Open: e.Open(), Fence: e.Fence,
			Tries: len(e.Tries), Commit: e.Intent.Commit, Payload: e.Intent.PayloadDigest,
		}
		for _, p := range e.Parts {
			if p.Name != "" {
				view.Parts = append(view.Parts, PartView{p.Name, p.Status})
			}
		}
		list = append(list, view)
	}
	return list
}

func (t *Task) risks() Risks {
	r := Risks{Findings: []FindingView{}, Effects: slices.Concat([]string{}, t.OpenEffects()), Stale: t.Stale(), Foreign: []string{}}
	for _, f := range t.Findings {
		if f.Open {
			r.Findings = append(r.Findings, FindingView{f.EventID, f.Data.Severity, f.Actor, f.Data.Path})
		}
	}
	if t.Result != nil {
		r.Uncovered = len(t.Result.Data.Uncovered)
	}
	if n := len(t.Decisions); n > 0 {
		r.Foreign = append(r.Foreign, t.Decisions[n-1].World.Foreign...)
	}
	return r
}

func (t *Task) budget() Budget {
	c := t.Contract()
	if c == nil {
		return Budget{}
	}
	return Budget{
		Repairs: max(0, c.Contract.MaxRepairs+t.Allowance-t.Repairs), Stalls: max(0, c.Contract.MaxStalls-t.Stalls), Expires: c.Contract.Expires,
	}
}

func (t *Task) lastRecovery() *RecoveryView {
	n := len(t.Decisions)
	if n == 0 {
		return nil
	}
	d := t.Decisions[n-1]
	return &RecoveryView{
		Decision: d.Decision, Matches: knownDecisions(d.Matches), From: d.From, To: d.To, Actor: d.Actor,
		Head: d.World.Head, Tree: d.World.Tree, Target: d.World.TargetTip,
	}
}

// knownDecisions returns the rows of the recovery table among names.
func knownDecisions(names []string) []string {
	known := []string{}
	for _, name := range names {
		if slices.Contains(RecoveryDecisions(), name) {
			known = append(known, name)
		}
	}
	return known
}

func (t *Task) provenance(g *Registry, v view) Provenance {
	p := Provenance{TaskHead: t.Head, Sequence: t.Sequence, Position: t.Position}
	if g != nil {
		p.Identity, p.RegistryHead, p.RegistryPosition = g.Identity, g.Head, g.Position
	}
	if v.chain {
		p.Chain = t.links()
	}
	return p
}

// links names the events that a packet rests on: the contract that counts, the
// attempt, the result, and the receipts on the current input.
func (t *Task) links() []Link {
	var list []Link
	add := func(what string, s Signed) {
		list = append(list, Link{what, s.EventID, s.Hash, s.Position, s.Actor})
	}
	if c := t.newest(); c != nil {
		add("contract", c.Signed)
	}
	if a := t.Attempt(); a != nil {
		add("attempt", a.Signed)
	}
	if t.Result != nil {
		add("result", t.Result.Signed)
	}
	current := t.current()
	for i := range t.Receipts {
		if current(&t.Receipts[i]) {
			add("receipt", t.Receipts[i].Signed)
		}
	}
	for _, a := range t.Approvals {
		if a.Void == "" {
			add("approval", a.Signed)
		}
	}
	if t.Delivery != nil {
		add("delivery", t.Delivery.Signed)
	}
	return list
}
