package tidy

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// sample is a small source file and what one check must say about it.
type sample struct {
	check string // a name of rules()
	path  string
	text  string
	want  int // findings
}

func run(t *testing.T, s sample) []finding {
	t.Helper()
	source, broken, err := load(fstest.MapFS{s.path: &fstest.MapFile{Data: []byte(s.text)}})
	if err != nil || len(broken) != 0 {
		t.Fatalf("load: %v %v", err, broken)
	}
	return rules()[s.check](source)
}

func try(t *testing.T, samples []sample) {
	t.Helper()
	for _, s := range samples {
		t.Run(s.check+"/"+s.path, func(t *testing.T) {
			got := run(t, s)
			if len(got) != s.want {
				t.Errorf("%d findings, want %d, for\n%s\n%v", len(got), s.want, s.text, got)
			}
			for _, f := range got {
				if f.why == "" || f.what == "" || f.rule == "" || f.at != "." && !strings.HasPrefix(f.at, strings.Split(s.path, "/")[0]) {
					t.Errorf("finding lacks a place, a rule or a reason: %+v", f)
				}
			}
		})
	}
}

// source writes a file of this package clause, imports and body.
func source(pkg, body string, imports ...string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "// Package %s is a sample.\npackage %s\n\n", pkg, pkg)
	for _, im := range imports {
		fmt.Fprintf(&text, "import %s\n", im)
	}
	return text.String() + body + "\n"
}

func ours(pkg string) string { return `_ "` + module + "/" + pkg + `"` }

func arrowSamples() []sample {
	return []sample{
		{"arrows", "events/a.go", source("events", "", ours("signer")), 1},
		{"arrows", "events/a.go", source("events", "", ours("journal"), ours("ledger")), 2},
		{"arrows", "schemas/a.go", source("schemas", "", ours("events")), 1},
		{"arrows", "signer/a.go", source("signer", "", ours("events")), 1},
		{"arrows", "journal/a.go", source("journal", "", ours("journal/jetstream")), 1},
		{"arrows", "journal/a.go", source("journal", "", ours("evidence")), 1},
		{"arrows", "journal/jetstream/a.go", source("jetstream", "", ours("ledger")), 1},
		{"arrows", "journal/jetstream/embedded/a.go", source("embedded", "", ours("events")), 1},
		{"arrows", "projections/a.go", source("projections", "", ours("schemas")), 1},
		{"arrows", "projections/a.go", source("projections", "", ours("signer")), 1},
		{"arrows", "ledger/a.go", source("ledger", "", ours("journal/jetstream")), 1},
		{"arrows", "ledger/a.go", source("ledger", "", ours("workspace")), 1},
		{"arrows", "ledger/ledgertest/a.go", source("ledgertest", "", ours("journal/jetstream")), 1},
		{"arrows", "ledger/a.go", source("ledger", "", ours("ledger/ledgertest")), 1},
		{"arrows", "ledger/recovery.go", source("ledger", "", ours("runner")), 1},
		{"arrows", "workspace/a.go", source("workspace", "", ours("ledger")), 1},
		{"arrows", "client/a.go", source("client", "", ours("server")), 1},
		{"arrows", "client/a.go", source("client", "", ours("journal/jetstream/embedded")), 1},
		{"arrows", "client/a_test.go", source("client_test", "", ours("server")), 1},
		{"arrows", "server/protocol/a.go", source("protocol", "", ours("client")), 1},
		{"arrows", "runner/a.go", source("runner", "", ours("ledger")), 1},
		{"arrows", "server/a.go", source("server", "", ours("cli")), 1},
		{"arrows", "server/protocol/a.go", source("protocol", "", ours("server")), 1},
		{"arrows", "server/a.go", source("server", "", ours("internal/natstest")), 1},
		{"arrows", "server/a.go", source("server", "", ours("journal/journaltest")), 1},
		{"arrows", "cli/a.go", source("cli", "", ours("cmd/deed")), 1},
		{"arrows", "cmd/deed/main.go", source("main", "", ours("ledger")), 1},
		{"arrows", "events/a_test.go", source("events_test", "", ours("server")), 1},
		{"arrows", "newcomer/a.go", source("newcomer", ""), 1},
		{"arrows", "newcomer/a.go", source("newcomer", "", ours("events")), 2},
		{"arrows", "ledger/rules/a.go", source("rules", ""), 1},
		{"arrows", "a.go", source("deed", ""), 1},

		{"arrows", "events/a_test.go", source("events_test", "", ours("events"), ours("signer")), 0},
		{"arrows", "journal/jetstream/a.go", source("jetstream", "", ours("journal"), ours("events")), 0},
		{"arrows", "journal/a_test.go", source("journal_test", "", ours("journal/journaltest"), ours("internal/natstest")), 0},
		{"arrows", "ledger/a.go", source("ledger", "", ours("events"), ours("evidence"), ours("projections")), 0},
		{"arrows", "ledger/scope.go", source("ledger", "", ours("boundary")), 0},
		{"arrows", "boundary/a.go", source("boundary", "", ours("events")), 1},
		{"arrows", "ledger/ledgertest/a.go", source("ledgertest", "", ours("ledger"), ours("projections/projectionstest")), 0},
		{"arrows", "client/a.go", source("client", "", ours("server/protocol"), ours("journal/jetstream")), 0},
		{"arrows", "client/a_test.go", source("client_test", "", ours("internal/servicetest")), 0},
		{"arrows", "server/a.go", source("server", "", ours("journal/jetstream"), ours("runner")), 0},
		{"arrows", "bench/report/main.go", source("main", "", ours("bench")), 0},
		{"arrows", "cli/a.go", source("cli", "", ours("server"), ours("events")), 0},
		{"arrows", "cmd/deed/main.go", source("main", "", ours("cli"), ours("server")), 0},
		{"arrows", "bench/a.go", source("bench", "", ours("cli"), ours("internal/natstest")), 0},
		{"arrows", "internal/sim/a.go", source("sim", "", ours("server")), 0},

		{"vendors", "ledger/a.go", source("ledger", "", `_ "github.com/nats-io/nats.go"`), 1},
		{"vendors", "cli/a.go", source("cli", "", `_ "github.com/nats-io/nats.go/micro"`), 1},
		{"vendors", "client/a.go", source("client", "", `_ "github.com/nats-io/nats.go/jetstream"`), 1},
		{"vendors", "server/a.go", source("server", "", `_ "github.com/nats-io/nats.go/jetstream"`), 1},
		{"vendors", "journal/a.go", source("journal", "", `_ "github.com/nats-io/nats-server/v2/server"`), 1},
		{"vendors", "server/a.go", source("server", "", `_ "github.com/cloudevents/sdk-go/v2/protocol/http"`), 1},
		{"vendors", "server/a_test.go", source("server", "", `_ "github.com/cloudevents/sdk-go/protocol/nats/v2"`), 1},
		{"vendors", "evidence/a.go", source("evidence", "", `_ "github.com/transparency-dev/merkle/proof"`), 1},
		{"vendors", "ledger/a.go", source("ledger", "", `_ "github.com/spf13/cobra"`), 1},
		{"vendors", "events/a_test.go", source("events", "", `_ "github.com/stretchr/testify/require"`), 1},
		{"vendors", "internal/sim/a.go", source("sim", "", `_ "github.com/stretchr/testify/assert"`), 1},

		{"vendors", "journal/jetstream/a.go", source("jetstream", "", `_ "github.com/nats-io/nats.go/jetstream"`), 0},
		{"vendors", "server/a.go", source("server", "", `_ "github.com/nats-io/nats.go/micro"`), 0},
		{"vendors", "ledger/a_test.go", source("ledger", "", `_ "github.com/nats-io/nats.go/jetstream"`), 0},
		{"vendors", "events/a.go", source("events", "", `_ "github.com/cloudevents/sdk-go/v2/event"`), 0},
		{"vendors", "evidence/a_test.go", source("evidence", "", `_ "github.com/transparency-dev/merkle/proof"`), 0},
	}
}

func pureSamples() []sample {
	samples := []sample{
		{"pure", "events/a.go", source("events", "func f() { time.Now() }", `"time"`), 2},
		{"pure", "events/a.go", source("events", "var f = clock.Now", `clock "time"`), 2},
		{"pure", "projections/a.go", source("projections", "func f(t time.Time) { <-time.After(time.Since(t)) }", `"time"`), 3},
		{"pure", "projections/a.go", source("projections", "", `_ "time"`), 1},
		{"pure", "ledger/brandnew.go", source("ledger", "", `"context"`, `"os"`), 2},
		{"pure", "journal/a.go", source("journal", "", `"context"`, `"time"`), 0},
		{"pure", "events/a_test.go", source("events", "func f() { time.Now() }", `"time"`), 0},
		{"pure", "events/a.go", source("events", "", `"strings"`, `"errors"`), 0},

		{"process", "ledger/a.go", source("ledger", "func f() { os.Getenv(`X`) }", `"os"`), 1},
		{"process", "cli/a.go", source("cli", "func f() { os.LookupEnv(`X`); os.Environ() }", `"os"`), 2},
		{"process", "cli/a.go", source("cli", "func f() { sys.UserHomeDir() }", `sys "os"`), 1},
		{"process", "cli/a.go", source("cli", "func f() { syscall.Getenv(`X`) }", `"syscall"`), 1},
		{"process", "cli/a.go", source("cli", "func f() { os.Exit(1) }", `"os"`), 1},
		{"process", "server/a.go", source("server", "func f() { log.Fatal(1) }", `"log"`), 1},
		{"process", "runner/a.go", source("runner", "func f() { os.Exit(1) }", `"os"`), 1},
		{"process", "workspace/a.go", source("workspace", "func f() { os.Environ() }", `"os"`), 1},
		{"process", "internal/sim/a.go", source("sim", "func f() { os.Getenv(`X`) }", `"os"`), 1},
		{"process", "cmd/deed/main.go", source("main", "func f() { os.Exit(1); os.Getenv(`X`) }", `"os"`), 0},
		{"process", "runner/a.go", source("runner", "func f() { os.Environ() }", `"os"`), 0},
		{"process", "cli/a_test.go", source("cli", "func f() { os.Exit(1) }", `"os"`), 0},
		{"process", "cli/a.go", source("cli", "func f() { os.Exit(1) }", `"example.org/os"`), 0},

		{"json", "events/a.go", source("events", "", `"encoding/json"`), 1},
		{"json", "signer/a.go", source("signer", "", `"encoding/json"`), 1},
		{"json", "ledger/a.go", source("ledger", "", `_ "encoding/gob"`), 1},
		{"json", "events/a.go", source("events", "", `"github.com/go-json-experiment/json"`), 0},
		{"json", "cli/a.go", source("cli", "", `"encoding/json"`), 0},
	}
	for im := range worldly() {
		samples = append(samples, sample{"pure", "events/import.go", source("events", "", `_ "`+im+`"`), 1})
	}
	return samples
}

func globalSamples() []sample {
	one := func(body string, want int, imports ...string) sample {
		return sample{"globals", "ledger/a.go", source("ledger", body, imports...), want}
	}
	return []sample{
		one("var n int", 1),
		one("var limit = 5", 1),
		one("var a, b = 1, 2", 1),
		one("var (\n\ta int\n\tb int\n)", 2),
		one("var mu sync.Mutex", 1, `"sync"`),
		one("var once sync.Once", 1, `"sync"`),
		one("var re = regexp.MustCompile(`x`)", 1, `"regexp"`),
		one("var schema = jsonschema.MustCompileString(`x`, `{}`)", 1, `"example.org/jsonschema"`),
		one("var failed = errors.New(`x`)", 1, `"errors"`),
		one("var ErrX = errors.New(`x`)", 1, `"example.org/errors/v2"`),
		one("var ErrX = make()", 1),
		one("var ErrX error", 1),
		one("var table = map[string]int{`a`: 1}", 1),
		one("// Table is read-only.\nvar Table = map[string]int{`a`: 1}", 1),
		one("// table is read-only.\nvar table = map[string]int{`a`: make()}", 1),
		one("// table is read-only.\nvar table = []*regexp.Regexp{regexp.MustCompile(`x`)}", 1, `"regexp"`),
		one("// table is read-only.\nvar table = build()", 1),
		one("// table is read-only.\nvar table = map[string]int{`a`: 1}\nfunc f() { table[`b`] = 2 }", 1),
		one("// table is read-only.\nvar table = map[string]int{`a`: 1}\nfunc f() { delete(table, `a`) }", 1),
		one("// table is read-only.\nvar table = []int{1}\nfunc f() { table[0]++ }", 1),
		one("// table is read-only.\nvar table = []int{1}\nfunc f() *int { return &table[0] }", 1),
		one("// table is read-only.\nvar table = []struct{ n int }{{1}}\nfunc f() { table[0].n = 2 }", 1),
		one("// table is read-only.\nvar table = []int{1}\nfunc f() { table = nil }", 1),
		one("// Tables are read-only.\nvar (\n\ta = []int{1}\n\tb = []int{2}\n)", 2),
		one("var _ = start()", 1),
		one("var _ I = start()", 1),
		one("var Lazy = sync.OnceValue(func() int { return 1 })", 1, `"sync"`),
		one("//go:embed x\nvar files []byte", 1, `_ "embed"`),
		one("//go:embed x\nvar files fs.FS", 1, `"embed"`, `"io/fs"`),
		one("var files embed.FS", 1, `"embed"`),
		one("var f = func() {}", 1),

		one("var ErrX = errors.New(`x`)", 0, `"errors"`),
		one("// These are sentinels.\nvar (\n\tErrX = errors.New(`x`)\n\terrY = fmt.Errorf(`y: %w`, ErrX)\n)", 0, `"errors"`, `"fmt"`),
		one("var _ I = T{}", 0),
		one("var _ I = (*T)(nil)", 0),
		one("// table is read-only.\nvar table = map[string][]byte{`a`: []byte(`x`), `b`: nil}", 0),
		one("var (\n\t// table is read-only.\n\ttable = []int{1}\n)", 0),
		one("var table = []func() int{func() int { return f() }} // read-only", 0),
		one("var lazy = sync.OnceValue(func() int { return 1 })", 0, `"sync"`),
		one("//go:embed x\nvar files embed.FS", 0, `"embed"`),
		one("//go:embed x\nvar text string", 0, `_ "embed"`),
		one("const limit = 5\nfunc f() { var n int; _ = n }", 0),
		{"globals", "ledger/a_test.go", source("ledger", "var update = flag.Bool(`update`, false, ``)", `"flag"`), 0},

		{"init", "ledger/a.go", source("ledger", "func init() {}"), 1},
		{"init", "ledger/a_test.go", source("ledger", "func init() {}\nfunc init() {}"), 2},
		{"init", "ledger/a.go", source("ledger", "type T struct{}\nfunc (T) init() {}\nfunc initial() {}"), 0},
	}
}

func lines(n int, line string) string { return strings.Repeat(line+"\n", n) }

func sizeSamples() []sample {
	body := func(n int) string { return "func f() {\n" + lines(n, "\tg()") + "}" }
	return []sample{
		{"size", "ledger/a.go", source("ledger", body(maxFunctionLines+1)), 1},
		{"size", "ledger/a.go", source("ledger", "type T struct{}\nfunc (T) f() {\n"+lines(maxFunctionLines+1, "// why")+"}"), 1},
		{"size", "ledger/a.go", source("ledger", "func f() { go func() {\n"+lines(maxFunctionLines+1, "g()")+"}() }"), 1},
		{"size", "ledger/a.go", "package ledger\n" + lines(maxFileLines, "// why"), 1},
		{"size", "ledger/a_test.go", "package ledger\n" + lines(maxTestFileLines, "// why"), 1},
		{"size", "ledger/a.go", source("ledger", "func f(a, b, c, d, e int) {}"), 1},
		{"size", "ledger/a.go", source("ledger", "func f(a int, ctx context.Context, b, c, d int) {}", `"context"`), 1},
		{"size", "ledger/a.go", source("ledger", "func f(ctx, other context.Context, a, b, c int) {}", `"context"`), 1},
		{"size", "ledger/a.go", source("ledger", "func f(ctx context.Context, a, b, c, d int) {}", `"example.org/context/v2"`), 1},
		{"size", "ledger/a.go", source("ledger", "type I interface{ F(int, int, int, int, int) }"), 1},

		{"size", "ledger/a.go", source("ledger", body(maxFunctionLines)), 0},
		{"size", "ledger/a.go", "package ledger\n" + lines(maxFileLines-1, "// why"), 0},
		{"size", "ledger/a_test.go", "package ledger\n" + lines(maxTestFileLines-1, "// why"), 0},
		{"size", "ledger/a_test.go", source("ledger", body(maxFunctionLines+1)), 0},
		{"size", "ledger/a.go", source("ledger", "func f(ctx context.Context, a, b, c, d int) {}", `"context"`), 0},
		{"size", "ledger/a.go", source("ledger", "func f(ctx std.Context, a, b, c, d int)", `std "context"`), 0},
		{"size", "ledger/a.go", source("ledger", "type T struct{}\nfunc (t T) f(a, b, c, d int) {}"), 0},
	}
}

func docSamples() []sample {
	one := func(body string, want int) sample {
		return sample{"docs", "ledger/a.go", source("ledger", body), want}
	}
	return []sample{
		one("func F() {}", 1),
		one("// Does something.\nfunc F() {}", 1),
		one("// Fold does something.\nfunc F() {}", 1),
		one("// F does.\n\nfunc F() {}", 1),
		one("type T struct{}\n\nfunc (*T) M() {}", 2),
		one("// T is.\ntype T[K any] struct{}\n\nfunc (T[K]) M() {}", 1),
		one("const C = 1", 1),
		one("var V, w = 1, 2", 1),
		one("const (\n\tA = 1\n\tB = 2\n)", 2),
		one("// Types are.\ntype (\n\tA int\n\tB int\n)", 2),
		one("//go:noinline\nfunc F() {}", 1),
		{"docs", "ledger/a.go", "package ledger\n", 1},
		{"docs", "ledger/a.go", "// Ledger is something.\npackage ledger\n", 1},
		{"docs", "ledger/a.go", "// Package other is something.\npackage ledger\n", 1},
		{"docs", "internal/sim/a.go", "package sim\n", 1},
		{"docs", "deploy/a_test.go", "package deploy\n", 1},

		one("// F does.\nfunc F() {}\nfunc g() {}", 0),
		one("// A T is.\ntype T struct{}\n\n// M does.\nfunc (*T) M() {}\n\ntype u struct{}\n\nfunc (u) M() {}", 0),
		one("// States, in order.\nconst (\n\tA = 1\n\tB = 2\n)", 0),
		one("const (\n\tA = 1 // one\n\t// B is two.\n\tB = 2\n)", 0),
		{"docs", "cmd/deed/main.go", "// Deed is the binary.\npackage main\n", 0},
		{"docs", "internal/sim/a.go", "// Package sim is.\npackage sim\n\nfunc F() {}\n", 0},
		{"docs", "deploy/a_test.go", "// Package deploy is.\npackage deploy\n\nfunc F() {}\n", 0},
	}
}

func wordSamples() []sample {
	mark := func(a, b string) string { return "// " + a + b + ": later" }
	return []sample{
		{"names", "util/a.go", source("strings", ""), 1},
		{"names", "ledger/helpers/a.go", source("helpers", ""), 2},
		{"names", "ledger/a.go", source("common", ""), 1},
		{"names", "types/a.txt", "no Go at all", 1},
		{"names", "pkg/ledger/a.go", source("ledger", ""), 1},
		{"names", "utility/a.go", source("typeset", ""), 0},

		{"unfinished", "ledger/a.go", source("ledger", mark("TO", "DO")), 1},
		{"unfinished", "ledger/a.go", source("ledger", mark("FIX", "ME")+"\n"+mark("XX", "X")), 2},
		{"unfinished", "ledger/a_test.go", source("ledger", "const c = `TO"+"DO`"), 1},
		{"unfinished", "ledger/a.go", source("ledger", "// BUG(x): a known fault\nconst c = `TO"+"DOS XX"+"XX`"), 0},

		{"tests", "ledger/a_test.go", source("ledger", "func f(t *testing.T) { t.Skip() }", `"testing"`), 1},
		{"tests", "ledger/a_test.go", source("ledger", "func f(b *testing.B) { b.Skipf(``); b.SkipNow() }", `"testing"`), 2},
		{"tests", "ledger/a_test.go", source("ledger", "func f() { time.Sleep(1) }", `"time"`), 1},
		{"tests", "ledger/a_test.go", source("ledger", "var wait = clock.Sleep", `clock "time"`), 1},
		{"tests", "journal/journaltest/a.go", source("journaltest", "func f() { time.Sleep(1) }", `"time"`), 1},
		{"tests", "internal/natstest/a.go", source("natstest", "func f(t *testing.T) { t.Skip() }", `"testing"`), 1},
		{"tests", "ledger/a_test.go", source("ledger", "func f() { <-time.After(1) }", `"time"`), 0},
		{"tests", "ledger/a.go", source("ledger", "func f() { r.Skip() }"), 0},
	}
}

// staleSamples are every package with an exception, holding another file only.
func staleSamples() []sample {
	count := map[string]int{}
	for _, row := range shellFiles() {
		count[path.Dir(row.path)]++
	}
	for _, row := range admittedImports() {
		count[path.Dir(row.path)]++
	}
	for _, row := range globalExceptions() {
		count[row.name[:strings.Index(row.name, ".")]]++
	}
	samples := []sample{{"stale", "newcomer/a.go", source("newcomer", ""), 0}}
	for dir, n := range count {
		samples = append(samples, sample{"stale", dir + "/other.go", source("other", "var other int"), n})
	}
	return samples
}

func allSamples() []sample {
	return slices.Concat(staleSamples(), arrowSamples(), pureSamples(), globalSamples(), sizeSamples(), docSamples(), wordSamples())
}

func TestRules(t *testing.T) { try(t, allSamples()) }

// Every rule is seen failing, and more samples fail than pass.
func TestEveryRuleIsSeenFailing(t *testing.T) {
	failing := map[string]int{}
	bad := 0
	for _, s := range allSamples() {
		if s.want > 0 {
			failing[s.check]++
			bad++
		}
	}
	for name := range maps.Keys(rules()) {
		if failing[name] == 0 {
			t.Errorf("rule %s has no sample that fails", name)
		}
	}
	if good := len(allSamples()) - bad; bad <= good {
		t.Errorf("%d samples fail and %d pass", bad, good)
	}
}

// Two files of one package may not both hold the package's comment.
func TestTwoPackageComments(t *testing.T) {
	file := &fstest.MapFile{Data: []byte(source("ledger", ""))}
	source, _, err := load(fstest.MapFS{"ledger/a.go": file, "ledger/b.go": file})
	if err != nil {
		t.Fatal(err)
	}
	if got := checkDocs(source); len(got) != 1 {
		t.Errorf("%v, want one finding", got)
	}
}

// A table that another file of its package writes to is not read-only.
func TestTableWrittenElsewhere(t *testing.T) {
	source, _, err := load(fstest.MapFS{
		"ledger/a.go": {Data: []byte(source("ledger", "// table is read-only.\nvar table = map[string]int{}"))},
		"ledger/b.go": {Data: []byte("package ledger\nfunc f() { table[`a`] = 1 }\n")},
		"events/b.go": {Data: []byte("package events\nfunc f() { table[`a`] = 1 }\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := checkGlobals(source); len(got) != 1 || !strings.HasPrefix(got[0].at, "ledger/a.go:") {
		t.Errorf("%v, want one finding in ledger/a.go", got)
	}
}

func TestLoad(t *testing.T) {
	good := &fstest.MapFile{Data: []byte("package x\n")}
	source, broken, err := load(fstest.MapFS{
		"a/a.go": good, "a/testdata/b.go": good, ".git/c.go": good, "_old/d.go": good, "a/.e.go": good,
		"a/f.go": {Data: []byte("package x\nfunc {")}, "a/g.txt": good,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(source.files) != 1 || source.files[0].path != "a/a.go" {
		t.Errorf("loaded %v", source.files)
	}
	if len(broken) != 1 || broken[0].at != "a/f.go" || !source.has("a") || source.has("b") {
		t.Errorf("broken %v", broken)
	}
}

// The table is in the house's order: what a row names stands above it, once, and every list has reasons.
func TestTablesAreSound(t *testing.T) {
	seen := []string{}
	for _, a := range arrows() {
		for _, target := range a.may {
			if target != anything && !slices.Contains(seen, target) && a.pkg != "cmd/deed" && a.pkg != "deploy" {
				t.Errorf("%s may import %s, which does not stand above it", a.pkg, target)
			}
			if target == a.pkg || strings.HasPrefix(target, "internal") {
				t.Errorf("%s may import %s", a.pkg, target)
			}
		}
		if slices.Contains(seen, a.pkg) || a.why == "" {
			t.Errorf("%s is listed twice or without a reason", a.pkg)
		}
		seen = append(seen, a.pkg)
	}
	for _, row := range slices.Concat(shellFiles(), environmentReaders(), processEnders()) {
		if row.why == "" {
			t.Errorf("%s has no reason", row.path)
		}
	}
	for _, row := range globalExceptions() {
		if row.why == "" || !strings.Contains(row.name, ".") {
			t.Errorf("%q has no reason or no package", row.name)
		}
	}
}
