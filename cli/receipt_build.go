package cli

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/deedledger/deed/runner"
	"github.com/deedledger/deed/server/protocol"
)

// Windows of output in a receipt, in bytes: of one check, and of all together,
// so that a receipt fits an event. The artifact digest covers all of it.
const (
	checkWindow   = 3000
	receiptWindow = 16 << 10
)

// receiptBuilder makes the receipt of one run of "receipt run": first one in
// which no check ran, to ask the ledger, then the real one.
type receiptBuilder struct {
	session *session
	url     string
	same    steady
	// confinement is the word for what keeps the checks from the machine.
	confinement string

	task   *projections.Task // as first looked at
	env    events.Environment
	nonce  string
	report runner.Report // zero until the checks ran
	// imported is what receipt import has instead of a report; nil for a run.
	imported *receiptImport
	web      []webEvidence
	selfmade string // note on references that the result wrote itself; often ""
	receipt  events.Receipt
}

// plan adds the contract's checks and services as the runner takes them.
func (b *receiptBuilder) plan(plan *runner.Plan) error {
	c := b.task.Contract().Contract
	for _, item := range c.Acceptance {
		for _, check := range item.Checks {
			made, err := planned(check)
			if err != nil {
				return fmt.Errorf("read check %s: %w", check.ID, err)
			}
			plan.Checks = append(plan.Checks, made)
		}
	}
	for _, s := range c.Services {
		plan.Services = append(plan.Services, runner.Service{Name: s.Name, Command: s.Command, Timeout: time.Duration(s.TimeoutSeconds) * time.Second})
	}
	return nil
}

// planned returns a contract's check as the runner takes it.
func planned(c events.Check) (runner.Check, error) {
	check := runner.Check{ID: c.ID, Command: c.Command, Timeout: time.Duration(c.TimeoutSeconds) * time.Second, OutputBytes: checkWindow, Skips: c.Skips}
	var err error
	if c.Dir != "" {
		if check.Dir, err = boundary.DecodePath(c.Dir); err != nil {
			return check, err
		}
	}
	for _, f := range c.Files {
		raw, err := boundary.DecodePath(f.Path)
		if err != nil {
			return check, err
		}
		check.Pinned = append(check.Pinned, runner.PinnedFile{Path: raw, SHA256: f.Digest})
	}
	if c.Report != nil {
		check.Report = &runner.ReportRef{Format: c.Report.Format, Path: c.Report.Path}
		if c.Report.Path != "-" {
			check.Report.Path, err = boundary.DecodePath(c.Report.Path)
		}
	}
	return check, err
}

// decide makes the receipt; see [session.append].
func (b *receiptBuilder) decide(ctx context.Context) func(protocol.TaskState, author) (draft, error) {
	return func(state protocol.TaskState, a author) (draft, error) {
		binding, err := b.hold(state)
		if err != nil {
			return draft{}, err
		}
		if b.task == nil {
			if err := b.describe(ctx, state.Task); err != nil {
				return draft{}, err
			}
		}
		return b.build(binding, state, a)
	}
}

// hold refuses a receipt on anything but what was planned.
func (b *receiptBuilder) hold(state protocol.TaskState) (events.Binding, error) {
	if err := exists(state); err != nil {
		return events.Binding{}, err
	}
	binding, ok := state.Task.Binding()
	if !ok {
		return events.Binding{}, refuseState("receipt.recorded", "task %s has no result to verify", state.Task.ID)
	}
	return binding, b.same.hold("the result, the contract or the policy", binding.Checks, binding.Contract, binding.Policy, binding.Result, binding.Tree)
}

// build makes the receipt on a binding.
func (b *receiptBuilder) build(binding events.Binding, state protocol.TaskState, a author) (draft, error) {
	environment, err := events.DigestOf(b.env)
	if err != nil {
		return draft{}, err
	}
	binding.Environment = environment.String()
	input, err := binding.Digest()
	if err != nil {
		return draft{}, err
	}
	b.receipt = events.Receipt{
		Binding: binding, InputDigest: input.String(), Head: state.Task.Result.Data.Head, Environment: b.env,
		Verifier: events.Verifier{
			Kind: verifierKind(a), Version: "deed " + b.session.env.Version, Confinement: b.confinement,
			Assurance: assurance(state.Task, a, !strings.HasPrefix(b.confinement, "none")),
		},
		ObservedAt: events.FormatTime(b.session.env.Now()), Nonce: b.nonce, RunURL: b.url, Checks: b.outcomes(),
		Source: &events.ReceiptSource{Kind: "run"},
	}
	return draft{payload: &b.receipt}, b.complete(state.Task, a)
}

// complete adds what does not come from checks that ran here.
func (b *receiptBuilder) complete(t *projections.Task, a author) error {
	if b.imported != nil {
		if err := b.imported.fit(&b.receipt, t, a); err != nil {
			return err
		}
	}
	b.noteSelfmade(b.receipt.Checks)
	return showing(b.receipt.Checks, b.web, t)
}

// describe fills what this run is about and where it is.
func (b *receiptBuilder) describe(ctx context.Context, t *projections.Task) error {
	nonce := make([]byte, 16)
	if _, err := io.ReadFull(b.session.env.Random, nonce); err != nil {
		return fmt.Errorf("make nonce: %w", err)
	}
	b.nonce = hex.EncodeToString(nonce)
	s := b.session
	b.task, b.env = t, s.environment(ctx, t)
	return nil
}

// printable returns the text with everything but characters, line feeds and
// tabs replaced, at most limit bytes of it.
func printable(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r != utf8.RuneError && unicode.IsGraphic(r) {
			return r
		}
		return '?'
	}, text)
	for len(text) > limit {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}

// verifierKind is what a receipt calls an actor's kind.
func verifierKind(a author) string {
	if a.actor.Kind == events.KindAgent {
		return "isolated-agent"
	}
	return string(a.actor.Kind)
}

// assurance says how independent a verifier on this machine is of the actors
// that worked on the task: isolated when its checks could not reach beyond
// their checkout and everybody who wrote the commits is known to be another.
func assurance(t *projections.Task, a author, confined bool) string {
	switch {
	case ledger.Degraded(&a.registry, t, a.actor):
		return events.AssuranceDegraded
	case confined && len(t.Unmapped()) == 0:
		return "isolated"
	}
	return "same-host"
}

// approvalAssurance is what an approval says of itself: nothing, unless its
// principal did the work, and under rules that know no such word.
func approvalAssurance(t *projections.Task, a author) string {
	if a.registry.RulesVersion() >= 2 && ledger.Degraded(&a.registry, t, a.actor) {
		return events.AssuranceDegraded
	}
	return ""
}
