// Package guard holds what somebody says of a piece of work against what the
// disk says: done things exist, frozen decisions hold, rejected approaches do
// not come back. It is a sieve and no judge: it reports what does not match.
//
// # Layers
//
// [Claims] is what people and models write, in .resume/task.yaml or in a
// ledger. [World] is what was measured: nobody writes it. [Check] is pure and
// crosses the two.
//
// # Rules
//
//	R1  the evidence of a done thing is not there
//	R2  a text that a frozen decision forbids occurs
//	R3  a text that a banned approach forbids occurs
//	R4  a text that a frozen decision demands occurs nowhere
//	W1  a done thing names no evidence
//	W2  the stored snapshot was taken at another HEAD
//	W4  evidence is there, and this change did not touch it
//	N1  no decision is frozen
//	N2  there is no acceptance criterion
//	N3  a todo names no next step
//	N4  a changed file is no done thing's evidence
//
// Any R is fatal: do not start. A W waits for a person. An N is a hint. One
// finding per rule, text and file, at its first line.
//
// # What is scanned
//
// In a git worktree: the files that are tracked, and those that are neither
// tracked nor ignored. Elsewhere: every file outside the folders of
// [SkippedFolders]. Never: the state files ([StateFolders]), HANDOFF.md, links,
// binary files (a zero byte in the first 8000, as git has it), files beyond
// [MaxFileBytes]. What was left out is counted. Texts are matched byte for byte,
// within one line.
//
// # What has changed
//
// In a git worktree: what differs between the base and the files on the disk;
// the base is the commit at which the guard began, else where HEAD left the
// branch it will go to. Elsewhere: the [NewestFiles] files that were written
// last, which is less exact.
package guard
