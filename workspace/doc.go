// Package workspace reads what the disk says: facts about a git repository, the
// paths that a range of commits changed, and whether those paths lie inside a
// boundary. It never writes to the repository that it reads, with two exceptions:
// the name of the task that is bound to a worktree, in that worktree's git folder, and
// objects that nothing names yet ([Repo.MakeCommit], [Repo.StagedTree]). A branch is
// moved by a command that others run; [Move] says which.
//
// # Git
//
// Facts come from the git program (2.38 or newer) with fixed flags, NUL-delimited
// output and an environment built from nothing: no GIT_* variable of the caller, no
// system or user configuration, no hooks, no file monitor, no replace objects, no
// grafts, no commit-graph, no network but in [Repo.RemoteTip]. Commands are plumbing, so that the
// repository's own configuration can neither run code nor change an answer. Filter
// drivers (clean, smudge) are switched off. What follows from this:
//
//   - A user's global ignore file does not count: two machines give one answer.
//   - Files kept by a filter such as Git LFS appear as the committed bytes.
//   - A repository owned by another user is refused with [ErrForeignOwner].
//
// Object ids are lower-case hex of the repository's hash, 40 or 64 digits.
//
// Paths are the raw bytes that git stores; package boundary says how they are written
// and which of them may change.
package workspace
