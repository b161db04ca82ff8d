package testreport

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// seeds gives texts for each format: all of them for every reader.
func seeds() []string {
	return []string{
		"", three(), three() + buildFailed, goEvents("p TestS run", "p TestS skip", "p pass"), oneFailure,
		`<?xml version="1.0" encoding="ISO-8859-1"?><testsuites tests="2"><testsuite name="s"><testcase name="a"><skipped/></testcase><testcase name="&#27;"/></testsuite></testsuites>`,
		inUTF16(oneFailure, binary.LittleEndian, true), "TAP version 14\n# Subtest: s\n    ok 1 - a\n    1..1\nok 1 - s\n1..1\n", "1..0 # skip\n", "ok 1\nBail out! x\n",
		ctrf(`"tests":1`, `{"name":"a","status":"passed","flaky":true}`), sarif(``, `{"ruleId":"E1"}`), sarif(`"invocations":[{"executionSuccessful":true}],`),
	}
}

// fuzz reads anything as one format: no panic, bounded lists, clean texts, and no
// pass without a case that was executed, nor with another exit code than 0.
func fuzz(f *testing.F, format string) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	limits := Limits{Kept: 8, TextBytes: 64, Depth: 12, Cases: 50, Bytes: 1 << 16}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Read(format, bytes.NewReader(text), limits)
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		holds(t, r)
		again, err := Read(format, iotest.OneByteReader(bytes.NewReader(text)), limits)
		if err != nil || again.Counts != r.Counts || !slices.Equal(again.Findings, r.Findings) || again.SHA256 != r.SHA256 {
			t.Errorf("byte by byte another report: %+v, %+v (%v)", again, r, err)
		}
	})
}

// holds checks what is true of every report.
func holds(t *testing.T, r Report) {
	n := r.Counts
	if n.Total != n.Executed+n.Skipped || n.Executed != n.Passed+n.Failed || min(n.Passed, n.Failed, n.Skipped, n.Flaky) < 0 {
		t.Errorf("counts %+v do not add up", n)
	}
	texts := slices.Concat(r.BuildFailed, r.SetupFailed, r.SuiteFailed, r.Unfinished)
	if len(r.Cases) > 8 || max(len(r.BuildFailed), len(r.SetupFailed), len(r.SuiteFailed), len(r.Unfinished)) > 8 || len(r.Findings) > 100 {
		t.Errorf("lists beyond the limit: %+v", r)
	}
	for _, c := range r.Cases {
		texts = append(texts, c.Suite, c.Name, c.Message)
	}
	for _, finding := range r.Findings {
		texts = append(texts, finding.Text)
	}
	for _, text := range texts {
		if len(text) > 64 || !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x1b\x7f") {
			t.Errorf("text %q", text)
		}
	}
	for _, exit := range []int{0, 1} {
		class, rule, _ := r.Verdict(exit, nil)
		switch {
		case rule == "" || class == classCodeFailure && exit == 0:
			t.Errorf("%s by %q for exit code %d", class, rule, exit)
		case class == classPass && (exit != 0 || n.Executed == 0 || n.Failed+n.Skipped != 0 || r.Truncated || len(r.Unfinished) > 0):
			t.Errorf("a pass of %+v for exit code %d", r, exit)
		}
	}
}

func FuzzGoTest(f *testing.F) { fuzz(f, FormatGoTest) }
func FuzzJUnit(f *testing.F)  { fuzz(f, FormatJUnit) }
func FuzzTAP(f *testing.F)    { fuzz(f, FormatTAP) }
func FuzzCTRF(f *testing.F)   { fuzz(f, FormatCTRF) }
func FuzzSARIF(f *testing.F)  { fuzz(f, FormatSARIF) }
