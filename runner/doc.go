// Package runner executes what has to be proven: checks on a clean checkout, calls that
// change the outside world, and probes that ask whether a call did.
//
// # Processes
//
// Every command is an argument list; no shell reads it unless it names one. It gets an
// environment built from nothing (PATH, a fresh HOME and TMPDIR, LANG=C, and what the
// caller lists), a standard input that is empty, and a process group of its own. The
// group is killed when the command ends, when its time is up, when the context ends,
// and when this process dies, even by SIGKILL: on Linux the kernel kills the command
// itself, and a small shell that waits for this process's pipe to close kills the rest
// of the group. A process that leaves the group on purpose escapes; an effect's lock
// shows it. An effect is in no sandbox: it can do what the user can do. A check is, where
// the kernel has Landlock and the caller asks for it; see [Confinement].
//
// # Outcomes
//
// [Classify] is a table of named rules. A check that passes has exit status 0 and no
// rule against it; "fail" means that assertions ran and did not hold; everything else is
// inconclusive, never a pass and never a reason for a repair.
//
// # Checks
//
// [Verify] runs each check on a clean checkout of its own, asks services for their
// health around it, reads its test report, and tries it again when it fails; see [Plan].
//
// # Effects
//
// The order that makes a crash decidable: [AcquireLock], then record the dispatch, then
// [RunEffect], then record the outcome, then [EffectLock.Release]. The command inherits
// the locked file as descriptor 3 and must not close it. After a crash [ReadLock] and
// [RunProbe] give the evidence and [Judge] the verdict.
//
// # Limits
//
// Checks run on Linux and other Unix systems. That an old call is dead can be proven on
// Linux only, in the boot and process namespace in which it was started.
package runner
