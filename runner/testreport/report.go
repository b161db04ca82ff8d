package testreport

import (
	"errors"
	"fmt"
	"io"
)

// Formats that [Read] knows.
const (
	FormatGoTest = "go-test-json"
	FormatJUnit  = "junit"
	FormatTAP    = "tap"
	FormatCTRF   = "ctrf"
	FormatSARIF  = "sarif"
)

// Formats lists the formats that [Read] knows.
func Formats() []string {
	return []string{FormatGoTest, FormatJUnit, FormatTAP, FormatCTRF, FormatSARIF}
}

// ErrFormat means that no reader has the name asked for.
var ErrFormat = errors.New("unknown report format")

// Status is how a case ended.
type Status string

// The statuses of a case.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// Code names a sort of finding.
type Code string

// The codes of findings. Malformed, CutOff, Refused and Encoding make a report
// unreadable; Contradiction, Cached, Killed and ToolFailed exclude a pass; the
// others are notes.
const (
	Malformed     Code = "malformed"
	CutOff        Code = "cut-off"
	Refused       Code = "refused" // a document type, an entity, or nesting beyond the limit
	Encoding      Code = "encoding"
	Contradiction Code = "contradiction"
	Cached        Code = "cached"
	Killed        Code = "killed"
	ToolFailed    Code = "tool-failed"
	Limit         Code = "limit"      // what comes with Report.Truncated
	TextLine      Code = "text-line"  // a line that belongs to no format, such as a compiler's
	Replaced      Code = "replaced"   // invalid bytes or control characters
	Clipped       Code = "clipped"    // a text beyond the limit, of which the beginning was kept
	FlakyCase     Code = "flaky"      // a case that failed and passed
	NoteWarning   Code = "warning"    // an analyser's warning
	NoteTodo      Code = "todo"       // a test that is known not to hold yet
	MoreFindings  Code = "more-found" // findings beyond the limit
)

// Finding is something about a report that a reader of it should know. The text
// may hold names of the report's cases: untrusted, but free of control characters.
type Finding struct {
	Code Code   `json:"code"`
	Text string `json:"text"`
}

// Counts are numbers of cases. Total = Executed + Skipped, Executed = Passed +
// Failed. Flaky is the number of names that failed at first, or in another try,
// and passed; they are among the others.
type Counts struct {
	Total, Executed, Passed, Failed, Skipped, Flaky int64
}

// Case is one case. Names are cut at Limits.TextBytes.
type Case struct {
	Suite   string // package, class or suite; may be ""
	Name    string
	Status  Status
	Flaky   bool
	Message string // first line of why, may be ""
}

// ID is the case's full name: suite, a dot and the name.
func (c Case) ID() string {
	if c.Suite == "" {
		return c.Name
	}
	return c.Suite + "." + c.Name
}

// Report is what a test run told. Every text in it is the run's own, hence
// untrusted, cut at Limits.TextBytes and free of control characters; every list
// is cut at Limits.Kept.
type Report struct {
	Format string
	Counts Counts
	// Cases are those that did not plainly pass: failed, skipped or flaky.
	Cases       []Case
	BuildFailed []string // packages that did not compile
	SetupFailed []string // packages that could not be loaded
	SuiteFailed []string // packages or suites that failed outside their cases
	Unfinished  []string // cases, packages or plans that began and did not end
	Findings    []Finding
	// Truncated says that a limit was reached: the counts are not of everything.
	Truncated bool
	// SHA256 is of all raw bytes, lower hex; "" where there were more than Limits.Bytes.
	SHA256 string
	Bytes  int64 // raw bytes read
}

// Has reports whether r has a finding of one of the codes.
func (r Report) Has(codes ...Code) bool {
	for _, f := range r.Findings {
		for _, c := range codes {
			if f.Code == c {
				return true
			}
		}
	}
	return false
}

// Limits bound what a reader takes and keeps; a field of 0 stands for its default.
type Limits struct {
	Bytes     int64 // raw bytes read, default 1 GiB
	Depth     int   // nesting of elements, values or subtests, default 200
	Cases     int   // cases whose names are told apart, default 500,000
	Kept      int   // length of each list in the report, default 1,000
	TextBytes int   // of one name or message, default 1,024
}

func (l Limits) orDefault() Limits {
	if l.Bytes <= 0 {
		l.Bytes = 1 << 30
	}
	if l.Depth <= 0 {
		l.Depth = 200
	}
	if l.Cases <= 0 {
		l.Cases = 500_000
	}
	if l.Kept <= 0 {
		l.Kept = 1_000
	}
	if l.TextBytes <= 0 {
		l.TextBytes = 1_024
	}
	return l
}

// Read reads a report to its end, whatever it holds: what is wrong with it is in
// the report, for the verdict. Memory is bounded by the limits, not by r.
//
// Errors: ErrFormat, and r's own.
func Read(format string, r io.Reader, limits Limits) (Report, error) {
	read := reader(format)
	if read == nil {
		return Report{}, fmt.Errorf("read report: %w: %q", ErrFormat, format)
	}
	limits = limits.orDefault()
	in := newSource(r, limits.Bytes, format == FormatJUnit)
	t := newTally(limits)
	read(in, t)
	if err := in.finish(t); err != nil {
		return Report{}, fmt.Errorf("read %s report: %w", format, err)
	}
	report := t.report()
	report.Format = format
	report.SHA256, report.Bytes = in.digest()
	return report, nil
}

// reader gives the function that reads a format, nil for none.
func reader(format string) func(*source, *tally) {
	switch format {
	case FormatGoTest:
		return readGoTest
	case FormatJUnit:
		return readJUnit
	case FormatTAP:
		return readTAP
	case FormatCTRF:
		return readCTRF
	case FormatSARIF:
		return readSARIF
	}
	return nil
}
