package testreport

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
	"unicode/utf16"
)

// inUTF16 writes a text in UTF-16.
func inUTF16(text string, order binary.AppendByteOrder, mark bool) string {
	var out []byte
	if mark {
		out = order.AppendUint16(out, 0xFEFF)
	}
	for _, u := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, u)
	}
	return string(out)
}

const oneFailure = `<testsuite name="s" tests="1" failures="1"><testcase classname="c" name="größe"><failure message="m">t</failure></testcase></testsuite>`

// TestJUnitCase27 holds every variant of case C27 but the large file.
func TestJUnitCase27(t *testing.T) {
	failed1 := Counts{Total: 1, Executed: 1, Failed: 1}
	latin := strings.ReplaceAll(oneFailure, "öß", "\xf6\xdf")
	for _, w := range []want{
		{name: "Latin-1", text: `<?xml version="1.0" encoding="ISO-8859-1"?>` + latin, exit: 1,
			class: classCodeFailure, rule: "report-tests-failed", reason: "c.größe", counts: failed1},
		{name: "Windows-1252", text: `<?xml version='1.0' encoding='windows-1252'?>` + strings.ReplaceAll(oneFailure, "größe", "\x84x\x93"), exit: 1,
			class: classCodeFailure, rule: "report-tests-failed", reason: "c.„x“", counts: failed1},
		{name: "UTF-16 with a mark", text: inUTF16(`<?xml version="1.0" encoding="utf-16"?>`+oneFailure, binary.LittleEndian, true), exit: 1,
			class: classCodeFailure, rule: "report-tests-failed", reason: "c.größe", counts: failed1},
		{name: "UTF-16, the other order, no mark", text: inUTF16(`<?xml version="1.0" encoding="utf-16"?>`+oneFailure, binary.BigEndian, false), exit: 1,
			class: classCodeFailure, rule: "report-tests-failed", reason: "c.größe", counts: failed1},
		{name: "UTF-8 with a mark", text: "\xef\xbb\xbf" + `<?xml version="1.0"?>` + oneFailure, exit: 1,
			class: classCodeFailure, rule: "report-tests-failed", reason: "c.größe", counts: failed1},
		{name: "an encoding that nobody reads", text: `<?xml version="1.0" encoding="EBCDIC-CP-DE"?>` + oneFailure, exit: 1,
			class: classInconclusive, rule: "report-unreadable", reason: "ebcdic", codes: []Code{Encoding}},
		{name: "Latin-1 that says it is UTF-8", text: `<?xml version="1.0" encoding="UTF-8"?>` + latin, exit: 1,
			class: classCodeFailure, rule: "report-tests-failed", reason: "c.gr\uFFFD\uFFFDe", counts: failed1, codes: []Code{Replaced}},
		{name: "colours", text: strings.ReplaceAll(oneFailure, ">t<", ">\x1b[31mt<"), exit: 1,
			class: classCodeFailure, rule: "report-tests-failed", counts: failed1, codes: []Code{Replaced}},
		{name: "colours as references", text: strings.ReplaceAll(oneFailure, ">t<", ">&#27;[31m&#x1B;t<"), exit: 1,
			class: classCodeFailure, rule: "report-tests-failed", counts: failed1, codes: []Code{Replaced}},
		{name: "tests=0 with two cases", exit: 1, text: `<testsuite name="s" tests="0" skipped="1"><testcase name="a"/><testcase name="b"><failure/></testcase></testsuite>`,
			class: classCodeFailure, rule: "report-tests-failed", reason: "s.b", counts: Counts{Total: 2, Executed: 2, Passed: 1, Failed: 1}, codes: []Code{Contradiction}},
		{name: "tests=0 with a case that passed", text: `<testsuite name="s" tests="0"><testcase name="a"/></testsuite>`, reason: "counters contradict cases",
			class: classInconclusive, rule: "report-contradicts-itself", counts: Counts{Total: 1, Executed: 1, Passed: 1}, codes: []Code{Contradiction}},
		{name: "three deep, counted once", text: `<testsuites tests="2"><testsuite name="a" tests="2"><testsuite name="b" tests="2"><testcase name="x"/>` +
			`<testsuite name="c" tests="1"><testcase name="y"/></testsuite></testsuite></testsuite></testsuites>`,
			class: classPass, rule: "report-passed", counts: Counts{Total: 2, Executed: 2, Passed: 2}},
		{name: "two roots", text: `<testsuite><testcase name="a"/></testsuite>` + oneFailure,
			class: classInconclusive, rule: "report-unreadable", reason: "root", counts: Counts{Total: 2, Executed: 2, Passed: 1, Failed: 1}, codes: []Code{Malformed}},
		{name: "two roots, exit 1", text: `<testsuite><testcase name="a"/></testsuite>` + oneFailure, exit: 1,
			class: classInconclusive, rule: "report-unreadable", reason: "root", counts: Counts{Total: 2, Executed: 2, Passed: 1, Failed: 1}, codes: []Code{Malformed}},
		{name: "flaky", text: `<testsuite tests="1" failures="0"><testcase name="a"><flakyFailure message="x"><stackTrace>t</stackTrace></flakyFailure></testcase></testsuite>`,
			class: classPass, rule: "report-passed", reason: "1 flaky", counts: Counts{Total: 1, Executed: 1, Passed: 1, Flaky: 1}, codes: []Code{FlakyCase}},
		{name: "tried again and failed", exit: 1, text: `<testsuite><testcase name="a"><failure/><rerunFailure/></testcase></testsuite>`,
			class: classCodeFailure, rule: "report-tests-failed", counts: failed1},
		{name: "one name failed and passed", text: `<testsuite name="s"><testcase name="a"><failure/></testcase><testcase name="a"/></testsuite>`,
			class: classInconclusive, rule: "report-disagrees", counts: Counts{Total: 2, Executed: 2, Passed: 1, Failed: 1, Flaky: 1}, codes: []Code{FlakyCase}},
		{name: "document type", text: `<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/passwd">]><testsuite><testcase name="&x;"/></testsuite>`,
			class: classInconclusive, rule: "report-unreadable", codes: []Code{Refused}},
		{name: "entity", text: `<testsuite><testcase name="&x;"/></testsuite>`, class: classInconclusive, rule: "report-unreadable", codes: []Code{Refused}},
		{name: "entity in text", text: `<testsuite>&lol;<testcase name="a"/></testsuite>`, class: classInconclusive, rule: "report-unreadable", codes: []Code{Refused}},
		{name: "200,000 deep", text: strings.Repeat("<testsuite>", 200_000) + "<testcase/>" + strings.Repeat("</testsuite>", 200_000),
			class: classInconclusive, rule: "report-unreadable", reason: "nested", codes: []Code{Refused}},
	} {
		t.Run(w.name, func(t *testing.T) { w.check(t, FormatJUnit) })
	}
}

// TestJUnitCutOff cuts a report at every byte: no part of it is a pass.
func TestJUnitCutOff(t *testing.T) {
	text := `<?xml version="1.0"?><!-- c --><testsuites><testsuite name="s" tests="2"><testcase name="a"><system-out><![CDATA[x]]></system-out></testcase>` +
		`<testcase name="b&amp;c"/></testsuite></testsuites>`
	for n := range len(text) {
		for exit := range 2 {
			r, err := Read(FormatJUnit, strings.NewReader(text[:n]), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if class, rule, _ := r.Verdict(exit, nil); class != classInconclusive || rule != "report-unreadable" {
				t.Errorf("%d bytes, exit %d: %s by %s", n, exit, class, rule)
			}
		}
	}
	w := want{text: text + "\n", class: classPass, rule: "report-passed", counts: Counts{Total: 2, Executed: 2, Passed: 2}}
	w.check(t, FormatJUnit)
}

// TestJUnitDocument holds what else a document may look like.
func TestJUnitDocument(t *testing.T) {
	one := Counts{Total: 1, Executed: 1, Passed: 1}
	unreadable := func(name, text string) want {
		return want{name: name, text: text, class: classInconclusive, rule: "report-unreadable", codes: []Code{Malformed}}
	}
	for _, w := range []want{
		{name: "empty", class: classInconclusive, rule: "report-unreadable", codes: []Code{CutOff}},
		{name: "no case", text: `<testsuites/>`, class: classInconclusive, rule: "report-nothing-executed"},
		{name: "92 skipped", text: `<testsuite tests="92" skipped="92">` + strings.Repeat(`<testcase name="a"><skipped/></testcase>`, 92) + `</testsuite>`,
			class: classInconclusive, rule: "report-nothing-executed", counts: Counts{Total: 92, Skipped: 92}},
		{name: "5 and one skipped", text: `<testsuite name="s" tests="6">` + strings.Repeat(`<testcase name="a"/>`, 5) + `<testcase name="b"><skipped/></testcase></testsuite>`,
			class: classInconclusive, rule: "report-skipped", reason: "s.b", counts: Counts{Total: 6, Executed: 5, Passed: 5, Skipped: 1}},
		{name: "5 and an allowed one", text: `<testsuite name="s" tests="5">` + strings.Repeat(`<testcase name="a"/>`, 5) + `<testcase name="b" status="disabled"/></testsuite>`,
			skips: []string{"b"}, class: classPass, rule: "report-passed", counts: Counts{Total: 6, Executed: 5, Passed: 5, Skipped: 1}},
		{name: "skipped and failed", exit: 1, text: `<testsuite><testcase name="a"><skipped/><error>boom
more</error></testcase></testsuite>`, class: classCodeFailure, rule: "report-tests-failed", counts: Counts{Total: 1, Executed: 1, Failed: 1}},
		{name: "failed by status alone", exit: 1, text: `<testsuite><testcase name="a" status="failed"/></testsuite>`,
			class: classCodeFailure, rule: "report-tests-failed", counts: Counts{Total: 1, Executed: 1, Failed: 1}},
		{name: "a status that nobody knows", text: `<testsuite><testcase name="a" status="quantum"/><testcase name="b"/></testsuite>`,
			class: classInconclusive, rule: "report-unfinished", reason: "a", counts: one},
		{name: "googletest", text: `<testsuites tests="1" disabled="1"><testsuite name="s" tests="2" disabled="1"><testcase name="a" status="run" result="completed"/>` +
			`<testcase name="b" status="notrun" result="suppressed"/></testsuite></testsuites>`, skips: []string{"b"},
			class: classPass, rule: "report-passed", counts: Counts{Total: 2, Executed: 1, Passed: 1, Skipped: 1}},
		{name: "a suite that failed by itself", exit: 1, text: `<testsuite name="s"><error message="setUp"/><testcase name="a"/></testsuite>`,
			class: classCodeFailure, rule: "report-suite-failed", reason: "s", counts: one},
		{name: "a suite that failed by itself, exit 0", text: `<testsuite name="s"><error message="setUp"/><testcase name="a"/></testsuite>`,
			class: classInconclusive, rule: "report-disagrees", counts: one},
		{name: "failures that no case shows", text: `<testsuite name="s" tests="1" failures="1"><testcase name="a"/></testsuite>`,
			class: classInconclusive, rule: "report-contradicts-itself", counts: one, codes: []Code{Contradiction}},
		{name: "skipped that no case shows", text: `<testsuite name="s" tests="1" skipped="1"><testcase name="a"/></testsuite>`,
			class: classInconclusive, rule: "report-contradicts-itself", counts: one, codes: []Code{Contradiction}},
		{name: "more tests than cases", text: `<testsuites tests="40"><testsuite name="s"><testcase name="a"/></testsuite></testsuites>`,
			class: classInconclusive, rule: "report-contradicts-itself", counts: one, codes: []Code{Contradiction}},
		{name: "a negative counter", text: `<testsuite name="s" tests="-3"><testcase name="a"/></testsuite>`,
			class: classInconclusive, rule: "report-contradicts-itself", counts: one, codes: []Code{Contradiction}},
		{name: "a case in a case", text: `<testsuite><testcase name="a"><testcase name="b"/></testcase></testsuite>`,
			class: classInconclusive, rule: "report-contradicts-itself", counts: one, codes: []Code{Contradiction}},
		{name: "a failure deep in a case", exit: 1, text: `<testsuite><testcase name="a"><x><failure/></x></testcase></testsuite>`,
			class: classCodeFailure, rule: "report-tests-failed", counts: Counts{Total: 1, Executed: 1, Failed: 1}},
		{name: "cases in something else", text: `<testsuites><folder><testsuite><testcase name="a"/></testsuite></folder></testsuites>`,
			class: classPass, rule: "report-passed", counts: one},
		{name: "prefixed names", text: `<j:testsuite xmlns:j="u"><j:testcase name="a"/></j:testsuite>`, class: classPass, rule: "report-passed", counts: one},
		unreadable("another root", `<html><testcase name="a"/></html>`),
		unreadable("a case as root", `<testcase name="a"/>`),
		unreadable("text before the root", `ok <testsuite/>`),
		unreadable("an end that fits no start", `<testsuite></testsuites>`),
		unreadable("an end too many", `<testsuite/></testsuite>`),
		unreadable("an attribute twice", `<testsuite name="a" name="b"/>`),
		unreadable("an attribute without quotes", `<testsuite tests=1/>`),
		unreadable("an attribute without a value", `<testsuite tests/>`),
		unreadable("a tag in a value", `<testsuite name="<failure/>"/>`),
		unreadable("an ampersand", `<testsuite name="a & b"/>`),
		unreadable("a number beyond any character", `<testsuite name="&#99999999999;"/>`),
		unreadable("a tag without a name", `<testsuite>< testcase/></testsuite>`),
		unreadable("a declaration", `<testsuite><!ELEMENT a (b)></testsuite>`),
		unreadable("a name without end", `<testsuite><`+strings.Repeat("n", 1<<20)+`/></testsuite>`),
		unreadable("too many attributes", `<testsuite `+attributes(200)+`/>`),
	} {
		t.Run(w.name, func(t *testing.T) { w.check(t, FormatJUnit) })
	}
}

// attributes writes n different attributes.
func attributes(n int) string {
	var out strings.Builder
	for i := range n {
		out.WriteString("a" + strings.Repeat("b", i) + `="" `)
	}
	return out.String()
}

// TestDigest holds that the digest is of the raw bytes, and absent beyond the limit.
func TestDigest(t *testing.T) {
	text := inUTF16(oneFailure, binary.LittleEndian, true) + "\x00tail"
	sum := sha256.Sum256([]byte(text))
	r, err := Read(FormatJUnit, strings.NewReader(text), Limits{})
	if err != nil || r.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("digest %s (%v), want %x", r.SHA256, err, sum)
	}
	r, err = Read(FormatJUnit, strings.NewReader(text), Limits{Bytes: int64(len(text))})
	if err != nil || r.SHA256 == "" || r.Truncated {
		t.Errorf("at the limit: digest %q, truncated %v (%v)", r.SHA256, r.Truncated, err)
	}
	r, err = Read(FormatJUnit, strings.NewReader(text), Limits{Bytes: int64(len(text)) - 1})
	if err != nil || r.SHA256 != "" || !r.Truncated {
		t.Errorf("beyond the limit: digest %q, truncated %v (%v)", r.SHA256, r.Truncated, err)
	}
}
