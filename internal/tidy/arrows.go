package tidy

import (
	"fmt"
	"slices"
	"strings"
)

// arrow says what of ours one package may import, and why.
type arrow struct {
	pkg string
	may []string
	why string
}

// anything in an arrow's list stands for every package above it in the table.
const anything = "*"

// arrows is DESIGN's house in order: a package imports only what stands above it here, and of that only what its row names.
func arrows() []arrow {
	return []arrow{
		{"events", nil, "what can be said is a leaf: it must not depend on who said it or where it is kept"},
		{"schemas", nil, "schemas are data that any language reads: a leaf"},
		{"signer", nil, "keys and envelopes are over bytes: a leaf that knows no event"},
		{"boundary", nil, "which paths may change is a question about strings: a leaf for rules and disk alike"},
		{"secrets", nil, "what looks like a secret is a question about bytes: a leaf that knows no event and no disk"},
		{"journal", []string{"events"}, "the contract of keeping needs the shape and position of an event, nothing of its meaning"},
		{"journal/jetstream", []string{"journal", "events"}, "one adapter of the contract, named by its technology"},
		{"journal/jetstream/embedded", []string{"journal", "journal/jetstream"},
			"runs a NATS server on one folder; it knows the ledger's name and nothing of its events"},
		{"journal/journaltest", []string{"journal", "events"}, "the suite runs against the contract and knows no adapter"},
		{"evidence", []string{"events", "signer", "journal"}, "that it is unchanged is proven without asking what it means"},
		{"projections", []string{"events"}, "what it means is a pure fold over events: no key, no storage"},
		{"projections/projectionstest", []string{"projections", "events"}, "stories for tests of folds and rules: records without keys"},
		{"ledger", []string{"events", "schemas", "signer", "boundary", "secrets", "journal", "evidence", "projections"},
			"what may happen next is decided on folds and verified events; it knows no adapter, disk or wire"},
		{"ledger/ledgertest", []string{"ledger", "events", "signer", "journal", "evidence", "projections", "projections/projectionstest"},
			"ledgers with real keys for tests of rules and writers: no adapter, disk or wire"},
		{"workspace", []string{"events", "boundary"}, "what the disk says are facts in the events' words; it knows no ledger"},
		{"workspace/guard", []string{"workspace", "boundary", "events", "projections"}, "claims held against the disk: findings as values, for a folder with or without a ledger"},
		{"workspace/delivery", []string{"workspace", "boundary", "events", "projections"},
			"a task's state as the files of a repository: a rendering of folds and a reading of what people may edit there"},
		{"workspace/workflow", []string{"workspace", "boundary", "events", "projections"},
			"a task's folder for people and models: its files are read and written here, their meaning is the ledger's"},
		{"runner/testreport", nil, "what a test run says of itself is text of others: a leaf that only reads"},
		{"runner", []string{"runner/testreport", "workspace", "boundary", "events"}, "what was proven is returned as facts; it never writes to a ledger itself"},
		{"attest", []string{"events", "signer"}, "a receipt in the words of in-toto: bytes in, signed bytes out"},
		{"server/protocol", []string{"events", "ledger", "projections"},
			"what a service and its clients say to each other: shared by both, so it imports neither"},
		{"client", []string{"events", "signer", "journal", "journal/jetstream", "evidence", "ledger", "server/protocol"},
			"the service as its users see it: it must build without the server"},
		{"server", []string{anything}, "the shell of the service wires everything below the command line"},
		{"cli", []string{anything}, "the shell of the command line"},
		{"cmd/deed", []string{"cli", "server"}, "main is wiring only: clock, ids, environment, exit"},
		{"deploy", []string{"journal/jetstream/embedded", "server", "cli"}, "tests that hold installed files against what the code does"},
		{"bench", []string{anything}, "measures any layer"},
	}
}

// testSupport reports whether a package exists for tests.
func testSupport(pkg string) bool {
	return within(pkg, "internal") || slices.Contains([]string{"journal/journaltest", "projections/projectionstest", "ledger/ledgertest"}, pkg)
}

// shells are packages that tests of other packages must not reach up to.
func shells() []string { return []string{"server", "cli", "cmd/deed"} }

// vendorRule keeps an outside package where it belongs.
type vendorRule struct {
	prefix string   // import path, or the start of it before a slash
	only   []string // packages of ours, with what is below them; nil: none
	tests  bool     // any test may import it too
	why    string
}

func vendors() []vendorRule {
	support := []string{"internal", "bench", "deploy"}
	with := func(pkgs ...string) []string { return append(pkgs, support...) }
	return []vendorRule{
		{"github.com/nats-io/nats.go/jetstream", with("journal/jetstream"), true,
			"one production importer of streams: every trap of JetStream is handled in one place"},
		{"github.com/nats-io/nats.go", with("journal/jetstream", "server", "client"), true,
			"the wire belongs to the adapter, to the service and to its clients"},
		{"github.com/nats-io/nats-server", with("journal/jetstream", "server"), true,
			"the embedded server's settings are built in one place"},
		{"github.com/cloudevents/sdk-go/v2/protocol", nil, false,
			"the SDK's protocols drop acknowledgements and do not encode headers"},
		{"github.com/cloudevents/sdk-go/protocol", nil, false,
			"the SDK's NATS protocol drops the acknowledgement and writes bytes as numbers"},
		{"github.com/transparency-dev/merkle", with(), true,
			"the second implementation that tests check ours against: production must not share it"},
		{"github.com/spf13/cobra", with("cli", "cmd/deed"), true, "only the command line has commands"},
		{"charm.land/fang", with("cli", "cmd/deed"), true, "only the command line has a terminal"},
		{"charm.land/lipgloss", with("cli", "cmd/deed"), true, "only the command line has a terminal"},
		{"github.com/stretchr/testify", nil, false, "tests compare with == and cmp-like helpers of their own; failures print both sides"},
	}
}

// checkArrows reports packages that are not in the table and imports against it.
func checkArrows(t *tree) []finding {
	const rule = "import arrows"
	table := map[string]arrow{}
	for _, a := range arrows() {
		table[a.pkg] = a
	}
	_, order := t.packages()
	var found []finding
	for _, dir := range order {
		if _, listed := table[dir]; !listed && !within(dir, "internal") && !within(dir, "bench") {
			found = append(found, finding{rule, dir, "package is not in the table of internal/tidy/arrows.go",
				"a new package states its arrows and why it exists before it has users"})
		}
	}
	for _, f := range t.files {
		for _, im := range f.imports() {
			target, ours := strings.CutPrefix(im.path, module+"/")
			if !ours || target == f.dir() || within(f.dir(), "internal") || within(f.dir(), "bench") {
				continue
			}
			if why, ok := allowed(table[f.dir()], f, target); !ok {
				found = append(found, finding{rule, f.at(im.spec.Pos()), fmt.Sprintf("%s imports %s", f.dir(), target), why})
			}
		}
	}
	return found
}

// allowed says whether a file may import one of our packages, and the reason if not. Tests reach sideways for fixtures, never up
// to a shell; production code never imports what exists for tests.
func allowed(a arrow, f *file, target string) (string, bool) {
	if f.test {
		if slices.Contains(shells(), target) && !slices.Contains(a.may, target) && !slices.Contains(a.may, anything) {
			return "a test of a lower package must not need the shell above it", false
		}
		return "", true
	}
	if testSupport(target) && !testSupport(f.dir()) {
		return "test support stays out of the product", false
	}
	if slices.Contains(a.may, target) {
		return "", true
	}
	if slices.Contains(a.may, anything) && above(target, a.pkg) {
		return "", true
	}
	if a.pkg == "" {
		return "a package that is not in the table may import nothing of ours", false
	}
	return a.why, false
}

// above reports whether target stands above pkg in the table.
func above(target, pkg string) bool {
	for _, a := range arrows() {
		switch a.pkg {
		case target:
			return true
		case pkg:
			return false
		}
	}
	return false
}

// checkVendors reports outside packages imported where they do not belong. The first rule that matches an import decides.
func checkVendors(t *tree) []finding {
	var found []finding
	for _, f := range t.files {
		for _, im := range f.imports() {
			rules := vendors()
			i := slices.IndexFunc(rules, func(r vendorRule) bool { return within(im.path, r.prefix) })
			if i < 0 || f.test && rules[i].tests {
				continue
			}
			home := func(pkg string) bool { return within(f.dir(), pkg) }
			suite := rules[i].tests && f.dir() == "journal/journaltest"
			if !suite && !slices.ContainsFunc(rules[i].only, home) {
				found = append(found, finding{"outside packages", f.at(im.spec.Pos()), f.dir() + " imports " + im.path, rules[i].why})
			}
		}
	}
	return found
}
