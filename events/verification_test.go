package events_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/schemas"
)

// decoded returns the example of a type.
func decoded[T any](t *testing.T, typ events.Type) *T {
	t.Helper()
	data, err := schemas.Example(typ.Short())
	if err != nil {
		t.Fatal(err)
	}
	p, err := events.DecodeData(typ, data)
	if err != nil {
		t.Fatal(err)
	}
	return any(p).(*T)
}

// TestVerificationDataRefuses changes what a contract says of its checks'
// reports and services, one member at a time.
func TestVerificationDataRefuses(t *testing.T) {
	long := strings.Repeat("x", events.MaxLine+1)
	service := events.Service{Name: "db", Command: []string{"pg_isready"}, TimeoutSeconds: 5}
	contract := func(mod func(c *events.Contract, k *events.Check)) events.Payload {
		c := decoded[events.Contract](t, events.ContractProposed)
		k := &c.Acceptance[0].Checks[0]
		k.Report, k.Skips, c.Services = &events.ReportRef{Format: "tap", Path: "-"}, []string{"a", "b c"}, []events.Service{service}
		mod(c, k)
		return c
	}
	report := func(format, path string) events.Payload {
		return contract(func(_ *events.Contract, k *events.Check) { k.Report = &events.ReportRef{Format: format, Path: path} })
	}
	skips := func(names ...string) events.Payload {
		return contract(func(_ *events.Contract, k *events.Check) { k.Skips = names })
	}
	services := func(list ...events.Service) events.Payload {
		return contract(func(c *events.Contract, _ *events.Check) { c.Services = list })
	}
	for i, p := range []events.Payload{contract(func(*events.Contract, *events.Check) {}), report("junit", "a/b.xml"), report("go-test-json", "-"), report("sarif", "--")} {
		if _, err := events.EncodeData(p); err != nil {
			t.Errorf("good contract %d: %v", i, err)
		}
	}
	other, empty, late, never := service, service, service, service
	other.Name, empty.Command, late.TimeoutSeconds, never.TimeoutSeconds = "d b", nil, 86_401, 0
	for i, p := range []events.Payload{
		report("", "a"), report("xml", "a"), report("JUnit", "a"), report("junit", ""), report("junit", "a b"), report("junit", "-"), report("ctrf", "-"),
		report("sarif", "-"), report("tap", "a\nb"), report("tap", strings.Repeat("a", 1025)),
		skips(""), skips("b", "a"), skips("a", "a"), skips("a\nb"), skips(long), skips(strings.Split(strings.Repeat("x,", 64)+"x", ",")...),
		services(service, service), services(other), services(empty), services(late), services(never), services(make([]events.Service, 17)...),
	} {
		if _, err := events.EncodeData(p); !errors.Is(err, events.ErrData) {
			t.Errorf("bad contract %d: %v", i, err)
		}
	}
}

// TestReceiptDataRefuses changes what a receipt says of its checks and of
// where it comes from, one member at a time.
func TestReceiptDataRefuses(t *testing.T) {
	object, digest := strings.Repeat("b", 40), strings.Repeat("a", 64)
	receipt := func(mod func(r *events.Receipt, o *events.CheckOutcome)) events.Payload {
		r := decoded[events.Receipt](t, events.ReceiptRecorded)
		mod(r, &r.Checks[0])
		return r
	}
	counts := func(total, executed, passed, failed, skipped, flaky int64) events.Payload {
		return receipt(func(_ *events.Receipt, o *events.CheckOutcome) {
			o.Counts = &events.Counts{Total: total, Executed: executed, Passed: passed, Failed: failed, Skipped: skipped, Flaky: flaky}
		})
	}
	confined := func(word string) events.Payload {
		return receipt(func(r *events.Receipt, _ *events.CheckOutcome) { r.Verifier.Confinement = word })
	}
	source := func(s events.ReceiptSource) events.Payload {
		return receipt(func(r *events.Receipt, _ *events.CheckOutcome) { r.Source = &s })
	}
	try := func(mod func(*events.Try)) events.Payload {
		return receipt(func(_ *events.Receipt, o *events.CheckOutcome) {
			k := events.Try{Outcome: events.OutcomeFail, Class: events.ClassCodeFailure, Rule: "exit-nonzero", Exit: 1, Artifact: digest}
			mod(&k)
			o.Tries, o.Flaky = []events.Try{k}, true
		})
	}
	evidence := func(e events.Evidence) events.Payload {
		return receipt(func(_ *events.Receipt, o *events.CheckOutcome) { o.Evidence = []events.Evidence{e} })
	}
	notes := func(list ...string) events.Payload {
		return receipt(func(_ *events.Receipt, o *events.CheckOutcome) { o.Notes = list })
	}
	for i, p := range []events.Payload{
		counts(0, 0, 0, 0, 0, 0), counts(9, 5, 3, 1, 2, 1), confined("landlock-7"), confined("none: no such kernel"), try(func(*events.Try) {}), notes("executed 1, before 2"),
		source(events.ReceiptSource{Kind: "run"}), source(events.ReceiptSource{Kind: "import", RunID: "7", RunAttempt: 1, Commit: object, URL: "https://x/y?z"}),
		evidence(events.Evidence{Artifact: digest, Kind: "trace"}), evidence(events.Evidence{Commit: object, Kind: "browser-check", URL: "http://x", Outcome: events.OutcomeFail}),
	} {
		if _, err := events.EncodeData(p); err != nil {
			t.Errorf("good receipt %d: %v", i, err)
		}
	}
	for i, p := range []events.Payload{
		counts(-1, 0, 0, 0, 0, 0), counts(1, 2, 0, 0, 0, 0), counts(3, 3, 2, 2, 0, 0), counts(3, 3, 0, 4, 0, 0), counts(3, 2, 0, 0, 2, 0), counts(3, 3, 0, 0, 0, 4), counts(3, 3, -1, 0, 0, 0),
		confined("landlock"), confined("landlock-"), confined("landlock-0"), confined("landlock-07"), confined("landlock-99999"), confined("landlock--1"), confined("none"),
		confined("none: "), confined("none: a\nb"), confined("None: x"), confined("bubblewrap"), confined("none: " + strings.Repeat("x", events.MaxLine)),
		source(events.ReceiptSource{}), source(events.ReceiptSource{Kind: "import"}), source(events.ReceiptSource{Kind: "import", RunID: "7"}), source(events.ReceiptSource{Kind: "import", Commit: object}),
		source(events.ReceiptSource{Kind: "run", Commit: "HEAD"}), source(events.ReceiptSource{Kind: "run", RunAttempt: -1}), source(events.ReceiptSource{Kind: "run", URL: "javascript:x"}),
		source(events.ReceiptSource{Kind: "run", WorkflowCommit: "x"}), source(events.ReceiptSource{Kind: "run", Workflow: "a\nb"}),
		try(func(k *events.Try) { k.Outcome = events.OutcomePass }), try(func(k *events.Try) { k.Class = events.ClassPass }), try(func(k *events.Try) { k.Class, k.Outcome = events.ClassPass, events.OutcomePass }),
		try(func(k *events.Try) { k.Rule = "" }), try(func(k *events.Try) { k.Artifact = "" }), try(func(k *events.Try) { k.DurationMS = -1 }),
		receipt(func(_ *events.Receipt, o *events.CheckOutcome) { o.Tries = make([]events.Try, 9) }),
		evidence(events.Evidence{Kind: "trace"}), evidence(events.Evidence{Artifact: digest, Kind: "video"}), evidence(events.Evidence{Artifact: digest, URL: "ftp://x"}), evidence(events.Evidence{Artifact: digest, URL: "https://"}),
		evidence(events.Evidence{Artifact: digest, URL: "https://x y"}), evidence(events.Evidence{Artifact: digest, Outcome: "ok"}),
		notes(""), notes("a\nb"), notes(strings.Split(strings.Repeat("x,", 16)+"x", ",")...),
	} {
		if _, err := events.EncodeData(p); !errors.Is(err, events.ErrData) {
			t.Errorf("bad receipt %d: %v", i, err)
		}
	}
}

// TestOldContractKeepsItsDigest holds the digest that docs/format.md states
// for a contract without the later members.
func TestOldContractKeepsItsDigest(t *testing.T) {
	digest, err := decoded[events.Contract](t, events.ContractProposed).Digest()
	if err != nil || digest.String() != "f888e9997b2eefb581d4aba6cbe2790d90c2c0a5f2ec8704c42a6e24db5fad6c" {
		t.Fatal(digest, err)
	}
}
