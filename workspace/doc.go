// Package workspace reads what the disk says: facts about a git repository, the
// paths that a range of commits changed, and whether those paths lie inside a
// boundary. It never writes to the repository that it reads, with one exception:
// the name of the task that is bound to a worktree, in that worktree's git folder.
//
// # Git
//
// Facts come from the git program (2.38 or newer) with fixed flags, NUL-delimited
// output and an environment built from nothing: no GIT_* variable of the caller, no
// system or user configuration, no hooks, no file monitor, no replace objects, no
// grafts, no commit-graph, no network. Commands are plumbing, so that the
// repository's own configuration can neither run code nor change an answer. Filter
// drivers (clean, smudge) are switched off. What follows from this:
//
//   - A user's global ignore file does not count: two machines give one answer.
//   - Files kept by a filter such as Git LFS appear as the committed bytes.
//   - A repository owned by another user is refused with [ErrForeignOwner].
//
// Object ids are lower-case hex of the repository's hash, 40 or 64 digits.
//
// # Paths
//
// A path is the raw bytes that git stores, held in a string: slash-separated,
// relative to the root of the tree, of any encoding. [EncodePath] gives the form for
// events and JSON, [DecodePath] is its strict inverse, [DisplayPath] is for terminals.
//
// # Patterns
//
// A [Boundary] is made of patterns in this dialect:
//
//   - any run of bytes inside one segment, also none; leading dots match
//     ?      one character inside one segment
//     [a-z]  one character of a class; [^a] and [!a] negate
//     **     as a whole segment: zero or more whole segments
//
// Matching covers the whole path and is case-sensitive. "src/**" matches "src"
// itself, "src/a" and "src/a/.b", and not "srcs/a". A pattern names a path from the
// root; "**/x" names x anywhere. Refused, each with [ErrPattern]: the empty pattern, a
// leading or trailing slash, an empty, "." or ".." segment, "**" beside other
// characters, a leading "!", a backslash, a brace, a malformed class, a class that
// holds a slash, control characters, invalid UTF-8, space at either end, more than
// [MaxPatternBytes]. One refused pattern makes the boundary invalid, and an invalid
// boundary allows nothing.
//
// Deny beats allow whatever the order, and [ProtectedPatterns] are denied always.
package workspace
