package runner

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/deedledger/deed/boundary"
	"github.com/deedledger/deed/runner/testreport"
)

// The rules by which a report that cannot be taken decides; all are inconclusive.
const (
	RuleReportMissing  = "report-missing"      // the command wrote none
	RuleReportNoFile   = "report-not-a-file"   // a link, a pipe or a folder stands in its place
	RuleReportExisted  = "report-existed"      // it was there before the command ran
	RuleReportNotTaken = "report-not-readable" // it could not be read to its end
)

// ReportRef says where a check's command writes its test report, and in which form.
type ReportRef struct {
	Format string // one of testreport.Formats
	Path   string // raw bytes, from the root of the checkout; "-" for the command's output
}

// Reported is what a report, or its absence, says of a check that ended by itself.
type Reported struct {
	Class  Class
	Rule   string
	Reason string // for people; may hold untrusted names
}

// reporting reads the report of one run of a check.
type reporting struct {
	ref    *ReportRef
	root   string
	fault  *Reported // why no report can be taken, from before the command ran
	pipe   *io.PipeWriter
	done   chan struct{}
	report testreport.Report
	err    error
}

// reportOf gives the reader for a check: of the report that it names, of the output of a
// go test -json that names none, or of nothing.
func reportOf(root string, check Check) *reporting {
	r := &reporting{ref: check.Report, root: root}
	if r.ref == nil && isGoTest(check.Command) && slices.ContainsFunc(check.Command, isJSONFlag) {
		r.ref = &ReportRef{Format: testreport.FormatGoTest, Path: "-"}
	}
	switch {
	case r.ref == nil:
	case r.ref.Path == "-":
		r.listen()
	default:
		r.before()
	}
	return r
}

// listen reads the output as it comes.
func (r *reporting) listen() {
	read, write := io.Pipe()
	r.pipe, r.done = write, make(chan struct{})
	go func() {
		defer close(r.done)
		r.report, r.err = testreport.Read(r.ref.Format, read, testreport.Limits{})
		_, _ = io.Copy(io.Discard, read) // the command must not wait for a reader that gave up
	}()
}

// before refuses a report that is there already: it would tell of another run.
func (r *reporting) before() {
	clean, err := boundary.CleanPath(r.ref.Path)
	if err != nil || clean != r.ref.Path {
		r.fault = &Reported{ClassInconclusive, RuleReportNoFile, "its path is not clean"}
		return
	}
	box, err := os.OpenRoot(r.root)
	if err != nil {
		return // there is no checkout: the command will not run either
	}
	defer func() { _ = box.Close() }()
	if _, err := box.Lstat(filepath.FromSlash(clean)); !errors.Is(err, fs.ErrNotExist) {
		r.fault = &Reported{ClassInconclusive, RuleReportExisted, boundary.DisplayPath(clean) + " was there before the check ran"}
	}
}

// Write takes the command's output. It never fails: the command goes on without us.
func (r *reporting) Write(p []byte) (int, error) {
	if r.pipe != nil {
		_, _ = r.pipe.Write(p)
	}
	return len(p), nil
}

// verdict reads the report of a command that has ended and judges it; nil when the check
// has none. The report is nil where none could be read.
func (r *reporting) verdict(exit int, skips []string) (*Reported, *testreport.Report) {
	switch {
	case r.ref == nil:
		return nil, nil
	case r.pipe != nil:
		_ = r.pipe.Close()
		<-r.done
	case r.fault != nil:
		return r.fault, nil
	default:
		if fault := r.readFile(); fault != nil {
			return fault, nil
		}
	}
	if r.err != nil {
		return &Reported{ClassInconclusive, RuleReportNotTaken, r.err.Error()}, nil
	}
	class, rule, reason := r.report.Verdict(exit, skips)
	return &Reported{Class(class), rule, reason}, &r.report
}

// readFile reads a report from a file that must be one: the command may have put a link
// or a pipe there, and what it left running may still change it.
func (r *reporting) readFile() *Reported {
	path := filepath.FromSlash(r.ref.Path)
	fault := func(rule, format string, args ...any) *Reported {
		return &Reported{ClassInconclusive, rule, fmt.Sprintf(format, args...)}
	}
	box, err := os.OpenRoot(r.root)
	if err != nil {
		return fault(RuleReportMissing, "%v", err)
	}
	defer func() { _ = box.Close() }()
	for above := path; above != "."; above = filepath.Dir(above) {
		info, err := box.Lstat(above)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fault(RuleReportMissing, "the command wrote no %s", boundary.DisplayPath(r.ref.Path))
		case err != nil || info.Mode()&fs.ModeSymlink != 0 || (above == path && !info.Mode().IsRegular()):
			return fault(RuleReportNoFile, "%s is no plain file", boundary.DisplayPath(r.ref.Path))
		}
	}
	// Without O_NONBLOCK a pipe that took the file's place would hold us for ever.
	file, err := box.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fault(RuleReportNotTaken, "%v", err)
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return fault(RuleReportNoFile, "%s is no plain file", boundary.DisplayPath(r.ref.Path))
	}
	r.report, r.err = testreport.Read(r.ref.Format, file, testreport.Limits{})
	return nil
}
