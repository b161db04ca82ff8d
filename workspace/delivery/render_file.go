package delivery

import (
	"path"
	"slices"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/projections"
)

func (h *history) contract(p *printer, v *projections.ContractVersion) {
	c, name := v.Contract, contractPath(h.task, v.Contract.Version)
	f := Contract{
		TaskID: h.task, Version: c.Version, Digest: v.Digest, Goal: c.Goal, NonGoals: c.NonGoals, RiskTier: c.RiskTier, Owners: &c.Owners,
		RequiredEvidence: map[string]string{}, Expiry: c.Expires, Scope: c.Scope, Target: c.Target, Reviewers: c.Reviewers, Quorum: c.Quorum,
		MaxRepairs: &c.MaxRepairs, MaxStalls: &c.MaxStalls, Parent: c.Parent, Services: c.Services, Accepted: v.Accepted,
		Deed: h.origin("contract", v.Signed, h.moved[name]),
	}
	for _, item := range c.Acceptance {
		f.RequiredEvidence[item.ID] = item.Evidence
		checks := slices.Clone(item.Checks)
		for i := range checks {
			checks[i].Dir = shownPath(checks[i].Dir)
			checks[i].Files = slices.Clone(checks[i].Files)
			for j := range checks[i].Files {
				checks[i].Files[j].Path = shownPath(checks[i].Files[j].Path)
			}
		}
		f.Acceptance = append(f.Acceptance, ContractItem{item.ID, item.Text, &item.Required, checks})
	}
	p.json(name, f.Deed.Position, f)
}

// bound is what an attempt is held to: its contract's scope as its snapshot narrowed it.
func (h *history) bound(s events.Snapshot, ref events.ContractRef) WriteBoundary {
	b := WriteBoundary{Paths: s.Rights.Paths, Effects: s.Rights.Effects}
	for i := range h.state.Contracts {
		if c := &h.state.Contracts[i]; c.Digest == ref.Digest {
			b.AllowedCommands = c.Contract.Scope.Commands
		}
	}
	return b
}

func inputOf(s events.Snapshot) Input {
	return Input{BaseCommit: s.BaseCommit, MergeBase: s.MergeBase, LockfileDigest: s.Inputs.LockDigest, RuntimeImage: s.Inputs.RuntimeImage, PolicyDigest: s.Inputs.Policy}
}

// attempt prints the files that an attempt has one of, and its results.
func (h *history) attempt(p *printer, a *attempt) {
	id, s := a.opened.Event.Subject, a.data.Snapshot
	ref := ContractRef{h.task, a.data.Contract.Version, a.data.Contract.Digest}
	opened := signed(a.opened)
	snapshot := Snapshot{
		TaskID: h.task, AttemptID: id, Contract: ref, Input: inputOf(s), WriteBoundary: h.bound(s, a.data.Contract), Target: s.Target,
		Lockfiles: s.Inputs.Lockfiles, Tools: s.Inputs.Tools, Skills: s.Inputs.Skills, Flags: s.Inputs.Flags, Schema: s.Inputs.Schema,
		Model: s.Model, PromptDigest: s.PromptDigest, Rights: s.Rights, Deed: h.origin("snapshot", opened, 0),
	}
	p.json(attemptPath(snapshotsDir, h.task, id), opened.Position, snapshot)

	now := a.now.Snapshot
	name := attemptPath(attemptsDir, h.task, id)
	f := a.status
	f.TaskID, f.AttemptID, f.Contract, f.Input, f.WriteBoundary = h.task, id, ref, inputOf(now), h.bound(now, a.data.Contract)
	f.Deed = h.origin("attempt", opened, h.moved[name])
	for n, r := range a.results {
		file := resultPath(h.task, id, n+1)
		f.ResultRefs = append(f.ResultRefs, strings.TrimPrefix(file, Dir+"/"))
		h.result(p, file, id, r)
	}
	p.json(name, f.Deed.Position, f)
	if a.plan != nil {
		h.plan(p, id, *a.plan)
	}
	h.recovery(p, id)
	h.approvals(p, id)
}

func (h *history) plan(p *printer, id string, r events.Record) {
	payload, err := r.Event.Payload()
	d, ok := payload.(*events.Plan)
	if err != nil || !ok {
		p.err = err
		return
	}
	s := signed(r)
	f := Plan{Attempt: h.task + "/" + id, Summary: d.Summary, Deed: PlanOrigin{schemaURN("plan"), h.state.Ledger, uint64(s.Position), s.EventID, s.Hash, s.Actor, events.FormatStamp(s.Admitted)}}
	for _, u := range d.Units {
		f.Units = append(f.Units, Unit(u))
	}
	p.yaml(attemptPath(plansDir, h.task, id), s.Position, f)
}

func (h *history) result(p *printer, file, id string, r events.Record) {
	payload, err := r.Event.Payload()
	d, ok := payload.(*events.Result)
	if err != nil || !ok {
		p.err = err
		return
	}
	f := Result{
		TaskID: h.task, AttemptID: id, Commit: d.Head, Base: d.Base, Tree: d.Tree, Changes: slices.Clone(d.Changes), Commands: d.Commands, Claims: d.Claims,
		Uncovered: d.Uncovered, Summary: d.Summary, Deed: h.origin("result", signed(r), 0),
	}
	for i := range f.Changes {
		f.Changes[i].Path = shownPath(f.Changes[i].Path)
	}
	p.json(file, r.Position, f)
}

func (h *history) receipt(p *printer, n numbered) {
	i := slices.IndexFunc(h.state.Receipts, func(r projections.Receipt) bool { return r.EventID == n.event.Event.ID })
	if i < 0 {
		return // the fold stopped before it
	}
	r := h.state.Receipts[i]
	f := Receipt{
		ReceiptID: r.EventID, AttemptID: n.attempt, Verifier: r.Data.Verifier, ObservedAt: r.Data.ObservedAt, InputDigest: r.Data.InputDigest,
		SignatureOrRunURL: r.Data.RunURL, Commit: r.Data.Head, Binding: r.Data.Binding, Nonce: r.Data.Nonce, Void: r.Void,
		Deed: h.origin("receipt", r.Signed, h.moved[r.EventID]),
	}
	if f.SignatureOrRunURL == "" {
		f.SignatureOrRunURL = signature(n.event.Event)
	}
	for _, c := range r.Data.Checks {
		f.Checks = append(f.Checks, ReceiptCheck{
			ID: c.ID, CommandOrSuite: commandLine(c.Command), Outcome: c.Outcome, ArtifactRef: "sha256:" + c.Artifact,
			Acceptance: c.Acceptance, Class: c.Class, Rule: c.Rule, Exit: c.Exit, Executed: c.Executed, Flaky: c.Flaky,
		})
	}
	p.json(receiptPath(h.task, n.attempt, n.n), f.Deed.Position, f)
}

func (h *history) recovery(p *printer, id string) {
	name := path.Join(Dir, recoveryDir, h.task, id+".json")
	f := Recovery{TaskID: h.task, AttemptID: id}
	var last projections.Signed
	for _, d := range h.state.Decisions {
		if h.attemptAt(d.Position) == id {
			last = d.Signed
			f.Decisions = slices.Insert(f.Decisions, 0, RecoveryDecision{d.Decision, d.Matches, string(d.From), string(d.To), d.World, d.EventID, d.Actor})
		}
	}
	if len(f.Decisions) > 0 {
		f.Decision, f.Deed = f.Decisions[0].Decision, h.origin("recovery", last, 0)
		p.json(name, f.Deed.Position, f)
	}
}

func (h *history) approvals(p *printer, id string) {
	name := path.Join(Dir, approvalsDir, h.task, id+".json")
	f := Approvals{TaskID: h.task, AttemptID: id}
	var last projections.Signed
	for _, v := range h.state.Approvals {
		if h.attemptAt(v.Position) == id {
			last = v.Signed
			f.Approvals = append(f.Approvals, Approval{Reviewer: v.Actor, Approval: v.Data, Event: v.EventID, Void: v.Void})
		}
	}
	if d := h.state.Delivery; d != nil && h.attemptAt(d.Position) == id {
		last, f.Delivery = d.Signed, &d.Data
	}
	if last.EventID != "" {
		f.Deed = h.origin("approvals", last, h.moved[name])
		p.json(name, f.Deed.Position, f)
	}
}

// attemptAt returns the id of the attempt that was the newest one at a position.
func (h *history) attemptAt(at events.Position) string {
	id := ""
	for _, a := range h.attempts {
		if a.opened.Position <= at {
			id = a.opened.Event.Subject
		}
	}
	return id
}

// signature is the signature of an event as text: key id and base64.
func signature(e events.Event) string { return e.SignKeyID + " " + envelopeSignature(e.Envelope) }
