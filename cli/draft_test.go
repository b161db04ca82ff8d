package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/runner"
	"github.com/deedledger/deed/workspace"
)

// TestFillHint fills a task's name into hints that have it already, too.
func TestFillHint(t *testing.T) {
	for hint, want := range map[string]string{
		"deed why TASK": "deed why TASK-1", "deed why TASK-1; deed why TASK.": "deed why TASK-1; deed why TASK-1.", "TASKS MYTASK A_TASK TASK2 TYPE": "TASKS MYTASK A_TASK TASK2 x.y", "": "",
	} {
		if got := (topic{task: "TASK-1", kind: "x.y"}).fill(hint); got != want {
			t.Errorf("%q became %q, want %q", hint, got, want)
		}
	}
}

// FuzzIssue turns any text into a draft that is read again, and says no more than the text.
func FuzzIssue(f *testing.F) {
	for _, text := range []string{"# a\nb\n## Acceptance\n- c (check: `d \"e\" $f`)\n1. g\n**Non-goals**\n- h", "Acceptance:\n- A1: [x] check: `", "```\n- a\n", "\u2028# \x00\n- \x1b[31m", "# # #", "验收：\n- 一"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		i := readIssue(text)
		d, err := parseDraft([]byte(i.draft()))
		if err != nil {
			t.Fatalf("%v\n%s", err, i.draft())
		}
		if len(d.Acceptance) != len(i.items) || len(d.NonGoals) != len(i.nonGoals) || len(d.missing()) == 0 {
			t.Fatalf("%d items of %d, %d non-goals of %d, missing %q", len(d.Acceptance), len(i.items), len(d.NonGoals), len(i.nonGoals), d.missing())
		}
		for n, item := range i.items {
			if d.Acceptance[n].Text != item.text {
				t.Fatalf("item %q became %q", item.text, d.Acceptance[n].Text)
			}
		}
	})
}

// FuzzParseDraft looks for drafts that end in anything but a draft or
// events.ErrData.
func FuzzParseDraft(f *testing.F) {
	for _, text := range []string{contractTemplate, "", "{}", "a: &a [*a]", "goal: !!binary x", "acceptance: [{checks: [{files: [~]}]}]", "? [a]\n: b", "\xff", "goal: x\n...\nmore"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := parseDraft(text); err != nil && !errors.Is(err, events.ErrData) {
			t.Fatal(err)
		}
	})
}

// TestDraftBounds refuses what is large, or grows when it is read.
func TestDraftBounds(t *testing.T) {
	laughs := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for i := 'b'; i < 'k'; i++ {
		laughs += string(i) + ": &" + string(i) + " [" + strings.Repeat("*"+string(i-1)+", ", 8) + "*" + string(i-1) + "]\n"
	}
	for name, text := range map[string]string{
		"large": "goal: " + strings.Repeat("x", maxDraft), "aliases": laughs + "nonGoals: *j\n", "deep": strings.Repeat("[", 100_000),
	} {
		if _, err := parseDraft([]byte(text)); !errors.Is(err, events.ErrData) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTemplateParses keeps the template in step with the draft.
func TestTemplateParses(t *testing.T) {
	d, err := parseDraft([]byte(contractTemplate))
	if err != nil {
		t.Fatal(err)
	}
	d.Goal, d.Acceptance[0].Text, d.Acceptance[0].Checks[0].Command = "it holds", "it holds", []string{"true"}
	c, err := d.contract(t.Context(), t.TempDir(), "olga")
	if err == nil {
		c.Version = 1
		err = c.Validate()
	}
	if err != nil || c.Owners.Product != "olga" || c.MaxRepairs != defaultRepairs || c.Acceptance[0].Checks[0].TimeoutSeconds != defaultTimeout {
		t.Fatalf("%+v: %v", c, err)
	}
}

func TestMapChanges(t *testing.T) {
	one := events.Contract{Acceptance: []events.Item{{ID: "A1"}}}
	two := events.Contract{Acceptance: []events.Item{{ID: "A1"}, {ID: "A2"}}}
	changes := []workspace.Change{{Path: "a=b/c", Status: 'A'}, {Path: "a\xff", Status: 'M'}, {Path: "z z", Status: 'D'}}
	good := []struct {
		name string
		c    events.Contract
		args []string
		want []string
	}{
		{"the only item", one, nil, []string{"A1", "A1", "A1"}},
		{"all", two, []string{"*=A2,A1"}, []string{"A1 A2", "A1 A2", "A1 A2"}},
		{"each", two, []string{"a=b/c=A1", "a?=A2", "./z z=A1,A1", "z*=A2"}, []string{"A2", "A1", "A1 A2"}},
	}
	for _, g := range good {
		list, err := mapChanges(changes, g.args, g.c)
		if err != nil {
			t.Errorf("%s: %v", g.name, err)
			continue
		}
		var got, paths []string
		for _, c := range list {
			got, paths = append(got, strings.Join(c.Acceptance, " ")), append(paths, c.Status+" "+c.Path)
		}
		if !slices.IsSortedFunc(list, func(a, b events.ChangedPath) int { return strings.Compare(a.Path, b.Path) }) ||
			!slices.Equal(paths, []string{"M a%FF", "A a=b/c", "D z%20z"}) {
			t.Errorf("%s: paths %v", g.name, paths)
		}
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(g.want))) {
			t.Errorf("%s: %v, want %v", g.name, got, g.want)
		}
	}
	for _, args := range [][]string{nil, {"a=b/c=A1"}, {"*=A1", "q=A1"}, {"*"}, {"=A1"}, {"*="}, {"*=A1,"}, {"*=,A1"}, {"*=A1", "[=A1"}} {
		if list, err := mapChanges(changes, args, two); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v, %v", args, list, err)
		}
	}
}

func TestParseRan(t *testing.T) {
	good := map[string]events.Ran{
		"go test ./...":     {Command: []string{"go", "test", "./..."}},
		"1:go vet":          {Command: []string{"go", "vet"}, Exit: 1},
		"-1:a":              {Command: []string{"a"}, Exit: -1},
		"a:b c":             {Command: []string{"a:b", "c"}},
		"0:grep 'a b' | wc": {Command: []string{"sh", "-c", "grep 'a b' | wc"}},
	}
	for arg, want := range good {
		ran, err := parseRan([]string{arg})
		if err != nil || len(ran) != 1 || ran[0].Exit != want.Exit || !slices.Equal(ran[0].Command, want.Command) {
			t.Errorf("%q: %+v, %v", arg, ran, err)
		}
	}
	for _, arg := range []string{"", " ", "3:", "3: "} {
		if ran, err := parseRan([]string{arg}); !errors.Is(err, errUsage) {
			t.Errorf("%q: %+v, %v", arg, ran, err)
		}
	}
}

func TestParseDefect(t *testing.T) {
	d, err := parseDefect("high:A1:./a b: it: fails ")
	if want := (events.Defect{Severity: "high", Acceptance: "A1", Path: "a%20b", Text: "it: fails"}); err != nil || d != want {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := parseDefect("low:::x"); err != nil || d != (events.Defect{Severity: "low", Text: "x"}) {
		t.Errorf("%+v, %v", d, err)
	}
	for _, text := range []string{"", "x", "high:A1:x", "high:A1::", "high:A1:: ", "high:A1:/x:y", "high:A1:a/../../b:y", "high:A1:.git/config:y"} {
		if d, err := parseDefect(text); !errors.Is(err, errUsage) {
			t.Errorf("%q: %+v, %v", text, d, err)
		}
	}
}

func TestSteady(t *testing.T) {
	var s steady
	for range 2 {
		if err := s.hold("it", "a", "b"); err != nil {
			t.Fatal(err)
		}
	}
	for _, values := range [][]string{{"a"}, {"a", "c"}, {"a", "b", "c"}, nil} {
		r, ok := errors.AsType[*ledger.Refusal](s.hold("it", values...))
		if !ok || r.Code != ledger.CodeStale || classify(r).exit != ExitStale {
			t.Errorf("%q: %v", values, r)
		}
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\n": "a\tb\n", "\x1b[31m": "?[31m", "a\x00b": "a?b", "\xffé\u202e": "?é?", "0123456789": "01234567", "1234567é": "1234567",
	} {
		if got := printable(text, 8); got != want || !utf8.ValidString(got) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := printable("abc", 0); got != "" {
		t.Errorf("no room: %q", got)
	}
}

// TestFillOutcome keeps output only where something did not pass.
func TestFillOutcome(t *testing.T) {
	output := runner.Output{Head: []byte("secret"), Bytes: 6, Digest: events.Sum([]byte("secret")).String()}
	clean := func(text string) string { return text }
	var o events.CheckOutcome
	room := window{100, 100, clean}
	room.fill(&o, runner.Outcome{Result: runner.ResultPass, Class: runner.ClassPass, Rule: "exit-zero", Output: output})
	if o.Output != "" || o.Artifact != output.Digest || o.Outcome != events.OutcomePass {
		t.Errorf("%+v", o)
	}
	room = window{6, 5, clean}
	room.fill(&o, runner.Outcome{Result: runner.ResultInconclusive, Class: runner.ClassInconclusive, Rule: "r", Detail: "why", Reason: "a\n\x1b[31mb", ExitCode: -1, Output: output})
	if o.Output != "why\nse" || o.Exit != -1 || room.output != 0 || len(o.Notes) != 1 || len(o.Notes[0]) > 5 || strings.ContainsAny(o.Notes[0], "\n\x1b") {
		t.Errorf("%+v", o)
	}
}

func TestReceiptVerdict(t *testing.T) {
	pass, fail, open := events.CheckOutcome{Outcome: events.OutcomePass}, events.CheckOutcome{Outcome: events.OutcomeFail}, events.CheckOutcome{Outcome: events.OutcomeInconclusive}
	for _, c := range []struct {
		checks []events.CheckOutcome
		exit   int
	}{
		{[]events.CheckOutcome{pass, pass}, ExitDone}, {[]events.CheckOutcome{pass, open}, ExitPending}, {[]events.CheckOutcome{open, fail}, ExitFatal},
		{[]events.CheckOutcome{pass, {Outcome: "skipped"}}, ExitPending}, {[]events.CheckOutcome{{}}, ExitPending},
	} {
		if got := classify(receiptVerdict("T-1", receiptDone{Checks: c.checks})).exit; got != c.exit {
			t.Errorf("%+v: exit code %d, want %d", c.checks, got, c.exit)
		}
	}
}
