package testreport

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

var reportBytesFlag = flag.Int64("report-bytes", 4<<20, "size of each report of TestHuge")

// maxHeap bounds what a reader may hold, in bytes: what is remembered of names
// twice over, and the collector's slack.
const maxHeap = 160 << 20

// generator is a report that exists only while it is read: a head, pieces until
// there are enough bytes, a tail.
type generator struct {
	piece      func(n int) string
	tail       string
	left, seen int64
	n          int
	rest       string
	base, most uint64
}

func (g *generator) Read(p []byte) (int, error) {
	for g.rest == "" {
		switch {
		case g.left > 0:
			g.rest = g.piece(g.n)
			g.n++
		case g.tail != "":
			g.rest, g.tail = g.tail, ""
		default:
			return 0, io.EOF
		}
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	if before := g.seen; before>>21 != (before+int64(n))>>21 {
		g.measure()
	}
	g.seen += int64(n)
	g.left -= int64(n)
	return n, nil
}

func (g *generator) measure() {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if g.base == 0 {
		g.base = m.HeapAlloc
	}
	if m.HeapAlloc > g.base {
		g.most = max(g.most, m.HeapAlloc-g.base)
	}
}

// TestHuge streams reports of a size that no memory should have to hold.
func TestHuge(t *testing.T) {
	block := strings.Repeat("x", 32<<10)
	same := func(s string) func(int) string { return func(int) string { return s } }
	for _, c := range []struct {
		name, format, head string
		piece              func(int) string
		tail, class        string
	}{
		{"junit cases", FormatJUnit, `<testsuite>`, func(n int) string { return fmt.Sprintf(`<testcase classname="a.b.C" name="test %d of many"/>`, n) }, `</testsuite>`, ""},
		{"junit failures", FormatJUnit, `<testsuite>`, func(n int) string {
			return fmt.Sprintf(`<testcase name="t%d"><failure>%s</failure></testcase>`, n, block)
		}, `</testsuite>`, classInconclusive},
		{"junit output", FormatJUnit, `<testsuite><testcase name="a"><system-out>`, same(block), `</system-out></testcase></testsuite>`, classPass},
		{"junit value", FormatJUnit, `<testsuite><testcase name="`, same(block), `"/></testsuite>`, classPass},
		{"junit comment", FormatJUnit, `<testsuite><testcase name="a"/><!--`, same(block), `--></testsuite>`, classPass},
		{"junit colours", FormatJUnit, `<testsuite><testcase name="a">`, same(strings.Repeat("\x1b[31m&#27;", 1000)), `</testcase></testsuite>`, classPass},
		{"go line", FormatGoTest, `{"Action":"output","Package":"p","Output":"`, same(block), `"}` + "\n" + three(), classInconclusive},
		{"go packages", FormatGoTest, "", func(n int) string { return fmt.Sprintf("{\"Action\":\"start\",\"Package\":\"package/%d\"}\n", n) }, "", classInconclusive},
		{"go tests", FormatGoTest, "", func(n int) string { return goEvents(fmt.Sprintf("p Test%d run", n), fmt.Sprintf("p Test%d pass", n)) }, goEvents("p pass"), ""},
		{"go strays", FormatGoTest, "", same("{" + block[:100] + "\n\xff\n"), three(), classPass},
		{"tap points", FormatTAP, "", func(n int) string { return fmt.Sprintf("ok %d - point\n", n+1) }, "", classInconclusive},
		{"tap line", FormatTAP, "1..1\nok 1 # ", same(block), "\n", ""},
		{"ctrf tests", FormatCTRF, `{"results":{"tests":[`, func(n int) string { return fmt.Sprintf(`{"name":"t%d","status":"passed"},`, n) }, `{"name":"t","status":"passed"}]}}`, ""},
		{"ctrf members", FormatCTRF, `{"results":{"tests":[{"name":"t","status":"passed"}]}`, func(n int) string { return fmt.Sprintf(`,"m%d":1`, n) }, `}`, classPass},
		{"ctrf text", FormatCTRF, `{"results":{"tests":[{"name":"t","status":"passed","message":"`, same(block), `"}]}}`, classPass},
		{"ctrf number", FormatCTRF, `{"x":`, same(strings.Repeat("1", 32<<10)), `}`, classInconclusive},
		{"ctrf space", FormatCTRF, `{`, same(strings.Repeat(" \n", 16<<10)), `"results":{"tests":[{"name":"t","status":"passed"}]}}`, classPass},
		{"sarif results", FormatSARIF, `{"version":"2.1.0","runs":[{"tool":{},"results":[`, func(n int) string { return fmt.Sprintf(`{"ruleId":"r%d"},`, n) }, `{"ruleId":"x"}]}]}`, ""},
		{"sarif rules", FormatSARIF, `{"version":"2.1.0","runs":[{"results":[],"tool":{"driver":{"rules":[`, func(n int) string { return fmt.Sprintf(`{"id":"r%d"},`, n) }, `{"id":"x"}]}}}]}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &generator{piece: c.piece, tail: c.tail, rest: c.head, left: *reportBytesFlag}
			g.measure()
			r, err := Read(c.format, g, Limits{})
			if err != nil || r.Bytes != g.seen || r.SHA256 == "" {
				t.Fatalf("read %d of %d bytes, digest %q: %v", r.Bytes, g.seen, r.SHA256, err)
			}
			if class, rule, reason := r.Verdict(0, nil); c.class != "" && class != c.class {
				t.Errorf("%s by %s (%s), want %s", class, rule, reason, c.class)
			}
			if g.most > maxHeap {
				t.Errorf("the heap grew by %d bytes for %d, limit %d", g.most, g.seen, int64(maxHeap))
			}
			t.Logf("%d bytes, heap %d", g.seen, g.most)
		})
	}
}

// TestManyCases holds that cases beyond the limit exclude a pass.
func TestManyCases(t *testing.T) {
	text := `<testsuite><testcase name="a"/><testcase name="b"/><testcase name="c"/></testsuite>`
	for limit, want := range map[int]string{2: classInconclusive, 3: classPass} {
		r, err := Read(FormatJUnit, strings.NewReader(text), Limits{Cases: limit})
		if err != nil {
			t.Fatal(err)
		}
		if class, _, _ := r.Verdict(0, nil); class != want || r.Truncated != (want != classPass) {
			t.Errorf("limit %d: %s, truncated %v", limit, class, r.Truncated)
		}
	}
}

// TestReadErrors holds the two errors of Read.
func TestReadErrors(t *testing.T) {
	for _, format := range []string{"", "xml", "JUnit", "go-test-json "} {
		if r, err := Read(format, strings.NewReader(""), Limits{}); !errors.Is(err, ErrFormat) || r.Format != "" {
			t.Errorf("format %q: %v, %+v", format, err, r)
		}
	}
	broken := errors.New("disk")
	for _, format := range Formats() {
		for _, text := range []string{"", three(), oneFailure, "1..1\nok 1\n", ctrf("", `{"name":"a","status":"passed"}`), sarif("")} {
			in := io.MultiReader(strings.NewReader(text), iotestErr{broken})
			if r, err := Read(format, in, Limits{}); !errors.Is(err, broken) || r.Counts != (Counts{}) {
				t.Errorf("%s of a broken file: %v, %+v", format, err, r.Counts)
			}
		}
	}
}

// iotestErr fails every read.
type iotestErr struct{ err error }

func (r iotestErr) Read([]byte) (int, error) { return 0, r.err }

// TestShrunk holds what a silent shrink is.
func TestShrunk(t *testing.T) {
	for _, c := range []struct {
		before, now Counts
		want        string
	}{
		{Counts{Executed: 40}, Counts{Executed: 12}, "executed 12, before 40"},
		{Counts{Executed: 40, Total: 40}, Counts{Total: 40, Skipped: 1, Executed: 39}, "executed 39, before 40"},
		{Counts{Executed: 1}, Counts{}, "executed 0, before 1"},
		{Counts{Executed: 40, Total: 50}, Counts{Executed: 40, Total: 40}, ""},
		{Counts{}, Counts{Executed: 1}, ""},
		{Counts{}, Counts{}, ""},
	} {
		if got, shrunk := Shrunk(c.before, c.now); got != c.want || shrunk != (c.want != "") {
			t.Errorf("%v to %v: %q, %v", c.before, c.now, got, shrunk)
		}
	}
}
