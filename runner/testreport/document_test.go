package testreport

import (
	"strings"
	"testing"
)

// ctrf writes a report of these tests and this summary.
func ctrf(summary string, tests ...string) string {
	return `{"reportFormat":"CTRF","results":{"tool":{"name":"jest"},"summary":{` + summary + `},"tests":[` + strings.Join(tests, ",") + `]}}`
}

func TestCTRF(t *testing.T) {
	a, b := `{"name":"a","status":"passed","duration":1}`, `{"suite":["s","t"],"name":"b","status":"failed","message":"no\nmore"}`
	skipped := `{"name":"c","status":"skipped"}`
	two := Counts{Total: 2, Executed: 2, Passed: 1, Failed: 1}
	one := Counts{Total: 1, Executed: 1, Passed: 1}
	unreadable := func(name, text string, code Code) want {
		return want{name: name, text: text, class: classInconclusive, rule: "report-unreadable", codes: []Code{code}}
	}
	contradiction := func(name, text string) want {
		return want{name: name, text: text, class: classInconclusive, rule: "report-contradicts-itself", counts: one, codes: []Code{Contradiction}}
	}
	for _, w := range []want{
		{name: "passed", text: ctrf(`"tests":1,"passed":1,"failed":0,"skipped":0,"pending":0,"other":0`, a), class: classPass, rule: "report-passed", counts: one},
		{name: "failed", text: ctrf(`"tests":2,"passed":1,"failed":1`, a, b), exit: 1, class: classCodeFailure, rule: "report-tests-failed", reason: "s/t.b", counts: two},
		{name: "failed, exit 0", text: ctrf(``, a, b), class: classInconclusive, rule: "report-disagrees", counts: two},
		{name: "nothing", text: ctrf(`"tests":0`), class: classInconclusive, rule: "report-nothing-executed"},
		{name: "skipped", text: ctrf(`"tests":2,"skipped":1,"pending":0`, a, skipped), class: classInconclusive, rule: "report-skipped", reason: "c",
			counts: Counts{Total: 2, Executed: 1, Passed: 1, Skipped: 1}},
		{name: "pending", text: ctrf(``, a, `{"name":"c","status":"pending"}`), skips: []string{"c"}, class: classPass, rule: "report-passed",
			counts: Counts{Total: 2, Executed: 1, Passed: 1, Skipped: 1}},
		{name: "other", text: ctrf(`"tests":2,"other":1`, a, `{"name":"c","status":"other"}`), class: classInconclusive, rule: "report-unfinished", reason: "c", counts: one},
		{name: "no status", text: ctrf(``, a, `{"name":"c"}`), class: classInconclusive, rule: "report-unfinished", counts: one},
		{name: "flaky", text: ctrf(``, `{"name":"a","status":"passed","flaky":true}`), class: classPass, rule: "report-passed", reason: "1 flaky",
			counts: Counts{Total: 1, Executed: 1, Passed: 1, Flaky: 1}, codes: []Code{FlakyCase}},
		{name: "tried again", text: ctrf(``, `{"name":"a","status":"passed","retries":2}`), class: classPass, rule: "report-passed", reason: "1 flaky",
			counts: Counts{Total: 1, Executed: 1, Passed: 1, Flaky: 1}, codes: []Code{FlakyCase}},
		contradiction("more in the summary", ctrf(`"tests":40`, a)),
		contradiction("failures in the summary", ctrf(`"failed":1`, a)),
		contradiction("skipped in the summary", ctrf(`"skipped":1`, a)),
		contradiction("a negative number", ctrf(`"failed":-1`, a)),
		contradiction("half a test", ctrf(`"failed":0.5`, a)),
		contradiction("a test that is none", ctrf(``, a, `7`)),
		unreadable("empty", ``, CutOff),
		unreadable("another document", `{"tests":[]}`, Malformed),
		unreadable("no list", `{"results":{"tests":{}}}`, Malformed),
		unreadable("a list as root", `[]`, Malformed),
		unreadable("a member twice", ctrf(``, `{"name":"a","status":"failed","status":"passed"}`), Malformed),
		unreadable("two results", `{"results":{"tests":[]},"results":{"tests":[]}}`, Malformed),
		unreadable("no JSON", `{"results":{"tests":[,]}}`, Malformed),
		unreadable("a number without end", `{"x":`+strings.Repeat("1", 1<<20)+`,"results":{"tests":[]}}`, Malformed),
		unreadable("too deep", `{"x":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`, Refused),
		{name: "something after it", text: ctrf(``, a) + ` {}`, class: classInconclusive, rule: "report-unreadable", counts: one, codes: []Code{Malformed}},
		{name: "space and long texts", text: strings.Repeat(" ", 3<<20) + ctrf(``, `{"name":"a","status":"passed","message":"`+strings.Repeat(`\ud83d\ude00`, 1<<16)+`"}`),
			class: classPass, rule: "report-passed", counts: one, codes: []Code{Clipped}},
	} {
		t.Run(w.name, func(t *testing.T) { w.check(t, FormatCTRF) })
	}
}

// sarif writes a report of one run with these members and results.
func sarif(members string, results ...string) string {
	return `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"lint","rules":[{"id":"E1","defaultConfiguration":{"level":"error"}},{"id":"W1"}]}},` +
		members + `"results":[` + strings.Join(results, ",") + `]}]}`
}

func TestSARIF(t *testing.T) {
	one := Counts{Total: 1, Executed: 1, Passed: 1}
	failed := Counts{Total: 1, Executed: 1, Failed: 1}
	at := `"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.go"},"region":{"startLine":3}}}],"message":{"text":"m"}`
	unreadable := func(name, text string, code Code) want {
		return want{name: name, text: text, class: classInconclusive, rule: "report-unreadable", codes: []Code{code}}
	}
	for _, w := range []want{
		{name: "nothing found", text: sarif(``), class: classPass, rule: "report-passed", counts: one},
		{name: "nothing found, exit 1", text: sarif(``), exit: 1, class: classInconclusive, rule: "report-disagrees", counts: one},
		{name: "error", text: sarif(``, `{"ruleId":"X","level":"error",`+at+`}`), exit: 1, class: classCodeFailure, rule: "report-tests-failed", reason: "X.a.go:3", counts: failed},
		{name: "error, exit 0", text: sarif(``, `{"ruleId":"X","level":"error",`+at+`}`), class: classInconclusive, rule: "report-disagrees", counts: failed},
		{name: "error by the rule", text: sarif(``, `{"ruleId":"E1",`+at+`}`), exit: 1, class: classCodeFailure, rule: "report-tests-failed", reason: "E1.a.go:3", counts: failed},
		{name: "error by the rule's index", text: sarif(``, `{"ruleIndex":0,`+at+`}`), exit: 1, class: classCodeFailure, rule: "report-tests-failed", counts: failed},
		{name: "error by the rule, rules last", exit: 1, text: `{"runs":[{"results":[{"ruleId":"E1","message":{"text":"m"}}],` +
			`"tool":{"driver":{"name":"x","rules":[{"id":"E1","defaultConfiguration":{"level":"error"}}]}}}],"version":"2.1.0"}`,
			class: classCodeFailure, rule: "report-tests-failed", counts: failed},
		{name: "warnings", text: sarif(``, `{"ruleId":"W1",`+at+`}`, `{"ruleId":"X","level":"warning",`+at+`}`), class: classPass, rule: "report-passed", counts: one, codes: []Code{NoteWarning}},
		{name: "notes", text: sarif(``, `{"ruleId":"X","level":"note"}`, `{"kind":"informational"}`, `{"kind":"notApplicable"}`), class: classPass, rule: "report-passed", counts: one},
		{name: "a level that nobody knows", text: sarif(``, `{"ruleId":"X","level":"fatal"}`), class: classInconclusive, rule: "report-unfinished", counts: one},
		{name: "to be reviewed", text: sarif(``, `{"ruleId":"X","kind":"review"}`), class: classInconclusive, rule: "report-unfinished", counts: one},
		{name: "a kind that nobody knows", text: sarif(``, `{"ruleId":"X","kind":"fine"}`), class: classInconclusive, rule: "report-unfinished", counts: one},
		{name: "a kind that passed", text: sarif(``, `{"ruleId":"X","kind":"pass"}`), class: classPass, rule: "report-passed", counts: Counts{Total: 2, Executed: 2, Passed: 2}},
		{name: "was there once", text: sarif(``, `{"ruleId":"X","level":"error","baselineState":"absent"}`), class: classPass, rule: "report-passed", counts: one},
		{name: "suppressed", text: sarif(``, `{"ruleId":"X","level":"error","suppressions":[{"kind":"inSource"}]}`),
			class: classInconclusive, rule: "report-skipped", reason: "X", counts: Counts{Total: 2, Executed: 1, Passed: 1, Skipped: 1}},
		{name: "suppressed and allowed", text: sarif(``, `{"ruleId":"X","level":"error","suppressions":[{"kind":"inSource","status":"accepted"}]}`), skips: []string{"X"},
			class: classPass, rule: "report-passed", counts: Counts{Total: 2, Executed: 1, Passed: 1, Skipped: 1}},
		{name: "a suppression that was rejected", text: sarif(``, `{"ruleId":"X","level":"error","suppressions":[{"kind":"external","status":"rejected"}]}`), exit: 1,
			class: classCodeFailure, rule: "report-tests-failed", counts: failed},
		{name: "the tool succeeded", text: sarif(`"invocations":[{"executionSuccessful":true}],`), class: classPass, rule: "report-passed", counts: one},
		{name: "the tool failed", text: sarif(`"invocations":[{"executionSuccessful":false}],`), class: classInconclusive, rule: "report-tool-failed", counts: one, codes: []Code{ToolFailed}},
		{name: "the tool does not say", text: sarif(`"invocations":[{}],`), class: classInconclusive, rule: "report-tool-failed", counts: one, codes: []Code{ToolFailed}},
		{name: "the tool reports an error", class: classInconclusive, rule: "report-tool-failed", reason: "no rules", counts: one, codes: []Code{ToolFailed},
			text: sarif(`"invocations":[{"executionSuccessful":true,"toolExecutionNotifications":[{"level":"error","message":{"text":"no rules"}}]}],`)},
		{name: "no list of results", text: `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x"}}}]}`, class: classInconclusive, rule: "report-unfinished", reason: "x"},
		{name: "no run", text: `{"version":"2.1.0","runs":[]}`, class: classInconclusive, rule: "report-nothing-executed"},
		{name: "a run that is none", text: `{"version":"2.1.0","runs":[7]}`, class: classInconclusive, rule: "report-contradicts-itself", codes: []Code{Contradiction}},
		unreadable("another version", `{"version":"1.0.0","runs":[]}`, Malformed),
		unreadable("no version", `{"runs":[]}`, Malformed),
		unreadable("no runs", `{"version":"2.1.0"}`, Malformed),
		unreadable("cut off", sarif(``)[:60], CutOff),
	} {
		t.Run(w.name, func(t *testing.T) { w.check(t, FormatSARIF) })
	}
}
