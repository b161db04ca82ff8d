package events_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/deedledger/deed/events"
)

// TestWorkDataRefuses changes good data of the types about how the work goes,
// one member at a time.
func TestWorkDataRefuses(t *testing.T) {
	hex, object := strings.Repeat("a", 64), strings.Repeat("b", 40)
	const id = "01890a5d-ac96-774b-bcce-b302099a8057"
	ran := &events.Ran{Command: []string{"go", "test"}}
	proof := func(e events.Evidence) events.Payload {
		return &events.StepCompletion{Step: "s1", Summary: "s", Evidence: []events.Evidence{e}}
	}
	unit := func(u events.Unit, more ...events.Unit) events.Payload {
		return &events.Plan{Summary: "s", Units: append([]events.Unit{u}, more...)}
	}
	good := events.Unit{Name: "u1", Title: "t", Success: "s"}
	decision := func(mod func(*events.Decision)) events.Payload {
		d := &events.Decision{Decision: "d1", Title: "t", Choice: "c", Owner: "ann", Evidence: []events.Evidence{{Artifact: hex}}}
		mod(d)
		return d
	}
	guard := func(g events.Guard) events.Payload { return &events.Freeze{Decision: "d1", Guard: g, Reason: "r"} }
	ban := func(g events.Guard) events.Payload {
		return &events.Ban{Approach: "b1", Title: "t", Guard: g, Reason: "r"}
	}
	money := &events.Amount{Micros: 1, Currency: "EUR"}
	minutes := &events.Spent{Minutes: 1, RatePerHour: 1, Currency: "EUR"}
	artifact := func(mod func(*events.Artifact)) events.Payload {
		a := &events.Artifact{Digest: hex, Size: 1, MediaType: "text/plain", Class: "public", Name: "n"}
		mod(a)
		return a
	}
	path := func(p events.Trespass) events.Payload {
		return &events.Violation{Tree: object, Paths: []events.Trespass{p}}
	}
	many := make([]string, events.MaxGuard+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for _, p := range []events.Payload{
		proof(events.Evidence{Artifact: hex, Note: "n"}), proof(events.Evidence{Commit: object, Path: "a.go"}), proof(events.Evidence{Receipt: id}), proof(events.Evidence{Ran: ran}),
		unit(good), decision(func(*events.Decision) {}), guard(events.Guard{Keywords: []string{"k"}}), ban(events.Guard{Forbids: []string{"k"}}),
		&events.Cost{Kind: "review", Time: minutes}, &events.Cost{Kind: "model", Amount: money, Model: "m"}, artifact(func(*events.Artifact) {}),
		path(events.Trespass{Path: "a", Side: "old", Rule: "outside"}), &events.Progress{Note: "n", Done: 1, Total: 1},
	} {
		if _, err := events.EncodeData(p); err != nil {
			t.Errorf("good %s: %v", p.Type().Short(), err)
		}
	}
	for i, p := range []events.Payload{
		&events.Pause{}, &events.Unpause{}, &events.Pause{Reason: strings.Repeat("x", events.MaxText+1)}, &events.Pause{Reason: "a\x00"},
		proof(events.Evidence{}), proof(events.Evidence{Note: "n"}), proof(events.Evidence{Artifact: hex, Commit: object}), proof(events.Evidence{Commit: object, Ran: ran}),
		proof(events.Evidence{Artifact: "x"}), proof(events.Evidence{Receipt: "x"}), proof(events.Evidence{Ran: &events.Ran{}}),
		proof(events.Evidence{Ran: &events.Ran{Command: []string{"go"}, Exit: 256}}), proof(events.Evidence{Commit: object, Path: "a b"}), proof(events.Evidence{Commit: object, Note: "a\nb"}),
		&events.StepCompletion{Step: "s1", Summary: "s"}, &events.StepCompletion{Step: "-", Summary: "s", Evidence: []events.Evidence{{Commit: object}}},
		&events.StepCompletion{Step: "s1", Summary: "s", Evidence: make([]events.Evidence, events.MaxEvidence+1)}, &events.StepFailure{Step: "s1"},
		&events.StepIssue{Step: "s1", Title: "t"}, &events.StepIssue{Step: "s1", Success: "s"}, &events.StepIssue{Step: "s1", Unit: "/", Title: "t", Success: "s"},
		&events.Progress{}, &events.Progress{Note: "n", Done: 2, Total: 1}, &events.Progress{Note: "n", Done: 1}, &events.Progress{Note: "n", Total: -1},
		unit(good, good), unit(events.Unit{Name: "u1", Title: "t"}), unit(events.Unit{Name: "u1", Title: "a\x1b", Success: "s"}), &events.Plan{Summary: "s"},
		unit(events.Unit{Name: "u1", Title: "t", Success: "s", Acceptance: []string{"a b"}}), &events.Plan{Summary: "s", Units: make([]events.Unit, events.MaxUnits+1)},
		decision(func(d *events.Decision) { d.Evidence = nil }), decision(func(d *events.Decision) { d.Owner = "Ann" }), decision(func(d *events.Decision) { d.Choice = "" }),
		decision(func(d *events.Decision) { d.Supersedes = "d1" }), decision(func(d *events.Decision) { d.Expires = "tomorrow" }), decision(func(d *events.Decision) { d.Alternatives = []string{""} }),
		guard(events.Guard{}), guard(events.Guard{Contains: []string{""}}), guard(events.Guard{Forbids: []string{"a\nb"}}), guard(events.Guard{Paths: many}), guard(events.Guard{Keywords: many}),
		ban(events.Guard{}), ban(events.Guard{Contains: []string{"x"}}), ban(events.Guard{Contains: []string{"x"}, Forbids: []string{"y"}}), &events.Ban{Approach: "b1", Title: "t", Guard: events.Guard{Forbids: []string{"x"}}},
		&events.Thaw{Decision: "d1"}, &events.Retraction{Reason: "r"}, &events.Unban{Approach: "b 1", Reason: "r"},
		artifact(func(a *events.Artifact) { a.Digest = object }), artifact(func(a *events.Artifact) { a.Size = -1 }), artifact(func(a *events.Artifact) { a.Class = "secret" }),
		artifact(func(a *events.Artifact) { a.MediaType = "text" }), artifact(func(a *events.Artifact) { a.MediaType = "text/html; charset=utf-8" }), artifact(func(a *events.Artifact) { a.MediaType = "a/b/c" }),
		artifact(func(a *events.Artifact) { a.Name = "" }), artifact(func(a *events.Artifact) { a.About = "x" }), &events.Quarantine{Digest: hex}, &events.Quarantine{Digest: "x", Reason: "r"},
		&events.Cost{Kind: "ci"}, &events.Cost{Kind: "ci", Amount: money, Time: minutes}, &events.Cost{Kind: "review", Amount: money, Time: minutes}, &events.Cost{Kind: "ci", Time: minutes},
		&events.Cost{Kind: "ci", Amount: money, Model: "m"}, &events.Cost{Kind: "review", Time: minutes, Tokens: &events.Tokens{}}, &events.Cost{Kind: "other", Amount: money},
		&events.Cost{Kind: "ci", Amount: &events.Amount{Micros: -1, Currency: "EUR"}}, &events.Cost{Kind: "ci", Amount: &events.Amount{Micros: events.MaxMicros + 1, Currency: "EUR"}},
		&events.Cost{Kind: "ci", Amount: &events.Amount{Currency: "eur"}}, &events.Cost{Kind: "ci", Amount: &events.Amount{Currency: "EURO"}}, &events.Cost{Kind: "saved", Time: &events.Spent{Currency: "EUR"}},
		&events.Cost{Kind: "saved", Time: &events.Spent{Minutes: events.MaxMinutes + 1, Currency: "EUR"}}, &events.Cost{Kind: "model", Amount: money, Tokens: &events.Tokens{In: -1}},
		path(events.Trespass{Path: "a", Side: "left", Rule: "r"}), path(events.Trespass{Path: "a b", Side: "new", Rule: "r"}), path(events.Trespass{Path: "a", Side: "new"}),
		&events.Violation{Tree: object}, &events.Violation{Tree: "x", Paths: []events.Trespass{{Path: "a", Side: "new", Rule: "r"}}},
		&events.DefectReport{Severity: "low"}, &events.DefectReport{Text: "t", Severity: "fatal"}, &events.DefectReport{Text: "t", Severity: "low", Acceptance: "A 1"},
		&events.DefectReport{Text: "t", Severity: "low", Path: "a b"}, &events.DefectReport{Text: "t", Severity: "low", Commit: "HEAD"},
	} {
		if _, err := events.EncodeData(p); !errors.Is(err, events.ErrData) {
			t.Errorf("%d: bad %s: %v", i, p.Type().Short(), err)
		}
	}
}
