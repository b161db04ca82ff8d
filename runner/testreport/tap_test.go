package testreport

import (
	"strings"
	"testing"
)

// TestTAP holds reports of TAP 13 and 14, whole and damaged.
func TestTAP(t *testing.T) {
	passed := func(n int64) Counts { return Counts{Total: n, Executed: n, Passed: n} }
	mixed := func(passed, failed, skipped int64) Counts {
		return Counts{Total: passed + failed + skipped, Executed: passed + failed, Passed: passed, Failed: failed, Skipped: skipped}
	}
	node := "TAP version 13\n# Subtest: f.js\n    # Subtest: a\n    ok 1 - a\n      ---\n      duration_ms: 1\n      not ok: 2\n      ...\n" +
		"    # Subtest: b\n    not ok 2 - b\n    1..2\nnot ok 1 - f.js\n1..1\n"
	for _, w := range []want{
		{name: "plan first", text: "TAP version 14\n1..2\nok 1 - a\nok 2 - b # time=1ms\n", class: classPass, rule: "report-passed", counts: passed(2)},
		{name: "plan last, no numbers", text: "ok a\nok b\n1..2\n", class: classPass, rule: "report-passed", counts: passed(2)},
		{name: "failed", text: "1..2\nok 1\nnot ok 2 - b\n", exit: 1, class: classCodeFailure, rule: "report-tests-failed", reason: "b", counts: mixed(1, 1, 0)},
		{name: "failed, exit 0", text: "1..2\nok 1\nnot ok 2 - b\n", class: classInconclusive, rule: "report-disagrees", counts: mixed(1, 1, 0)},
		{name: "passed, exit 1", text: "1..1\nok 1\n", exit: 1, class: classInconclusive, rule: "report-disagrees", counts: passed(1)},
		{name: "nothing", class: classInconclusive, rule: "report-nothing-executed"},
		{name: "all skipped", text: "1..0 # skip no database\n", class: classInconclusive, rule: "report-nothing-executed", counts: mixed(0, 0, 1)},
		{name: "a skipped one", text: "1..2\nok 1 - a\nok 2 - b # SKIP no\n", class: classInconclusive, rule: "report-skipped", reason: "b", counts: mixed(1, 0, 1)},
		{name: "an allowed one", text: "1..2\nok 1 - a\nok 2 - b # skipped: no\n", skips: []string{"b"}, class: classPass, rule: "report-passed", counts: mixed(1, 0, 1)},
		{name: "an escaped mark", text: "1..1\nok 1 - a \\# SKIP\n", class: classPass, rule: "report-passed", counts: passed(1)},
		{name: "todo that does not hold", text: "1..2\nok 1\nnot ok 2 - b # Todo later\n", class: classInconclusive, rule: "report-skipped", counts: mixed(1, 0, 1)},
		{name: "todo that holds", text: "1..1\nok 1 - b # Todo later\n", class: classPass, rule: "report-passed", counts: passed(1), codes: []Code{NoteTodo}},
		{name: "no plan", text: "ok 1\nok 2\n", class: classInconclusive, rule: "report-contradicts-itself", reason: "no plan", counts: passed(2), codes: []Code{Contradiction}},
		{name: "too few", text: "1..3\nok 1\nok 2\n", class: classInconclusive, rule: "report-unfinished", reason: "2 of 3", counts: passed(2)},
		{name: "too few, exit 1", text: "1..3\nok 1\nok 2\n", exit: 1, class: classInconclusive, rule: "report-unfinished", counts: passed(2)},
		{name: "too many", text: "1..1\nok 1\nok 2\n", class: classInconclusive, rule: "report-contradicts-itself", counts: passed(2), codes: []Code{Contradiction}},
		{name: "after the plan", text: "ok 1\n1..2\nok 2\n", class: classInconclusive, rule: "report-contradicts-itself", counts: passed(2), codes: []Code{Contradiction}},
		{name: "two plans", text: "1..1\nok 1\n1..1\n", class: classInconclusive, rule: "report-contradicts-itself", counts: passed(1), codes: []Code{Contradiction}},
		{name: "one number twice", text: "1..2\nok 1\nok 1\n", class: classInconclusive, rule: "report-contradicts-itself", counts: passed(2), codes: []Code{Contradiction}},
		{name: "bail out", text: "1..3\nok 1\nBail out! no database\n", exit: 1, class: classInconclusive, rule: "report-killed", reason: "no database", counts: passed(1), codes: []Code{Killed}},
		{name: "bail out, exit 0", text: "1..1\nok 1\nBail out!\n", class: classInconclusive, rule: "report-contradicts-itself", counts: passed(1), codes: []Code{Killed}},
		{name: "bail out in a subtest", text: "TAP version 14\n    ok 1\n    Bail out! x\n", exit: 1, class: classInconclusive, rule: "report-killed", counts: passed(1), codes: []Code{Killed}},
		{name: "subtests as node writes them", text: node, exit: 1, class: classCodeFailure, rule: "report-tests-failed", reason: "1 failed: f.js.b", counts: mixed(1, 1, 0)},
		{name: "a subtest's failure is kept from its parent", text: strings.Replace(node, "not ok 1 - f", "ok 1 - f", 1),
			class: classInconclusive, rule: "report-disagrees", counts: mixed(1, 1, 0), codes: []Code{Contradiction}},
		{name: "a parent that fails by itself", text: "TAP version 14\n# Subtest: s\n    ok 1 - a\n    1..1\nnot ok 1 - s\n1..1\n", exit: 1,
			class: classCodeFailure, rule: "report-tests-failed", reason: "s", counts: mixed(1, 1, 0)},
		{name: "a subtest without a plan", text: "TAP version 14\n    # Subtest: s\n    ok 1 - a\nok 1 - s\n1..1\n",
			class: classInconclusive, rule: "report-contradicts-itself", reason: "subtest s", counts: passed(1), codes: []Code{Contradiction}},
		{name: "a subtest without a point", text: "TAP version 14\n1..1\nok 1 - a\n    # Subtest: s\n    1..1\n    ok 1 - b\n",
			class: classInconclusive, rule: "report-unfinished", reason: "subtest s", counts: passed(2)},
		{name: "two deep and no point between", text: "TAP version 14\n        1..1\n        ok 1 - x\nok 1 - s\n1..1\n",
			class: classInconclusive, rule: "report-unfinished", counts: passed(2)},
		{name: "indented output in TAP 13", text: "TAP version 13\n1..1\n    not ok 7\nok 1 - a\n", class: classPass, rule: "report-passed", counts: passed(1)},
		{name: "a diagnostic that looks like a point", text: "1..1\nok 1 - a\n  ---\n  x: |\n  not ok 2\n  ...\n", class: classPass, rule: "report-passed", counts: passed(1)},
		{name: "a diagnostic without end", text: "1..2\nok 1 - a\n  ---\n  x: 1\nok 2 - b\n",
			class: classInconclusive, rule: "report-unreadable", counts: passed(1), codes: []Code{CutOff}},
		{name: "other lines", text: "make: entering\n1..1\nok 1 - a\nokay\n", class: classPass, rule: "report-passed", counts: passed(1), codes: []Code{TextLine}},
		{name: "too deep", text: "TAP version 14\n1..1\nok 1\n" + strings.Repeat("    ", 300) + "ok 1\n",
			class: classInconclusive, rule: "report-unreadable", counts: passed(1), codes: []Code{Refused}},
		{name: "a line without end", text: "1..1\nok 1\n# " + strings.Repeat("x", 3<<20) + "\nnot ok 2\n", exit: 1,
			class: classCodeFailure, rule: "report-tests-failed", counts: mixed(1, 1, 0), codes: []Code{Limit, Contradiction}},
		{name: "one name failed and passed", text: "1..2\nnot ok 1 - a\nok 2 - a\n",
			class: classInconclusive, rule: "report-disagrees", counts: Counts{Total: 2, Executed: 2, Passed: 1, Failed: 1, Flaky: 1}, codes: []Code{FlakyCase}},
		{name: "UTF-16 of another system", text: "\xff\xfe1\x00.\x00.\x001\x00\r\x00\n\x00o\x00k\x00", class: classPass, rule: "report-passed", counts: passed(1)},
	} {
		t.Run(w.name, func(t *testing.T) { w.check(t, FormatTAP) })
	}
}
