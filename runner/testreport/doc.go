// Package testreport reads what a test run says of itself: go test -json, JUnit
// XML, TAP 13 and 14, CTRF JSON and SARIF 2.1.0.
//
// A report is text of others. It may be huge, cut short, wrong about its own
// totals, or made to look good. [Read] therefore streams it, keeps little of it,
// and counts cases itself instead of believing a total; [Report.Verdict] holds
// what was counted against the exit code and gives a pass only where both agree
// that something ran, that all of it ended and that nothing failed.
//
// # Bytes
//
// The digest is of the raw bytes. For reading they become UTF-8: a byte order
// mark is obeyed; XML may declare UTF-8, US-ASCII, ISO-8859-1, Windows-1252 or
// UTF-16, and every other declared encoding is refused. Invalid bytes and control
// characters are replaced by U+FFFD, never a reason to drop what follows.
//
// # Cases
//
// A case is what has an outcome of its own: a test without subtests, a test case
// element, a test point, a finding of an analyser. What contains cases is none,
// unless it failed while all its cases passed. Executed is total less skipped.
//
//	format        passed                     failed            skipped
//	go-test-json  pass, bench                fail              skip
//	junit         no child that says more    failure, error    skipped, disabled, not run
//	tap           ok                         not ok            SKIP, and not ok with todo
//	ctrf          passed                     failed            skipped, pending
//	sarif         a run with results and no  level error       a suppressed result
//	              error; a result of kind pass
//
// A case that names a status outside these has not finished. In SARIF warnings and
// notes are findings of this report and do not fail it; a tool that says it did
// not succeed makes the report inconclusive. A run that lists no results, not
// even an empty list, says by the specification that nothing was looked for.
//
// # Verdict
//
// The first rule that holds decides:
//
//	report-unreadable          the document is cut short, malformed, refused, or in an unknown encoding   inconclusive
//	exit code not 0:
//	  report-tests-failed      a case failed                                                              code_failure
//	  report-build-failed      something did not compile                                                  code_failure
//	  report-setup-failed      something could not be loaded                                              inconclusive
//	  report-killed            a test process was ended by a signal, or the tests bailed out              inconclusive
//	  report-suite-failed      a package or suite failed outside its cases                                code_failure
//	  report-unfinished        a case began and never ended                                               inconclusive
//	  report-disagrees         the report shows no failure                                                inconclusive
//	exit code 0:
//	  report-disagrees         the report shows a failure                                                 inconclusive
//	  report-unfinished        as above                                                                   inconclusive
//	  report-truncated         a limit was reached: what was left out may have failed                     inconclusive
//	  report-contradicts-itself  its totals, plan or order do not fit its cases                           inconclusive
//	  report-tool-failed       an analyser says it did not succeed                                        inconclusive
//	  report-cached            a result was taken from an earlier run                                     inconclusive
//	  report-nothing-executed  no case ran, or all were skipped                                           inconclusive
//	  report-skipped           a skipped case that the contract does not allow by name                    inconclusive
//	  report-passed            everything above is excluded                                               pass
//
// # Limits
//
// See [Limits]. A limit never ends in an error or a pass: what was found up to it
// stays, and the report says that it was truncated. Gotestsum's reader stops at
// the first line above 64 KiB and keeps all output; go-sarif decodes a document
// as one value. So neither is used here.
package testreport
