package cli

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"runtime"
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

	task    *projections.Task // as first looked at
	env     events.Environment
	nonce   string
	report  runner.Report // zero until the checks ran
	receipt events.Receipt
}

// plan returns the result to verify and the contract's checks as the runner
// takes them.
func (b *receiptBuilder) plan() (events.Result, []runner.Check, error) {
	var checks []runner.Check
	for _, item := range b.task.Contract().Contract.Acceptance {
		for _, c := range item.Checks {
			check := runner.Check{ID: c.ID, Command: c.Command, Timeout: time.Duration(c.TimeoutSeconds) * time.Second, OutputBytes: checkWindow}
			var err error
			if c.Dir != "" {
				if check.Dir, err = boundary.DecodePath(c.Dir); err != nil {
					return events.Result{}, nil, fmt.Errorf("read check %s: %w", c.ID, err)
				}
			}
			for _, f := range c.Files {
				raw, err := boundary.DecodePath(f.Path)
				if err != nil {
					return events.Result{}, nil, fmt.Errorf("read check %s: %w", c.ID, err)
				}
				check.Pinned = append(check.Pinned, runner.PinnedFile{Path: raw, SHA256: f.Digest})
			}
			checks = append(checks, check)
		}
	}
	return b.task.Result.Data, checks, nil
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
		Verifier:   events.Verifier{Kind: verifierKind(a), Version: "deed " + b.session.env.Version, Assurance: assurance(state.Task, a)},
		ObservedAt: events.FormatTime(b.session.env.Now()), Nonce: b.nonce, RunURL: b.url, Checks: b.outcomes(),
	}
	return draft{payload: &b.receipt}, nil
}

// describe fills what this run is about and where it is.
func (b *receiptBuilder) describe(ctx context.Context, t *projections.Task) error {
	nonce := make([]byte, 16)
	if _, err := io.ReadFull(b.session.env.Random, nonce); err != nil {
		return fmt.Errorf("make nonce: %w", err)
	}
	b.nonce = hex.EncodeToString(nonce)
	s := b.session
	b.env = events.Environment{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Image: s.env.Getenv("DEED_IMAGE"),
		Tools: s.toolVersions(ctx, s.env.Dir, toolNames(t.Attempt().Snapshot.Inputs.Tools)),
	}
	b.task = t
	return nil
}

// outcomes returns the outcome of every check; before the checks ran, that
// none did.
func (b *receiptBuilder) outcomes() []events.CheckOutcome {
	var list []events.CheckOutcome
	room := receiptWindow
	for _, item := range b.task.Contract().Contract.Acceptance {
		for _, c := range item.Checks {
			o := events.CheckOutcome{
				ID: c.ID, Acceptance: item.ID, Command: c.Command, Outcome: events.OutcomeInconclusive, Class: events.ClassInconclusive,
				Rule: "not-run", Exit: -1, Artifact: events.Sum(nil).String(),
			}
			if n := len(list); n < len(b.report.Outcomes) {
				fillOutcome(&o, b.report.Outcomes[n], min(checkWindow, room))
				room -= len(o.Output)
			}
			list = append(list, o)
		}
	}
	return list
}

// fillOutcome takes over what the runner found. Only a check that did not pass
// keeps a window of its output.
func fillOutcome(o *events.CheckOutcome, got runner.Outcome, window int) {
	o.Outcome, o.Class, o.Rule = events.Outcome(got.Result), events.Class(got.Class), got.Rule
	o.Exit, o.DurationMS, o.Artifact = int64(got.ExitCode), got.Duration.Milliseconds(), got.Output.Digest
	if got.Tests.Known {
		o.Executed = int64(got.Tests.Passed)
	}
	if got.Result != runner.ResultPass {
		text := got.Output.Window()
		if got.Detail != "" {
			text = got.Detail + "\n" + text
		}
		o.Output = printable(text, window)
	}
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
// that worked on the task.
func assurance(t *projections.Task, a author) string {
	if ledger.Degraded(&a.registry, t, a.actor) {
		return events.AssuranceDegraded
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
