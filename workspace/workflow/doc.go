// Package workflow reads and writes the folder of a light task:
//
//	.workflow/<task-id>/
//	  brief.md     what is to be done
//	  spec.md      when it is done: the acceptance items A1…An
//	  state.yaml   where it is, and what counts as passed
//	  artifacts/   files that one step hands to the next
//	  checks/      scripts, or a list of commands, whose exit status decides
//
// Nobody drives the work: whoever reads state.yaml decides what comes next.
// What is done is decided by running the checks, never by what the files say.
//
// # spec.md
//
// Markdown. An item is a line "- A1: text" at its beginning, and the lines that
// follow up to an empty line, a heading or another list entry without
// indentation. Ids are A1 to A999, each once, in any order, gaps allowed. All
// else is prose. A line that looks like an item and is none is refused.
//
// # state.yaml
//
// The members task_id, phase, iteration, checks, blockers, next and archive, in
// any order, in block form; facts only, so that no other member is read. The
// phases are clarify, build, verify and archive; others are kept. A status is
// pending, passed or failed. A rewrite replaces the lines of what has changed,
// keeps every comment and leaves all else as it was, byte for byte.
//
// # checks
//
// checks/A2.sh, checks/A2-more.sh: executable files, run with the task's folder
// as working directory. checks/checks.yaml: for an item one argument list, or a
// list of them; a member may also be {command: [go, test], timeoutSeconds: 60}.
// No shell reads any of it.
//
// # Links
//
// Nothing is read or written through a link: a folder or file of a task that is
// one is refused.
package workflow
