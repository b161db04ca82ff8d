package testreport

import (
	"fmt"
	"slices"
	"strings"
)

// Classes of a verdict, in the words of receipts.
const (
	classPass         = "pass"
	classCodeFailure  = "code_failure"
	classInconclusive = "inconclusive"
)

// unreadable lists the codes of what could not be read to its end.
func unreadable() []Code { return []Code{Malformed, CutOff, Refused, Encoding} }

// decides reports whether a verdict may rest on a finding of this code.
func decides(c Code) bool {
	return slices.Contains(append(unreadable(), Contradiction, Cached, Killed, ToolFailed, Limit), c)
}

// Verdict says what the report proves for a command that ended by itself with
// this exit code: a class in the words of receipts, the rule that gave it and a
// line for people, which may hold names of the report. The rules are in the
// package comment. It is pure.
//
// A skipped case is allowed by its full name ([Case.ID]), or by its bare name if
// no other skipped case has it.
func (r Report) Verdict(exit int, allowedSkips []string) (class, rule, reason string) {
	switch {
	case r.Has(unreadable()...):
		return classInconclusive, "report-unreadable", r.first(unreadable()...)
	case exit != 0:
		return r.failing(exit)
	case r.Counts.Failed > 0:
		return classInconclusive, "report-disagrees", fmt.Sprintf("exit code 0, and %s", r.failedCases())
	case len(r.BuildFailed) > 0:
		return classInconclusive, "report-disagrees", "exit code 0, and build failed: " + names(r.BuildFailed)
	case len(r.SetupFailed) > 0:
		return classInconclusive, "report-disagrees", "exit code 0, and setup failed: " + names(r.SetupFailed)
	case len(r.SuiteFailed) > 0:
		return classInconclusive, "report-disagrees", "exit code 0, and failed outside its cases: " + names(r.SuiteFailed)
	case len(r.Unfinished) > 0:
		return classInconclusive, "report-unfinished", "unfinished: " + names(r.Unfinished)
	case r.Truncated:
		return classInconclusive, "report-truncated", r.first(Limit)
	case r.Has(Contradiction, Killed):
		return classInconclusive, "report-contradicts-itself", r.first(Contradiction, Killed)
	case r.Has(ToolFailed):
		return classInconclusive, "report-tool-failed", r.first(ToolFailed)
	case r.Has(Cached):
		return classInconclusive, "report-cached", r.first(Cached)
	case r.Counts.Executed <= 0:
		return classInconclusive, "report-nothing-executed", fmt.Sprintf("0 executed of %d, %d skipped", r.Counts.Total, r.Counts.Skipped)
	}
	if name, ok := r.skippedBeyond(allowedSkips); ok {
		return classInconclusive, "report-skipped", "skipped, and not allowed to be: " + name
	}
	return classPass, "report-passed", fmt.Sprintf("%d executed, all passed, %d skipped, %d flaky", r.Counts.Executed, r.Counts.Skipped, r.Counts.Flaky)
}

// failing is the verdict for an exit code that is not 0.
func (r Report) failing(exit int) (class, rule, reason string) {
	switch {
	case r.Counts.Failed > 0:
		return classCodeFailure, "report-tests-failed", r.failedCases()
	case len(r.BuildFailed) > 0:
		return classCodeFailure, "report-build-failed", "build failed: " + names(r.BuildFailed)
	case len(r.SetupFailed) > 0:
		return classInconclusive, "report-setup-failed", "setup failed: " + names(r.SetupFailed)
	case r.Has(Killed):
		return classInconclusive, "report-killed", r.first(Killed)
	case len(r.SuiteFailed) > 0:
		return classCodeFailure, "report-suite-failed", "failed outside its cases: " + names(r.SuiteFailed)
	case len(r.Unfinished) > 0:
		return classInconclusive, "report-unfinished", "unfinished: " + names(r.Unfinished)
	}
	return classInconclusive, "report-disagrees", fmt.Sprintf("exit code %d, and the report shows no failure", exit)
}

// failedCases names the first cases that failed.
func (r Report) failedCases() string {
	var list []string
	for _, c := range r.Cases {
		if c.Status == Failed {
			list = append(list, c.ID())
		}
	}
	text := fmt.Sprintf("%d failed: %s", r.Counts.Failed, names(list))
	if len(r.BuildFailed) > 0 {
		text += "; build failed: " + names(r.BuildFailed)
	}
	return text
}

// first is the text of the first finding of one of the codes.
func (r Report) first(codes ...Code) string {
	for _, f := range r.Findings {
		if slices.Contains(codes, f.Code) {
			return string(f.Code) + ": " + f.Text
		}
	}
	return ""
}

// skippedBeyond names a skipped case that the list does not allow. Cases that
// were skipped and not kept are not allowed by anything.
func (r Report) skippedBeyond(allowed []string) (string, bool) {
	bare := map[string]int{}
	kept := int64(0)
	for _, c := range r.Cases {
		if c.Status == Skipped {
			bare[c.Name]++
			kept++
		}
	}
	for _, c := range r.Cases {
		byName := bare[c.Name] == 1 && slices.Contains(allowed, c.Name)
		if c.Status == Skipped && !byName && !slices.Contains(allowed, c.ID()) {
			return c.ID(), true
		}
	}
	if kept < r.Counts.Skipped {
		return fmt.Sprintf("%d cases beyond those listed", r.Counts.Skipped-kept), true
	}
	return "", false
}

// names joins the first names of a list.
func names(list []string) string {
	const most = 5
	if n := len(list) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), n)
	}
	return strings.Join(list, ", ")
}

// Shrunk says whether fewer cases were executed now than before, and how many:
// "executed 12, before 40". Tests that vanish are as silent as a pass.
func Shrunk(previous, now Counts) (string, bool) {
	if now.Executed >= previous.Executed {
		return "", false
	}
	return fmt.Sprintf("executed %d, before %d", now.Executed, previous.Executed), true
}
