// Package tidy is the project's style as a test. It reads the source tree (nothing is built) and reports what breaks a rule,
// with the rule's reason.
//
// The rules are data: arrows.go says who may import whom, pure.go which files may touch the world, globals.go what a package may
// hold before main runs, size.go how long things may be, docs.go and words.go what a reader must find. A new package is added to
// the table in arrows.go first. An exception is a row with a reason; a row for something that no longer exists is itself a finding.
package tidy
