package runner

import (
	"errors"
	"path"
)

// Result is what a check proved.
type Result string

// Class says why.
type Class string

// Results and classes. Fail goes with CodeFailure and with nothing else.
const (
	ResultPass         Result = "pass"
	ResultFail         Result = "fail"
	ResultInconclusive Result = "inconclusive"

	ClassPass               Class = "pass"
	ClassCodeFailure        Class = "code_failure"        // assertions ran and did not hold
	ClassEnvironmentFailure Class = "environment_failure" // the assertions could not run here
	ClassInconclusive       Class = "inconclusive"        // too little evidence
)

// Result gives the result that goes with a class; an unknown class proves nothing.
func (c Class) Result() Result {
	switch c {
	case ClassPass:
		return ResultPass
	case ClassCodeFailure:
		return ResultFail
	}
	return ResultInconclusive
}

// Facts are what is known of a command that ended.
type Facts struct {
	Command     []string
	StartErr    error // why it did not start; nil if it did
	ExitCode    int   // -1 when it did not exit by itself
	Signal      string
	TimedOut    bool
	Interrupted bool
	Tests       Tests
	Report      *Reported // nil for a check without a report
}

// Verdict is a class and the name of the rule that gave it.
type Verdict struct {
	Class Class
	Rule  string
}

// rule is one line of the table.
type rule struct {
	name  string
	class Class
	when  func(Facts) bool
}

// rules give the table in order: the first that holds decides. Passing comes last.
func rules() []rule {
	return []rule{
		{"interrupted", ClassInconclusive, func(f Facts) bool { return f.Interrupted }},
		{"malformed-command", ClassInconclusive, func(f Facts) bool { return errors.Is(f.StartErr, ErrCommand) }},
		{"could-not-start", ClassEnvironmentFailure, func(f Facts) bool { return f.StartErr != nil }},
		{"timed-out", ClassInconclusive, func(f Facts) bool { return f.TimedOut }},
		{"killed-by-signal", ClassInconclusive, func(f Facts) bool { return f.Signal != "" || f.ExitCode < 0 }},
		{"shell-could-not-run", ClassEnvironmentFailure, func(f Facts) bool {
			return (f.ExitCode == 126 || f.ExitCode == 127) && isLauncher(f.Command)
		}},
		{reported, "", func(f Facts) bool { return f.Report != nil }},
		{"go-test-build-failed", ClassCodeFailure, func(f Facts) bool { return f.ExitCode != 0 && f.Tests.BuildFailed }},
		{"go-test-setup-failed", ClassInconclusive, func(f Facts) bool { return f.ExitCode != 0 && f.Tests.SetupFailed }},
		{"go-test-package-failed", ClassCodeFailure, func(f Facts) bool { return f.ExitCode != 0 && f.Tests.PackageFailed }},
		{"go-test-did-not-run", ClassInconclusive, func(f Facts) bool { return f.ExitCode != 0 && f.Tests.Known }},
		{"exit-nonzero", ClassCodeFailure, func(f Facts) bool { return f.ExitCode != 0 }},
		{"go-test-contradiction", ClassInconclusive, func(f Facts) bool {
			return f.Tests.BuildFailed || f.Tests.SetupFailed || f.Tests.PackageFailed
		}},
		{"go-test-nothing-executed", ClassInconclusive, func(f Facts) bool { return f.Tests.Known && f.Tests.Passed == 0 }},
		{"go-test-cached", ClassInconclusive, func(f Facts) bool { return f.Tests.Cached }},
		{"go-test-unreadable", ClassInconclusive, func(f Facts) bool { return f.Tests.Overflow }},
		{"exit-zero", ClassPass, func(f Facts) bool { return f.ExitCode == 0 }},
	}
}

// reported is the name of the table's rule that leaves the verdict to the test report:
// the command ended by itself, so the report and the exit code are held together.
const reported = "report"

// Classify names the first rule that holds for the facts. It is pure.
func Classify(f Facts) Verdict {
	for _, r := range rules() {
		if r.name == reported && r.when(f) {
			return Verdict{Class: f.Report.Class, Rule: f.Report.Rule}
		}
		if r.when(f) {
			return Verdict{Class: r.class, Rule: r.name}
		}
	}
	return Verdict{Class: ClassInconclusive, Rule: "no-rule"}
}

// isLauncher tells whether the command is a program that reports with 126 and 127 that it
// could not run another.
func isLauncher(command []string) bool {
	if len(command) == 0 {
		return false
	}
	switch path.Base(command[0]) {
	case "sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "busybox", "env", "nice", "nohup", "timeout", "xargs", "setsid", "stdbuf":
		return true
	}
	return false
}
